# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coordinates of planar and floating joints from the pose of their child link, and back.

C is the pose of the child link in the frame of the joint, V its body twist. A floating joint has
the coordinates (x, y, z, qx, qy, qz, qw) and the velocities V. A planar joint has (x, y, phi) and
their rates, in the axes Q of its plane, the third of which is the normal:

    C = Q T(x, y) R_z(phi) Q^T,        V = Q (0, 0, phi', R_z(phi)^T (x', y', 0)).

A link that turns about the normal x with 2 rad/s, 1 m from the origin:

>>> joint = PlanarCoordinates(np.array([1.0, 0.0, 0.0]))
>>> pose, twist = joint.motion(np.array([1.0, 0.0, np.pi / 2]), np.array([0.0, 0.0, 2.0]))
>>> pose[:3, 3].round(6), twist.round(6)
(array([0., 1., 0.]), array([2., 0., 0., 0., 0., 0.]))
>>> joint.state(pose, twist)[0].round(4)
array([1.    , 0.    , 1.5708])

Source: macro joints as in Müller 2018a, tables 1 and 2 (K-10).
"""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError
from ..lie import quaternions, se3, so3
from ..tree.multibody_tree import rotation_of_z_to
from ..types import Array

PLANE_TOLERANCE = 1e-3  # distance [m] and angle [rad] from the plane of a joint


class FreeCoordinates:
    """Of a floating joint."""

    def check(self, pose: Array) -> None:
        """Accept all poses."""

    def state(self, pose: Array, twist: Array) -> tuple[Array, Array]:
        """Return coordinates (7,) and velocities (6,) from C (4, 4) and V (6,)."""
        return np.array([*pose[:3, 3], *quaternions.from_matrix(pose[:3, :3])]), twist

    def motion(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return C (4, 4) and V (6,) from coordinates and velocities."""
        return se3.pose(quaternions.to_matrix(q[3:]), q[:3]), v


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

    def state(self, pose: Array, twist: Array) -> tuple[Array, Array]:
        """Return coordinates and velocities (3,) from C (4, 4) and V (6,), projected."""
        R, r = self._Q.T @ pose[:3, :3] @ self._Q, self._Q.T @ pose[:3, 3]
        omega, v = self._Q.T @ twist[:3], R @ self._Q.T @ twist[3:]
        return np.array([*r[:2], np.arctan2(R[1, 0], R[0, 0])]), np.array([*v[:2], omega[2]])

    def motion(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return C (4, 4) and V (6,) from coordinates and velocities."""
        R = so3.exp([0.0, 0.0, q[2]])
        omega, velocity = np.array([0.0, 0.0, v[2]]), R.T @ [v[0], v[1], 0.0]
        return (
            se3.pose(self._Q @ R @ self._Q.T, self._Q @ [q[0], q[1], 0.0]),
            np.concatenate([self._Q @ omega, self._Q @ velocity]),
        )
