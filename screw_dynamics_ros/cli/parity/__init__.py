# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compare a robot in this package, Pinocchio, MuJoCo and KDL, and explain the differences."""
