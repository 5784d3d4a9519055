# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Criteria that resolve redundancy, and their combination (Bruyninckx 2010, 5.9)."""
