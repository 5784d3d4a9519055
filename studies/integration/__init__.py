# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The study of Müller and Terze: which group to choose for the configuration of bodies."""
