# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Serial arms by families: closed forms of their inverse position kinematics, from few lengths."""
