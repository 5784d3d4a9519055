"""What makes ros2_control run on a simulated robot: a `<ros2_control>` tag and controllers."""
