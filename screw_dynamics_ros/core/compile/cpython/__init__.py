# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Builtin functions in front of kernels: CPython and NumPy met in machine code."""
