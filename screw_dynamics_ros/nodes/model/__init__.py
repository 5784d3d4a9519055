"""The model of a running robot: its kernel, its state, its torques term by term."""
