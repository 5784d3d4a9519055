"""Calibration of a robot from recorded measurements."""
