"""Messages: templates, their bytes, and the conventions of ROS."""
