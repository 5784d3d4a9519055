# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A recording of scalar operations, and what rewrites it: Program to Program."""
