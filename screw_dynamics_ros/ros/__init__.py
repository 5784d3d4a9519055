"""The ROS interface: joint-state policies, messages, diagnostics, parameters around the core."""
