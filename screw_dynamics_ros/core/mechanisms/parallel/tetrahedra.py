# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Closed forms by tetrahedra: points at known distances from three others.

A point at distances l_p, l_q, l_r from p, q, r lies on three spheres, which meet in two points,
mirrored at the plane p q r. Three of these in a row give the poses of a 321 platform, whose rods
meet in threes (t3), in twos (t2) and alone (t1): t3 from the three base pivots of its rods, t2 from
two base pivots and t3, t1 from its base pivot, t3 and t2. That makes up to eight poses. One of them
gives the position of a Delta robot, which translates only, from the elbows of its three cranks.

The same tetrahedron gives velocities: (t - p) . (v - v_p) = l_p l_p' for each edge.

Source: Bruyninckx 2010, sections 8.14, 8.15, 8.17 and 8.18, (8.20) to (8.22), (8.25) to (8.28)
(C-121, C-124).
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import float_array, vector
from ...errors import ArgumentError
from ...lie import se3, so3
from ...lie.orientations import nearest_rotation
from ...lie.screw_systems import TOLERANCE
from ...types import Array
from .mechanism import COINCIDENCE_TOLERANCE, Mechanism, classify, groups_of_points, is_delta

#: Which side of the triangle the apex is on, seen from where p, q, r turn counterclockwise.
SIDES = {'up': 1.0, 'down': -1.0}


def apex(points: ArrayLike, lengths: ArrayLike, side: str = 'up') -> Array:
    """Return the point (3,) at given distances (3,) from three points (3, 3) [m].

    'up' is the side to which (q - p) × (r - p) points (8.20) to (8.22).

    Raises
    ------
    ArgumentError
        If the points lie on a line, or the distances contradict each other: no tetrahedron has
        these edges.

    Examples
    --------
    >>> apex([[0, 0, 0], [3, 0, 0], [0, 4, 0]], [2, 13 ** 0.5, 20 ** 0.5]).round(6) + 0.0
    array([0., 0., 2.])
    """
    p, q, r = float_array('points', points)
    lp, lq, lr = vector('lengths', 3, lengths)
    d = np.linalg.norm(q - p)
    ex = (q - p) / d if d > 0.0 else np.zeros(3)
    i = ex @ (r - p)
    across = r - p - i * ex
    j = np.linalg.norm(across)
    if not d > 0.0 or not j > TOLERANCE * max(d, abs(i)):
        raise ArgumentError(
            f'the points {p.tolist()}, {q.tolist()}, {r.tolist()} lie on a line and make no '
            'tetrahedron'
        )
    ey = across / j
    x = (lp**2 - lq**2 + d**2) / (2 * d)
    y = (lp**2 - lr**2 + i**2 + j**2 - 2 * i * x) / (2 * j)
    square = lp**2 - x**2 - y**2
    if square < -TOLERANCE * lp**2 or not np.isfinite(square):
        raise ArgumentError(
            f'no point has the distances {[lp, lq, lr]} from three points with edges {d:.6g}, '
            f'{np.linalg.norm(r - p):.6g} and {np.linalg.norm(r - q):.6g}: the lengths contradict '
            'each other'
        )
    z = SIDES[side] * np.sqrt(max(square, 0.0))
    point: Array = p + x * ex + y * ey + z * np.cross(ex, ey)
    return point


def apex_velocity(
    top: ArrayLike, points: ArrayLike, rates: ArrayLike, velocities: ArrayLike | None = None
) -> Array:
    """Return the velocity (3,) of the apex of a tetrahedron (8.25) to (8.28) (C-124).

    The sum of what each edge gives while the others keep their lengths.

    Parameters
    ----------
    top : (3,)
    points : (3, 3)
        The other vertices, one in each row [m].
    rates : (3,)
        Rates of the lengths of the edges to `top` [m/s].
    velocities : (3, 3), optional
        Of the points [m/s], 0 by default.

    Raises
    ------
    ArgumentError
        If the four points lie in a plane.

    Examples
    --------
    >>> apex_velocity([0, 0, 0], [[-1, 0, 0], [0, -1, 0], [0, 0, -1]], [1, 2, 3]).round(6)
    array([1., 2., 3.])
    """
    edges = vector('top', 3, top) - float_array('points', points)
    lengths = np.linalg.norm(edges, axis=1)
    v = np.zeros((3, 3)) if velocities is None else float_array('velocities', velocities)
    unit = edges / lengths[:, None]
    if not abs(np.linalg.det(unit)) > TOLERANCE:
        raise ArgumentError('the tetrahedron is flat: its edges do not give the velocity across')
    velocity: Array = np.linalg.solve(unit, vector('rates', 3, rates) + (unit * v).sum(axis=1))
    return velocity


def pose_from_points(tops: ArrayLike, pivots: ArrayLike) -> Array:
    """Return the pose (4, 4) that takes pivots (k, 3) of the platform nearest to points (k, 3).

    That of least squares; three points that are not on a line are enough (C-121, C-123).
    """
    t, a = float_array('tops', tops), float_array('pivots', pivots)
    mean_t, mean_a = t.mean(axis=0), a.mean(axis=0)
    R = nearest_rotation((t - mean_t).T @ (a - mean_a))
    return se3.pose(R, mean_t - R @ mean_a)


def twist_from_points(points: ArrayLike, velocities: ArrayLike, origin: ArrayLike) -> Array:
    """Return the hybrid twist (6,) at `origin` (3,) of a body from velocities of its points (k, 3).

    v_j = v + omega × (p_j - origin), in the sense of least squares (C-124). Raises `ArgumentError`
    for points on a line, about which the body may turn.
    """
    p = float_array('points', points) - vector('origin', 3, origin)
    A = np.concatenate([np.column_stack([-so3.hat(each), np.eye(3)]) for each in p])
    if np.linalg.matrix_rank(A) < 6:
        raise ArgumentError('points on a line do not give the rotation about it')
    twist: Array = np.linalg.lstsq(A, float_array('velocities', velocities).ravel(), rcond=None)[0]
    return twist


class LabeledPose(NamedTuple):
    """One of the poses with the same motor positions.

    Attributes
    ----------
    label : str
        '3-up/2-up/1-down' for instance: the side that the apex of each tetrahedron is on.
    pose : (4, 4) array
    """

    label: str
    pose: Array


class Pivots(NamedTuple):
    """Rods of a 321 platform: (3,) of them in pivot t3, (2,) in t2, one in t1."""

    three: tuple[int, ...]
    two: tuple[int, ...]
    one: int


def rods_of_321(mechanism: Mechanism) -> Pivots:
    """Return which rods meet in which pivot; raises `ArgumentError` for other designs."""
    groups = groups_of_points(mechanism.platform_pivots, COINCIDENCE_TOLERANCE * mechanism.size)
    rods = {
        groups.count(g): tuple(k for k, other in enumerate(groups) if other == g)
        for g in set(groups)
    }
    if sorted(rods) != [1, 2, 3] or len(groups) != 6:
        raise ArgumentError(
            f'{mechanism.name} is a {classify(mechanism)} platform; this closed form is that of '
            '321 platforms, whose rods meet in threes, in twos and alone'
        )
    return Pivots(rods[3], rods[2], rods[1][0])


def poses_of_321(mechanism: Mechanism, elbows: Array, lengths: Array) -> list[LabeledPose]:
    """Return all poses, at most eight, of a 321 platform for the ends and lengths of its rods.

    Parameters
    ----------
    mechanism : Mechanism
    elbows : (6, 3) array
        Where the rods start [m].
    lengths : (6,) array
        [m].
    """
    rods, a = rods_of_321(mechanism), mechanism.platform_pivots
    a3, a2, a1 = a[rods.three[0]], a[rods.two[0]], a[rods.one]
    l23, l13, l12 = (np.linalg.norm(x - y) for x, y in ((a2, a3), (a1, a3), (a1, a2)))
    found = []
    for sides in product(SIDES, repeat=3):
        try:
            t3 = apex(elbows[list(rods.three)], lengths[list(rods.three)], sides[0])
            t2 = apex([*elbows[list(rods.two)], t3], [*lengths[list(rods.two)], l23], sides[1])
            t1 = apex([elbows[rods.one], t3, t2], [lengths[rods.one], l13, l12], sides[2])
        except ArgumentError:
            continue  # these distances meet in no real point
        label = '/'.join(f'{k}-{side}' for k, side in zip((3, 2, 1), sides))
        found.append(LabeledPose(label, pose_from_points([t3, t2, t1], [a3, a2, a1])))
    return found


def pose_of_pairs(
    mechanism: Mechanism, elbows: Array, lengths: Array, rod: int, direction: Array
) -> tuple[Array, float]:
    """Return the pose of a platform on three pairs of rods, from lengths and one direction (C-120).

    The direction of one rod determines its pivot; the two others are apexes above two base
    pivots and that one, on either side. Of these four poses the one is returned in which all
    lengths agree best, and the largest disagreement.

    Parameters
    ----------
    mechanism : Mechanism
        A 3-3 or 6-3 platform.
    elbows : (6, 3), lengths : (6,) arrays
        Where the rods start, and their lengths [m].
    rod : int
        That with the measured direction.
    direction : (3,) array
        Unit vector along it, towards the platform, in the base frame.

    Returns
    -------
    (pose (4, 4), disagreement [m])

    Raises
    ------
    ArgumentError
        For other designs, and for lengths and a direction that contradict each other.
    """
    a = mechanism.platform_pivots
    groups = groups_of_points(a, COINCIDENCE_TOLERANCE * mechanism.size)
    if sorted(groups) != [0, 0, 1, 1, 2, 2]:
        raise ArgumentError(
            f'{mechanism.name} is a {classify(mechanism)} platform; this closed form is that of '
            'platforms on three pivots with two rods each'
        )
    first = elbows[rod] + lengths[rod] * direction
    others = [[k for k, g in enumerate(groups) if g == each] for each in {0, 1, 2} - {groups[rod]}]
    found = []
    for sides in product(SIDES, repeat=2):
        tops = [first]
        for pair, side in zip(others, sides):
            edge = np.linalg.norm(a[pair[0]] - a[rod])
            tops.append(apex([*elbows[pair], first], [*lengths[pair], edge], side))
        T = pose_from_points(tops, [a[rod], *(a[pair[0]] for pair in others)])
        errors = np.linalg.norm(T[:3, 3] + a @ T[:3, :3].T - elbows, axis=1) - lengths
        found.append((T, float(np.abs(errors).max())))
    return min(found, key=lambda each: each[1])


def poses_of_delta(mechanism: Mechanism, elbows: Array, lengths: Array) -> list[LabeledPose]:
    """Return the two poses of a Delta robot: its platform above and below the three elbows.

    Spheres about the elbows, shifted by the pivots of the platform that does not turn.
    """
    if not is_delta(mechanism):
        raise ArgumentError(f'{mechanism.name} is a {classify(mechanism)}, not a delta')
    R = mechanism.home[:3, :3]
    centers = (elbows - mechanism.platform_pivots @ R.T)[::2]
    return [LabeledPose(s, se3.pose(R, apex(centers, lengths[::2], s))) for s in SIDES]
