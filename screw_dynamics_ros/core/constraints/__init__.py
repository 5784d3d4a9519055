# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion under constraints: what they demand, the wrenches that meet it, and their upkeep."""
