# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse problems, solved with numbers: positions, rates, accelerations and forces of joints."""
