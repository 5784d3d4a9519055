"""Mechanisms: kinematic loops, absolute coordinates, platforms on legs."""
