# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The nodes: parameters, publishers and callbacks around the core."""
