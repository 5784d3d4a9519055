# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Show a robot in a web browser: alone, live, or from a recording."""
