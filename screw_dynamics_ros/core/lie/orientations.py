# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Orientations: elementary rotations, axis and angle, angular velocity, noisy matrices.

A rotation matrix R (..., 3, 3) describes a body in a reference frame: its columns are the body's
axes in the reference frame. `so3` holds the group and its exponential, `euler` and `quaternions`
other coordinates, `so3.distance` the metric. Leading axes are stacks; NaN in gives NaN out.

Source: Bruyninckx 2010, sections 3.1 to 3.11 and 3.18.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, UnknownNameError
from ..types import Array
from . import so3
from ._arrays import as_float_stack, as_stack, in_body_axes
from .points import unit

# Below this angle (rad) the axis is round-off; closer than this to pi, its sense is.
MARGIN = 1e-12

# Relative to the largest singular value: below, the nearest rotation is not unique.
RANK_TOLERANCE = 1e-9


class AxisAngle(NamedTuple):
    """A rotation by `angle`, in [0, pi] rad, about the unit vector `axis`.

    The pair (-axis, -angle) is the same rotation. At angle 0 the axis is arbitrary: (0, 0, 1) with
    `axis_free` set. At angle pi both senses are valid, and `sense_free` is set.
    """

    axis: Array  # (..., 3)
    angle: Array  # (...), rad
    axis_free: Array  # (...), bool
    sense_free: Array  # (...), bool


def frame_rotation(axis: str, angle: npt.ArrayLike) -> Array:
    """Return the rotation (...,3,3) by `angle` (...), rad, about the frame axis 'X', 'Y' or 'Z'.

    By the right-hand rule. `angle` may be a traced scalar. Raises UnknownNameError.

    Source: Bruyninckx 2010 (3.3) to (3.5) (B-036).

    >>> frame_rotation('Z', np.pi / 2).round(6) @ [1, 0, 0]
    array([0., 1., 0.])
    """
    if axis not in ('X', 'Y', 'Z'):
        raise UnknownNameError(f"orientations.frame_rotation: no axis {axis!r}; use 'X', 'Y', 'Z'")
    return so3.exp_unit_axis(np.eye(3)['XYZ'.index(axis)], angle)


def from_axis_angle(axis: npt.ArrayLike, angle: npt.ArrayLike) -> Array:
    """Return the rotation (...,3,3) by `angle` (...), rad, about `axis` (...,3).

    The axis may have any non-zero length. Raises ArgumentError for a zero axis.

    Source: Bruyninckx 2010 (3.46) (B-050).

    >>> from_axis_angle([0, 0, 5], np.pi / 2).round(6) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    angle = as_float_stack('orientations.from_axis_angle', 'angle', angle)
    return so3.exp_unit_axis(unit('orientations.from_axis_angle', 'axis', axis), angle)


def to_axis_angle(R: npt.ArrayLike) -> AxisAngle:
    """Return axis and angle of a rotation R (...,3,3), to full precision from 0 to pi.

    Computed through the unit quaternion: the arc cosine of (3.49) and the division by sin(angle) in
    (3.50) lose half of the digits near 0 and pi. Raises ArgumentError unless R is a rotation.

    Source: Bruyninckx 2010 (3.47) to (3.50) (B-051).

    >>> turn = to_axis_angle([[-1, 0, 0], [0, 1, 0], [0, 0, -1]])
    >>> turn.axis, float(turn.angle.round(6)), bool(turn.sense_free)
    (array([0., 1., 0.]), 3.141593, True)
    """
    x = so3.log(R)
    angle = np.asarray(np.linalg.norm(x, axis=-1))
    free = angle < MARGIN
    length = np.where(angle == 0.0, 1.0, angle)[..., None]
    axis = np.where((angle == 0.0)[..., None], [0.0, 0.0, 1.0], x / length) + 0.0  # no -0.0
    return AxisAngle(axis, angle[()], free[()], np.asarray(np.pi - angle < MARGIN)[()])


def nearest_rotation(matrix: npt.ArrayLike) -> Array:
    """Return the rotation (...,3,3) nearest to a matrix (...,3,3) in the Frobenius norm.

    U diag(1, 1, det(U V^T)) V^T with the singular value decomposition U S V^T: corrects a rotation
    matrix after drift, rounding or averaging. Raises ArgumentError if the nearest rotation is not
    unique, as for matrices of rank 1 or less and for some reflections.

    Source: Bruyninckx 2010 (3.1), (3.10) (B-035).

    >>> nearest_rotation([[0, -1.001, 0], [1, 0, 0], [0, 0, 0.999]]).round(6) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    M = as_float_stack('orientations.nearest_rotation', 'matrix', matrix, 3, 3)
    unknown = np.asarray(~np.isfinite(M).all(axis=(-2, -1)))
    U, s, V_T = np.linalg.svd(np.where(unknown[..., None, None], np.eye(3), M))
    side = np.asarray(np.sign(np.linalg.det(U @ V_T)))
    # The maximum of tr(R^T M) is unique unless these two terms of it cancel.
    if ((s[..., 1] + side * s[..., 2]) <= RANK_TOLERANCE * s[..., 0]).any():
        raise ArgumentError(
            'orientations.nearest_rotation: several rotations are equally near to matrix, whose '
            'columns are parallel or reflected; give a matrix that resembles a rotation'
        )
    U[..., :, 2] *= side[..., None]
    return np.where(unknown[..., None, None], np.nan, U @ V_T)


def angular_velocity(R: npt.ArrayLike, R_dot: npt.ArrayLike, axes: str = 'reference') -> Array:
    """Return the angular velocity (...,3), rad/s, of R (...,3,3) with the rate R_dot (...,3,3).

    vee(Rdot R^T) in 'reference' axes, vee(R^T Rdot) in 'body' axes. Accepts object arrays; raises
    UnknownNameError for other axes.

    Source: Bruyninckx 2010 (3.15), (3.18) (B-039).

    >>> angular_velocity(np.eye(3), so3.hat([1, 2, 3]))
    array([1., 2., 3.])
    """
    body = in_body_axes('orientations.angular_velocity', axes)
    R = as_stack('orientations.angular_velocity', 'R', R, 3, 3)
    R_dot = as_stack('orientations.angular_velocity', 'R_dot', R_dot, 3, 3)
    R_T = np.swapaxes(R, -1, -2)
    return so3.vee(R_T @ R_dot if body else R_dot @ R_T)


def rotation_rate(R: npt.ArrayLike, omega: npt.ArrayLike, axes: str = 'reference') -> Array:
    """Return the rate Rdot (...,3,3), 1/s, of R (...,3,3) under omega (...,3), rad/s.

    omega~ R for omega in 'reference' axes, R omega~ in 'body' axes. Accepts object arrays; raises
    UnknownNameError for other axes.

    Source: Bruyninckx 2010 (3.16), (3.20) (B-039).

    >>> rotation_rate(np.eye(3), [0, 0, 2])
    array([[ 0., -2.,  0.],
           [ 2.,  0.,  0.],
           [ 0.,  0.,  0.]])
    """
    body = in_body_axes('orientations.rotation_rate', axes)
    R = as_stack('orientations.rotation_rate', 'R', R, 3, 3)
    W = so3.hat(omega)
    rate: Array = R @ W if body else W @ R
    return rate


def infinitesimal_rotation(delta: npt.ArrayLike) -> Array:
    """Return I + delta~ (...,3,3), a rotation to first order in delta (...,3), rad.

    Infinitesimal rotations add and commute; `so3.vee` gives delta back. Accepts object arrays.

    Source: Bruyninckx 2010 (3.24) with the sign of its entry (2, 3) corrected (B-041).

    >>> infinitesimal_rotation([0, 0, 0.001])
    array([[ 1.   , -0.001,  0.   ],
           [ 0.001,  1.   ,  0.   ],
           [ 0.   ,  0.   ,  1.   ]])
    """
    matrix: Array = np.eye(3) + so3.hat(delta)
    return matrix


def gripper_frame(opening: npt.ArrayLike, approach: npt.ArrayLike) -> Array:
    """Return the orientation (...,3,3) of a parallel-jaw gripper, with columns n, o, a.

    The axis a is along `approach` (...,3), the direction of the fingers. The axis o is along the
    component of `opening` (...,3) normal to it, the direction of jaw motion; n = o × a. Raises
    ArgumentError if the two vectors are parallel or zero.

    Source: Bruyninckx 2010, section 3.3 (B-038).

    >>> gripper_frame(opening=[0, 2, 0], approach=[0, 0, 1])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    a = unit('orientations.gripper_frame', 'approach', approach)
    o = unit('orientations.gripper_frame', 'opening', opening)
    o = o - np.sum(o * a, axis=-1, keepdims=True) * a
    across = np.linalg.norm(o, axis=-1, keepdims=True)
    if (across < RANK_TOLERANCE).any():
        raise ArgumentError(
            'orientations.gripper_frame: opening and approach are parallel; the jaws open '
            'perpendicular to the direction of the fingers'
        )
    o = o / across
    return np.stack(np.broadcast_arrays(np.cross(o, a), o, a), axis=-1)
