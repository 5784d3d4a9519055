# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coordinates of planar, ball and floating joints from the pose of their child link, and back.

C is the pose of the child link in the frame of the joint, V its body twist. A floating joint has
the coordinates (x, y, z, qx, qy, qz, qw) and the velocities V, a ball joint the last four and the
angular velocity. A planar joint has (x, y, phi) and their rates, in the axes Q of its plane, the
third of which is the normal:

    C = Q T(x, y) R_z(phi) Q^T,        V = Q (0, 0, phi', R_z(phi)^T (x', y', 0)).

A link that rotates about the normal x with 2 rad/s, 1 m from the origin:

>>> joint = PlanarCoordinates(np.array([1.0, 0.0, 0.0]))
>>> pose, twist = joint.motion(np.array([1.0, 0.0, np.pi / 2]), np.array([0.0, 0.0, 2.0]))
>>> pose[:3, 3].round(6), twist.round(6)
(array([0., 1., 0.]), array([2., 0., 0., 0., 0., 0.]))
>>> C, V = joint.aligned(pose, twist)
>>> q, v = np.zeros((2, 3))
>>> write_planar(free_coordinates(C), V, q, v)
>>> q.round(4), v.round(4)
(array([1.    , 0.    , 1.5708]), array([0., 0., 2.]))

Source: macro joints as in Müller 2018a, tables 1 and 2 (K-10).
"""

from __future__ import annotations

import math

import numpy as np

from ..compile.typed.functions import Floats, typed
from ..errors import ArgumentError
from ..lie import quaternions, se3, so3
from ..lie.joint_groups import SE3, RotationGroup
from ..tree.multibody_tree import rotation_of_z_to
from ..types import Array

PLANE_TOLERANCE = 1e-3  # distance [m] and angle [rad] from the plane or center of a joint


def free_coordinates(pose: Array) -> Array:
    """Return position and unit quaternion (7,) of a pose (4, 4), q of a floating joint."""
    return np.array([*pose[:3, 3], *quaternions.from_matrix(pose[:3, :3])])


class FreeCoordinates:
    """Of a floating joint, or a ball joint.

    Parameters
    ----------
    group : RotationGroup
        `SE3` or `SO3`.
    """

    def __init__(self, group: RotationGroup = SE3) -> None:
        self._group = group

    def check(self, pose: Array) -> None:
        """Raise `ArgumentError` if a pose (4, 4) of a ball is not at its center."""
        error = float(np.linalg.norm(pose[:3, 3] - self._group.position(free_coordinates(pose))))
        if error > PLANE_TOLERANCE:
            raise ArgumentError(
                f'the pose is {error:.3g} m from the center of the ball joint; describe it as a '
                'floating joint'
            )

    def aligned(self, pose: Array, twist: Array | None) -> tuple[Array, Array | None]:
        """Return C (4, 4) and V (6,)."""
        return pose, twist

    def motion(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return C (4, 4) and V (6,) from coordinates and velocities."""
        return self._group.pose(q), np.append(v, np.zeros(6 - len(v)))


class PlanarCoordinates:
    """Of a planar joint.

    Parameters
    ----------
    axis : (3,) array
        Unit normal of the plane.
    """

    def __init__(self, axis: Array) -> None:
        self._Q = rotation_of_z_to(axis)

    def check(self, pose: Array) -> None:
        """Raise `ArgumentError` if a pose (4, 4) is not one in the plane."""
        distance, tilt = (self._Q.T @ pose[:3, 3])[2], (self._Q.T @ pose[:3, :3] @ self._Q)[:2, 2]
        error = max(abs(distance), float(np.linalg.norm(tilt)))
        if error > PLANE_TOLERANCE:
            raise ArgumentError(
                f'the pose leaves the plane of the joint by {error:.3g} (m or rad); describe it as '
                'a floating joint'
            )

    def aligned(self, pose: Array, twist: Array | None) -> tuple[Array, Array | None]:
        """Return C (4, 4) and V (6,) in the axes Q."""
        C = se3.pose(self._Q.T, np.zeros(3))
        return C @ pose @ C.T, None if twist is None else (twist.reshape(2, 3) @ self._Q).ravel()

    def motion(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return C (4, 4) and V (6,) from coordinates and velocities."""
        R = so3.exp([0.0, 0.0, q[2]])
        omega, velocity = np.array([0.0, 0.0, v[2]]), R.T @ [v[0], v[1], 0.0]
        return (
            se3.pose(self._Q @ R @ self._Q.T, self._Q @ [q[0], q[1], 0.0]),
            np.concatenate([self._Q @ omega, self._Q @ velocity]),
        )


@typed
def write_planar(pose: Floats, twist: Floats, q: Floats, v: Floats) -> None:
    """Write coordinates and velocities (3,) of a planar joint, projected on its plane.

    `pose` (7,), that of `free_coordinates`, and `twist` (6,) are `aligned` with the plane.
    """
    x = pose[3]
    y = pose[4]
    z = pose[5]
    w = pose[6]
    q[0] = pose[0]
    q[1] = pose[1]
    q[2] = math.atan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z))
    # The position moves with R times the linear part of the twist.
    a = twist[3] + 2.0 * (x * y - w * z) * twist[4] - 2.0 * (y * y + z * z) * twist[3]
    b = twist[4] + 2.0 * (x * y + w * z) * twist[3] - 2.0 * (x * x + z * z) * twist[4]
    v[0] = a + 2.0 * (x * z + w * y) * twist[5]
    v[1] = b + 2.0 * (y * z - w * x) * twist[5]
    v[2] = twist[2]
