# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots with kinematic loops: a tree, its loop closures, and the actuated joints."""

from .closed_robot import ClosedRobot, ClosedState
from .closure_equations import Mobility
from .hybrid import ClosedHybridMotion
from .loop_closures import LoopClosures, read_loop_closures
from .position_closure import Closing

__all__ = [
    'ClosedHybridMotion',
    'ClosedRobot',
    'ClosedState',
    'Closing',
    'LoopClosures',
    'Mobility',
    'read_loop_closures',
]
