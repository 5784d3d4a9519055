# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The model of a running robot: kernel, state, terms of the joint torques."""
