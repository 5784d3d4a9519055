# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""External joint torques from motion and motor torques: observers, one step at a time."""
