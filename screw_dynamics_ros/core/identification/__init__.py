"""What measurements tell about a robot: geometric calibration, accuracy."""
