"""Motion: torques for controllers, and trajectories."""
