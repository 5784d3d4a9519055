# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Points, free vectors, directions and planes.

A point p (..., 3), m, and a free vector v (..., 3) have the same shape but transform differently: a
pose C = (R, r) maps a point to R p + r, a vector to R v. In homogeneous coordinates these are
C (p, 1) and C (v, 0): a vector is a point at infinity. The sum of two vectors is a vector in every
frame, the sum of two points has no meaning. Leading axes are stacks; NaN in gives NaN out.

Source: Bruyninckx 2010, sections 2.1 to 2.5.
"""

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..types import Array
from ._arrays import as_float_stack, as_stack


def transform_point(C: npt.ArrayLike, p: npt.ArrayLike) -> Array:
    """Return the point p (...,3), m, of frame 2 in frame 1: R p + r.

    C (...,4,4) is the pose of frame 2 in frame 1; or C is a displacement and moves the point.
    Accepts object arrays.

    Source: Bruyninckx 2010 (2.22) (B-011, B-033).

    >>> C = [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    >>> transform_point(C, [1, 0, 0])
    array([1., 3., 3.])
    """
    C = as_stack('points.transform_point', 'C', C, 4, 4)
    p = as_stack('points.transform_point', 'p', p, 3)
    return (C[..., :3, :3] @ p[..., None])[..., 0] + C[..., :3, 3]


def transform_vector(C: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """Return the free vector v (...,3) of frame 2 in frame 1: R v.

    C (...,4,4) is the pose of frame 2 in frame 1. Accepts object arrays.

    Source: Bruyninckx 2010 (2.21) (B-012, B-033).

    >>> C = [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    >>> transform_vector(C, [1, 0, 0])
    array([0., 1., 0.])
    """
    C = as_stack('points.transform_vector', 'C', C, 4, 4)
    v = as_stack('points.transform_vector', 'v', v, 3)
    return (C[..., :3, :3] @ v[..., None])[..., 0]


def distance(p: npt.ArrayLike, q: npt.ArrayLike) -> Array:
    """Return the distance |q - p| (...), m, of two points (...,3); the book omits the root.

    Source: Bruyninckx 2010 (2.2) corrected (B-013).

    >>> float(distance([0, 0, 0], [1, 2, 2]))
    3.0
    """
    p = as_float_stack('points.distance', 'p', p, 3)
    q = as_float_stack('points.distance', 'q', q, 3)
    return np.asarray(np.linalg.norm(q - p, axis=-1))[()]


def angle(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Return the angle (...) between two non-zero vectors (...,3), in [0, pi] rad.

    atan2(|a × b|, a . b): the arc cosine of the book returns 0 for all angles below 1e-8. Raises
    ArgumentError for a zero vector.

    Source: Bruyninckx 2010 (2.4) (B-013).

    >>> float(angle([1, 0, 0], [3, 3e-9, 0]))
    1e-09
    """
    a, b = unit('points.angle', 'a', a), unit('points.angle', 'b', b)
    sine = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.asarray(np.arctan2(sine, np.sum(a * b, axis=-1)))[()]


def plane_distance(p: npt.ArrayLike, point: npt.ArrayLike, normal: npt.ArrayLike) -> Array:
    """Return the signed distance (...), m, of p (...,3) from the plane through `point` (...,3).

    It is positive on the side of `normal` (...,3), which may have any non-zero length.

    Source: Bruyninckx 2010, section 2.5 (B-016).

    >>> float(plane_distance([1, 1, 5], point=[0, 0, 2], normal=[0, 0, 7]))
    3.0
    """
    p = as_float_stack('points.plane_distance', 'p', p, 3)
    point = as_float_stack('points.plane_distance', 'point', point, 3)
    n = unit('points.plane_distance', 'normal', normal)
    return np.asarray(np.sum(n * (p - point), axis=-1))[()]


def unit(function: str, name: str, value: npt.ArrayLike) -> Array:
    """Return vectors (...,3) divided by their lengths; raises ArgumentError for a zero vector.

    The message names the `function` and the argument `name`.

    >>> unit('f', 'axis', [0, 0, 2])
    array([0., 0., 1.])
    """
    v = as_float_stack(function, name, value, 3)
    largest = np.abs(v).max(axis=-1, keepdims=True)
    if (largest == 0.0).any():
        raise ArgumentError(
            f'{function}: {name} is (0, 0, 0) and has no direction; give a non-zero vector'
        )
    v = v / largest  # so that the square neither overflows nor underflows
    return v / np.linalg.norm(v, axis=-1, keepdims=True)
