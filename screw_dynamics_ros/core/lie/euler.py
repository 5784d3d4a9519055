# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Euler angles: all twelve sets of three angles, about moving or about fixed axes.

A set is named by its axes in the order of its angles, with uppercase letters for moving axes and
lowercase letters for fixed ones, as in scipy. 'ZXZ' (a, b, c) is R_Z(a) R_X(b) R_Z(c). 'zxz'
(a, b, c) rotates about the fixed Z axis first and is R_Z(c) R_X(b) R_Z(a), the set 'ZXZ' with
(c, b, a). Roll, pitch and yaw of URDF and ROS, (r, p, y), are 'xyz', the constant `RPY`; Bryant
angles are 'XYZ'.

Angles (..., 3) are in rad. If the first and last axis agree, the middle angle b is in [0, pi], with
singularities at sin b = 0. Otherwise it is in [-pi/2, pi/2], with singularities at cos b = 0
(gimbal lock). The outer angles are in (-pi, pi]; at a singularity only their sum or difference is
determined, and angle rates can be infinite. Triples of angles are not vectors: they do not add.
Leading axes are stacks; NaN in gives NaN out; unknown sets raise UnknownNameError.

Source: Bruyninckx 2010, sections 3.12 to 3.16, for ZXZ and RPY; the formulas for the other sets are
derived (B-043).
"""

from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, UnknownNameError
from ..types import Array
from . import so3
from ._arrays import as_float_stack, as_stack, check_rotation, in_body_axes

# Adjacent axes differ: 'XYX', 'XYZ', 'XZX', ...
MOVING = tuple(i + j + k for i, j, k in product('XYZ', repeat=3) if i != j != k)
FIXED = tuple(name.lower() for name in MOVING)

RPY = 'xyz'  # roll, pitch, yaw of URDF and ROS: about the fixed X, then Y, then Z
BRYANT = 'XYZ'

# Angles are flagged as singular if |sin b| or |cos b|, the determinant of the map to omega, is
MARGIN = 1e-6

# smaller. The outer angles are round-off then, and one is fixed, which changes R by at most 1e-9.
LOCKED = 5e-10


class EulerAngles(NamedTuple):
    """Three angles (..., 3), rad, and whether they are at a singularity (..., bool)."""

    angles: Array
    singular: Array


class EulerRates(NamedTuple):
    """Rates of three angles (..., 3), rad/s, and whether they are at a singularity (..., bool)."""

    rates: Array
    singular: Array


# --- angles ---------------------------------------------------------------------------------------


def to_matrix(sequence: str, angles: npt.ArrayLike) -> Array:
    """Return the rotation matrix (...,3,3) of angles (...,3), rad, of the set `sequence`.

    Accepts object arrays (traced scalars).

    Source: Bruyninckx 2010 (3.27), (3.33) (B-043, B-044).

    >>> to_matrix('ZXZ', [np.pi / 2, 0, 0]).round(6) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    (i, j, k), fixed = _axes('euler.to_matrix', sequence)
    a, b, c = _moving(as_stack('euler.to_matrix', 'angles', angles, 3), fixed)
    R: Array = _about(i, a) @ _about(j, b) @ _about(k, c)
    return R


def from_matrix(
    sequence: str,
    R: npt.ArrayLike,
    previous: npt.ArrayLike | None = None,
    margin: float = MARGIN,
) -> EulerAngles:
    """Return the angles (...,3), rad, of a rotation R (...,3,3), and the gimbal-lock flag.

    The angles reproduce R to rounding, and to 1e-9 at gimbal lock, where the last angle of the set
    is 0. With the triple `previous` (...,3) the result is nearest to it, among both solutions and
    all multiples of 2 pi, and the last angle keeps its previous value at gimbal lock: for following
    a motion. `singular` is set if |sin b| or |cos b| < margin. Raises ArgumentError if R is not a
    rotation.

    Source: Bruyninckx 2010 (3.28) to (3.30), (3.37) to (3.39) (B-042 to B-047).

    >>> pitched = from_matrix(RPY, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    >>> pitched.angles.round(6) + 0.0, bool(pitched.singular)
    (array([0.      , 1.570796, 0.      ]), True)
    """
    function = 'euler.from_matrix'
    (i, j, k), fixed = _axes(function, sequence)
    R = as_float_stack(function, 'R', R, 3, 3)
    check_rotation(function, R)
    held: Array = np.zeros(())
    if previous is not None:
        previous = as_float_stack(function, 'previous', previous, 3)
        held = previous[..., 2]

    rest = 3 - i - j  # the third axis
    sign = _sign(i, j, rest)
    if i == k:
        regular = np.hypot(R[..., i, j], R[..., i, rest])
        a = np.arctan2(R[..., j, i], -sign * R[..., rest, i])
        b = np.arctan2(regular, R[..., i, i])
    else:
        regular = np.hypot(R[..., i, i], R[..., i, j])
        a = np.arctan2(-sign * R[..., j, k], R[..., k, k])
        b = np.arctan2(sign * R[..., i, k], regular)
    locked = regular < LOCKED
    if fixed:  # the last angle of the set is a
        a = np.where(locked, held, a)
    else:  # it is c; without that rotation, e_j is rotated by a only
        x = (R @ _about(k, -held))[..., j]
        a = np.where(locked, np.arctan2(sign * x[..., rest], x[..., j]), a)
    # Without the first rotation, e_j is rotated by -c only: exact at any b.
    y = (np.swapaxes(R, -1, -2) @ _about(i, a))[..., j]
    other = 3 - j - k
    c = np.arctan2(-_sign(k, j, other) * y[..., other], y[..., j])
    if not fixed:
        c = np.where(locked, held, c)

    angles = np.stack(np.broadcast_arrays(*((c, b, a) if fixed else (a, b, c))), axis=-1) + 0.0
    if previous is not None:
        angles = _nearest(sequence, angles, previous, locked)
    return EulerAngles(angles, (regular < margin)[()])


def second_solution(sequence: str, angles: npt.ArrayLike) -> Array:
    """Return the other triple (...,3), rad, of the same rotation: (a + pi, -b, c + pi).

    For three different axes it is (a + pi, pi - b, c + pi). Outer angles are in (-pi, pi].

    Source: Bruyninckx 2010 (3.25) to (3.30), (3.36) to (3.39) (B-042, B-043, B-045).

    >>> second_solution('ZXZ', [0.5, 0.2, -0.5]).round(6) + 0.0
    array([-2.641593, -0.2     ,  2.641593])
    """
    (i, _, k), _ = _axes('euler.second_solution', sequence)
    a, b, c = _split('euler.second_solution', angles)
    middle = -b if i == k else np.pi - b
    return np.stack([_wrap(a + np.pi), _wrap(middle), _wrap(c + np.pi)], axis=-1)


def normalize(sequence: str, angles: npt.ArrayLike) -> Array:
    """Return the triple (...,3), rad, of the same rotation in the ranges of this module.

    It is unique except at singularities, where the outer angles are unchanged.

    Source: Bruyninckx 2010, section 3.13 (B-046).

    >>> normalize('ZXZ', [0, -0.2, 2 * np.pi]).round(6) + 0.0
    array([3.141593, 0.2     , 3.141593])
    """
    (i, _, k), _ = _axes('euler.normalize', sequence)
    angles = _wrap(as_float_stack('euler.normalize', 'angles', angles, 3))
    b = angles[..., 1:2]
    outside = b < 0.0 if i == k else np.abs(b) > np.pi / 2
    return np.where(outside, second_solution(sequence, angles), angles)


# --- rates ----------------------------------------------------------------------------------------


def rate_matrix(sequence: str, angles: npt.ArrayLike, axes: str = 'reference') -> Array:
    """Return the matrix E (...,3,3) with omega = E d(angles)/dt, in 'reference' or 'body' axes.

    Its columns are the current axes of the three rotations; det E is sin b or cos b up to sign.
    Accepts object arrays (traced scalars).

    Source: Bruyninckx 2010 (3.40) (B-048).

    >>> rate_matrix('ZXZ', [0, np.pi / 2, 0]).round(6) + 0.0
    array([[ 0.,  1.,  0.],
           [ 0.,  0., -1.],
           [ 1.,  0.,  0.]])
    """
    body = in_body_axes('euler.rate_matrix', axes)
    (i, j, k), fixed = _axes('euler.rate_matrix', sequence)
    a, b, c = _moving(as_stack('euler.rate_matrix', 'angles', angles, 3), fixed)
    R_i, R_j = _about(i, a), _about(j, b)
    first = np.broadcast_to(np.eye(3)[i], R_i.shape[:-1])
    columns = [first, R_i[..., j], (R_i @ R_j)[..., k]]
    E = np.stack(columns[::-1] if fixed else columns, axis=-1)
    return np.swapaxes(R_i @ R_j @ _about(k, c), -1, -2) @ E if body else E


def inverse_rate_matrix(
    sequence: str, angles: npt.ArrayLike, axes: str = 'reference', margin: float = MARGIN
) -> Array:
    """Return E^-1 (...,3,3): the rates of the angles are E^-1 omega.

    Raises ArgumentError within `margin` of a singularity, where `rates` returns a flag instead.

    Source: Bruyninckx 2010 (3.41) corrected (B-048).

    >>> inverse_rate_matrix(RPY, [0, 0, np.pi / 2]).round(6) + 0.0
    array([[ 0.,  1.,  0.],
           [-1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    E, determinant = _regularity(sequence, angles, axes)
    if (np.abs(determinant) < margin).any():
        raise ArgumentError(
            f'euler.inverse_rate_matrix: {sequence} is singular at angles '
            f'{np.asarray(angles, dtype=float).reshape(-1, 3)[np.argmin(np.abs(determinant))]}; '
            'use another set, quaternions.rate, or euler.rates, which flags this case'
        )
    return _inverse(E, determinant)


def angular_velocity(
    sequence: str, angles: npt.ArrayLike, rates: npt.ArrayLike, axes: str = 'reference'
) -> Array:
    """Return omega (...,3), rad/s, of angles (...,3), rad, that change with rates (...,3), rad/s.

    In 'reference' or 'body' axes; defined everywhere.

    Source: Bruyninckx 2010 (3.40) (B-048).

    >>> angular_velocity(RPY, [0, 0, np.pi / 2], [1, 0, 0]).round(6) + 0.0
    array([0., 1., 0.])
    """
    rates = as_stack('euler.angular_velocity', 'rates', rates, 3)
    return (rate_matrix(sequence, angles, axes) @ rates[..., None])[..., 0]


def rates(
    sequence: str,
    angles: npt.ArrayLike,
    omega: npt.ArrayLike,
    axes: str = 'reference',
    margin: float = MARGIN,
) -> EulerRates:
    """Return the rates (...,3), rad/s, of angles (...,3), rad, under omega (...,3), rad/s.

    Within `margin` of a singularity `singular` is set, and the rates are the minimum-norm
    least-squares solution: the component of omega about the lost axis is omitted.

    Source: Bruyninckx 2010 (3.41) corrected (B-048).

    >>> locked = rates('ZXZ', [0, 0, 0], [1, 5, 2])  # no rotation about Y possible here
    >>> locked.rates.round(6) + 0.0, bool(locked.singular)
    (array([1., 1., 1.]), True)
    """
    omega = as_float_stack('euler.rates', 'omega', omega, 3)
    E, determinant = _regularity(sequence, angles, axes)
    singular = np.abs(determinant) < margin
    E_inv = _inverse(E, np.where(singular, 1.0, determinant))
    if singular.any():
        E_inv[singular] = np.linalg.pinv(E[singular], rcond=margin)
    return EulerRates((E_inv @ omega[..., None])[..., 0], singular[()])


# --- helpers --------------------------------------------------------------------------------------


def _axes(function: str, sequence: str) -> tuple[tuple[int, int, int], bool]:
    """Return the axes in the order of the equivalent moving set, and whether they are fixed."""
    if sequence not in MOVING and sequence not in FIXED:
        raise UnknownNameError(
            f'{function}: no Euler set {sequence!r}; use one of {", ".join(MOVING)} for moving '
            'axes, or its lowercase letters for fixed axes'
        )
    i, j, k = ('XYZ'.index(letter) for letter in sequence.upper())
    fixed = sequence in FIXED
    return ((k, j, i) if fixed else (i, j, k)), fixed


def _moving(angles: Array, fixed: bool) -> tuple[Array, Array, Array]:
    """Return the angles in the order of the equivalent moving set."""
    a, b, c = (angles[..., n] for n in range(3))
    return (c, b, a) if fixed else (a, b, c)


def _split(function: str, angles: npt.ArrayLike) -> tuple[Array, Array, Array]:
    return _moving(as_float_stack(function, 'angles', angles, 3), fixed=False)


def _about(axis: int, angle: Array) -> Array:
    return so3.exp_unit_axis(np.eye(3)[axis], angle)


def _sign(i: int, j: int, k: int) -> int:
    """Return the sign of the permutation (i, j, k): +1 if right-handed, -1 otherwise."""
    return 1 if (j - i) % 3 == 1 and (k - j) % 3 == 1 else -1


def _wrap(x: Array) -> Array:
    """Return angles wrapped to (-pi, pi]; angles in this range are unchanged."""
    inside = (x > -np.pi) & (x <= np.pi)
    return np.where(inside, x, np.pi - np.mod(np.pi - x, 2 * np.pi))


def _nearest(sequence: str, angles: Array, previous: Array, locked: Array) -> Array:
    """Return the triple nearest to the previous one, of both solutions plus multiples of 2 pi."""
    first = previous + _wrap(angles - previous)
    second = previous + _wrap(second_solution(sequence, angles) - previous)
    far = np.linalg.norm(first - previous, axis=-1) > np.linalg.norm(second - previous, axis=-1)
    return np.where((far & ~locked)[..., None], second, first)


def _regularity(sequence: str, angles: npt.ArrayLike, axes: str) -> tuple[Array, Array]:
    """Return E and its determinant."""
    E = rate_matrix(sequence, as_float_stack('euler.rates', 'angles', angles, 3), axes)
    return E, np.sum(E[..., 0] * np.cross(E[..., 1], E[..., 2]), axis=-1)


def _inverse(E: Array, determinant: Array) -> Array:
    """Return the inverse by the reciprocal basis of the columns."""
    x, y, z = (E[..., n] for n in range(3))
    rows = np.stack([np.cross(y, z), np.cross(z, x), np.cross(x, y)], axis=-2)
    return rows / determinant[..., None, None]
