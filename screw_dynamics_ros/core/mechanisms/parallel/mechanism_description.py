# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A parallel robot described by a small file: its content, checked, as a `Mechanism`.

Files are those of doc/theory/parallel_robots.md; functions take the result of a YAML parser.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...description.body_inertia import Inertia
from ...description.file_entries import check_keys, name_of, number_of, numbers_of, quoted
from ...errors import DescriptionError, ScrewDynamicsError
from ...lie import quaternions, se3
from ...types import Array
from .architecture import architecture
from .legs import PUS, RUS, UPS, Leg
from .mechanism import Mechanism
from .parallel_robot import ParallelRobot
from .platform_singularities import platform_singularity

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
