# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rotations: the group SO(3), its algebra so(3) = R^3 and the maps between them.

A rotation vector x = angle * axis, in rad, has shape (..., 3), a rotation matrix R, mapping the
coordinates of the rotated frame to those of the reference frame, (..., 3, 3). Leading axes are
stacks and broadcast. Derivatives are trivialized on the right: dexp_x xdot = vee(Rdot R^T), the
angular velocity in the reference frame; dexp_{-x} xdot is the one in the rotated frame.

NaN in gives NaN out, without an exception. `hat`, `vee`, `ad`, `Ad`, `inverse`, `compose` and
`exp_unit_axis` are free of branches and accept object arrays (traced scalars). `exp`, `dexp` and
`dexp_inv` accept recorded scalars, for which they have a separate form without branches.

Sources, listed in doc/spec/README.md, with their errata (doc/spec/muller_errata.md): Müller 2018a,
appendix A; Müller and Terze, section 2.
"""

from fractions import Fraction
from math import factorial

import numpy as np
import numpy.typing as npt

from ..types import Array
from . import quaternions
from ._arrays import (
    SERIES_TERMS,
    SINC,
    as_float_stack,
    as_recordable_stack,
    as_stack,
    by_angle,
    check_regular_angle,
    check_rotation,
    cosine_sine,
    length,
)

_N = range(SERIES_TERMS)
_COS = [(-1) ** n / factorial(2 * n + 2) for n in _N]  # (1 - cos t) / t^2
_DEXP = [(-1) ** n / factorial(2 * n + 3) for n in _N]  # (t - sin t) / t^3


def _bernoulli(terms: int) -> list[float]:
    """Return b_n = |B_2n| / (2n)!, n = 1, 2, ..., with 1 - (t/2) cot(t/2) = sum b_n t^2n.

    From t g' = g - g^2 - t^2/4 for g = (t/2) cot(t/2): (2n + 1) b_n = sum b_k b_(n-k), b_1 = 1/12.
    """
    b = [Fraction(1, 12)]
    for n in range(2, terms + 1):
        products = [b[k] * b[n - 2 - k] for k in range(n - 1)]
        b.append(sum(products, Fraction(0)) / (2 * n + 1))
    return list(map(float, b))


BERNOULLI = _bernoulli(SERIES_TERMS + 1)


def hat(x: npt.ArrayLike) -> Array:
    """Return the antisymmetric matrix x~ (...,3,3) of a vector (...,3): x~ y = x × y.

    Source: Müller 2018a (84) (K-01).

    >>> hat([1, 2, 3])
    array([[ 0., -3.,  2.],
           [ 3.,  0., -1.],
           [-2.,  1.,  0.]])
    """
    x = as_stack('so3.hat', 'x', x, 3)
    X = np.zeros((*x.shape, 3), dtype=x.dtype)
    X[..., 2, 1], X[..., 1, 2] = x[..., 0], -x[..., 0]
    X[..., 0, 2], X[..., 2, 0] = x[..., 1], -x[..., 1]
    X[..., 1, 0], X[..., 0, 1] = x[..., 2], -x[..., 2]
    return X


def vee(X: npt.ArrayLike) -> Array:
    """Return the vector (...,3) of an antisymmetric matrix (...,3,3), the inverse of `hat`.

    For any other matrix, the vector of its antisymmetric part (X - X^T) / 2.

    Source: Müller 2018a (84), (94) (K-01).

    >>> vee(hat([1, 2, 3]))
    array([1., 2., 3.])
    """
    X = as_stack('so3.vee', 'X', X, 3, 3)
    twice = [X[..., 2, 1] - X[..., 1, 2], X[..., 0, 2] - X[..., 2, 0], X[..., 1, 0] - X[..., 0, 1]]
    return 0.5 * np.stack(twice, axis=-1)


def ad(x: npt.ArrayLike) -> Array:
    """Return the matrix (...,3,3) of the Lie bracket, ad_x y = x × y; the same as `hat`.

    Source: Müller 2018b (113) to (119) (D-01).

    >>> ad([1, 0, 0]) @ [0, 1, 0]
    array([0., 0., 1.])
    """
    return hat(x)


def Ad(R: npt.ArrayLike) -> Array:
    """Return the adjoint matrix (...,3,3), (Ad_R x)~ = R x~ R^T; on SO(3) it is R itself.

    >>> Ad(exp([0, 0, np.pi / 2])).round(6) @ [1, 0, 0]
    array([0., 1., 0.])
    """
    return as_stack('so3.Ad', 'R', R, 3, 3)


def compose(R1: npt.ArrayLike, R2: npt.ArrayLike) -> Array:
    """Return the group product R1 R2 (...,3,3).

    >>> log(compose(exp([0, 0, 0.25]), exp([0, 0, 0.5]))).round(6) + 0.0
    array([0.  , 0.  , 0.75])
    """
    R1, R2 = as_stack('so3.compose', 'R1', R1, 3, 3), as_stack('so3.compose', 'R2', R2, 3, 3)
    product: Array = R1 @ R2
    return product


def inverse(R: npt.ArrayLike) -> Array:
    """Return the inverse R^T (...,3,3).

    >>> inverse([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    array([[ 0.,  1.,  0.],
           [-1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    return np.swapaxes(as_stack('so3.inverse', 'R', R, 3, 3), -1, -2)


def exp(x: npt.ArrayLike) -> Array:
    """Return the rotation (...,3,3) by the angle |x| (rad) about x (...,3).

    Euler-Rodrigues: I + (sin t / t) x~ + ((1 - cos t) / t^2) x~^2 with t = |x|. (The second
    denominator is t^2; equation (9) of DETC2013-12151 prints t.)

    Source: Müller 2018a (80) to (82) (K-02).

    >>> exp([0, 0, np.pi / 2]).round(6) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    x = as_recordable_stack('so3.exp', 'x', x, 3)
    t = length(x)[..., None, None]
    X = hat(x)
    a = by_angle(t, SINC, lambda t: np.sin(t) / t)
    b = by_angle(t, _COS, lambda t: 2 * (np.sin(t / 2) / t) ** 2)
    R: Array = np.eye(3) + a * X + b * (X @ X)
    return R


def log(R: npt.ArrayLike) -> Array:
    """Return the rotation vector (...,3), rad, of length at most pi: exp(log(R)) = R.

    Computed through the unit quaternion, with full precision from 0 to pi. At exactly pi both x and
    -x are valid and one is returned. Raises ArgumentError if R is not a rotation.

    Source: Müller 2018a (80) to (82) (K-02).

    >>> log([[0, -1, 0], [1, 0, 0], [0, 0, 1]]).round(6) + 0.0
    array([0.      , 0.      , 1.570796])
    """
    R = as_float_stack('so3.log', 'R', R, 3, 3)
    check_rotation('so3.log', R)
    return quaternions.log(quaternions._from_rotation(R))


def dexp(x: npt.ArrayLike) -> Array:
    """Return the right-trivialized differential of exp (...,3,3): vee(Rdot R^T) = dexp_x xdot.

    I + ((1 - cos t) / t^2) x~ + ((t - sin t) / t^3) x~^2 with t = |x|.

    Source: Müller 2018a (86) (K-05).

    >>> dexp([0, 0, np.pi]).round(6) + 0.0
    array([[ 0.     , -0.63662,  0.     ],
           [ 0.63662,  0.     ,  0.     ],
           [ 0.     ,  0.     ,  1.     ]])
    """
    x = as_recordable_stack('so3.dexp', 'x', x, 3)
    t = length(x)[..., None, None]
    X = hat(x)
    b = by_angle(t, _COS, lambda t: 2 * (np.sin(t / 2) / t) ** 2)
    c = by_angle(t, _DEXP, lambda t: (t - np.sin(t)) / t**3)
    D: Array = np.eye(3) + b * X + c * (X @ X)
    return D


def dexp_inv(x: npt.ArrayLike) -> Array:
    """Return the inverse of `dexp` (...,3,3): xdot = dexp_inv(x) vee(Rdot R^T).

    I - x~/2 + (1 - (t/2) cot(t/2)) / t^2 x~^2 with t = |x|. Singular at t = 2 pi, 4 pi, ..., where
    it raises ArgumentError.

    Source: Müller and Terze (11) (I-07).

    >>> dexp_inv([0, 0, np.pi / 2]).round(6) + 0.0
    array([[ 0.785398,  0.785398,  0.      ],
           [-0.785398,  0.785398,  0.      ],
           [ 0.      ,  0.      ,  1.      ]])
    """
    x = as_recordable_stack('so3.dexp_inv', 'x', x, 3)
    t = length(x)
    check_regular_angle('so3.dexp_inv', t)
    X = hat(x)
    d = by_angle(
        t[..., None, None],
        BERNOULLI[:SERIES_TERMS],
        lambda t: (1 - t / 2 * np.cos(t / 2) / np.sin(t / 2)) / t**2,
    )
    D: Array = np.eye(3) - 0.5 * X + d * (X @ X)
    return D


def distance(R1: npt.ArrayLike, R2: npt.ArrayLike) -> Array:
    """Return the angle (...) of R1^-1 R2, in [0, pi] rad: the bi-invariant metric of SO(3).

    Source: Bruyninckx 2010, section 3.22 (B-053).

    >>> float(distance(np.eye(3), exp([0.3, 0, 0.4])).round(6))
    0.5
    """
    R1 = as_float_stack('so3.distance', 'R1', R1, 3, 3)
    R2 = as_float_stack('so3.distance', 'R2', R2, 3, 3)
    return np.asarray(np.linalg.norm(log(inverse(R1) @ R2), axis=-1))[()]


def exp_unit_axis(e: npt.ArrayLike, angle: npt.ArrayLike) -> Array:
    """Return the rotation (...,3,3) by `angle` (...), rad, about the unit axis e (...,3).

    e e^T + cos(angle) (I - e e^T) + sin(angle) e~, without branches: `angle` may be a traced
    scalar. e must have length 1 (not checked here).

    Source: Müller 2018a (80) to (82) (K-02).

    >>> exp_unit_axis([0, 0, 1], np.pi / 2).round(6) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    e = as_stack('so3.exp_unit_axis', 'e', e, 3)
    angle = as_stack('so3.exp_unit_axis', 'angle', angle)
    c, s = (f[..., None, None] for f in cosine_sine(angle.astype(np.result_type(angle, e))))
    along = e[..., :, None] * e[..., None, :]
    R: Array = along + c * (np.eye(3) - along) + s * hat(e)
    return R
