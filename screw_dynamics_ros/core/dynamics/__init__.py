"""Dynamics of a tree: recursions on numbers and on recorded scalars alike."""
