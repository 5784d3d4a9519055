# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What makes ros2_control run on a simulated robot: a `<ros2_control>` tag and controllers."""
