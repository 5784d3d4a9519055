# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Criteria that resolve redundancy, what they do together, and motions that close (5.9)."""
