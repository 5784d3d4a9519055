# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mobile manipulators and trailers; doc/theory/mobile_robots.md."""

from .base_dynamics import BaseDynamics
from .mobile_kinematics import MobileKinematics, ToolKinematics
from .mobile_manipulator import MobileManipulator
from .platform_description import on_planar_joint, platform_from
from .trailers import Trailer, TrailerChain

__all__ = [
    'BaseDynamics',
    'MobileKinematics',
    'MobileManipulator',
    'ToolKinematics',
    'Trailer',
    'TrailerChain',
    'on_planar_joint',
    'platform_from',
]
