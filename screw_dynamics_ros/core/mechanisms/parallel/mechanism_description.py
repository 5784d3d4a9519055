# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A parallel robot described by a small file: its content, checked, as a `Mechanism`.

Files are those of doc/theory/parallel_robots.md; what is passed here is what a YAML parser returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from screw_dynamics_ros.core.arguments import is_number
from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.errors import DescriptionError, ScrewDynamicsError
from screw_dynamics_ros.core.lie import quaternions, se3
from screw_dynamics_ros.core.mechanisms.parallel.architecture import architecture
from screw_dynamics_ros.core.mechanisms.parallel.legs import PUS, RUS, UPS, Leg
from screw_dynamics_ros.core.mechanisms.parallel.mechanism import Mechanism
from screw_dynamics_ros.core.mechanisms.parallel.parallel_robot import ParallelRobot
from screw_dynamics_ros.core.mechanisms.parallel.platform_singularities import platform_singularity
from screw_dynamics_ros.core.types import Array

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
IN_LENGTHS = {'base', 'platform', 'length', 'crank', 'offset'}


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
        Naming the entry: missing, unknown or wrong keys, units that are not known, a leg that
        cannot reach its pivot at home or passes its limits there, a home that is singular.
    """
    checked(where, content, {'name', 'legs', 'home'}, {'platform', 'units'})
    scale = units(f'{where}, units', content.get('units', {}))
    legs = content['legs']
    if not isinstance(legs, list):
        raise DescriptionError(f'{where}, legs must be a list, one entry for each motor')
    try:
        mechanism = Mechanism(
            str(content['name']),
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
    checked(where, content, set(), set(UNITS))
    scale = {}
    for quantity, known in UNITS.items():
        unit = content.get(quantity, next(iter(known)))
        if unit not in known:
            raise DescriptionError(
                f'{where}: {quantity} must be one of {", ".join(known)}, got {unit!r}'
            )
        scale[quantity] = known[unit]
    return scale


def leg(where: str, entry: Any, scale: Mapping[str, float]) -> Leg:
    """Return one leg of a file."""
    kind = entry.get('type') if isinstance(entry, dict) else None
    if kind not in TYPES:
        raise DescriptionError(f'{where}: type must be one of {", ".join(TYPES)}, got {kind!r}')
    make, needed, optional = TYPES[kind]
    checked(where, entry, EACH[0] | needed, EACH[1] | optional)
    values = {key: value for key, value in entry.items() if key not in ('type', 'name')}
    motor = scale['angle' if make.turning else 'length']
    for key in values:
        if key in IN_LENGTHS:
            values[key] = numbers(f'{where}, {key}', values[key]) * scale['length']
        elif key in ('lower', 'upper'):
            values[key] = numbers(f'{where}, {key}', values[key]) * motor
        elif key != 'branch':
            values[key] = numbers(f'{where}, {key}', values[key])
    values = {
        key: float(value) if np.ndim(value) == 0 and key != 'branch' else value
        for key, value in values.items()
    }
    try:
        return make(name=str(entry['name']), **values)
    except ScrewDynamicsError as error:
        raise DescriptionError(f'{where}: {error}') from None


def pose(where: str, content: Any, scale: Mapping[str, float]) -> Array:
    """Return a pose (4, 4) of a file."""
    checked(where, content, {'position'}, {'quaternion'})
    p = numbers(f'{where}, position', content['position'], 3) * scale['length']
    x = numbers(f'{where}, quaternion', content.get('quaternion', [0, 0, 0, 1]), 4)
    length = np.linalg.norm(x)
    if not abs(length - 1.0) < 1e-3:
        raise DescriptionError(f'{where}, quaternion must have length 1, got {length:.6g}')
    return se3.pose(quaternions.to_matrix(x / length), p)


def platform(where: str, content: Any, scale: Mapping[str, float]) -> Inertia:
    """Return the inertia of a platform; without mass if the file does not say."""
    if content is None:
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
    checked(where, content, {'mass'}, {'center_of_mass', 'inertia'})
    if not is_number(content['mass']):
        raise DescriptionError(f'{where}, mass must be a number [kg], got {content["mass"]!r}')
    com = numbers(f'{where}, center_of_mass', content.get('center_of_mass', [0, 0, 0]), 3)
    xx, yy, zz, xy, xz, yz = numbers(f'{where}, inertia', content.get('inertia', [0] * 6), 6)
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertia(float(content['mass']), com * scale['length'], matrix)


def numbers(where: str, value: Any, size: int | None = None) -> Array:
    """Return numbers of a file, checked to be finite and, of a list, as many as there must be."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if not np.isfinite(array).all() or (size is not None and array.shape != (size,)):
        wanted = f'{size} finite numbers' if size else 'finite numbers'
        raise DescriptionError(f'{where} must be {wanted}, got {value!r}')
    return array


def checked(where: str, entry: Any, needed: set[str], allowed: set[str]) -> None:
    """Raise `DescriptionError` unless `entry` is a mapping with these keys."""
    known = sorted(needed) + sorted(allowed)
    if not isinstance(entry, dict):
        raise DescriptionError(f'{where} must be a mapping with the keys {", ".join(known)}')
    missing, unknown = needed - set(entry), set(entry) - needed - allowed
    if missing or unknown:
        what = (
            f'lacks {min(missing)!r}'
            if missing
            else f'has an unknown key {min(map(str, unknown))!r}'
        )
        raise DescriptionError(f'{where} {what}; there are {", ".join(known)}')
