# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which lines and branches of the package the tests run, in their process and in those of nodes."""
