# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics and statics with Jacobians: joint positions, rates, accelerations, torques."""
