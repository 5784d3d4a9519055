# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers, texts and poses in the elements of an SDFormat file, checked; errors name the line."""

from __future__ import annotations

import math
from xml.dom.minidom import Element

import numpy as np

from ..errors import DescriptionError
from ..types import Array
from .xml_document import (
    MAX_NUMBER,
    child,
    line_of,
    number_in,
    numbers_in,
    rotation_from_quaternion,
    rotation_from_rpy,
    short,
    text_of,
    xacro_hint,
)

#: Absolute value from which SDFormat before 1.9 takes a limit as infinite [rad, m].
_INFINITE_LIMIT = 1e16

#: Tolerance of the length of a quaternion of a file.
_QUATERNION_TOLERANCE = 1e-2

_FLAGS = {'true': True, '1': True, 'false': False, '0': False}


def place_of(element: Element) -> str:
    """Return what an element is, with its name and line, for errors."""
    name = element.getAttribute('name')
    what = f'{element.tagName} {short(name)!r}' if name else f'<{element.tagName}>'
    return f'{what} (line {line_of(element)})'


def number_of(
    parent: Element | None, tag: str, default: float, owner: str, *, bound: bool = False
) -> float:
    """Return the number in a child element; a `bound` is infinite from 1e16 on.

    Raises `DescriptionError` for anything else.
    """
    element = None if parent is None else child(parent, tag)
    if element is None:
        return default
    text = text_of(element)
    value = number_in(text, bound=bound)
    if value is None:
        raise _refusal(element, owner, text, 'a finite number')
    return math.copysign(math.inf, value) if bound and abs(value) >= _INFINITE_LIMIT else value


def vector_of(element: Element, owner: str) -> Array:
    """Return the three numbers in an element; raises `DescriptionError` for anything else."""
    return np.array(_numbers(element, 3, owner))


def flag_of(parent: Element, tag: str) -> bool:
    """Return the truth value in a child element, False without one."""
    element = child(parent, tag)
    if element is None:
        return False
    return _flag(text_of(element), element)


def pose_of(element: Element | None, owner: str) -> Array:
    """Return the pose (4, 4) that a <pose> contains; the identity if there is none.

    Six numbers are x, y, z [m] and roll, pitch, yaw [rad, or degrees by its attribute]; with
    rotation_format="quat_xyzw" they are seven. Source: SDFormat 1.11, pose.sdf.
    """
    pose = np.eye(4)
    if element is None or not text_of(element):
        return pose
    form = element.getAttribute('rotation_format') or 'euler_rpy'
    degrees = _flag(element.getAttribute('degrees') or 'false', element)
    if form == 'euler_rpy':
        numbers = _numbers(element, 6, owner)
        angles = [math.radians(angle) if degrees else angle for angle in numbers[3:]]
        pose[:3, :3] = rotation_from_rpy(*angles)
    elif form == 'quat_xyzw' and not degrees:
        numbers = _numbers(element, 7, owner)
        pose[:3, :3] = _rotation(np.array(numbers[3:]), element, owner)
    else:
        raise DescriptionError(
            f'{owner}: {place_of(element)} has rotation_format {form!r}'
            f'{" with degrees" if degrees else ""}; use "euler_rpy", or "quat_xyzw" without degrees'
        )
    pose[:3, 3] = numbers[:3]
    return pose


def _rotation(quaternion: Array, element: Element, owner: str) -> Array:
    length = math.hypot(*quaternion)
    if abs(length - 1.0) > _QUATERNION_TOLERANCE:
        raise DescriptionError(
            f'{owner}: the quaternion of {place_of(element)} has length {length:.4g}; '
            'a rotation has length 1, correct it'
        )
    return rotation_from_quaternion(quaternion)


def _numbers(element: Element, count: int, owner: str) -> tuple[float, ...]:
    text = text_of(element)
    numbers = numbers_in(text, count)
    if numbers is None:
        raise _refusal(element, owner, text, f'{count} finite numbers separated by spaces')
    return numbers


def _flag(text: str, element: Element) -> bool:
    value = _FLAGS.get(text.lower())
    if value is None:
        raise DescriptionError(f'{place_of(element)}: {short(text)!r} is neither true nor false')
    return value


def _refusal(element: Element, owner: str, text: str, expected: str) -> DescriptionError:
    return DescriptionError(
        f'{owner}: {place_of(element)} contains {short(text)!r}, which is not {expected}, at most '
        f'{MAX_NUMBER:g}; correct it{xacro_hint(text)}'
    )
