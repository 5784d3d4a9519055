# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics: quality of service, publishers, subscriptions, other publishers of the same frames."""
