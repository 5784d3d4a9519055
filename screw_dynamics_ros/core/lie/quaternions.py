# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Unit quaternions (x, y, z, w), scalar last: a double cover of SO(3).

Functions take stacks: leading axes broadcast. `product`, `conjugate`, `to_matrix` and
`exp_unit_axis` are free of branches and therefore accept object arrays (traced scalars); `exp`
accepts recorded scalars, for which it has a separate form. NaN in gives NaN out. q and -q are the
same rotation.

Source: Bruyninckx 2010, sections 3.18 and 3.23.
"""

import numpy as np
import numpy.typing as npt

from ..types import Array
from ._arrays import (
    SINC,
    as_float_stack,
    as_recordable_stack,
    as_stack,
    by_angle,
    check_rotation,
    cosine_sine,
    in_body_axes,
    length,
)


def product(p: npt.ArrayLike, q: npt.ArrayLike) -> Array:
    """Return the Hamilton product p q (...,4): the rotation q followed by p, R(p q) = R(p) R(q).

    (p_w q_v + q_w p_v + p_v x q_v,  p_w q_w - p_v . q_v).

    Source: Bruyninckx 2010 (3.57) to (3.63) (B-055).

    >>> product([1, 0, 0, 0], [0, 1, 0, 0])  # i j = k
    array([0., 0., 1., 0.])
    """
    p = as_stack('quaternions.product', 'p', p, 4)
    q = as_stack('quaternions.product', 'q', q, 4)
    a, b, c, d = (p[..., k] for k in range(4))
    x, y, z, w = (q[..., k] for k in range(4))
    return np.stack(
        [
            d * x + a * w + b * z - c * y,
            d * y + b * w + c * x - a * z,
            d * z + c * w + a * y - b * x,
            d * w - a * x - b * y - c * z,
        ],
        axis=-1,
    )


def conjugate(q: npt.ArrayLike) -> Array:
    """Return the conjugate (-q_v, q_w) (...,4): for a unit quaternion its inverse.

    Source: Bruyninckx 2010 (3.57) to (3.63) (B-055).

    >>> conjugate([0.5, 0.5, 0.5, 0.5])
    array([-0.5, -0.5, -0.5,  0.5])
    """
    q = as_stack('quaternions.conjugate', 'q', q, 4)
    return np.concatenate([-q[..., :3], q[..., 3:]], axis=-1)


def to_matrix(q: npt.ArrayLike) -> Array:
    """Return the rotation matrix (...,3,3) of a quaternion (...,4) of any non-zero length.

    R = I + 2 (w v~ + v~^2) / |q|^2: the division makes R a rotation even if q has drifted from unit
    length. A zero quaternion gives NaN.

    Source: Bruyninckx 2010 (3.54) to (3.56), (3.64) to (3.67) (B-054, B-056).

    >>> to_matrix([0, 0, 1, 1]).round(6) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    q = as_stack('quaternions.to_matrix', 'q', q, 4)
    x, y, z, w = (q[..., k] for k in range(4))
    with np.errstate(divide='ignore', invalid='ignore'):
        s = 2.0 / (x * x + y * y + z * z + w * w)
        rows = [
            [1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
            [s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)],
            [s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)],
        ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(R: npt.ArrayLike) -> Array:
    """Return the unit quaternion (...,4) with w >= 0 of a rotation matrix (...,3,3).

    The entries of R are linear in those of 4 q q^T; its row with the largest diagonal entry,
    normalized, is q to full precision at every angle including pi. At pi (w = 0) both signs are
    valid, and one is returned. Raises ArgumentError if R is not a rotation.

    Source: Bruyninckx 2010 (3.47) to (3.50), (3.54) to (3.56) (B-051, B-054).

    >>> from_matrix([[0, -1, 0], [1, 0, 0], [0, 0, 1]]).round(6) + 0.0
    array([0.      , 0.      , 0.707107, 0.707107])
    """
    R = as_float_stack('quaternions.from_matrix', 'R', R, 3, 3)
    check_rotation('quaternions.from_matrix', R)
    return _from_rotation(R)


def _from_rotation(R: Array) -> Array:
    transposed = np.swapaxes(R, -1, -2)
    trace = R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2]
    outer = np.empty((*R.shape[:-2], 4, 4))  # 4 q q^T
    outer[..., :3, :3] = R + transposed + (1.0 - trace)[..., None, None] * np.eye(3)
    outer[..., :3, 3] = outer[..., 3, :3] = (R - transposed)[..., [2, 0, 1], [1, 2, 0]]
    outer[..., 3, 3] = 1.0 + trace
    largest = np.argmax(np.einsum('...ii->...i', outer), axis=-1)
    q: Array = np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    q = q / length(q)[..., None]
    return np.where(q[..., 3:] < 0.0, -q, q)


def exp(x: npt.ArrayLike) -> Array:
    """Return the unit quaternion (...,4) of the rotation vector x = angle * axis (...,3), rad.

    (sin(|x|/2) x/|x|, cos(|x|/2)).

    Source: Bruyninckx 2010 (3.54) to (3.56) (B-054).

    >>> exp([0, 0, np.pi]).round(6) + 0.0
    array([0., 0., 1., 0.])
    """
    x = as_recordable_stack('quaternions.exp', 'x', x, 3)
    half = 0.5 * length(x)[..., None]
    sinc = by_angle(half, SINC, lambda t: np.sin(t) / t)
    return np.concatenate([0.5 * sinc * x, np.cos(half)], axis=-1)


def log(q: npt.ArrayLike) -> Array:
    """Return the rotation vector (...,3), rad, of length at most pi, of a quaternion (...,4).

    2 atan2(|q_v|, q_w) q_v / |q_v| with the sign of q chosen so that q_w >= 0; q may have any
    length, zero gives NaN.

    Source: Bruyninckx 2010 (3.47) to (3.50) (B-051).

    >>> log([0, 0, -1, 0]).round(6) + 0.0
    array([ 0.      ,  0.      , -3.141593])
    """
    q = as_float_stack('quaternions.log', 'q', q, 4)
    q = np.where(q[..., 3:] < 0.0, -q, q)
    v, w = q[..., :3], q[..., 3:]
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    # The squared length of a vector part below 1e-160 underflows: then the quotient is 2/w.
    with np.errstate(divide='ignore', invalid='ignore', over='ignore'):
        return np.where(length == 0.0, 2.0 / w, 2.0 * np.arctan2(length, w) / length) * v


def exp_unit_axis(e: npt.ArrayLike, angle: npt.ArrayLike) -> Array:
    """Return the unit quaternion (sin(angle/2) e, cos(angle/2)) (...,4).

    It rotates by `angle` (...), rad, about the unit axis e (...,3). Without branches: `angle` may
    be a traced scalar.

    >>> exp_unit_axis([0, 0, 1], np.pi / 2).round(6) + 0.0
    array([0.      , 0.      , 0.707107, 0.707107])
    """
    e = as_stack('quaternions.exp_unit_axis', 'e', e, 3)
    half = np.asarray(0.5 * as_stack('quaternions.exp_unit_axis', 'angle', angle))
    c, s = (f[..., None] for f in cosine_sine(half.astype(np.result_type(half, e))))
    vector = s * e
    return np.concatenate([vector, np.broadcast_to(c, (*vector.shape[:-1], 1))], axis=-1)


def left_matrix(p: npt.ArrayLike) -> Array:
    """Return the matrix Q_l (...,4,4) of multiplication from the left: p q = Q_l(p) q.

    Orthogonal for a unit quaternion p (...,4).

    Source: Bruyninckx 2010 (3.61) (B-055).

    >>> left_matrix([1, 0, 0, 0]) @ [0, 1, 0, 0]  # i j = k
    array([0., 0., 1., 0.])
    """
    p = as_stack('quaternions.left_matrix', 'p', p, 4)
    return np.stack([product(p, unit) for unit in np.eye(4)], axis=-1)


def right_matrix(p: npt.ArrayLike) -> Array:
    """Return the matrix Q_r (...,4,4) of multiplication from the right: q p = Q_r(p) q.

    Orthogonal for a unit quaternion p (...,4).

    Source: Bruyninckx 2010 (3.62) (B-055).

    >>> right_matrix([0, 1, 0, 0]) @ [1, 0, 0, 0]  # i j = k
    array([0., 0., 1., 0.])
    """
    p = as_stack('quaternions.right_matrix', 'p', p, 4)
    return np.stack([product(unit, p) for unit in np.eye(4)], axis=-1)


def rotate(q: npt.ArrayLike, x: npt.ArrayLike) -> Array:
    """Return x (...,3) rotated by a unit quaternion q (...,4): the vector part of q x q^-1.

    Source: Bruyninckx 2010 (3.64) (B-056).

    >>> rotate([0, 0, 0.6, 0.8], [1, 0, 0]).round(6) + 0.0
    array([0.28, 0.96, 0.  ])
    """
    q, x = as_stack('quaternions.rotate', 'q', q, 4), as_stack('quaternions.rotate', 'x', x, 3)
    return product(product(q, _pure(x)), conjugate(q))[..., :3]


def rate(q: npt.ArrayLike, omega: npt.ArrayLike, axes: str = 'reference') -> Array:
    """Return dq/dt (...,4), 1/s, under the angular velocity omega (...,3), rad/s; never singular.

    (omega, 0) q / 2 for omega in 'reference' axes, q (omega, 0) / 2 in 'body' axes. Raises
    UnknownNameError for other axes.

    Source: Bruyninckx 2010 (3.68) (B-057).

    >>> rate([0, 0, 0, 1], [0, 0, 2])
    array([0., 0., 1., 0.])
    """
    body = in_body_axes('quaternions.rate', axes)
    w = _pure(as_stack('quaternions.rate', 'omega', omega, 3))
    return 0.5 * (product(q, w) if body else product(w, q))


def angular_velocity(q: npt.ArrayLike, q_dot: npt.ArrayLike, axes: str = 'reference') -> Array:
    """Return omega (...,3), rad/s, of q (...,4) with the rate q_dot (...,4), 1/s.

    The vector part of 2 q_dot q^-1 in 'reference' axes, 2 q^-1 q_dot in 'body' axes. q may have any
    length, zero gives NaN; the component of q_dot along q has no effect. Raises UnknownNameError
    for other axes.

    Source: Bruyninckx 2010 (3.69) (B-057).

    >>> angular_velocity([0, 0, 0, 1], [0, 0, 1, 0])
    array([0., 0., 2.])
    """
    body = in_body_axes('quaternions.angular_velocity', axes)
    q = as_stack('quaternions.angular_velocity', 'q', q, 4)
    q_dot = as_stack('quaternions.angular_velocity', 'q_dot', q_dot, 4)
    inverse = conjugate(q)
    twice = product(inverse, q_dot) if body else product(q_dot, inverse)
    square = np.asarray((q * q).sum(axis=-1))[..., None]
    with np.errstate(divide='ignore', invalid='ignore'):
        return 2.0 * twice[..., :3] / square


def slerp(p: npt.ArrayLike, q: npt.ArrayLike, t: npt.ArrayLike) -> Array:
    """Return the unit quaternions (...,4) interpolated from p to q (...,4) at t (...) in [0, 1].

    The rotation from p to q has a constant axis and rate and takes the shorter direction: q or -q,
    whichever is nearer, with the sign of p at t = 0. If p and q differ by a rotation of pi, one of
    the two directions is chosen. Values of t outside [0, 1] extrapolate.

    Source: Bruyninckx 2010, section 3.23.2 (B-058).

    >>> slerp([0, 0, 0, 1], [0, 0, -1, 0], 0.5).round(6) + 0.0
    array([ 0.      ,  0.      , -0.707107,  0.707107])
    """
    p, q = as_float_stack('quaternions.slerp', 'p', p, 4), as_stack('quaternions.slerp', 'q', q, 4)
    t = as_float_stack('quaternions.slerp', 't', t)
    with np.errstate(invalid='ignore'):
        p = p / np.linalg.norm(p, axis=-1, keepdims=True)
    return product(p, exp(t[..., None] * log(product(conjugate(p), q))))


def continuous(q: npt.ArrayLike) -> Array:
    """Return a sequence of quaternions (...,n,4) without jumps of the sign.

    The first one keeps its sign; each of the others gets the sign that is nearer to its
    predecessor. The rotations do not change. Filters, differences and interpolation require this.

    Source: Bruyninckx 2010, section 3.23.2 (B-058).

    >>> continuous([[0, 0, 0, 1], [0, 0, -0.6, -0.8]])
    array([[0. , 0. , 0. , 1. ],
           [0. , 0. , 0.6, 0.8]])
    """
    q = as_float_stack('quaternions.continuous', 'q', q, 'n', 4)
    along = np.sum(q[..., 1:, :] * q[..., :-1, :], axis=-1)
    turned = np.cumprod(np.where(along < 0.0, -1.0, 1.0), axis=-1)
    signs = np.concatenate([np.ones_like(q[..., :1, 0]), turned], axis=-1)
    return signs[..., None] * q + 0.0  # no negative zeros


def _pure(x: Array) -> Array:
    return np.concatenate([x, np.zeros_like(x[..., :1])], axis=-1)
