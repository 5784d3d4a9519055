# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Families of serial arms that share a closed form of the inverse position kinematics."""
