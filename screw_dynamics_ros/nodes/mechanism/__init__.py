# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `mechanism_simulator`: mechanisms with loops, simulated in absolute coordinates."""
