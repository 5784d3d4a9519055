# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rigid motions: the group SE(3), its algebra se(3) = R^6 and the maps between them.

Angular part first: a twist or screw X = (xi, eta) has shape (..., 6), xi in rad (or rad/s), eta in
m (or m/s). A pose C = [[R, r], [0, 1]] of shape (..., 4, 4) maps the coordinates of the moved frame
to those of the reference frame. Leading axes are stacks and broadcast. Derivatives are trivialized
on the right: dexp_X Xdot = vee(Cdot C^-1), the spatial twist; dexp_{-X} Xdot is the body-fixed one.

NaN in gives NaN out, without an exception. `hat`, `vee`, `ad`, `Ad`, `Ad_R`, `Ad_r`, `inverse`,
`compose` and `pose` are free of branches on values and accept object arrays (traced scalars), as
does the joint variable of `exp_unit_screw`. `exp`, `dexp` and `dexp_inv` accept recorded scalars,
for which they have a separate form without branches.

Sources, listed in doc/spec/README.md, with their errata (doc/spec/muller_errata.md): Müller 2018a,
appendix A; Müller 2018b, section 7 and appendix B; Müller and Terze, section 2.
"""

from math import factorial

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..types import Array
from . import so3
from ._arrays import (
    SERIES_TERMS,
    as_float_stack,
    as_recordable_stack,
    as_stack,
    by_angle,
    check_pose,
    check_regular_angle,
    cosine_sine,
    length,
)

# dexp_X = I + c1 a + c2 a^2 + c3 a^3 + c4 a^4 and dexp_X^-1 = I - a/2 + d2 a^2 + d4 a^4, a = ad_X.
# Both follow from the exponential series and a^5 = -2 t^2 a^3 - t^4 a; series in t^2.
_N = range(1, SERIES_TERMS + 1)
_C1 = [(-1) ** (n + 1) * (2 - n) / factorial(2 * n) for n in _N]
_C2 = [(-1) ** n * (n - 2) / factorial(2 * n + 1) for n in _N]
_C3 = [(-1) ** (n + 1) * n / factorial(2 * n + 2) for n in _N]
_C4 = [(-1) ** (n + 1) * n / factorial(2 * n + 3) for n in _N]
_D2 = [(2 - n) * so3.BERNOULLI[n - 1] for n in _N]
_D4 = [-n * so3.BERNOULLI[n] for n in _N]


def hat(X: npt.ArrayLike) -> Array:
    """Return the matrix X^ = [[xi~, eta], [0, 0]] (...,4,4) of X (...,6).

    Source: Müller 2018a (94) (K-01).

    >>> hat([1, 2, 3, 4, 5, 6])
    array([[ 0., -3.,  2.,  4.],
           [ 3.,  0., -1.,  5.],
           [-2.,  1.,  0.,  6.],
           [ 0.,  0.,  0.,  0.]])
    """
    X = as_stack('se3.hat', 'X', X, 6)
    matrix = np.zeros((*X.shape[:-1], 4, 4), dtype=X.dtype)
    matrix[..., :3, :3] = so3.hat(X[..., :3])
    matrix[..., :3, 3] = X[..., 3:]
    return matrix


def vee(matrix: npt.ArrayLike) -> Array:
    """Return the vector (...,6) of a matrix [[xi~, eta], [0, 0]] (...,4,4), the inverse of `hat`.

    Source: Müller 2018a (84), (94) (K-01).

    >>> vee(hat([1, 2, 3, 4, 5, 6]))
    array([1., 2., 3., 4., 5., 6.])
    """
    matrix = as_stack('se3.vee', 'matrix', matrix, 4, 4)
    return np.concatenate([so3.vee(matrix[..., :3, :3]), matrix[..., :3, 3]], axis=-1)


def ad(X: npt.ArrayLike) -> Array:
    """Return the matrix [[xi~, 0], [eta~, xi~]] (...,6,6) of the screw product [X, Y] = ad_X Y.

    Source: Müller 2018b (113) to (119) (D-01); Müller and Terze (7) (I-03).

    >>> ad([1, 2, 3, 4, 5, 6]) @ [-1, 0.5, 2, 0, 1, -3]
    array([  2.5,  -5. ,   2.5,  -2. , -11. ,   8. ])
    """
    X = as_stack('se3.ad', 'X', X, 6)
    matrix = np.zeros((*X.shape, 6), dtype=X.dtype)
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = so3.hat(X[..., :3])
    matrix[..., 3:, :3] = so3.hat(X[..., 3:])
    return matrix


def Ad(C: npt.ArrayLike) -> Array:
    """Return the adjoint matrix [[R, 0], [r~ R, R]] (...,6,6): Ad_C X = vee(C X^ C^-1).

    If C is the pose of frame 2 in frame 1, Ad_C maps screw coordinates in 2 to those in 1.

    Source: Müller 2018a (87) to (91) (K-06).

    >>> C = pose(so3.exp([0, 0, np.pi / 2]), [1, 2, 3])
    >>> (Ad(C) @ [0, 0, 1, 0, -1, 0.5]).round(6) + 0.0
    array([ 0. ,  0. ,  1. ,  3. , -1. ,  0.5])
    """
    C = as_stack('se3.Ad', 'C', C, 4, 4)
    matrix = Ad_R(C[..., :3, :3])
    matrix[..., 3:, :3] = so3.hat(C[..., :3, 3]) @ C[..., :3, :3]
    return matrix


def Ad_R(R: npt.ArrayLike) -> Array:
    """Return the adjoint matrix diag(R, R) (...,6,6) of a rotation (...,3,3).

    Source: Müller 2018a (87) to (92) (K-06).

    >>> Ad_R(so3.exp([0, 0, np.pi / 2])).round(6) @ [1, 0, 0, 0, 1, 0]
    array([ 0.,  1.,  0., -1.,  0.,  0.])
    """
    R = as_stack('se3.Ad_R', 'R', R, 3, 3)
    matrix = np.zeros((*R.shape[:-2], 6, 6), dtype=R.dtype)
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = R
    return matrix


def Ad_r(r: npt.ArrayLike) -> Array:
    """Return the adjoint matrix [[I, 0], [r~, I]] (...,6,6) of a translation (...,3), m.

    Ad_C = Ad_r Ad_R: change of axes, then of reference point.

    Source: Müller 2018a (87) to (92) (K-06).

    >>> Ad_r([1, 0, 0]) @ [0, 0, 1, 0, 0, 0]
    array([ 0.,  0.,  1.,  0., -1.,  0.])
    """
    r = as_stack('se3.Ad_r', 'r', r, 3)
    matrix = np.zeros((*r.shape[:-1], 6, 6), dtype=r.dtype)
    matrix[..., range(6), range(6)] = 1.0
    matrix[..., 3:, :3] = so3.hat(r)
    return matrix


def pose(R: npt.ArrayLike, r: npt.ArrayLike) -> Array:
    """Return the pose [[R, r], [0, 1]] (...,4,4) of a rotation (...,3,3) and a position (...,3), m.

    Source: Müller 2018a (76) to (79) (K-03).

    >>> pose(np.eye(3), [1, 2, 3])[:3, 3]
    array([1., 2., 3.])
    """
    R, r = as_stack('se3.pose', 'R', R, 3, 3), as_stack('se3.pose', 'r', r, 3)
    stack = np.broadcast_shapes(R.shape[:-2], r.shape[:-1])
    C = np.zeros((*stack, 4, 4), dtype=np.result_type(R, r))
    C[..., :3, :3], C[..., :3, 3], C[..., 3, 3] = R, r, 1.0
    return C


def compose(C1: npt.ArrayLike, C2: npt.ArrayLike) -> Array:
    """Return the group product C1 C2 = (R1 R2, r1 + R1 r2) (...,4,4).

    Source: Müller 2018a (76) to (79) (K-03); Müller and Terze (5) (I-01).

    >>> compose(pose(np.eye(3), [1, 0, 0]), pose(np.eye(3), [0, 2, 0]))[:3, 3]
    array([1., 2., 0.])
    """
    C1, C2 = as_stack('se3.compose', 'C1', C1, 4, 4), as_stack('se3.compose', 'C2', C2, 4, 4)
    product: Array = C1 @ C2
    return product


def inverse(C: npt.ArrayLike) -> Array:
    """Return the inverse (R^T, -R^T r) (...,4,4).

    Source: Müller 2018a (76) to (79) (K-03).

    >>> inverse(pose(so3.exp([0, 0, np.pi / 2]), [1, 2, 3]))[:3, 3].round(6) + 0.0
    array([-2.,  1., -3.])
    """
    C = as_stack('se3.inverse', 'C', C, 4, 4)
    R_T = np.swapaxes(C[..., :3, :3], -1, -2)
    return pose(R_T, -(R_T @ C[..., :3, 3:])[..., 0])


def exp(X: npt.ArrayLike) -> Array:
    """Return the pose (exp xi~, dexp_xi eta) (...,4,4) reached along X (...,6) in unit time.

    Müller and Terze (8) in the form without a special case for xi = 0.

    Source: Müller 2018a (84) to (86), (93) (K-05).

    >>> exp([0, 0, np.pi / 2, 1, 0, 0.5]).round(6) + 0.0
    array([[ 0.     , -1.     ,  0.     ,  0.63662],
           [ 1.     ,  0.     ,  0.     ,  0.63662],
           [ 0.     ,  0.     ,  1.     ,  0.5    ],
           [ 0.     ,  0.     ,  0.     ,  1.     ]])
    """
    X = as_recordable_stack('se3.exp', 'X', X, 6)
    xi, eta = X[..., :3], X[..., 3:]
    return pose(so3.exp(xi), (so3.dexp(xi) @ eta[..., None])[..., 0])


def log(C: npt.ArrayLike) -> Array:
    """Return the canonical coordinates (...,6), (rad, m), of a pose (...,4,4): exp(log(C)) = C.

    The rotation angle is at most pi; at exactly pi both directions of the axis are valid and one is
    returned. Raises ArgumentError if C is not a rigid motion.

    Source: Müller 2018a (84) to (86), (93) (K-05).

    >>> log(exp([0.1, -0.2, 0.3, 1, 2, 3])).round(6) + 0.0
    array([ 0.1, -0.2,  0.3,  1. ,  2. ,  3. ])
    """
    C = as_float_stack('se3.log', 'C', C, 4, 4)
    check_pose('se3.log', C)
    xi = so3.log(C[..., :3, :3])
    return np.concatenate([xi, (so3.dexp_inv(xi) @ C[..., :3, 3:])[..., 0]], axis=-1)


def dexp(X: npt.ArrayLike) -> Array:
    """Return the right-trivialized differential of exp (...,6,6): vee(Cdot C^-1) = dexp_X Xdot.

    The sum of ad_X^k / (k + 1)!, reduced to the powers 0 to 4 because ad_X satisfies
    a^5 + 2 t^2 a^3 + t^4 a = 0 with t = |xi|.

    Source: Müller 2018b (88), (89) (D-44).

    >>> (dexp([0, 0, np.pi, 1, 0, 0]) @ [0, 0, 1, 0, 0, 0]).round(6) + 0.0
    array([ 0.      ,  0.      ,  1.      ,  0.31831 , -0.202642,  0.      ])
    """
    X = as_recordable_stack('se3.dexp', 'X', X, 6)
    t = length(X[..., :3])[..., None, None]
    c1 = by_angle(t, _C1, lambda t: (4 - 4 * np.cos(t) - t * np.sin(t)) / (2 * t**2))
    c2 = by_angle(t, _C2, lambda t: (4 * t - 5 * np.sin(t) + t * np.cos(t)) / (2 * t**3))
    c3 = by_angle(t, _C3, lambda t: (2 - 2 * np.cos(t) - t * np.sin(t)) / (2 * t**4))
    c4 = by_angle(t, _C4, lambda t: (2 * t - 3 * np.sin(t) + t * np.cos(t)) / (2 * t**5))
    a = ad(X)
    eye = np.eye(6)
    D: Array = eye + a @ (c1 * eye + a @ (c2 * eye + a @ (c3 * eye + c4 * a)))
    return D


def dexp_inv(X: npt.ArrayLike) -> Array:
    """Return the inverse of `dexp` (...,6,6): Xdot = dexp_inv(X) vee(Cdot C^-1).

    I - a/2 + d2 a^2 + d4 a^4 with a = ad_X and t = |xi|. Singular at t = 2 pi, 4 pi, ..., where it
    raises ArgumentError.

    Source: Müller 2018b (88), (89) (D-44); Müller and Terze (10) (I-08).

    >>> (dexp_inv([0.3, -0.2, 0.5, 1, 2, -1]) @ [1, 2, 3, 4, 5, 6]).round(6) + 0.0
    array([1.803355, 2.112779, 2.563099, 2.071338, 7.091302, 5.062089])
    """
    X = as_recordable_stack('se3.dexp_inv', 'X', X, 6)
    t = length(X[..., :3])
    check_regular_angle('se3.dexp_inv', t)
    t = t[..., None, None]
    # Müller and Terze (10); cos t - 1 as -2 sin^2(t/2), which is accurate near 2 pi.
    d2 = by_angle(t, _D2, lambda t: 2 / t**2 - (t + 3 * np.sin(t)) / (8 * t * np.sin(t / 2) ** 2))
    d4 = by_angle(t, _D4, lambda t: 1 / t**4 - (t + np.sin(t)) / (8 * t**3 * np.sin(t / 2) ** 2))
    a = ad(X)
    a2 = a @ a
    D: Array = np.eye(6) - 0.5 * a + a2 @ (d2 * np.eye(6) + d4 * a2)
    return D


def exp_unit_screw(X: npt.ArrayLike, q: npt.ArrayLike) -> Array:
    """Return the pose exp(X q) (...,4,4) of a joint with constant unit screw X (...,6) at q (...).

    X = (e, p × e + h e) with |e| = 1 (q in rad) or X = (0, e) (q in m). Branches depend on X only:
    q may be a traced scalar. Raises ArgumentError if X is not a unit screw.

    Source: Müller 2018a (85) (K-05).

    >>> exp_unit_screw([0, 0, 1, 0, 0, 0.1], np.pi / 2).round(6) + 0.0  # pitch 0.1 m/rad
    array([[ 0.     , -1.     ,  0.     ,  0.     ],
           [ 1.     ,  0.     ,  0.     ,  0.     ],
           [ 0.     ,  0.     ,  1.     ,  0.15708],
           [ 0.     ,  0.     ,  0.     ,  1.     ]])
    """
    return screw_motion(unit_screw_terms(X), as_stack('se3.exp_unit_screw', 'q', q))


def screw_motion(K: Array, q: npt.ArrayLike) -> Array:
    """Return the pose exp(X q) (...,4,4) at q (...), with the constants K of `unit_screw_terms`.

    >>> screw_motion(unit_screw_terms([0, 0, 0, 0, 0, 1]), 0.25)[:3, 3]
    array([0.  , 0.  , 0.25])
    """
    q = np.asarray(q)
    angle = q.astype(np.result_type(q, K))
    cosine, sine, q = (np.asarray(f)[..., None, None] for f in (*cosine_sine(angle), q))
    C: Array = (
        K[..., 0, :, :] + cosine * K[..., 1, :, :] + sine * K[..., 2, :, :] + q * K[..., 3, :, :]
    )
    return C


def unit_screw_terms(X: npt.ArrayLike) -> Array:
    """Return the constants K (...,4,4,4) with exp(X q) = K0 + cos(q) K1 + sin(q) K2 + q K3.

    K0 = [[I + e~^2, p], [0, 1]], K1 = -[[e~^2, p], [0, 0]], K2 = [[e~, p × e], [0, 0]] and
    K3 = [[0, h e], [0, 0]], with the axis point p = e × v and the pitch h = e . v of X = (e, v);
    for a prismatic X = (0, e), K0 = I and K3 = [[0, e], [0, 0]], the others are zero. A constant
    pose can be included in the terms: B exp(X q) has the terms B K. Raises ArgumentError if X is
    not a unit screw.

    Source: Müller 2018a (85) (K-05).

    >>> unit_screw_terms([0, 0, 0, 0, 0, 1])[3]  # prismatic
    array([[0., 0., 0., 0.],
           [0., 0., 0., 0.],
           [0., 0., 0., 1.],
           [0., 0., 0., 0.]])
    """
    check = as_float_stack('se3.exp_unit_screw', 'X', X, 6)
    X = np.asarray(X) if np.asarray(X).dtype == object else check
    e, v = X[..., :3], X[..., 3:]
    turns = (e != 0.0).any(axis=-1, keepdims=True)
    direction = np.where(turns, e, v)
    squares = (direction * direction).sum(axis=-1, keepdims=True)
    length = np.sqrt(squares.astype(float)).astype(X.dtype)
    off = np.abs(length - 1.0)[..., 0]
    if (off > 1e-9).any():
        raise ArgumentError(
            'se3.exp_unit_screw: X must be a unit screw, (e, v) or (0, e) with |e| = 1, '
            f'got {check[np.unravel_index(np.argmax(off), off.shape)]}; '
            'divide it by its length and scale q, or use se3.exp'
        )
    e, v = e / length, v / length
    E = so3.hat(e)
    p = _without_residue((E @ v[..., None])[..., 0], v)
    h = _without_residue(np.sum(e * v, axis=-1, keepdims=True), v)
    K = np.zeros((*X.shape[:-1], 4, 4, 4), dtype=X.dtype)
    E2 = E @ E
    K[..., 0, :, :] = np.eye(4)
    K[..., 0, :3, :3] += E2
    K[..., 0, :3, 3] = p
    K[..., 1, :3, :3] = -E2
    K[..., 1, :3, 3] = -p
    K[..., 2, :3, :3] = E
    K[..., 2, :3, 3] = _without_residue(-(E @ p[..., None])[..., 0], v)
    K[..., 3, :3, 3] = np.where(turns, h * e, v)
    return K


def _without_residue(x: Array, v: Array) -> Array:
    """Set entries of x to zero that are rounding errors of products with v.

    For example, a revolute joint has zero pitch. Otherwise every traced program would contain these
    terms.
    """
    return np.where(np.abs(x) <= 1e-15 * np.abs(v).max(axis=-1, keepdims=True), 0.0, x)
