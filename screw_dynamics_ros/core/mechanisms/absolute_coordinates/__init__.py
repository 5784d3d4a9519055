# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Multibody systems in absolute coordinates; doc/theory/absolute_coordinates.md."""

from .bodies import GROUND, AbsoluteBody, ConstraintJoint, frame
from .body_equations import Coupling
from .groups import SE3, ConfigurationGroup, GroupState, SO3xR3, StateGroup
from .lower_pairs import (
    CYLINDRICAL,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    WELD,
    LowerPair,
    lower_pair,
)
from .system import AbsoluteSystem
from .system_equations import Energy, Stabilization, Violation

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
