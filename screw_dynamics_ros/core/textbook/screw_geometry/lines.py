# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Directed lines, such as joint axes: four representations, and distances.

A `Line` is a unit direction e and the point p0 nearest to the origin: the two-vector coordinates in
canonical form. It can be converted to and from

* Plücker coordinates (d, m), m = p × d, homogeneous: for unit d a screw of pitch 0, so that
  everything in `screws` applies;
* Denavit-Hartenberg coordinates, four numbers relative to the Z axis, singular for lines parallel
  to it;
* Hayati-Roberts coordinates, four numbers relative to the XY plane, singular for lines parallel
  to it.

No four numbers describe all lines continuously: `patch` selects one of the two. Leading axes are
stacks; NaN in gives NaN out.

Source: Bruyninckx 2010, section 2.5, with the errata of doc/spec/bruyninckx_errata.md; the
conversions, which the book does not give, are derived (B-019 to B-021).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import ArgumentError, UnknownNameError
from ...lie import points
from ...lie._arrays import as_float_stack, check_pose
from ...types import Array

# Sine of the angle below which two lines are treated as parallel: their common normal is round-off.
PARALLEL_TOLERANCE = 1e-8

# Sine of the angle to its singular set below which a minimal representation is flagged.
SINGULARITY_MARGIN = 1e-6

# Sine of that angle at which `patch` switches: far from both singular sets, with hysteresis.
CHANGE_OVER = 0.1

# Pitch (m, or relative to the distance from the origin) up to which a screw is accepted as a line.
LINE_TOLERANCE = 1e-6


class Line(NamedTuple):
    """A directed line: unit `direction` (..., 3), `point` (..., 3) nearest to the origin, m."""

    direction: Array
    point: Array


class DenavitHartenberg(NamedTuple):
    """Denavit-Hartenberg coordinates (...) of a line, relative to the Z axis.

    The common normal starts on the Z axis at `height` (m), points in the direction `azimuth` (rad,
    from X about Z), and intersects the line after `distance` (m, not negative); a rotation by
    `twist` (rad) about it maps Z to the direction of the line. The same four numbers define a frame
    whose Z axis is the line and whose X axis is the common normal. `singular`: the line is parallel
    to Z within 1e-6.

    In the book these are d, h, alpha, theta; elsewhere alpha is called theta, h is d, d is a and
    theta is alpha.
    """

    distance: Array
    height: Array
    azimuth: Array
    twist: Array
    singular: Array


class HayatiRoberts(NamedTuple):
    """Hayati-Roberts coordinates (...) of a line, relative to the XY plane.

    `e_x`, `e_y` are components of the unit direction, `l_x`, `l_y` (m) the intersection with the XY
    plane; `sign` is that of the third component of the direction, which the book omits. `singular`:
    the line is parallel to the plane within 1e-6.
    """

    e_x: Array
    e_y: Array
    l_x: Array
    l_y: Array
    sign: Array
    singular: Array


class CommonNormal(NamedTuple):
    """The line normal to two lines that intersects both.

    Its direction is that of e1 × e2; `foot1`, `foot2` (..., 3), m, are its intersections with the
    lines, `distance` (...), m, is the distance between them, `angle` (...), in [0, pi] rad, that
    between the directions. It is not unique if the lines are `parallel`: then it passes through the
    point of the first line nearest to the origin, towards the second line.
    """

    line: Line
    foot1: Array
    foot2: Array
    distance: Array
    angle: Array
    parallel: Array


# --- making lines ---------------------------------------------------------------------------------


def through(point: npt.ArrayLike, direction: npt.ArrayLike) -> Line:
    """Return the line through a point (...,3), m, with a non-zero direction (...,3).

    Source: Bruyninckx 2010 (2.6) (B-015).

    >>> axis = through([1, 2, 3], [0, 3, 4])
    >>> axis.direction, axis.point.round(6)
    (array([0. , 0.6, 0.8]), array([ 1.  , -0.16,  0.12]))
    """
    p = as_float_stack('lines.through', 'point', point, 3)
    e = points.unit('lines.through', 'direction', direction)
    nearest = p - np.sum(p * e, axis=-1, keepdims=True) * e
    return Line(np.broadcast_to(e, nearest.shape), nearest + 0.0)  # no negative zeros


def join(p: npt.ArrayLike, q: npt.ArrayLike) -> Line:
    """Return the line from p (...,3) to q (...,3), m; raises ArgumentError if they coincide.

    Source: Bruyninckx 2010, section 2.5 (B-023).

    >>> join([1, 5, 0], [1, 7, 0]).point
    array([1., 0., 0.])
    """
    p = as_float_stack('lines.join', 'p', p, 3)
    q = as_float_stack('lines.join', 'q', q, 3)
    if (p == q).all(axis=-1).any():
        raise ArgumentError('lines.join: p and q are the same point; a line needs two points')
    return through(p, q - p)


def meet(
    point1: npt.ArrayLike, normal1: npt.ArrayLike, point2: npt.ArrayLike, normal2: npt.ArrayLike
) -> Line:
    """Return the intersection of two planes, in the direction normal1 × normal2.

    A plane is a point in it (...,3), m, and its normal (...,3). Raises ArgumentError if the planes
    are parallel.

    Source: Bruyninckx 2010, section 2.5 (B-023).

    >>> meet([0, 0, 2], [0, 0, 1], [3, 0, 0], [1, 0, 0]).point
    array([3., 0., 2.])
    """
    n1 = points.unit('lines.meet', 'normal1', normal1)
    n2 = points.unit('lines.meet', 'normal2', normal2)
    p1 = as_float_stack('lines.meet', 'point1', point1, 3)
    p2 = as_float_stack('lines.meet', 'point2', point2, 3)
    d = np.cross(n1, n2)
    square = np.sum(d * d, axis=-1, keepdims=True)
    if (square < PARALLEL_TOLERANCE**2).any():
        raise ArgumentError(
            'lines.meet: the planes are parallel; their normals must have different directions'
        )
    height1, height2 = (np.sum(p * n, axis=-1, keepdims=True) for p, n in ((p1, n1), (p2, n2)))
    return through(np.cross(height1 * n2 - height2 * n1, d) / square, d)


def transform(C: npt.ArrayLike, line: Line) -> Line:
    """Return a line of frame 2 in frame 1; C (...,4,4) is the pose of frame 2 in frame 1.

    Equal to `screws.transform_twist` of its Plücker coordinates. Raises ArgumentError if C is not a
    rigid motion.

    Source: Bruyninckx 2010 (2.25) (B-030).

    >>> transform(np.eye(4), through([1, 0, 0], [0, 0, 1])).point
    array([1., 0., 0.])
    """
    e, p = _parts('lines.transform', 'line', line)
    C = as_float_stack('lines.transform', 'C', C, 4, 4)
    check_pose('lines.transform', C)
    return through(points.transform_point(C, p), points.transform_vector(C, e))


# --- Plücker -------------------------------------------------------------------------------------


def to_plucker(line: Line) -> Array:
    """Return the Plücker coordinates (e, p × e) (...,6) of a line, with a unit direction.

    Source: Bruyninckx 2010 (2.8) (B-017).

    >>> to_plucker(through([1, 2, 3], [0, 0.6, 0.8])).round(6)
    array([ 0. ,  0.6,  0.8, -0.2, -0.8,  0.6])
    """
    e, p = _parts('lines.to_plucker', 'line', line)
    return np.concatenate([e, np.cross(p, e)], axis=-1)


def from_plucker(L: npt.ArrayLike) -> Line:
    """Return the line with Plücker coordinates L = (d, m) (...,6), up to a non-zero factor.

    The point is d × m / d . d. Raises ArgumentError for d = 0, and for d . m != 0: a screw with
    non-zero pitch, whose axis `screws.screw_axis` returns.

    Source: Bruyninckx 2010 (2.7), (2.9) (B-017).

    >>> from_plucker([0, 0, 2, 0, -2, 0]).point
    array([1., 0., 0.])
    """
    L = as_float_stack('lines.from_plucker', 'L', L, 6)
    d, m = L[..., :3], L[..., 3:]
    e = points.unit('lines.from_plucker', 'the direction of L', d)
    m = m / np.linalg.norm(d, axis=-1, keepdims=True)
    pitch = np.sum(e * m, axis=-1)
    if (np.abs(pitch) > LINE_TOLERANCE * (1.0 + np.linalg.norm(m, axis=-1))).any():
        raise ArgumentError(
            'lines.from_plucker: L is a screw, not a line: d . m / d . d is a pitch of '
            f'{np.nanmax(np.abs(pitch)):.6g} m instead of 0; screws.screw_axis gives its axis'
        )
    return Line(e, np.cross(e, m) + 0.0)


# --- Denavit-Hartenberg ---------------------------------------------------------------------------


def to_denavit_hartenberg(line: Line) -> DenavitHartenberg:
    """Return the Denavit-Hartenberg coordinates of a line; angles in (-pi, pi].

    If the line intersects the Z axis (distance 0), the normal is Z × e. Lines parallel to the Z
    axis are flagged; their common normal is in the XY plane (height 0), or the X axis for the Z
    axis itself. These four numbers are valid, but those of nearby lines differ strongly.

    Source: Bruyninckx 2010, sections 2.5.3 and 2.5.4 (B-019, B-022).

    >>> dh = to_denavit_hartenberg(through([1, 2, 3], [0, 0.6, 0.8]))
    >>> [float(x.round(6)) for x in dh[:4]], bool(dh.singular)
    ([1.0, 0.333333, 0.0, -0.643501], False)
    """
    e, p = _parts('lines.to_denavit_hartenberg', 'line', line)
    (ex, ey, ez), (px, py, pz) = (tuple(x[..., n] for n in range(3)) for x in (e, p))
    s = np.hypot(ex, ey)
    axial = s < PARALLEL_TOLERANCE
    away = np.hypot(px, py)
    divisor = np.where(axial, np.where(away > 0.0, away, 1.0), s)
    nx = np.where(axial, np.where(away > 0.0, px, 1.0), -ey) / divisor
    ny = np.where(axial, py, ex) / divisor
    d = px * nx + py * ny
    turned = np.where(d < -1e-12 * (1.0 + away), -1.0, 1.0)
    nx, ny, d = turned * nx, turned * ny, np.maximum(turned * d, 0.0)
    square = np.where(axial, 1.0, s * s)
    h = np.where(axial, 0.0, pz - (px * ex + py * ey) / square * ez)
    azimuth = np.arctan2(ny + 0.0, nx)
    twist = np.arctan2(ex * ny - ey * nx + 0.0, ez)
    return DenavitHartenberg(d[()], h[()], azimuth, twist, (s < SINGULARITY_MARGIN)[()])


def from_denavit_hartenberg(
    distance: npt.ArrayLike, height: npt.ArrayLike, azimuth: npt.ArrayLike, twist: npt.ArrayLike
) -> Line:
    """Return the line with Denavit-Hartenberg coordinates (...), m, m, rad, rad.

    The direction is (sin a sin t, -cos a sin t, cos t), the foot of the normal (d cos a, d sin a,
    h), for azimuth a and twist t. All real numbers are valid.

    Source: Bruyninckx 2010 (5.5); its section 2.5.3 has the opposite sense of the twist (B-019).

    >>> from_denavit_hartenberg(1, 0, 0, -np.pi / 2).direction.round(6) + 0.0
    array([0., 1., 0.])
    """
    names = ('distance', 'height', 'azimuth', 'twist')
    d, h, a, t = np.broadcast_arrays(
        *(
            as_float_stack('lines.from_denavit_hartenberg', name, value)
            for name, value in zip(names, (distance, height, azimuth, twist))
        )
    )
    e = np.stack([np.sin(a) * np.sin(t), -np.cos(a) * np.sin(t), np.cos(t)], axis=-1)
    return through(np.stack([d * np.cos(a), d * np.sin(a), h], axis=-1), e)


# --- Hayati-Roberts -------------------------------------------------------------------------------


def to_hayati_roberts(line: Line) -> HayatiRoberts:
    """Return the Hayati-Roberts coordinates of a line.

    Lines parallel to the XY plane are flagged: they have no such coordinates, and l_x = l_y = 0 are
    placeholders.

    Source: Bruyninckx 2010, sections 2.5.3 and 2.5.4 (B-020, B-022).

    >>> hr = to_hayati_roberts(through([1, 2, 3], [0, 0.6, 0.8]))
    >>> [float(x.round(6)) for x in hr[:5]], bool(hr.singular)
    ([0.0, 0.6, 1.0, -0.25, 1.0], False)
    """
    e, p = _parts('lines.to_hayati_roberts', 'line', line)
    slope = np.abs(e[..., 2])
    level = slope < PARALLEL_TOLERANCE
    reach = -p[..., 2] / np.where(level, 1.0, e[..., 2])
    meeting = np.where(level[..., None], 0.0, p + reach[..., None] * e)
    sign = np.where(e[..., 2] < 0.0, -1.0, 1.0)
    return HayatiRoberts(
        e[..., 0],
        e[..., 1],
        meeting[..., 0],
        meeting[..., 1],
        sign[()],
        (slope < SINGULARITY_MARGIN)[()],
    )


def from_hayati_roberts(
    e_x: npt.ArrayLike,
    e_y: npt.ArrayLike,
    l_x: npt.ArrayLike,
    l_y: npt.ArrayLike,
    sign: npt.ArrayLike = 1.0,
) -> Line:
    """Return the line with Hayati-Roberts coordinates (...), 1, 1, m, m.

    It passes through (l_x, l_y, 0) with e_z = sign * sqrt(1 - e_x^2 - e_y^2). Raises ArgumentError
    if e_x, e_y are not components of a unit vector.

    Source: Bruyninckx 2010, section 2.5.4 (B-020).

    >>> from_hayati_roberts(0, 0.6, 1, -0.25).point.round(6)
    array([ 1.  , -0.16,  0.12])
    """
    names = ('e_x', 'e_y', 'l_x', 'l_y', 'sign')
    ex, ey, lx, ly, s = np.broadcast_arrays(
        *(
            as_float_stack('lines.from_hayati_roberts', name, value)
            for name, value in zip(names, (e_x, e_y, l_x, l_y, sign))
        )
    )
    square = 1.0 - ex * ex - ey * ey
    if (square < -1e-12).any():
        raise ArgumentError(
            f'lines.from_hayati_roberts: e_x^2 + e_y^2 is {1.0 - np.nanmin(square):.6g}, more than '
            '1; e_x and e_y are components of a unit vector'
        )
    ez = np.where(s < 0.0, -1.0, 1.0) * np.sqrt(np.maximum(square, 0.0))
    return through(np.stack([lx, ly, 0.0 * lx], axis=-1), np.stack([ex, ey, ez], axis=-1))


def patch(line: Line, current: str | None = None) -> str:
    """Return the name of the minimal representation to use for one line.

    'denavit_hartenberg' or 'hayati_roberts'. Without `current`, the one whose singular set is
    farther away. Otherwise `current`, unless its singular set is closer than 0.1 rad: this
    hysteresis prevents frequent switching for a moving line.

    Source: Bruyninckx 2010, sections 2.5.3 and 2.5.4 (B-022).

    >>> patch(through([1, 0, 0], [0, 0, 1])), patch(through([0, 0, 1], [1, 0, 0]))
    ('hayati_roberts', 'denavit_hartenberg')
    """
    e, _ = _parts('lines.patch', 'line', line)
    if e.shape != (3,):
        raise ArgumentError(f'lines.patch: takes one line, got a stack of shape {e.shape[:-1]}')
    sines = {'denavit_hartenberg': np.hypot(e[0], e[1]), 'hayati_roberts': np.abs(e[2])}
    if current is not None and current not in sines:
        raise UnknownNameError(f'lines.patch: current must be in {tuple(sines)}, got {current!r}')
    if current is not None and sines[current] >= CHANGE_OVER:
        return current
    return max(sines, key=lambda name: float(sines[name]))


# --- distances ------------------------------------------------------------------------------------


def common_normal(line1: Line, line2: Line) -> CommonNormal:
    """Return the common normal of two lines with its feet: their points nearest to each other.

    Source: Bruyninckx 2010 (2.11) to (2.13) (B-018).

    >>> normal = common_normal(through([0, 0, 0], [1, 0, 0]), through([1, 1, 2], [0, 0.6, 0.8]))
    >>> normal.foot1.round(6) + 0.0, normal.foot2.round(6), float(normal.distance.round(6))
    (array([1., 0., 0.]), array([ 1.  , -0.32,  0.24]), 0.4)
    """
    e1, p1 = _parts('lines.common_normal', 'line1', line1)
    e2, p2 = _parts('lines.common_normal', 'line2', line2)
    n = np.cross(e1, e2)
    sine = np.linalg.norm(n, axis=-1, keepdims=True)
    parallel = sine < PARALLEL_TOLERANCE
    n = n / np.where(parallel, 1.0, sine)
    between = p2 - p1
    along1 = _dot(np.cross(between, e2), n) / np.where(parallel, 1.0, sine)
    along2 = _dot(np.cross(between, e1), n) / np.where(parallel, 1.0, sine)
    foot1 = p1 + np.where(parallel, 0.0, along1) * e1
    foot2 = p2 + np.where(parallel, -_dot(between, e2), along2) * e2
    across = foot2 - foot1
    # Along the normal if it is unique: the feet of nearly intersecting lines differ by round-off.
    distance = np.where(
        parallel, np.linalg.norm(across, axis=-1, keepdims=True), np.abs(_dot(between, n))
    )
    apart = parallel & (distance > 0.0)
    direction = np.where(parallel, _some_normal(e1), n)
    direction = np.where(apart, across / np.where(apart, distance, 1.0), direction)
    return CommonNormal(
        through(foot1, direction),
        foot1,
        foot2,
        distance[..., 0][()],
        points.angle(e1, e2),
        parallel[..., 0][()],
    )


def distance(line1: Line, line2: Line) -> Array:
    """Return the distance (...), m, between the nearest points of two lines.

    |d1 . m2 + d2 . m1| / |d1 × d2| in Plücker coordinates; |d × (p2 - p1)| for parallel lines.

    Source: Bruyninckx 2010 (2.10) to (2.13) (B-018).

    >>> float(distance(through([0, 0, 0], [1, 0, 0]), through([0, 0, 2], [0, 1, 0])))
    2.0
    """
    return common_normal(line1, line2).distance


def intersect(line1: Line, line2: Line, tolerance: float = 1e-9) -> Array:
    """Return whether two non-parallel lines (...) intersect within `tolerance` (m).

    If they do, the feet of their `common_normal` are the intersection. Lines can be reciprocal,
    d1 . m2 + d2 . m1 = 0, without intersecting, if they are parallel.

    Source: Bruyninckx 2010 (2.10) (B-018).

    >>> bool(intersect(through([0, 0, 0], [1, 0, 0]), through([3, 1, 0], [0, 1, 0])))
    True
    """
    normal = common_normal(line1, line2)
    return np.asarray(~normal.parallel & (normal.distance <= tolerance))[()]


def nearest_point(line: Line, p: npt.ArrayLike) -> Array:
    """Return the point (...,3), m, of a line nearest to p (...,3).

    Source: Bruyninckx 2010 (2.10) to (2.13) (B-018).

    >>> nearest_point(through([0, 0, 2], [1, 0, 0]), [3, 4, 5])
    array([3., 0., 2.])
    """
    e, p0 = _parts('lines.nearest_point', 'line', line)
    p = as_float_stack('lines.nearest_point', 'p', p, 3)
    return p0 + _dot(p, e) * e


def point_distance(line: Line, p: npt.ArrayLike) -> Array:
    """Return the distance (...), m, of p (...,3) from a line.

    Source: Bruyninckx 2010 (2.10) to (2.13) (B-018).

    >>> float(point_distance(through([0, 0, 2], [1, 0, 0]), [7, 4, 5]))
    5.0
    """
    return points.distance(nearest_point(line, p), p)


# --- helpers --------------------------------------------------------------------------------------


def _parts(function: str, name: str, line: Line) -> tuple[Array, Array]:
    """Return the checked direction and point, because users can construct a `Line` directly."""
    try:
        direction, point = line
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f'{function}: {name} must be a Line; make it with lines.through or lines.from_plucker'
        ) from error
    e = as_float_stack(function, f'the direction of {name}', direction, 3)
    p = as_float_stack(function, f'the point of {name}', point, 3)
    length, along = np.linalg.norm(e, axis=-1), np.abs(np.sum(e * p, axis=-1))
    size = 1.0 + np.linalg.norm(p, axis=-1)
    if ((np.abs(length - 1.0) > LINE_TOLERANCE) | (along > LINE_TOLERANCE * size)).any():
        raise ArgumentError(
            f'{function}: {name} needs a unit direction and the point nearest to the origin; make '
            'it with lines.through, which takes any point and direction'
        )
    return e, p


def _dot(x: Array, y: Array) -> Array:
    return np.asarray(np.sum(x * y, axis=-1, keepdims=True))


def _some_normal(e: Array) -> Array:
    """Return a unit vector normal to the unit vector e, from its smallest component."""
    axis = np.eye(3)[np.argmin(np.abs(e), axis=-1)]
    normal = np.cross(e, axis)
    return normal / np.linalg.norm(normal, axis=-1, keepdims=True)
