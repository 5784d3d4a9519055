"""Screw geometry: lines, accelerations of bodies, impedances."""
