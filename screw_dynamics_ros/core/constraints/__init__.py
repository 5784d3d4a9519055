# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Constrained motion: constraints, their multipliers and wrenches, stabilization."""
