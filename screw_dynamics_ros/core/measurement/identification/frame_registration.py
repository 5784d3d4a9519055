# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Poses of the instrument and the target in closed form, as initial values of the fit.

The measured pose of a target is base T_i target, with the known pose T_i of a link and arbitrary
base and target ("robot-world and hand-eye calibration"). Errors of the robot cause small residuals,
which the subsequent fit explains.
"""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.lie.orientations import nearest_rotation
from screw_dynamics_ros.core.types import Array

#: Ratio of singular values below which rotations or points do not determine the frames.
DEGENERACY_TOLERANCE = 1e-6


def register_frames(T: Array, measured: Array) -> tuple[Array, Array]:
    """Return base and target (4, 4) with measured_i = base T_i target, T and measured (N, 4, 4).

    The rotations maximize sum tr(R_measured^T R_base R_i R_target): they are the singular vectors
    of the largest singular value of the sum of Kronecker products R_measured,i (x) R_i. The
    positions follow by linear least squares.

    Raises ArgumentError if the rotations of T have fewer than two axes.

    Source: Shah 2013, *Solving the robot-world/hand-eye calibration problem using the Kronecker
    product*, Journal of Mechanisms and Robotics 5(3).
    """
    R, S = T[:, :3, :3], measured[:, :3, :3]
    K = np.einsum('nij,nkl->ikjl', S, R).reshape(9, 9)
    U, s, V_T = np.linalg.svd(K)
    # vec(R_base) and vec(R_target^T), up to a common sign, which the determinants fix.
    if s[0] - s[1] < DEGENERACY_TOLERANCE * s[0]:
        raise ArgumentError(
            'the measured poses do not separate base and target: rotate the link about at least '
            'two different axes, or give the pose of one of them'
        )
    base, target = U[:, 0].reshape(3, 3), V_T[0].reshape(3, 3).T
    sign = np.sign(np.linalg.det(base))
    base, target = nearest_rotation(sign * base), nearest_rotation(sign * target.T).T
    # r_measured = R_base (R_i r_target + r_i) + r_base
    A = np.concatenate([base @ R, np.broadcast_to(np.eye(3), R.shape)], axis=2).reshape(-1, 6)
    b = measured[:, :3, 3] - T[:, :3, 3] @ base.T
    x, _, rank, _ = np.linalg.lstsq(A, b.ravel(), rcond=DEGENERACY_TOLERANCE)
    if rank < 6:
        raise ArgumentError(
            'the measured poses do not determine the positions of base and target; rotate the link '
            'about at least two different axes'
        )
    return se3.pose(base, x[3:]), se3.pose(target, x[:3])


def register_points(points: Array, measured: Array) -> Array:
    """Return the pose (4, 4) of a frame from points (N, 3) in it and their measurements (N, 3).

    Least squares in closed form: the rotation nearest to the correlation of both (Kabsch).

    Raises ArgumentError if the points are on one line.

    >>> x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> register_points(x, x @ se3.exp([0, 0, np.pi / 2, 0, 0, 0])[:3, :3].T + 1).round(6) + 0.0
    array([[ 0., -1.,  0.,  1.],
           [ 1.,  0.,  0.,  1.],
           [ 0.,  0.,  1.,  1.],
           [ 0.,  0.,  0.,  1.]])
    """
    center, seen = points.mean(axis=0), measured.mean(axis=0)
    K = (measured - seen).T @ (points - center)
    U, s, V_T = np.linalg.svd(K)
    if s[1] <= DEGENERACY_TOLERANCE * s[0]:
        raise ArgumentError(
            'the measured points are on one line, which does not determine the pose of the base; '
            'distribute them, or give that pose'
        )
    R = U @ np.diag([1.0, 1.0, np.linalg.det(U @ V_T)]) @ V_T
    return se3.pose(R, seen - R @ center)
