# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states by name: from messages of drivers to one validated (q, v, tau)."""
