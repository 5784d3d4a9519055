# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Poses in Study's coordinates, in which a rod of given length is a quadric.

A pose (R, p) is the pair of quaternions (x, y), or any multiple of it, with R the rotation of x and
y = p x, so that p = y x* / |x|^2 and x . y = 0. Quaternions have their real part first here, and
pure ones represent vectors. For a rod from c to p + R a

    |x|^2 (t - c) = (y + x a - c x) x*      |y + x a - c x|^2 - rho^2 |x|^2 = 0

Six rods and x . y = 0 make seven quadrics in the seven-dimensional projective space of (x, y). The
points with x . x = 0 are no poses; up to 40 solutions are, real or complex.

Source: Husty, An algorithm for solving the direct kinematics of general Stewart-Gough platforms,
1996; Wampler, Forward displacement analysis of general six-in-parallel SPS (Stewart) platform
manipulators using Soma coordinates, 1996.
"""

from __future__ import annotations

import numpy as np

from ...lie import quaternions, se3
from ...types import Array

CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])
ZERO, ONE = np.zeros((4, 4)), np.eye(4)

#: The quadric x . y = 0 of all poses, of unit norm.
STUDY = np.block([[ZERO, ONE], [ONE, ZERO]]) / np.sqrt(8.0)


def left(x: Array) -> Array:
    """Return the matrix (4, 4) of the product x y of quaternions, real part first."""
    a, b, c, d = x
    return np.array([[a, -b, -c, -d], [b, a, -d, c], [c, d, a, -b], [d, -c, b, a]])


def right(x: Array) -> Array:
    """Return the matrix (4, 4) of the product y x of quaternions, real part first."""
    a, b, c, d = x
    return np.array([[a, -b, -c, -d], [b, a, d, -c], [c, -d, a, b], [d, c, -b, a]])


def rod_quadric(c: Array, a: Array, rho: float) -> Array:
    """Return the quadric M (8, 8) of a rod, (x, y)^T M (x, y) = 0, of unit norm.

    Parameters
    ----------
    c, a : (3,) arrays
        Its ends, in the base frame and in the frame of the platform, in any unit of length.
    rho : float
        Its length.
    """
    B = np.hstack([right(np.append(0.0, a)) - left(np.append(0.0, c)), ONE])
    M = B.T @ B
    M[:4, :4] -= rho**2 * ONE
    scaled: Array = M / np.linalg.norm(M)
    return scaled


def pose(z: Array, size: float) -> Array:
    """Return the pose (4, 4) of real (x, y), (8,), with `size` the unit of length [m].

    >>> pose(np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0]), 0.5)[:3, 3]
    array([0., 0., 1.])
    """
    x, y = z[:4] / np.linalg.norm(z[:4]), z[4:] / np.linalg.norm(z[:4])
    p = (right(x * CONJUGATE) @ y)[1:]
    return se3.pose(quaternions.to_matrix(np.roll(x, -1)), p * size)
