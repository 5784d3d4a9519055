# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lie groups of rigid motions, screw algebra, and coordinates of geometric objects.

Groups and algebra: `so3` rotations, `se3` rigid motions, `so3xr3` the direct product,
`quaternions`, and `screws`: axes, products, frame changes, representations of twists and wrenches.
Geometry: `points`, `orientations`, `euler` angles, `poses`. Spaces of twists and wrenches:
`screw_systems`. Lines, accelerations and impedances: `core.textbook.screw_geometry`.
"""

from . import (
    euler,
    joint_groups,
    orientations,
    points,
    poses,
    quaternions,
    screw_systems,
    screws,
    se3,
    so3,
    so3xr3,
)

__all__ = [
    'euler',
    'joint_groups',
    'orientations',
    'points',
    'poses',
    'quaternions',
    'screw_systems',
    'screws',
    'se3',
    'so3',
    'so3xr3',
]
