# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lie groups of rigid motion, the algebra of screws, and what is written down with them.

Groups and algebra: `so3` rotations, `se3` rigid motions, `so3xr3` their direct-product rival,
`quaternions`, and `screws`: axes, products, frame changes, representations of twists and wrenches.
Geometry: `points`, `orientations`, `euler` angles, `poses`. Spaces of twists and wrenches:
`screw_systems`. Lines, accelerations and impedances: `core.textbook.screw_geometry`.
"""

from screw_dynamics_ros.core.lie import (
    euler,
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
