# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ros2_control on a simulated robot: the `<ros2_control>` tag and the controllers."""
