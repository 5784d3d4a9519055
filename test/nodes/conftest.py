# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tests of nodes need ROS 2."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec('rclpy') else ['*']
