# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Poses: change of frame or displacement, minimal coordinates, small differences, rates.

A pose C (..., 4, 4) = [[R, r], [0, 1]] describes the position of a body in a reference frame, or
the displacement from that frame. Coordinates of a pose are not vectors: they neither add nor scale;
small differences and twists do. `se3` has the group. Leading axes are stacks; NaN in gives NaN out.

Source: Bruyninckx 2010, sections 2.7.7, 4.1, 4.2.1 and 4.5.1.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..types import Array
from . import euler, screws, se3
from ._arrays import as_float_stack, as_stack, check_pose, in_body_axes


class FiniteDisplacement(NamedTuple):
    """Minimal coordinates (..., 6) of a pose: three angles, rad, and the position, m.

    `singular` (..., bool): the angles are at their singularity (gimbal lock).
    """

    coordinates: Array
    singular: Array


# --- change of frame and displacement -------------------------------------------------------------


def change_frame(C: npt.ArrayLike, S: npt.ArrayLike, axes: str = 'reference') -> Array:
    """Return the pose (...,4,4) of a fixed body relative to other frames.

    With axes='reference', S (...,4,4) is the pose of a new reference frame in the old one, and C
    becomes S^-1 C. With axes='body' it is that of a new body frame in the old one: C S.

    Source: Bruyninckx 2010, section 2.7.7, the passive interpretation of figure 2.6 (B-034).

    >>> change_frame(np.eye(4), se3.pose(np.eye(3), [1, 0, 0]))[:3, 3]
    array([-1.,  0.,  0.])
    """
    body = in_body_axes('poses.change_frame', axes)
    return se3.compose(C, S) if body else se3.compose(se3.inverse(S), C)


def displace(C: npt.ArrayLike, D: npt.ArrayLike, axes: str = 'reference') -> Array:
    """Return the pose (...,4,4) of a body after the displacement D (...,4,4).

    With axes='reference', D is a motion relative to the reference frame: D C. With axes='body' it
    is one relative to the body's own frame: C D. The inverse of D undoes it.

    Source: Bruyninckx 2010, section 2.7.7, the active interpretation (B-034).

    >>> displace(np.eye(4), se3.pose(np.eye(3), [1, 0, 0]))[:3, 3]
    array([1., 0., 0.])
    """
    body = in_body_axes('poses.displace', axes)
    return se3.compose(C, D) if body else se3.compose(D, C)


def residual(C: npt.ArrayLike, target: npt.ArrayLike) -> Array:
    """Return the displacement (...,6), rad and m, from a pose to a target, both (...,4,4).

    log(C^-1 target), in body axes: the twist that moves C to the target in unit time, zero if and
    only if they agree. The implicit equation of a chain is residual(pose(q), target) = 0. Raises
    ArgumentError for a matrix that is not a rigid motion.

    Source: Bruyninckx 2010 (5.1) (B-010).

    >>> residual(np.eye(4), se3.pose(np.eye(3), [0, 0, 2]))
    array([0., 0., 0., 0., 0., 2.])
    """
    C = as_float_stack('poses.residual', 'C', C, 4, 4)
    check_pose('poses.residual', C)
    return se3.log(se3.compose(se3.inverse(C), target))


# --- minimal coordinates --------------------------------------------------------------------------


def to_displacement(
    sequence: str, C: npt.ArrayLike, previous: npt.ArrayLike | None = None
) -> FiniteDisplacement:
    """Return the finite displacement twist (...,6), rad and m, of a pose C (...,4,4).

    Angles of the Euler set `sequence`, see `euler`, and the position of the origin; `previous`
    (...,6) selects the angles nearest to it. Raises UnknownNameError, and ArgumentError for
    matrices that are not rigid motions.

    Source: Bruyninckx 2010 (4.5) (B-061).

    >>> C = se3.pose(euler.to_matrix('xyz', [0.1, 0.2, 0.3]), [1, 2, 3])
    >>> to_displacement('xyz', C).coordinates.round(6)
    array([0.1, 0.2, 0.3, 1. , 2. , 3. ])
    """
    C = as_float_stack('poses.to_displacement', 'C', C, 4, 4)
    check_pose('poses.to_displacement', C)
    if previous is not None:
        previous = as_float_stack('poses.to_displacement', 'previous', previous, 6)[..., :3]
    angles, singular = euler.from_matrix(sequence, C[..., :3, :3], previous)
    return FiniteDisplacement(_joined(angles, C[..., :3, 3]), singular)


def from_displacement(sequence: str, coordinates: npt.ArrayLike) -> Array:
    """Return the pose (...,4,4) of a finite displacement twist (...,6), rad and m.

    Accepts object arrays. Raises UnknownNameError.

    Source: Bruyninckx 2010 (4.5) (B-061).

    >>> from_displacement('xyz', [0, 0, 0, 1, 2, 3])[:3, 3]
    array([1., 2., 3.])
    """
    x = as_stack('poses.from_displacement', 'coordinates', coordinates, 6)
    return se3.pose(euler.to_matrix(sequence, x[..., :3]), x[..., 3:])


def to_second_kind(C: npt.ArrayLike) -> FiniteDisplacement:
    """Return the canonical coordinates of the second kind (...,6), rad and m, of C (...,4,4).

    C = R_X(x1) R_Y(x2) R_Z(x3) Tr_X(x4) Tr_Y(x5) Tr_Z(x6): Bryant angles and R^T r. Those of the
    first kind are `se3.log`. Raises ArgumentError for a matrix that is not a rigid motion.

    Source: Bruyninckx 2010 (4.24) (B-075).

    >>> C = [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    >>> to_second_kind(C).coordinates.round(6) + 0.0
    array([ 0.      ,  0.      ,  1.570796,  2.      , -1.      ,  3.      ])
    """
    C = as_float_stack('poses.to_second_kind', 'C', C, 4, 4)
    check_pose('poses.to_second_kind', C)
    R, r = C[..., :3, :3], C[..., :3, 3:]
    angles, singular = euler.from_matrix(euler.BRYANT, R)
    return FiniteDisplacement(_joined(angles, (np.swapaxes(R, -1, -2) @ r)[..., 0]), singular)


def from_second_kind(x: npt.ArrayLike) -> Array:
    """Return the pose (...,4,4) with canonical coordinates of the second kind x (...,6), rad and m.

    Accepts object arrays.

    Source: Bruyninckx 2010 (4.24) (B-075).

    >>> from_second_kind([0, 0, np.pi / 2, 2, -1, 3])[:3, 3].round(6)
    array([1., 2., 3.])
    """
    x = as_stack('poses.from_second_kind', 'x', x, 6)
    R = euler.to_matrix(euler.BRYANT, x[..., :3])
    return se3.pose(R, (R @ x[..., 3:, None])[..., 0])


# --- small differences and rates ------------------------------------------------------------------


def infinitesimal_displacement(t: npt.ArrayLike) -> Array:
    """Return I + t^ (...,4,4), a pose to first order in t = (delta, d) (...,6).

    Infinitesimal displacements add and commute. Accepts object arrays.

    Source: Bruyninckx 2010 (4.6) (B-062).

    >>> infinitesimal_displacement([0, 0, 0.001, 0, 0, 0.002])
    array([[ 1.   , -0.001,  0.   ,  0.   ],
           [ 0.001,  1.   ,  0.   ,  0.   ],
           [ 0.   ,  0.   ,  1.   ,  0.002],
           [ 0.   ,  0.   ,  0.   ,  1.   ]])
    """
    matrix: Array = np.eye(4) + se3.hat(t)
    return matrix


def infinitesimal_twist(C: npt.ArrayLike) -> Array:
    """Return (delta, d) (...,6), rad and m, of a small displacement C (...,4,4), to first order.

    Computed from the antisymmetric part of the rotation and the translation; `se3.log` is exact.
    Accepts object arrays.

    Source: Bruyninckx 2010 (4.6) (B-062).

    >>> infinitesimal_twist(infinitesimal_displacement([0, 0, 0.001, 0, 0, 0.002]))
    array([0.   , 0.   , 0.001, 0.   , 0.   , 0.002])
    """
    return se3.vee(C)


def twist(C: npt.ArrayLike, C_dot: npt.ArrayLike, representation: str = 'hybrid') -> Array:
    """Return the twist (...,6), rad/s and m/s, of a body at C (...,4,4) with the rate C_dot.

    The spatial twist is vee(Cdot C^-1), converted to `representation` by `screws.convert_twist`.
    Accepts object arrays. Raises UnknownNameError.

    Source: Bruyninckx 2010 (4.7) to (4.12) (B-063, B-064).

    >>> C_dot = [[0, -2, 0, 3], [2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    >>> twist(np.eye(4), C_dot)
    array([0., 0., 2., 3., 0., 0.])
    """
    C_dot = as_stack('poses.twist', 'C_dot', C_dot, 4, 4)
    V = se3.vee(C_dot @ se3.inverse(C))
    return screws.convert_twist(V, C, 'spatial', representation)


def rate(C: npt.ArrayLike, V: npt.ArrayLike, representation: str = 'hybrid') -> Array:
    """Return the rate (...,4,4) of a pose C (...,4,4) under a twist V (...,6); inverse of `twist`.

    Accepts object arrays. Raises UnknownNameError.

    Source: Bruyninckx 2010 (4.9) (B-063).

    >>> rate(np.eye(4), [0, 0, 2, 3, 0, 0])[:3]
    array([[ 0., -2.,  0.,  3.],
           [ 2.,  0.,  0.,  0.],
           [ 0.,  0.,  0.,  0.]])
    """
    matrix: Array = se3.hat(screws.convert_twist(V, C, representation, 'spatial')) @ as_stack(
        'poses.rate', 'C', C, 4, 4
    )
    return matrix


def _joined(angles: Array, position: Array) -> Array:
    return np.concatenate(np.broadcast_arrays(angles, position), axis=-1)
