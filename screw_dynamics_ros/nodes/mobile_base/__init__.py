# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `odometry`: pose of a wheeled platform, and feasible twists."""
