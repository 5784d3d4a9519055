# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Accelerations of a rigid body: of its points, of its twist, and of its screw axis.

Two six-vectors are called acceleration. The screw (spatial) acceleration A = (alpha, v0') is the
derivative of the spatial twist V = (omega, v0), at a point fixed in space; the material (classical)
acceleration (alpha, p'') is that of a point p of the body. They differ by omega × p', and neither
is a complete description without the twist. Here both are resolved in the reference frame; for the
origin of a link they are robot.acceleration in representations 'spatial' and 'hybrid'.

V, A (..., 6) are in rad/s, m/s and rad/s^2, m/s^2. Leading axes are stacks; NaN in gives NaN out.

Source: Bruyninckx 2010, sections 4.10 and 4.11.1, with the errata of
doc/spec/bruyninckx_errata.md.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...lie import screws, so3
from ...lie._arrays import as_float_stack
from ...types import Array

# Relative magnitude of omega × alpha, or of the rotation of an axis, below which it is zero.
DEGENERACY_TOLERANCE = 1e-9


class Pole(NamedTuple):
    """The point (..., 3), m, of a body without acceleration, and whether it is not unique."""

    point: Array
    degenerate: Array


class SecondOrderAxis(NamedTuple):
    """Motion of the instantaneous screw axis of a body.

    The axis rotates about and translates along a second axis: the common normal of successive axes,
    which intersects the first in the central point. Together with alpha and a on the first axis,
    these are 4 + 4 + 2 + 2 numbers, which represent V and A completely.

    If the first axis has constant direction or does not exist, `degenerate` is set, the second axis
    is undefined, and its values are zero.
    """

    direction: Array  # (..., 3), of the second axis
    central_point: Array  # (..., 3), m, intersection with the first axis
    angular_speed: Array  # (...), rad/s, of the first axis about the second one
    linear_speed: Array  # (...), m/s, of the first axis along the second one
    alpha: Array  # (...), rad/s^2, rate of |omega|
    a: Array  # (...), m/s^2, rate of the speed along the first axis
    degenerate: Array


class InertialForces(NamedTuple):
    """Inertial forces (..., 3), N, in a moving frame, in addition to the applied forces."""

    centrifugal: Array
    coriolis: Array
    euler: Array
    translation: Array


# --- points of a body -----------------------------------------------------------------------------


def point_velocity(V: npt.ArrayLike, p: npt.ArrayLike) -> Array:
    """Return the velocity omega × p + v0 (...,3), m/s, of the point of a body now at p (...,3).

    V (...,6) is the spatial twist.

    Source: Bruyninckx 2010 (4.10) (B-063, B-081).

    >>> point_velocity([0, 0, 2, 0, 0, 1], [1, 0, 0])
    array([0., 2., 1.])
    """
    omega, v = _halves('accelerations.point_velocity', 'V', V)
    return np.cross(omega, as_float_stack('accelerations.point_velocity', 'p', p, 3)) + v


def point_acceleration(V: npt.ArrayLike, A: npt.ArrayLike, p: npt.ArrayLike) -> Array:
    """Return the acceleration (...,3), m/s^2, of the point of a body now at p (...,3), m.

    alpha × p + omega × (omega × p) + a0 with the acceleration a0 = v0' + omega × v0 of the point
    at the origin; V, A (...,6) are the spatial twist and the screw acceleration. The middle term
    is the centripetal acceleration (the book calls it Coriolis').

    Source: Bruyninckx 2010 (4.30) (B-081).

    >>> point_acceleration([0, 0, 2, 0, 0, 0], np.zeros(6), [1, 0, 0])
    array([-4.,  0.,  0.])
    """
    omega, _ = _halves('accelerations.point_acceleration', 'V', V)
    alpha, v0_dot = _halves('accelerations.point_acceleration', 'A', A)
    p = as_float_stack('accelerations.point_acceleration', 'p', p, 3)
    # omega × (omega × p + v0) = omega × p'
    return v0_dot + np.cross(alpha, p) + np.cross(omega, point_velocity(V, p))


def material_acceleration(V: npt.ArrayLike, A: npt.ArrayLike, p: npt.ArrayLike) -> Array:
    """Return (alpha, p'') (...,6): the material acceleration at the body's point p (...,3), m.

    V, A (...,6) are the spatial twist and the screw acceleration.

    Source: Bruyninckx 2010, section 4.10.1 (B-084).

    >>> material_acceleration([0, 0, 2, 0, 0, 0], np.zeros(6), [1, 0, 0])
    array([ 0.,  0.,  0., -4.,  0.,  0.])
    """
    alpha, _ = _halves('accelerations.material_acceleration', 'A', A)
    a = point_acceleration(V, A, p)
    return np.concatenate(np.broadcast_arrays(alpha, a), axis=-1)


def screw_acceleration(V: npt.ArrayLike, material: npt.ArrayLike, p: npt.ArrayLike) -> Array:
    """Return the screw acceleration (alpha, v0') (...,6), the inverse of `material_acceleration`.

    v0' = p'' - alpha × p - omega × p' for the body's point p (...,3), m, whose material
    acceleration (alpha, p'') (...,6) is given. V (...,6) is the spatial twist.

    Source: Bruyninckx 2010, section 4.10.1 (B-084).

    >>> screw_acceleration([0, 0, 2, 0, 0, 0], [0, 0, 0, -4, 0, 0], [1, 0, 0])
    array([0., 0., 0., 0., 0., 0.])
    """
    omega, _ = _halves('accelerations.screw_acceleration', 'V', V)
    alpha, a = _halves('accelerations.screw_acceleration', 'material', material)
    p = as_float_stack('accelerations.screw_acceleration', 'p', p, 3)
    v0_dot = a - np.cross(alpha, p) - np.cross(omega, point_velocity(V, p))
    return np.concatenate(np.broadcast_arrays(alpha, v0_dot), axis=-1)


def acceleration_matrix(V: npt.ArrayLike, A: npt.ArrayLike) -> Array:
    """Return C'' C^-1 = [[alpha~ + omega~ omega~, a0], [0, 0]] (...,4,4) of a body at pose C.

    Maps points (p, 1) to their accelerations; V, A (...,6) are the spatial twist and the screw
    acceleration.

    Source: Bruyninckx 2010 (4.31), (4.32) corrected (B-082).

    >>> acceleration_matrix([0, 0, 2, 0, 0, 0], np.zeros(6)) @ [1, 0, 0, 1]
    array([-4.,  0.,  0.,  0.])
    """
    omega, _ = _halves('accelerations.acceleration_matrix', 'V', V)
    alpha, _ = _halves('accelerations.acceleration_matrix', 'A', A)
    a0 = point_acceleration(V, A, np.zeros(3))
    matrix = np.zeros((*a0.shape[:-1], 4, 4))
    matrix[..., :3, :3] = so3.hat(alpha) + so3.hat(omega) @ so3.hat(omega)
    matrix[..., :3, 3] = a0
    return matrix


def acceleration_pole(V: npt.ArrayLike, A: npt.ArrayLike) -> Pole:
    """Return the point (...,3), m, of a body that has no acceleration.

    It is unique unless omega and alpha are parallel: the determinant of alpha~ + omega~ omega~ is
    -|omega × alpha|^2. If they are, `degenerate` is set and, of the points with minimal
    acceleration, the one nearest to the origin is returned.

    Source: Bruyninckx 2010, section 4.10.1 (B-083).

    >>> pole = acceleration_pole([0, 0, 2, 0, 0, 0], [0, 0, 0, 4, 0, 0])
    >>> pole.point.round(6) + 0.0, bool(pole.degenerate)
    (array([1., 0., 0.]), True)
    """
    omega, _ = _halves('accelerations.acceleration_pole', 'V', V)
    alpha, _ = _halves('accelerations.acceleration_pole', 'A', A)
    M = acceleration_matrix(V, A)
    square, a0 = M[..., :3, :3], M[..., :3, 3:]
    size = np.sum(omega * omega, axis=-1) + np.linalg.norm(alpha, axis=-1)
    sine = np.linalg.norm(np.cross(omega, alpha), axis=-1)
    degenerate = np.asarray(sine <= DEGENERACY_TOLERANCE * size**1.5)
    unknown = np.asarray(~np.isfinite(M).all(axis=(-2, -1)))
    square = np.where((degenerate | unknown)[..., None, None], np.eye(3), square)
    p: Array = -np.linalg.solve(square, a0)[..., 0]
    if degenerate.any():
        flat = M[degenerate]
        p[degenerate] = -(
            np.linalg.pinv(flat[..., :3, :3], rcond=DEGENERACY_TOLERANCE) @ flat[..., :3, 3:]
        )[..., 0]
    return Pole(np.where(unknown[..., None], np.nan, p), degenerate[()])


# --- the screw axis -------------------------------------------------------------------------------


def second_order_axis(V: npt.ArrayLike, A: npt.ArrayLike) -> SecondOrderAxis:
    """Return the motion of the instantaneous screw axis of a body.

    V, A (...,6) are the spatial twist and the screw acceleration. The unit line L = (omega, v0 - h
    omega)/|omega| of the axis (pitch h) moves with L' = (e', m'); the motor product L × L' is its
    twist about the common normal, nu = |e'| its angular and e' . m'/nu its linear speed.

    Source: Bruyninckx 2010, section 4.10.3, which has no formulas; these are derived (B-086).

    >>> axis = second_order_axis([0, 0, 1, 0, 0, 0], [2, 0, 0, 0, 0, 0])
    >>> axis.direction, float(axis.angular_speed), float(axis.linear_speed)
    (array([0., 1., 0.]), 2.0, 0.0)
    """
    omega, v = _halves('accelerations.second_order_axis', 'V', V)
    alpha, v_dot = _halves('accelerations.second_order_axis', 'A', A)
    speed = np.linalg.norm(omega, axis=-1, keepdims=True)
    still = speed == 0.0
    s = np.where(still, 1.0, speed)
    e = omega / s
    speed_dot = _dot(e, alpha)
    e_dot = (alpha - speed_dot * e) / s
    sliding = _dot(e, v)  # h |omega|
    sliding_dot = _dot(e_dot, v) + _dot(e, v_dot)
    m = (v - sliding * e) / s
    m_dot = (v_dot - sliding_dot * e - sliding * e_dot - speed_dot * m) / s

    nu = np.linalg.norm(e_dot, axis=-1, keepdims=True)
    degenerate = still | (
        nu * s <= DEGENERACY_TOLERANCE * (np.linalg.norm(alpha, axis=-1, keepdims=True))
    )
    nu = np.where(degenerate, 0.0, nu)
    divisor = np.where(degenerate, 1.0, nu)
    L, L_dot = np.concatenate([e, m], axis=-1), np.concatenate([e_dot, m_dot], axis=-1)
    twist = screws.motor_product(L, L_dot) / divisor
    direction = np.where(degenerate, 0.0, twist[..., :3])
    # The point of the first axis nearest to the second one: e × m plus a multiple of e.
    second = np.cross(direction, twist[..., 3:])  # a point of the second axis
    first = np.cross(e, m)
    center = np.where(degenerate, 0.0, first + _dot(second - first, e) * e)
    tau = np.where(degenerate, 0.0, _dot(e_dot, m_dot) / divisor)
    scalars = (nu, tau, speed_dot, sliding_dot, degenerate)
    nu, tau, speed_dot, sliding_dot, degenerate = (x[..., 0][()] for x in scalars)
    return SecondOrderAxis(direction, center, nu, tau, speed_dot, sliding_dot, degenerate)


# --- a moving observer ----------------------------------------------------------------------------


def inertial_forces(
    mass: npt.ArrayLike,
    r: npt.ArrayLike,
    r_dot: npt.ArrayLike,
    omega: npt.ArrayLike,
    alpha: npt.ArrayLike = (0.0, 0.0, 0.0),
    a_origin: npt.ArrayLike = (0.0, 0.0, 0.0),
) -> InertialForces:
    """Return the inertial forces (...,3), N, on a point mass in a moving frame.

    mass (...), kg, at r (...,3), m, with velocity r_dot in that frame; the frame has angular
    velocity omega, angular acceleration alpha and acceleration a_origin of its origin, relative to
    an inertial frame. All vectors are resolved in the moving frame. There mass * r'' = force +
    centrifugal + coriolis + euler + translation.

    Source: Bruyninckx 2010 (4.40), with its general terms (B-088).

    >>> forces = inertial_forces(1.5, [1, 0, 0], [0, 3, 0], [0, 0, 2])
    >>> forces.centrifugal + 0.0, forces.coriolis + 0.0
    (array([6., 0., 0.]), array([18.,  0.,  0.]))
    """
    m = as_float_stack('accelerations.inertial_forces', 'mass', mass)[..., None]
    names = ('r', 'r_dot', 'omega', 'alpha', 'a_origin')
    r, r_dot, omega, alpha, a_origin = (
        as_float_stack('accelerations.inertial_forces', name, value, 3)
        for name, value in zip(names, (r, r_dot, omega, alpha, a_origin))
    )
    return InertialForces(
        -m * np.cross(omega, np.cross(omega, r)),
        -2.0 * m * np.cross(omega, r_dot),
        -m * np.cross(alpha, r),
        -m * a_origin,
    )


def _halves(function: str, name: str, value: npt.ArrayLike) -> tuple[Array, Array]:
    X = as_float_stack(function, name, value, 6)
    return X[..., :3], X[..., 3:]


def _dot(x: Array, y: Array) -> Array:
    return np.asarray(np.sum(x * y, axis=-1, keepdims=True))
