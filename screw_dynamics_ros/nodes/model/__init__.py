"""A robot at work in a node: its kernel, its state, its torques term by term."""
