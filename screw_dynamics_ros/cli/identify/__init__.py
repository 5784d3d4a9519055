"""Identification of the dynamics of a robot from recorded joint states."""
