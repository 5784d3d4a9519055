# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `wrist_sensor`: external wrenches on the tool from a force-torque sensor."""
