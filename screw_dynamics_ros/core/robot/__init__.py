# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Class Robot: functions of a robot, compiled when they are first called."""
