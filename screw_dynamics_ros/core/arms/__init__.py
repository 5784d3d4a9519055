# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arms: inverse kinematics on a Jacobian, and all solutions in closed form."""
