"""The node `parallel_robot`: pose, velocity and forces of a platform on legs."""
