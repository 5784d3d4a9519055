# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Serial arms: inverse kinematics with Jacobians, and all solutions in closed form."""
