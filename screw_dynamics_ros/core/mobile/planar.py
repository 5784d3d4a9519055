# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Poses, twists and wrenches in the plane: SE(2), and its place in SE(3).

Components are in the order of the core, the angular one first:

* pose x = (phi, x, y) [rad, m, m]: the frame is turned by phi and has its origin at (x, y)
* twist t = (omega, v_x, v_y) [rad/s, m/s]: velocity of the body point at the origin of the frame in
  which it is expressed
* wrench w = (m, f_x, f_y) [N m, N], moment about that origin; power is t . w

The book puts the force first; `FORCE_LAST` D_3 takes its wrenches to these, and its power t^T D_3 w
is t . w. Functions take stacks (..., 3). Axes are those of REP 103: x forward, y to the left.

Source: Bruyninckx 2010 (9.1) to (9.6), corrected (C-129, C-130, E-44, E-45).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import float_array
from ..errors import ArgumentError
from ..types import Array

#: E of (9.3) and (9.4): E t is the twist (omega, v) in space, (6,), E w the wrench (moment, force).
EMBEDDING = np.eye(6)[:, [2, 3, 4]]
EMBEDDING.setflags(write=False)

#: D_3: takes a wrench (f_x, f_y, m) to (m, f_x, f_y); its inverse is its transpose.
FORCE_LAST = np.eye(3)[[2, 0, 1]]
FORCE_LAST.setflags(write=False)

QUARTER_TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
PLANE_TOLERANCE = 1e-9  # of a pose in space, from one in the plane


def triple(name: str, value: ArrayLike) -> Array:
    """Return finite float64 numbers (..., 3); raises `ArgumentError`."""
    array = float_array(name, value)
    if array.shape[-1:] != (3,):
        raise ArgumentError(f'{name} must have shape (..., 3), got {array.shape}')
    if not np.isfinite(array).all():
        raise ArgumentError(f'{name} must be finite numbers, got {array.tolist()}')
    return array


def rotation(angle: ArrayLike) -> Array:
    """Return the rotation matrices (..., 2, 2) of angles (...) [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)


def rotated(angle: ArrayLike, vector: ArrayLike) -> Array:
    """Return vectors (..., 2) turned by angles (...) [rad]."""
    return np.asarray((rotation(angle) @ np.asarray(vector)[..., None])[..., 0])


def matrix(x: ArrayLike) -> Array:
    """Return the homogeneous matrix T, (..., 3, 3), of a pose, (9.2) corrected (E-44)."""
    x = triple('the pose', x)
    T = np.zeros((*x.shape[:-1], 3, 3))
    T[..., :2, :2], T[..., :2, 2], T[..., 2, 2] = rotation(x[..., 0]), x[..., 1:], 1.0
    return T


def coordinates(T: ArrayLike) -> Array:
    """Return the pose (phi, x, y) of homogeneous matrices (..., 3, 3), phi in (-pi, pi]."""
    T = float_array('T', T)
    if T.shape[-2:] != (3, 3):
        raise ArgumentError(f'T must have shape (..., 3, 3), got {T.shape}')
    return np.stack([np.arctan2(T[..., 1, 0], T[..., 0, 0]), T[..., 0, 2], T[..., 1, 2]], -1)


def compose(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the pose b, given in the frame a, in the frame in which a is given.

    Angles are added, so that several turns are counted.

    >>> compose([np.pi / 2, 1.0, 0.0], [0.0, 2.0, 0.0]).round(9)  # 2 m ahead
    array([1.57079633, 1.        , 2.        ])
    """
    a, b = triple('a', a), triple('b', b)
    p = a[..., 1:] + rotated(a[..., 0], b[..., 1:])
    return np.concatenate([(a[..., 0] + b[..., 0])[..., None], p], -1)


def inverse(x: ArrayLike) -> Array:
    """Return the pose of the reference in the frame x."""
    x = triple('the pose', x)
    return np.concatenate([-x[..., :1], -rotated(-x[..., 0], x[..., 1:])], -1)


def exp(t: ArrayLike) -> Array:
    r"""Return the pose after one second of the body-fixed twist t: an arc, or a straight line.

    The chord of an arc of length s that turns by phi is s sin(phi / 2) / (phi / 2) and points along
    phi / 2, which has no singularity at phi = 0: (9.18) as an exact arc (C-135).

    >>> exp([1.2, 1.3, 0.0]).round(8)
    array([1.2       , 1.00970901, 0.6907791 ])
    """
    t = triple('the twist', t)
    half = 0.5 * t[..., 0]
    chord = np.sinc(half / np.pi)[..., None] * t[..., 1:]
    return np.concatenate([t[..., :1], rotated(half, chord)], -1)


def log(x: ArrayLike) -> Array:
    """Return the body-fixed twist that leads to the pose in one second, |omega| <= pi."""
    x = triple('the pose', x)
    phi = wrapped(x[..., 0])
    chord = rotated(-0.5 * phi, x[..., 1:])
    v = chord / np.sinc(0.5 * phi / np.pi)[..., None]
    return np.concatenate([phi[..., None], v], -1)


def wrapped(angle: ArrayLike) -> Array:
    """Return angles [rad] within [-pi, pi]."""
    return np.asarray(np.arctan2(np.sin(angle), np.cos(angle)))


def twist_transform(x: ArrayLike) -> Array:
    """Return S_t, (..., 3, 3), that takes twists in the frame x to the reference.

    The result is the velocity of the body point at the origin of the reference, (9.5): the adjoint
    matrix of SE(2).
    """
    x = triple('the pose', x)
    S = np.zeros((*x.shape[:-1], 3, 3))
    S[..., 0, 0] = 1.0
    S[..., 1, 0], S[..., 2, 0] = x[..., 2], -x[..., 1]
    S[..., 1:, 1:] = rotation(x[..., 0])
    return S


def wrench_transform(x: ArrayLike) -> Array:
    """Return S_w, (..., 3, 3), that takes wrenches (m, f_x, f_y) in the frame x to the reference.

    It is S_t^-T: power does not change. D_3^T S_w D_3 is (9.6) as corrected (E-45).
    """
    return np.swapaxes(twist_transform(inverse(x)), -1, -2)


def ad(t: ArrayLike) -> Array:
    """Return the matrix (3, 3) of the bracket, ad(t) s = [t, s].

    >>> ad([1.0, 0.0, 0.0]) @ [0.0, 1.0, 0.0]  # turning and driving make sliding
    array([0., 0., 1.])
    """
    omega, vx, vy = triple('the twist', t)
    return np.array([[0.0, 0.0, 0.0], [vy, 0.0, -omega], [-vx, omega, 0.0]])


def dexp(t: ArrayLike) -> Array:
    """Return the right Jacobian (3, 3): exp(t + dt) = exp(t) exp(dexp(t) dt) to first order.

    The closed form of the integral of Ad(exp(-s t)) over s from 0 to 1, stable at omega = 0.
    """
    omega, vx, vy = triple('the twist', t)
    a, half = np.sinc(omega / np.pi), 0.5 * omega
    b = half * np.sinc(half / np.pi) ** 2  # (1 - cos omega) / omega
    d = 0.5 * np.sinc(half / np.pi) ** 2  # (1 - cos omega) / omega^2
    e = _angle_minus_sine(omega)
    return np.array([[1.0, 0.0, 0.0], [e * vx - d * vy, a, b], [d * vx + e * vy, -b, a]])


def _angle_minus_sine(omega: float) -> float:
    """Return (omega - sin omega) / omega^2; its series near zero."""
    if abs(omega) < 1e-2:
        return omega / 6.0 * (1.0 - omega**2 / 20.0 * (1.0 - omega**2 / 42.0))
    return float((omega - np.sin(omega)) / omega**2)


def to_space(x: ArrayLike) -> Array:
    """Return the pose in space, (..., 4, 4), of a pose in the plane z = 0, (9.3)."""
    x = triple('the pose', x)
    C = np.zeros((*x.shape[:-1], 4, 4))
    C[..., :2, :2], C[..., :2, 3] = rotation(x[..., 0]), x[..., 1:]
    C[..., 2, 2] = C[..., 3, 3] = 1.0
    return C


def from_space(C: ArrayLike) -> Array:
    """Return (phi, x, y) of a pose (4, 4) in the plane z = 0; raises `ArgumentError` for others."""
    C = float_array('the pose', C)
    if C.shape != (4, 4):
        raise ArgumentError(f'the pose must have shape (4, 4), got {C.shape}')
    off = np.abs(C[2] - [0.0, 0.0, 1.0, 0.0]).max(initial=0.0)
    if not max(off, np.abs(C[:2, 2]).max()) <= PLANE_TOLERANCE:
        raise ArgumentError(
            'the pose is not one of the plane z = 0: its third row must be (0, 0, 1, 0), got '
            f'{C[2].tolist()}'
        )
    return np.array([np.arctan2(C[1, 0], C[0, 0]), C[0, 3], C[1, 3]])


def plane_twist(V: ArrayLike) -> Array:
    """Return (omega, v_x, v_y) of a twist (6,); raises `ArgumentError` if it leaves the plane."""
    V = float_array('the twist', V)
    if V.shape != (6,) or not np.isfinite(V).all():
        raise ArgumentError(f'the twist must be six finite numbers (omega, v), got {V.tolist()}')
    out = V - EMBEDDING @ (EMBEDDING.T @ V)
    if np.abs(out).max() > PLANE_TOLERANCE * max(1.0, np.abs(V).max()):
        raise ArgumentError(
            'a mobile platform rotates about z and moves in x and y only, the twist (omega, v) is '
            f'{V.tolist()}; set the other components to 0'
        )
    return np.asarray(EMBEDDING.T @ V)


def center_of_rotation(t: ArrayLike) -> Array | None:
    """Return the point (2,) [m] that does not move, (-v_y, v_x) / omega; None for a translation.

    >>> center_of_rotation([0.5, 1.0, 0.0])  # to the left, at the radius v / omega
    array([-0.,  2.])
    """
    omega, vx, vy = triple('the twist', t)
    if abs(omega) * 1e12 <= np.hypot(vx, vy) or omega == 0.0:
        return None
    return np.array([-vy, vx]) / omega


def line_of_force(w: ArrayLike) -> tuple[Array, Array] | None:
    """Return (point, direction), (2,) each, of the line about which a wrench has no moment.

    The point is the one nearest to the origin [m], the direction that of the force; None for a
    couple. Points p of the line satisfy p x f = m (C-130).
    """
    m, fx, fy = triple('the wrench', w)
    f = np.array([fx, fy])
    size = np.hypot(fx, fy)
    if abs(m) >= 1e12 * size:
        return None
    return -m / size**2 * (QUARTER_TURN @ f), f / size
