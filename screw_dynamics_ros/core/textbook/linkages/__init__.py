"""Linkages: kinematic pairs, loops, mobility."""
