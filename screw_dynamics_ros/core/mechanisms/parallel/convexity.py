# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""The assembly mode whose rods make a convex body with base and platform (C-123).

A convex polyhedron is determined by its faces (Cauchy). Rods that join in triangles, as those of a
3-3 platform do, leave one convex pose on each side of the base. Faces of four pivots, as those of a
6-6 platform, are not rigid: then convex poses need not be unique, and all of them count.

A rod is an edge of the convex hull of all pivots if they lie on one side of a plane through it:
seen along the rod, the others are within half a turn. Base and platform must have the others on one
side, too, if their pivots lie in planes.

Source: Bruyninckx 2010, section 8.11 (C-123).
"""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array

from . import recursions
from .assembly_modes import AssemblyModes
from .mechanism import COINCIDENCE_TOLERANCE, Mechanism


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
