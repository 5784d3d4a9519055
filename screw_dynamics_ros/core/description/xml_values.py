# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Names, numbers, axes and rotations in the XML of robot descriptions, checked."""

from __future__ import annotations

import math
from xml.dom.minidom import Element

import numpy as np

from ..errors import DescriptionError, InertiaError
from ..reproducible import product, sine_cosine, unit
from ..types import Array
from .body_inertia import Inertia
from .xml_document import short

#: Characters of a name: they become frames, topics and lines of files.
MAX_NAME_LENGTH = 255

#: No robot needs larger numbers (SI units), and their products would overflow further on.
MAX_NUMBER = 1e30

#: Rotation matrix entries this close to 0, 1 or -1 are rounding residue of a right angle.
_RIGHT_ANGLE_TOLERANCE = 1e-15


def name_attribute(element: Element) -> str:
    """Return the name of an element; raises `DescriptionError` if it has none."""
    name = element.getAttribute('name')
    if not name:
        raise DescriptionError(f'a <{element.tagName}> has no name; add name="..."')
    if len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise DescriptionError(
            f'the name of a <{element.tagName}> has control characters, or more than '
            f'{MAX_NAME_LENGTH}: {short(ascii(name))}; rename it'
        )
    return name


def number_in(text: str, *, bound: bool = False) -> float | None:
    """Return the finite number of a text, or None; a `bound` may also be infinite."""
    try:
        value = math.nan if '_' in text else float(text)
    except ValueError:
        return None
    return value if abs(value) <= (math.inf if bound else MAX_NUMBER) else None


def numbers_in(text: str, count: int) -> tuple[float, ...] | None:
    """Return finite numbers separated by spaces, or None for anything else."""
    found = tuple(value for value in map(number_in, text.split()) if value is not None)
    return found if len(found) == len(text.split()) == count else None


def xacro_hint(text: str) -> str:
    """Return what to add to an error about a number that is a xacro expression."""
    return ' (a xacro expression: expand the file with xacro first)' if '${' in text else ''


def axis_of(components: Array, owner: str) -> Array:
    """Return the unit vector (3,) of an axis; raises `DescriptionError` for zero."""
    # Scaled first: the square of a small or large component must not vanish or overflow.
    largest = np.abs(components).max()
    if largest == 0.0:
        raise DescriptionError(
            f'{owner}: axis is zero; give it a direction, or make the joint fixed'
        )
    return unit(components / largest)


def inertia_in(pose: Array, mass: float, moments: Array, owner: str) -> Inertia:
    """Return the inertia of a body in the frame of its link.

    Parameters
    ----------
    pose : (4, 4) array
        Of the center of mass and the axes of `moments` in the link frame [m].
    mass : float
        [kg]
    moments : (3, 3) array
        About the center of mass [kg m^2].
    owner : str
        The link, for the `InertiaError` of a negative mass.
    """
    if mass < 0.0:
        raise InertiaError(f'{owner}: mass is {mass:g} kg; a mass cannot be negative, correct it')
    rotation = pose[:3, :3]
    if not np.array_equal(rotation, np.eye(3)):
        moments = product(rotation, moments, rotation.T)
        moments = 0.5 * (moments + moments.T)
    return Inertia(mass, pose[:3, 3], moments)


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), right angles exact."""
    (sr, cr), (sp, cp), (sy, cy) = map(sine_cosine, (roll, pitch, yaw))
    return without_residue(
        np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )
    )


def rotation_from_quaternion(quaternion: Array) -> Array:
    """Return the rotation matrix of a quaternion (x, y, z, w) of any length, right angles exact."""
    x, y, z, w = unit(quaternion / np.abs(quaternion).max()).tolist()
    return without_residue(
        np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
    )


def without_residue(rotation: Array) -> Array:
    """Return a rotation matrix (3, 3) whose right angles are exact."""
    nearest = np.round(rotation)
    return np.where(np.abs(rotation - nearest) <= _RIGHT_ANGLE_TOLERANCE, nearest + 0.0, rotation)
