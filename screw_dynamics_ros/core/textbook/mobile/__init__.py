# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mobile manipulators and trailers; doc/theory/mobile_robots.md."""

from screw_dynamics_ros.core.textbook.mobile.base_dynamics import BaseDynamics
from screw_dynamics_ros.core.textbook.mobile.mobile_kinematics import MobileKinematics
from screw_dynamics_ros.core.textbook.mobile.mobile_manipulator import MobileManipulator
from screw_dynamics_ros.core.textbook.mobile.platform_description import (
    on_planar_joint,
    platform_from,
)
from screw_dynamics_ros.core.textbook.mobile.tool_kinematics import ToolKinematics
from screw_dynamics_ros.core.textbook.mobile.trailers import Trailer, TrailerChain

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
