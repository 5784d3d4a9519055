# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The model of a robot beside those of Pinocchio, MuJoCo and KDL; differences explained."""
