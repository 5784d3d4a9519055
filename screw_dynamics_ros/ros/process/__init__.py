# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The process of a node: executor, scheduling, helper processes, faults, start."""
