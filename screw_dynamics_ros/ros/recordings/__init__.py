"""Recordings of rosbag2, as MCAP or SQLite, read and written without ROS."""
