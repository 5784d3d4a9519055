"""Recursions recorded once, then printed and compiled for one robot."""
