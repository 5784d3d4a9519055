# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Builtin functions that call compiled kernels: the C interfaces of CPython and NumPy."""
