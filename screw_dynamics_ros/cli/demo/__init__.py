# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The demo: a simulated arm, its model state over DDS, and a client that checks it."""
