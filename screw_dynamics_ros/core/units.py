# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Units of time."""

#: Per second: stamps are counted in them.
NANOSECONDS = 1_000_000_000
