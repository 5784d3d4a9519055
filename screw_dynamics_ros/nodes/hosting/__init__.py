# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Host of all model nodes: one description, one subscription, one kernel for all outputs."""
