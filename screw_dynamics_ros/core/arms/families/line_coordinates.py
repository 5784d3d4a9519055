# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coordinates of a point on a line in which rigid motions act linearly.

For a point p and a direction d through it, the 15 numbers

    x = (1, p, d, p.p, p.d, p x d, (p.p) d - 2 (p.d) p)

of a displaced point and direction are linear in those before: x' = D(C) x with the (15, 15) matrix
D(C), a representation of the rigid motions, D(A B) = D(A) D(B). The entries of D are linear in
those of the rotation, so for a rotation by theta about a fixed axis

    D(exp(theta X)) = D_0 + D_c cos(theta) + D_s sin(theta).

These are the equations that Raghavan and Roth eliminate joint angles with.

Source: Raghavan and Roth, Inverse kinematics of the general 6R manipulator and related linkages
(1993); Bruyninckx 2010, section 7.8 (C-100).
"""

from __future__ import annotations

import numpy as np

from ...lie import se3, so3
from ...linear import zeros
from ...types import Array

SIZE = 15


def line_coordinates(p: Array, d: Array) -> Array:
    """Return x (15,) of a point p (3,) [m] and a direction d (3,)."""
    pp, pd = p @ p, p @ d
    return np.concatenate([[1.0], p, d, [pp, pd], np.cross(p, d), pp * d - 2.0 * pd * p])


def displacement_matrix(C: Array) -> Array:
    """Return D(C), (15, 15), of a rigid motion C (4, 4); may be recorded.

    Examples
    --------
    >>> C = se3.exp([0.3, -0.2, 0.5, 1.0, 2.0, 3.0])
    >>> p, d = np.array([1.0, 0.0, 2.0]), np.array([0.0, 1.0, 0.0])
    >>> moved = line_coordinates(C[:3, :3] @ p + C[:3, 3], C[:3, :3] @ d)
    >>> bool(np.allclose(displacement_matrix(C) @ line_coordinates(p, d), moved))
    True
    """
    R, t = C[:3, :3], C[:3, 3]
    tR, tt, across = t @ R, t @ t, so3.hat(t) @ R
    D = zeros((SIZE, SIZE), C)
    one, p, d, pp, pd, m, w = 0, slice(1, 4), slice(4, 7), 7, 8, slice(9, 12), slice(12, 15)
    D[one, one] = 1.0
    D[p, one], D[p, p] = t, R
    D[d, d] = R
    D[pp, one], D[pp, p], D[pp, pp] = tt, 2.0 * tR, 1.0
    D[pd, d], D[pd, pd] = tR, 1.0
    D[m, d], D[m, m] = across, R
    D[w, d], D[w, pd] = tt * R - 2.0 * np.outer(t, tR), -2.0 * t
    D[w, m], D[w, w] = -2.0 * across, R
    return D


def rotation_terms(X: Array, sign: float = 1.0) -> Array:
    """Return (D_0, D_c, D_s), (3, 15, 15), of the rotations exp(sign theta X) about a fixed axis.

    Parameters
    ----------
    X : (6,) array
        Unit screw of a revolute joint.
    sign : float
        1, or -1 for the inverse rotations.
    """
    angles = 2.0 * np.pi / 3.0 * np.arange(3)
    D = np.stack([displacement_matrix(se3.exp_unit_screw(X, sign * angle)) for angle in angles])
    waves = np.stack([np.full(3, 0.5), np.cos(angles), np.sin(angles)])
    return 2.0 / 3.0 * np.einsum('an,nij->aij', waves, D)
