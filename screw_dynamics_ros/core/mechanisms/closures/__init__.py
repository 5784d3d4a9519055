# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots with kinematic loops: a tree, its loop closures, and the actuated joints."""

from screw_dynamics_ros.core.mechanisms.closures.closed_robot import ClosedRobot, ClosedState
from screw_dynamics_ros.core.mechanisms.closures.closure_mobility import Mobility
from screw_dynamics_ros.core.mechanisms.closures.hybrid import ClosedHybridMotion
from screw_dynamics_ros.core.mechanisms.closures.loop_closures import (
    LoopClosures,
    read_loop_closures,
)
from screw_dynamics_ros.core.mechanisms.closures.position_closure import Closing

__all__ = [
    'ClosedHybridMotion',
    'ClosedRobot',
    'ClosedState',
    'Closing',
    'LoopClosures',
    'Mobility',
    'read_loop_closures',
]
