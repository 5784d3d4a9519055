# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states processed by compiled code without Python: waiting, checks, kernel, publishing."""
