# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recording of recursions as straight-line programs, and their compilation for one robot."""
