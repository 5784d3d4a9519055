# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed-form kinematics of the 321 arm and other serial arms."""
