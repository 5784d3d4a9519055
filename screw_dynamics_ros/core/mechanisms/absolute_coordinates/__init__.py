# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Multibody systems in absolute coordinates; doc/theory/absolute_coordinates.md."""

from screw_dynamics_ros.core.mechanisms.absolute_coordinates.bodies import (
    GROUND,
    AbsoluteBody,
    ConstraintJoint,
    frame,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.body_equations import Coupling
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.groups import (
    SE3,
    ConfigurationGroup,
    GroupState,
    SO3xR3,
    StateGroup,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.lower_pairs import (
    CYLINDRICAL,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    WELD,
    LowerPair,
    lower_pair,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.system import AbsoluteSystem
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.system_values import (
    Energy,
    Stabilization,
    Violation,
)

__all__ = [
    'CYLINDRICAL',
    'GROUND',
    'PLANAR',
    'PRISMATIC',
    'REVOLUTE',
    'SE3',
    'SPHERICAL',
    'WELD',
    'AbsoluteBody',
    'AbsoluteSystem',
    'ConfigurationGroup',
    'ConstraintJoint',
    'Coupling',
    'Energy',
    'GroupState',
    'LowerPair',
    'SO3xR3',
    'Stabilization',
    'StateGroup',
    'Violation',
    'frame',
    'lower_pair',
]
