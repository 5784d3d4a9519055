# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The multibody tree of the recursions, with names and limits of its coordinates."""
