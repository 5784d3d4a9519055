# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""A parallel robot described by a small file: its content, checked, as a `Mechanism`.

Files are those of doc/theory/parallel_robots.md; functions take the result of a YAML parser.

Special arrangements of pivots, recognized by name (C-122).

Where the pivots of the platform are an affine image a_i = A b_i + d of those of the base, both in
planes, forward position kinematics is simpler; but if they lie on a conic, too, the platform is
singular in all poses. Similar regular hexagons, on circles, are the trap among these. Where five
pivots lie on a line there is a closed form as well.

Source: Bruyninckx 2010, sections 8.14 and 8.19; Karger, Architecture singular planar parallel
manipulators, 2003.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.description.file_entries import (
    check_keys,
    name_of,
    number_of,
    numbers_of,
    quoted,
)
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError, ScrewDynamicsError
from screw_dynamics_ros.core.lie import quaternions, se3
from screw_dynamics_ros.core.types import Array

from .legs import PUS, RUS, UPS, Leg
from .mechanism import COINCIDENCE_TOLERANCE, Mechanism
from .parallel_robot import ParallelRobot
from .platform_singularities import platform_singularity


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


LENGTHS = {'m': 1.0, 'mm': 1e-3}
ANGLES = {'rad': 1.0, 'deg': float(np.pi / 180)}
UNITS = {'length': LENGTHS, 'angle': ANGLES}

#: Keys of all legs, and those of each type: needed ones, and others.
EACH = {'name', 'type', 'base', 'platform'}, {'lower', 'upper'}
TYPES: dict[str, tuple[type[Leg], set[str], set[str]]] = {
    'UPS': (UPS, set(), {'offset'}),
    'PUS': (PUS, {'direction', 'length'}, {'branch'}),
    'RUS': (RUS, {'axis', 'zero', 'crank', 'length'}, {'branch'}),
}
#: Shape, None for a point or several, and unit of numbers of legs.
NUMBERS: dict[str, tuple[tuple[int, ...] | None, str]] = {
    **dict.fromkeys(('base', 'platform'), (None, 'length')),
    **dict.fromkeys(('length', 'crank', 'offset'), ((), 'length')),
    **dict.fromkeys(('lower', 'upper'), ((), 'motor')),
    **dict.fromkeys(('direction', 'axis', 'zero'), ((3,), '')),
}


def mechanism_of(content: Any, where: str = 'parallel robot') -> Mechanism:
    """Return the mechanism that a file describes, found to be reachable and regular at its home.

    Parameters
    ----------
    content : mapping
        With the keys

        * `name`; `units`, optional: {length: m or mm, angle: rad or deg}, m and rad by default
        * `legs`: list of mappings with `name`, `type` (UPS, PUS or RUS), `base` and `platform`
          (a pivot, or a list of one for each rod), `lower`, `upper` (limits of the motor), and
          `offset` (UPS); `direction`, `length`, `branch` (PUS); `axis`, `zero`, `crank`, `length`,
          `branch` (RUS), as in `core.mechanisms.parallel.legs`
        * `home`: {position, quaternion}, (x, y, z, w), a pose of the platform
        * `platform`, optional: {mass [kg], center_of_mass, inertia}, with Ixx, Iyy, Izz, Ixy, Ixz,
          Iyz about the center of mass [kg m^2, whatever the units]
    where : str
        What errors call the content, a file for instance.

    Raises
    ------
    DescriptionError
        Naming the entry: missing, unknown or wrong keys, unknown units, a leg that
        cannot reach its pivot at home or passes its limits there, a home that is singular.
    """
    check_keys(where, content, {'name', 'legs', 'home'}, {'platform', 'units'})
    scale = units(f'{where}, units', content.get('units', {}))
    legs = content['legs']
    if not isinstance(legs, list):
        raise DescriptionError(f'{where}, legs must be a list, one entry for each motor')
    try:
        mechanism = Mechanism(
            name_of(f'{where}, name', content['name']),
            tuple(leg(f'{where}, leg {k}', entry, scale) for k, entry in enumerate(legs, 1)),
            pose(f'{where}, home', content['home'], scale),
            platform(f'{where}, platform', content.get('platform'), scale),
        )
        check_home(mechanism)
    except DescriptionError as error:
        message = str(error)
        raise DescriptionError(
            message if message.startswith(where) else f'{where}: {error}'
        ) from None
    except ScrewDynamicsError as error:
        raise DescriptionError(f'{where}: {error}') from None
    return mechanism


def check_home(mechanism: Mechanism) -> None:
    """Raise `DescriptionError` unless the platform can stand at home, away from singularities."""
    try:
        q = ParallelRobot(mechanism, backend='reference').inverse_position(mechanism.home)
    except ScrewDynamicsError as error:
        raise DescriptionError(f'at home, {error}') from None
    report = platform_singularity(mechanism, q, mechanism.home)
    if report.singular or report.singular_legs:
        remedy = 'choose another home, or other pivots if it is singular everywhere'
        if len(mechanism.legs) == 6 and all(leg.kind == 'UPS' for leg in mechanism.legs):
            found = architecture(mechanism)
            remedy = f'{found.message}; choose other pivots' if found.singular else remedy
        raise DescriptionError(f'home is singular: {report.message}; {remedy}')


def units(where: str, content: Any) -> dict[str, float]:
    """Return m and rad in the units of a file."""
    check_keys(where, content, set(), set(UNITS))
    scale = {}
    for quantity, known in UNITS.items():
        unit = content.get(quantity, next(iter(known)))
        if unit not in list(known):
            raise DescriptionError(
                f'{where}: {quantity} must be one of {", ".join(known)}, got {quoted(unit)}'
            )
        scale[quantity] = known[unit]
    return scale


def leg(where: str, entry: Any, scale: Mapping[str, float]) -> Leg:
    """Return one leg of a file."""
    kind = entry.get('type') if isinstance(entry, dict) else None
    if kind not in list(TYPES):
        raise DescriptionError(
            f'{where}: type must be one of {", ".join(TYPES)}, got {quoted(kind)}'
        )
    make, needed, optional = TYPES[kind]
    check_keys(where, entry, EACH[0] | needed, EACH[1] | optional)
    units_of = {'length': scale['length'], 'motor': scale['angle' if make.turning else 'length']}
    values = {key: entry[key] for key in entry.keys() & {'branch'}}
    for key in entry.keys() & NUMBERS.keys():
        shape, unit = NUMBERS[key]
        found = numbers_of(f'{where}, {key}', entry[key], shape) * units_of.get(unit, 1.0)
        values[key] = float(found) if shape == () else found
    try:
        return make(name=name_of(f'{where}, name', entry['name']), **values)
    except ScrewDynamicsError as error:
        raise DescriptionError(f'{where}: {error}') from None


def pose(where: str, content: Any, scale: Mapping[str, float]) -> Array:
    """Return a pose (4, 4) of a file."""
    check_keys(where, content, {'position'}, {'quaternion'})
    p = numbers_of(f'{where}, position', content['position'], (3,)) * scale['length']
    x = numbers_of(f'{where}, quaternion', content.get('quaternion', [0, 0, 0, 1]), (4,))
    length = np.linalg.norm(x)
    if not abs(length - 1.0) < 1e-3:
        raise DescriptionError(f'{where}, quaternion must have length 1, got {length:.6g}')
    return se3.pose(quaternions.to_matrix(x / length), p)


def platform(where: str, content: Any, scale: Mapping[str, float]) -> Inertia:
    """Return the inertia of a platform; without mass if the file does not say."""
    if content is None:
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
    check_keys(where, content, {'mass'}, {'center_of_mass', 'inertia'})
    mass = number_of(f'{where}, mass', content['mass'])
    com = numbers_of(f'{where}, center_of_mass', content.get('center_of_mass', [0, 0, 0]), (3,))
    xx, yy, zz, xy, xz, yz = numbers_of(f'{where}, inertia', content.get('inertia', [0] * 6), (6,))
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertia(mass, com * scale['length'], matrix)
