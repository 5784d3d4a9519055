"""The ROS border: joint-state policies, messages, diagnostics and parameters around the core."""
