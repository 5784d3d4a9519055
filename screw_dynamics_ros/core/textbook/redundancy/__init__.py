# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Redundancy: cyclicity, dexterity, obstacles, optimal paths and torques."""
