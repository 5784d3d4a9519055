# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Special arrangements of pivots, recognized by name (C-122).

Where the pivots of the platform are an affine image a_i = A b_i + d of those of the base, both in
planes, forward position kinematics is simpler; but if they lie on a conic, too, the platform is
singular in all poses. Similar regular hexagons, on circles, are the trap among these. Where five
pivots lie on a line there is a closed form as well.

Source: Bruyninckx 2010, sections 8.14 and 8.19; Karger, Architecture singular planar parallel
manipulators, 2003.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...errors import ArgumentError
from ...types import Array
from .mechanism import COINCIDENCE_TOLERANCE, Mechanism


@dataclass(frozen=True)
class Architecture:
    """Special architecture of the pivots of six rods.

    Attributes
    ----------
    relation : {'similar', 'affine', 'none'}
        Of the platform to the base, if both are planar: similar (turned, shifted, scaled or turned
        over), an affine image, or neither.
    on_conic : bool
        Whether the pivots of the base lie on a conic.
    regular_hexagon : bool
        Whether they are the corners of a regular hexagon, in any order.
    collinear : dict of str to tuple of str
        'base' and 'platform', each with the legs of five or more pivots on a line, if there are.
    singular : bool
        Whether all poses are singular for that reason.
    message : str
    """

    relation: str
    on_conic: bool
    regular_hexagon: bool
    collinear: dict[str, tuple[str, ...]]
    singular: bool
    message: str


def architecture(mechanism: Mechanism) -> Architecture:
    """Return the special architecture of a platform on six legs that lengthen.

    Raises
    ------
    ArgumentError
        For other legs.

    Examples
    --------
    >>> from screw_dynamics_ros.core.mechanisms.parallel.example_mechanisms import circle
    >>> from screw_dynamics_ros.core.mechanisms.parallel.example_mechanisms import home, lengthening
    >>> corners = range(0, 360, 60)
    >>> legs = lengthening(circle(0.5, corners), circle(0.3, corners))
    >>> architecture(Mechanism('hexagons', legs, home(0.5))).message
    'base and platform are similar regular hexagons: singular in all poses'
    """
    if len(mechanism.legs) != 6 or any(leg.kind != 'UPS' for leg in mechanism.legs):
        raise ArgumentError(
            f'{mechanism.name}: pivots are recognized of platforms on six UPS legs; other legs '
            'move theirs'
        )
    b, a = mechanism.base_pivots, mechanism.platform_pivots
    near = COINCIDENCE_TOLERANCE * mechanism.size
    relation = relation_of(b, a, near)
    hexagon = is_regular_hexagon(b, near)
    on_conic = is_planar(b, near) and lie_on_conic(b)
    lines = {'base': on_a_line(b, near), 'platform': on_a_line(a, near)}
    collinear = {
        name: tuple(mechanism.joint_names[k] for k in found)
        for name, found in lines.items()
        if found
    }
    singular = relation != 'none' and on_conic
    message = words(relation, hexagon, on_conic, collinear)
    return Architecture(relation, on_conic, hexagon, collinear, singular, message)


def words(
    relation: str, hexagon: bool, on_conic: bool, collinear: dict[str, tuple[str, ...]]
) -> str:
    """Return the message of an `Architecture`."""
    parts = []
    if relation != 'none':
        shape = 'regular hexagons' if hexagon else 'polygons'
        text = f'base and platform are similar {shape}'
        if relation == 'affine':
            text = 'base and platform are affine images of each other'
        if on_conic:
            text += ('' if hexagon else ' on conics') + ': singular in all poses'
        parts.append(text)
    for name, legs in collinear.items():
        parts.append(f'pivots of {", ".join(legs)} on the {name} lie on a line')
    return '; '.join(parts) or 'nothing special'


def is_planar(points: Array, near: float) -> bool:
    """Return whether points (n, 3) lie in one plane and not on a line."""
    s = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(s[2] <= near < s[1])


def in_plane(points: Array) -> Array:
    """Return coordinates (n, 2) of points in a plane, about their mean."""
    d = points - points.mean(axis=0)
    coordinates: Array = d @ np.linalg.svd(d)[2][:2].T
    return coordinates


def relation_of(base: Array, platform: Array, near: float) -> str:
    """Return how planar points (n, 3) are related: 'similar', 'affine' or 'none'."""
    if not is_planar(base, near) or not is_planar(platform, near):
        return 'none'
    b, a = in_plane(base), in_plane(platform)
    A = np.linalg.lstsq(b, a, rcond=None)[0]
    if np.abs(b @ A - a).max() > near:
        return 'none'
    s = np.linalg.svd(A, compute_uv=False)
    return 'similar' if s[0] - s[1] <= COINCIDENCE_TOLERANCE * s[0] else 'affine'


def lie_on_conic(points: Array) -> bool:
    """Return whether six points (6, 3) of a plane lie on a conic, degenerate ones included."""
    x, y = (in_plane(points) / np.linalg.norm(in_plane(points), axis=1).max()).T
    rows = np.array([x * x, x * y, y * y, x, y, np.ones(6)])
    return bool(np.linalg.matrix_rank(rows, tol=COINCIDENCE_TOLERANCE) < 6)


def is_regular_hexagon(points: Array, near: float) -> bool:
    """Return whether six points (6, 3) are the corners of a regular hexagon, in any order."""
    apart = np.sort(np.linalg.norm(points[:, None] - points[None], axis=2), axis=1)
    side = apart[:, 1].mean()
    wanted = side * np.array([0.0, 1.0, 1.0, np.sqrt(3.0), np.sqrt(3.0), 2.0])
    return bool(np.abs(apart - wanted).max() <= near and is_planar(points, near))


def on_a_line(points: Array, near: float) -> tuple[int, ...]:
    """Return the indices of at least five of six points (6, 3) on a line; none if there are not."""
    for count in (6, 5):
        for chosen in combinations(range(6), count):
            p = points[list(chosen)]
            if np.linalg.svd(p - p.mean(axis=0), compute_uv=False)[1] <= near:
                return chosen
    return ()
