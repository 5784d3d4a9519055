# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Displacement of a pose from another one, as a screw without branches.

With D = C^-1 C_target = (R, r), rotation angle theta and axis e,

    error = (2 sin(theta / 2) e, r) = (vec(R - R^T) / sqrt(1 + tr R), r),

since vec(R - R^T) = 2 sin(theta) e and 1 + tr R = (2 cos(theta / 2))^2. 120 degrees about z,
and one unit along x: 2 sin(60 degrees) = 1.7321.

>>> target = np.eye(4)
>>> target[:2, :2], target[0, 3] = [[-0.5, -np.sqrt(0.75)], [np.sqrt(0.75), -0.5]], 1.0
>>> pose_error(np.eye(4), target).round(4)
array([0.    , 0.    , 1.7321, 1.    , 0.    , 0.    ])

Source: Bruyninckx 2010 (3.47)-(3.50) (B-051), with half the angle.
"""

from __future__ import annotations

import numpy as np

from ..types import Array


def pose_error(C: Array, target: Array) -> Array:
    """Return the displacement from C to the target in the frame of C, (6,) [rad, m].

    The angular part is 2 sin(angle / 2) times the axis, which agrees with the logarithm to third
    order, grows almost to half a turn, where it has no direction and is zero, and needs no branch.
    """
    R = C[:3, :3].T @ target[:3, :3]
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    half_turn = 1.0 + np.trace(R)  # (2 cos(angle / 2))^2, at least rounding error
    return np.concatenate(
        [axis / np.sqrt(half_turn + 1e-12), C[:3, :3].T @ (target[:3, 3] - C[:3, 3])]
    )
