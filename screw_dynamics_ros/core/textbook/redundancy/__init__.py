"""Redundancy: cyclicity, dexterity, obstacles, optimal paths and torques."""
