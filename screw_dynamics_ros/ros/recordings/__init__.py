# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings of rosbag2, as MCAP or SQLite, read and written without ROS."""
