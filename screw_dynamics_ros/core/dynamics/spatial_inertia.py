# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inertias of bodies and their transport between frames.

With the mass m, the first moment h = m d and the inertia I about the origin of the body's frame,
for twists (omega, v),

    M = [[I, h~], [-h~, m 1]],    M V = (I omega + h x v, m v - h x omega),
    M' = Ad_{C^-1}^T M Ad_{C^-1}  in another frame,
    theta = 1/2 tr(I) 1 - I,    Sigma = [[theta, h], [h^T, m]],    Sigma' = C Sigma C^T.

Example: a mass of 2 moved to x = 3 has the first moment 6 and the inertia m x^2 = 18 about y and z:

>>> C = np.eye(4)
>>> C[0, 3] = 3.0
>>> m, h, I = transported(C, (2.0, np.zeros(3), np.zeros((3, 3))))
>>> m, h, I.diagonal()
(2.0, array([6., 0., 0.]), array([ 0., 18., 18.]))

Source: Müller 2018b (34), (39), (40), (47), (51), (87) corrected (D-17, D-18, D-36).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lie.se3 import Ad_r
from ..lie.so3 import hat
from ..linear import lasting_axis, symmetric, zeros
from ..tree.multibody_tree import Body
from ..types import Array

#: Mass m, first moment h = m d and inertia about the origin of a frame, all in that frame.
RigidInertia = tuple[Any, Array, Array]


def added(a: RigidInertia, b: RigidInertia) -> RigidInertia:
    """Return the inertia of two bodies that move as one."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def inertia_matrix(body: Body) -> Array:
    """Return the (6, 6) inertia matrix [[I, h~], [-h~, m 1]] of a body in its own frame (D-17)."""
    return np.block([[body.I, hat(body.h)], [-hat(body.h), body.m * np.eye(3)]])


def binet(I: Array) -> Array:  # noqa: E741
    """Return Binet's inertia theta = 1/2 tr(I) 1 - I, (3, 3) (D-17)."""
    x, y, z = I.diagonal()
    theta = -I
    theta[[0, 1, 2], [0, 1, 2]] = 0.5 * (y + z - x), 0.5 * (z + x - y), 0.5 * (x + y - z)
    return theta


def pseudo_inertia(inertia: RigidInertia) -> Array:
    """Return [[theta, h], [h^T, m]], (4, 4): the sum of (r, 1) (r, 1)^T dm (D-17, D-36).

    In another frame it is C Sigma C^T. The parameters are physically possible if and only if it is
    positive semidefinite; it is definite unless all mass lies in a plane.
    """
    m, h, I = inertia  # noqa: E741
    return np.block([[binet(I), h[:, None]], [h[None], np.reshape(m, (1, 1))]])


def from_pseudo_inertia(Sigma: Array) -> RigidInertia:
    """Return (m, h, I) of a pseudo-inertia (4, 4): I = tr(theta) 1 - theta (D-17)."""
    theta = Sigma[:3, :3]
    return Sigma[3, 3], Sigma[:3, 3], np.trace(theta) * np.eye(3) - theta


def momentum(inertia: RigidInertia, V: Array) -> Array:
    """Return M V = (I omega + h x v, m v - h x omega) for twists V, (6,) or (6, k) (D-18)."""
    m, h, I = inertia  # noqa: E741
    omega, v = V[:3], V[3:]
    return np.concatenate([I @ omega + hat(h) @ v, m * v - hat(h) @ omega])


def transported(C: Array, inertia: RigidInertia) -> RigidInertia:
    """Return a rigid inertia, given in a body's frame, in the frame of its predecessor (D-17).

    I' = R I R^T - r~ (R h)~ - (R h)~ r~ - m r~ r~: the parallel axis theorem for a body with
    arbitrary first moment.
    """
    m, h, I = inertia  # noqa: E741
    R, r = C[:3, :3], C[:3, 3]
    Rh = R @ h
    shift = symmetric(hat(r) @ hat(Rh) + hat(Rh) @ hat(r) + m * (hat(r) @ hat(r)))
    return m, Rh + m * r, symmetric(rotated(R, I)) - shift


def displacement_rate(inertia: RigidInertia, X: Array) -> RigidInertia:
    """Return the derivative of M with respect to a displacement of the body along X, (6,).

    -ad_X^T M - M ad_X: with X = (xi, eta), the derivative of the first moment is xi x h + m eta,
    that of the inertia xi~ I - I xi~ - eta~ h~ - h~ eta~, and that of the mass zero.
    """
    m, h, I = inertia  # noqa: E741
    xi, eta = hat(X[:3]), hat(X[3:])
    rate = xi @ I - I @ xi - eta @ hat(h) - hat(h) @ eta
    return 0.0, xi @ h + m * X[3:], symmetric(rate)


def transported_matrix(C: Array, P: Array) -> Array:
    """Return Ad_{C^-1}^T P Ad_{C^-1}: a symmetric (6, 6) inertia in the predecessor's frame (D-17).

    In two steps, Ad_{C^-1} = Ad_R^T Ad_{-r}: first a rotation, then a translation, with half of the
    operations.
    """
    R, r = C[:3, :3], C[:3, 3]
    shift = Ad_r(-r)
    coupling = rotated(R, P[:3, 3:])
    P_R = np.block([[rotated(R, P[:3, :3]), coupling], [coupling.T, rotated(R, P[3:, 3:])]])
    return symmetric(shift.T @ P_R @ shift)


def rotated(R: Array, A: Array) -> Array:
    """Return R A R^T, (3, 3): a matrix A in other axes.

    Rotations about a coordinate axis, as of most joints, are a special case with half of the
    operations. In the plane normal to the axis, trace and skew part of A are invariant, and
    (A_kk - A_ll, A_kl + A_lk) rotates by twice the angle.
    """
    axis = lasting_axis(R)
    if axis is None:
        return R @ A @ R.T
    i, j = axis
    (m, n), (k, l) = np.delete(range(3), i), np.delete(range(3), j)  # noqa: E741
    a, b = R[m, [k, l]]  # cosine and sine, up to order and signs
    sense = R[i, j] * (-1.0) ** (i + j)  # row n is sense (-b, a), since det R = 1
    turn = a * (A[k, l] + A[l, k]) - b * (A[k, k] - A[l, l])
    across = R[i, j] * R[np.ix_([m, n], [k, l])]
    result = zeros((3, 3), R, A)
    result[i, i] = A[j, j]
    result[m, m], result[n, n] = A[k, k] + b * turn, A[l, l] - b * turn
    result[m, n], result[n, m] = sense * (a * turn - A[l, k]), sense * (a * turn - A[k, l])
    result[[m, n], i], result[i, [m, n]] = across @ A[[k, l], j], across @ A[j, [k, l]]
    return result
