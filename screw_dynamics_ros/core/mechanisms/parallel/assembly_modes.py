# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All poses of a platform with the same motor positions: its assembly modes (C-119, C-123).

Motors at rest give rods of constant lengths, six quadrics in Study's coordinates
(`study_coordinates`). They belong to the family

    M = [[S, A^T], [A, s 1]]        S symmetric (4, 4), A antisymmetric (4, 4)

whose general member has 40 solutions that are poses. Those of one general complex member, found
once in a process, are followed to the lengths that are asked for (`path_tracking`): all isolated
poses are among the ends of the 40 paths, the others end where x . x = 0. That is coefficient-
parameter continuation, which is certain for all members but a set of measure zero; numerical
failures are checked for afterwards, and reported by `AssemblyModes.complete`:

* Each path has arrived at a regular solution, or goes to x . x = 0. Poses that are singular, where
  paths meet, are counted; they are not among the poses.
* Ends are regular in the sense of Smale's alpha-theorem: the smallest singular value of their
  equations is so far above rounding errors that Newton's method converges to one solution, and to
  the same from within `ISOLATION_RADIUS` of it.
* Ends are different from each other, and complex ones are there with their conjugates, as the
  coefficients are real. A path that has jumped to another one breaks one of both.

`convex_pose` is the one whose rods make a convex body with base and platform. A convex polyhedron
is determined by its faces (Cauchy). Rods that join in triangles, as those of a 3-3 platform do,
leave one convex pose on each side of the base. Faces of four pivots, as those of a 6-6 platform,
are not rigid: then convex poses need not be unique, and all of them count.

A rod is an edge of the convex hull of all pivots if they lie on one side of a plane through it:
seen along the rod, the others are within half a turn. Base and platform must have the others on one
side, too, if their pivots lie in planes.

Source: Sommese, Wampler, The Numerical Solution of Systems of Polynomials, 2005, section 7.1; Blum,
Cucker, Shub, Smale, Complexity and Real Computation, 1998, chapter 8; Raghavan, The Stewart
platform of general geometry has 40 configurations, 1993; Bruyninckx 2010, section 8.11 (C-123).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError
from ...lie import so3
from ...types import Array
from . import path_tracking, recursions, study_coordinates
from .mechanism import COINCIDENCE_TOLERANCE, Mechanism
from .path_tracking import Complex, Paths

#: Solutions of a general system.
PATH_COUNT = 40
#: Smallest singular value of a regular end: with errors of 1e-15 in each equation
#: alpha is at most 7e-15 / 1e-12, far below 0.157.
MIN_REGULAR_VALUE = 1e-6
#: Radius, in smallest singular values, within which there is no other solution: (3 - sqrt(7)) / 2
#: of 1 / gamma, where gamma is at most sqrt(7) divided by that value.
ISOLATION_RADIUS = 0.06
#: Distance of unit vectors within which they are one solution.
DUPLICATE_TOLERANCE = 1e-8
#: |x . x| of a unit vector (x, y) that is no pose: the platform would be 30 km away per meter.
NO_POSE_TOLERANCE = 1e-9
#: Exponent of t with which |x . x| vanishes along a path that ends at no pose, at least.
MIN_VANISHING_EXPONENT = 0.1
#: Corrections of paths allowed in each attempt.
ATTEMPT_CORRECTIONS = (1e-4, 1e-6)
POLISHING_STEPS = 4


@dataclass(frozen=True, eq=False)
class AssemblyModes:
    """All poses for some motor positions, and why these are all.

    Attributes
    ----------
    poses : (k, 4, 4) array
        Of the platform in the base frame, the nearest to the seed first.
    sides : (k,) array
        Sign of the determinant of the wrenches of the rods: between poses of different sign there
        is a singularity.
    residual : float
        Largest length error of a rod in all poses [m]; 0 without poses.
    complex_solutions : int
        Regular solutions that are poses, real and complex ones.
    no_poses : int
        Paths that end at x . x = 0.
    singular : int
        Paths that end at singular poses, real or complex ones, which are not in `poses`.
    failed : int
        Paths that were lost: they ended nowhere, twice at the same solution, or without the
        conjugate of their end.
    smallest_singular_value : float
        Of the equations of regular solutions; infinite if there is none.
    complete : bool
        Whether `poses` are all: no path is lost or ends at a singular pose.
    message : str
    """

    poses: Array
    sides: Array
    residual: float
    complex_solutions: int
    no_poses: int
    singular: int
    failed: int
    smallest_singular_value: float
    complete: bool
    message: str


def assembly_modes(mechanism: Mechanism, q: Array, seed: Array) -> AssemblyModes:
    """Return all poses for motor positions (n,), those near the pose `seed` (4, 4) first.

    Takes about a tenth of a second, and a second more the first time in a process.

    Raises
    ------
    ArgumentError
        For other than six rods: more have no pose in general, and one of six of them is enough.
    """
    if len(mechanism.rod_legs) != 6:
        raise ArgumentError(
            f'{mechanism.name} has {len(mechanism.rod_legs)} rods; all poses are found for six'
        )
    ends = best_ends(quadrics(mechanism, q))
    real = [realified(z) for z in ends.points[ends.real]]
    found = [polished(mechanism, q, study_coordinates.pose(z, mechanism.size)) for z in real]
    found.sort(key=lambda T: distance(T, seed, mechanism.size))
    poses = np.array(found).reshape(-1, 4, 4)
    errors = [recursions.length_errors(mechanism, q, T) for T in poses]
    return AssemblyModes(
        poses,
        np.array([side(mechanism, q, T) for T in poses]),
        float(np.abs(errors).max(initial=0.0)),
        len(ends.points),
        ends.no_poses,
        ends.singular,
        ends.failed,
        ends.smallest,
        ends.complete,
        message_of(ends, len(poses)),
    )


@dataclass(frozen=True, eq=False)
class Ends:
    """The ends of all paths, sorted.

    Attributes
    ----------
    points : (k, 8) complex array
        Regular solutions that are poses.
    real : (k,) bool array
        Which are multiples of real vectors.
    no_poses, singular, failed : int
        As of `AssemblyModes`.
    smallest : float
        Smallest singular value of all `points`.
    """

    points: Complex
    real: NDArray[np.bool_]
    no_poses: int
    singular: int
    failed: int
    smallest: float

    @property
    def complete(self) -> bool:
        """Whether no path is lost or ends at a singular pose."""
        return self.failed == 0 and self.singular == 0


def best_ends(target: Array) -> Ends:
    """Return the ends of all paths to quadrics (7, 8, 8), followed again if some were lost."""
    start, solutions = general_system()
    for attempt in ATTEMPT_CORRECTIONS:
        paths = path_tracking.follow(start, target.astype(complex), solutions, attempt)
        ends = sort_ends(target, paths)
        if ends.failed == 0:
            return ends
    return ends


def quadrics(mechanism: Mechanism, q: Array) -> Array:
    """Return the quadrics (7, 8, 8) of six rods and of all poses, lengths in sizes."""
    elbows = np.concatenate([leg.elbows(x) for leg, x in zip(mechanism.legs, q)])
    ends = zip(elbows, mechanism.platform_pivots, recursions.rod_lengths(mechanism, q))
    s = mechanism.size
    rods = [study_coordinates.rod_quadric(c / s, a / s, rho / s) for c, a, rho in ends]
    return np.array([*rods, study_coordinates.STUDY])


@lru_cache(maxsize=1)
def general_system() -> tuple[Complex, Complex]:
    """Return a general complex member of the family, (7, 8, 8), and its 40 solutions (40, 8).

    One solution is chosen, the system made for it. Followed around closed paths in the family,
    solutions change places; the others are found by that (monodromy), until there are 40.
    """
    random = np.random.default_rng(40)
    z = complex_normal(random, 8)
    z[4:] -= z[:4] * (z[:4] @ z[4:]) / (z[:4] @ z[:4])
    start = family_member(random)
    for M in start[:-1]:
        M[:4, :4] -= np.eye(4) * (z @ M @ z) / (z[:4] @ z[:4])
    solutions = path_tracking.unit(z[None])
    while len(solutions) < PATH_COUNT:
        corners = [start, family_member(random), family_member(random), start]
        points = solutions
        for first, second in pairwise(corners):
            paths = path_tracking.follow(first, second, points)
            points = paths.ends[paths.arrived]
        for z in points:
            if nearest(z, solutions) > DUPLICATE_TOLERANCE:
                solutions = np.concatenate([solutions, z[None]])
    return start, solutions


def complex_normal(random: np.random.Generator, *shape: int) -> Complex:
    """Return complex numbers with normally distributed parts."""
    numbers: Complex = random.normal(size=shape) + 1j * random.normal(size=shape)
    return numbers


def family_member(random: np.random.Generator) -> Complex:
    """Return six quadrics drawn from the family, and that of all poses, (7, 8, 8)."""
    S, A = complex_normal(random, 6, 4, 4), complex_normal(random, 6, 4, 4)
    S, A = S + S.transpose(0, 2, 1), A - A.transpose(0, 2, 1)
    one = np.broadcast_to(np.eye(4), S.shape)
    M: Complex = np.concatenate(
        [np.concatenate([S, A.transpose(0, 2, 1)], 2), np.concatenate([A, one], 2)], 1
    )
    return np.concatenate([M, study_coordinates.STUDY[None]])


def sort_ends(target: Array, paths: Paths) -> Ends:
    """Return what the ends of paths to real quadrics (7, 8, 8) are."""
    points = paths.ends
    at_end, before = (np.abs((z[:, :4] ** 2).sum(axis=1)) for z in (points, paths.before))
    # |x . x| ~ t^w along paths that end at no pose
    rate = np.log(np.maximum(before, 1e-300) / np.maximum(at_end, 1e-300))
    times = np.log(paths.before_t / np.maximum(paths.left, 1e-300))
    vanishing = (at_end < NO_POSE_TOLERANCE) | (
        ~paths.arrived & (rate > MIN_VANISHING_EXPONENT * np.maximum(times, 1.0))
    )
    values = smallest_singular_values(target, points)
    regular = paths.arrived & (values > MIN_REGULAR_VALUE) & ~vanishing
    tried = paths.arrived | (paths.left < path_tracking.MIN_PATH_PARAMETER * 10)
    singular = ~regular & ~vanishing & tried
    chosen, sigma = points[regular], values[regular]
    mirrored = chosen.conj()
    alone = np.array(
        [nearest(z, np.delete(chosen, k, 0)) > DUPLICATE_TOLERANCE for k, z in enumerate(chosen)]
    )
    paired = np.array([nearest(z, chosen) < DUPLICATE_TOLERANCE for z in mirrored])
    real = (
        np.array([nearest(z, w[None]) for z, w in zip(chosen, mirrored)]) < ISOLATION_RADIUS * sigma
    )
    lost = int(np.sum(~(regular | vanishing | singular)))
    return Ends(
        chosen,
        real.astype(bool),
        int(vanishing.sum()),
        int(singular.sum()),
        lost + int(np.sum(~(alone & paired))) if len(chosen) else lost,
        float(sigma.min(initial=np.inf)),
    )


def smallest_singular_values(target: Array, z: Complex) -> Array:
    """Return those (n,) of the derivative of all equations across z (n, 8)."""
    J = path_tracking.bordered(path_tracking.products(target.astype(complex), z), z)
    values: Array = np.linalg.svd(J, compute_uv=False)[:, -1]
    return values


def nearest(z: Complex, points: Complex) -> float:
    """Return the distance of z (m,) from the nearest of points (n, m), multiples being one."""
    if not len(points):
        return np.inf
    aside = z - (points.conj() @ z)[:, None] * points
    return float(np.linalg.norm(aside, axis=1).min())


def realified(z: Complex) -> Array:
    """Return the multiple of z (m,) that is real."""
    largest = z[np.abs(z).argmax()]
    multiple: Array = (z * (abs(largest) / largest)).real
    return multiple


def polished(mechanism: Mechanism, q: Array, T: Array) -> Array:
    """Return a pose after some Newton steps."""
    for _ in range(POLISHING_STEPS):
        T, _ = recursions.newton_step(mechanism, q, T)
    return T


def side(mechanism: Mechanism, q: Array, T: Array) -> float:
    """Return the sign of the determinant of the unit wrenches of six rods."""
    return float(np.sign(np.linalg.det(recursions.unit_wrenches(mechanism, q, T))))


def distance(T: Array, other: Array, size: float) -> float:
    """Return the angle between two poses [rad] plus their shift in sizes."""
    shift = float(np.linalg.norm(T[:3, 3] - other[:3, 3]))
    return float(so3.distance(T[:3, :3], other[:3, :3])) + shift / size


def message_of(ends: Ends, count: int) -> str:
    """Return the summary of the search."""
    text = f'{count} poses, of {len(ends.points)} complex solutions on {PATH_COUNT} paths'
    if ends.singular:
        text += f'; {ends.singular} paths end at singular poses, which are excluded'
    if ends.failed:
        text += f'; {ends.failed} paths are lost: poses may be missing'
    return text


def is_convex(mechanism: Mechanism, q: Array, pose: Array) -> bool:
    """Return whether all rods are edges of the convex hull of base and platform.

    Parameters
    ----------
    mechanism : Mechanism
    q : (n,), pose : (4, 4)
        Motor positions and a pose that go together.

    Examples
    --------
    >>> from screw_dynamics_ros.core.mechanisms.parallel.example_mechanisms import octahedron
    >>> mechanism = octahedron()
    >>> is_convex(mechanism, np.full(6, 0.7018), mechanism.home)
    True
    """
    d = recursions.rod_vectors(mechanism, q, pose)
    tops = pose[:3, 3] + mechanism.platform_pivots @ pose[:3, :3].T
    elbows, near = tops - d, COINCIDENCE_TOLERANCE * mechanism.size
    corners = np.concatenate([elbows, tops])
    along_edges = all(
        widest_gap(corners - start, rod, near) > np.pi - COINCIDENCE_TOLERANCE
        for start, rod in zip(elbows, d)
    )
    return along_edges and on_one_side(elbows, tops, near) and on_one_side(tops, elbows, near)


def widest_gap(points: Array, axis: Array, near: float) -> float:
    """Return the widest angle about an axis (3,) through 0 without points (n, 3) [rad].

    Points nearer to the axis than `near` are ignored; it is 2 pi for one direction, and if there
    is none.
    """
    e = axis / np.linalg.norm(axis)
    x = np.cross(e, np.eye(3)[np.abs(e).argmin()])
    x /= np.linalg.norm(x)
    seen = np.column_stack([points @ x, points @ np.cross(e, x)])
    seen = seen[np.linalg.norm(seen, axis=1) > near]
    if not len(seen):
        return 2.0 * np.pi
    angles = np.sort(np.arctan2(seen[:, 1], seen[:, 0]))
    return float(np.diff(angles, append=angles[0] + 2.0 * np.pi).max())


def normal_of(points: Array, near: float) -> Array | None:
    """Return the normal (3,) of the plane of points (n, 3), None if there is not one plane."""
    _, s, V = np.linalg.svd(points - points.mean(axis=0))
    return V[2] if s[2] <= near < s[1] else None


def on_one_side(points: Array, others: Array, near: float) -> bool:
    """Return whether other points are on one side of the plane of points, if they have one."""
    normal = normal_of(points, near)
    if normal is None:
        return True
    heights = (others - points.mean(axis=0)) @ normal
    return bool((heights >= -near).all() or (heights <= near).all())


def convex_pose(mechanism: Mechanism, q: Array, modes: AssemblyModes, seed: Array) -> Array:
    """Return the convex pose (4, 4) of all poses `modes`, on the side of the base of a seed (4, 4).

    Raises
    ------
    ArgumentError
        If none is convex, or several are; if poses may be missing.
    """
    if not modes.complete:
        raise ArgumentError(f'which pose is the convex one is not certain: {modes.message}')
    convex = [T for T in modes.poses if is_convex(mechanism, q, T)]
    above = [T for T in convex if side_of_base(mechanism, T) * side_of_base(mechanism, seed) > 0.0]
    if len(above) != 1:
        raise ArgumentError(
            f'{len(above)} of {len(modes.poses)} poses are convex on the side of the seed: '
            'convexity does not choose; give a seed nearby instead'
        )
    return above[0]


def side_of_base(mechanism: Mechanism, pose: Array) -> float:
    """Return 1 or -1 for the two sides of the plane of the base pivots, 1 if they have none."""
    base = mechanism.base_pivots
    normal = normal_of(base, COINCIDENCE_TOLERANCE * mechanism.size)
    if normal is None:
        return 1.0
    center = pose[:3, 3] + pose[:3, :3] @ mechanism.platform_pivots.mean(axis=0)
    return float(np.sign(normal @ (center - base.mean(axis=0))))
