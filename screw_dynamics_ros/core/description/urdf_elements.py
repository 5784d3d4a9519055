# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Elements of URDF 1.0, 1.1 and 1.2: numbers, origins and primitives, checked.

Version 1.1 adds `quat_xyzw` of an <origin> and <capsule>; 1.2 adds limits of acceleration,
deceleration and jerk, and a limit that is missing is infinite. In older versions urdfdom ignores
them, and so does this package.

Source: urdfdom 6.0, `parsePoseInternal` in pose.cpp, `parseGeometry` in link.cpp,
`parseJointLimits` in joint.cpp, `parseURDF` in model.cpp.
"""

from __future__ import annotations

from typing import NoReturn, get_args
from xml.dom.minidom import Element

import numpy as np

from ..errors import DescriptionError
from ..types import Array
from .shapes import Shape, ShapeKind
from .xml_document import (
    MAX_NUMBER,
    child,
    number_in,
    numbers_in,
    rotation_from_quaternion,
    rotation_from_rpy,
    short,
    xacro_hint,
)

READERS = 'urdfdom (robot_state_publisher, MoveIt, Gazebo)'

#: Versions of URDF, and whose urdfdom reads each of them.
VERSIONS = {
    (1, 0): 'every ROS distribution',
    (1, 1): 'ROS Lyrical and newer (urdfdom 5.1)',
    (1, 2): 'ROS Lyrical and newer (urdfdom 6.0)',
}

QUATERNIONS = CAPSULES = (1, 1)
MOTION_LIMITS = (1, 2)

#: Limits of URDF 1.2.
MOTION = ('acceleration', 'deceleration', 'jerk')

#: A limit of this size is infinite: a number where urdfdom requires one.
UNLIMITED = 1e9

ZERO = (0.0, 0.0, 0.0)


def given_version(robot: Element) -> tuple[int, int] | None:
    """Return the version of a <robot>, (1, 0) if it has none, None if urdfdom has no such one."""
    major, _, minor = (robot.getAttribute('version') or '1.0').partition('.')
    if not (major.strip().isdecimal() and minor.isdecimal()):
        return None
    version = int(major), int(minor)
    return version if version in VERSIONS else None


def version_text(robot: Element) -> str:
    """Return the version of a <robot>, and which ROS distributions read it."""
    version = given_version(robot)
    readers = 'no ROS distribution' if version is None else VERSIONS[version]
    return f'version {short(robot.getAttribute("version") or "1.0")} of URDF is read by {readers}'


def version_of(element: Element) -> tuple[int, int]:
    """Return the version by whose rules an element is read: the newest one for unknown ones."""
    document = element.ownerDocument
    assert document is not None
    root = document.documentElement
    assert root is not None
    return given_version(root) or max(VERSIONS)


def number(
    element: Element, key: str, owner: str, default: float | None = None, *, bound: bool = False
) -> float:
    """Return one attribute as a finite number; a `bound` may also be infinite."""
    if not element.hasAttribute(key):
        if default is None:
            raise DescriptionError(f'{owner}: <{element.tagName}> has no {key}; add {key}="..."')
        return default
    text = element.getAttribute(key)
    value = number_in(text, bound=bound)
    if value is None:
        refuse_number(element, key, owner, text, 'a finite number')
    return value


def vector(
    element: Element, key: str, owner: str, default: tuple[float, ...] | None = ZERO, size: int = 3
) -> tuple[float, ...]:
    """Return the finite numbers of one attribute."""
    if not element.hasAttribute(key):
        if default is None:
            raise DescriptionError(f'{owner}: <{element.tagName}> has no {key}; add {key}="..."')
        return default
    text = element.getAttribute(key)
    values = numbers_in(text, size)
    if values is None:
        count = {3: 'three', 4: 'four'}.get(size, size)
        many = f'{count} finite numbers separated by spaces'
        refuse_number(element, key, owner, text, 'a finite number' if size == 1 else many)
    return values


def refuse_number(element: Element, key: str, owner: str, text: str, expected: str) -> NoReturn:
    """Raise the `DescriptionError` of an attribute that is not as expected."""
    raise DescriptionError(
        f'{owner}: <{element.tagName} {key}="{short(text)}"> is not {expected}, at most '
        f'{MAX_NUMBER:g}; correct it{xacro_hint(text)}'
    )


def origin_in(element: Element, owner: str) -> Array:
    """Return the pose (4, 4) of the <origin> of an element; the identity if it is missing."""
    pose = np.eye(4)
    origin = child(element, 'origin')
    if origin is None:
        return pose
    pose[:3, 3] = vector(origin, 'xyz', owner)
    if not origin.hasAttribute('quat_xyzw') or version_of(element) < QUATERNIONS:
        pose[:3, :3] = rotation_from_rpy(*vector(origin, 'rpy', owner))
        return pose
    if origin.hasAttribute('rpy'):
        raise DescriptionError(f'{owner}: <origin> has rpy and quat_xyzw; remove one of them')
    quaternion = np.array(vector(origin, 'quat_xyzw', owner, size=4))
    if not quaternion.any():
        raise DescriptionError(
            f'{owner}: quat_xyzw of <origin> is zero; for no rotation write 0 0 0 1'
        )
    pose[:3, :3] = rotation_from_quaternion(quaternion)
    return pose


def primitive_of(geometry: Element | None) -> Element | None:
    """Return the primitive of a <geometry>, None for a mesh or none."""
    if geometry is None:
        return None
    found = (child(geometry, kind) for kind in get_args(ShapeKind))
    return next((each for each in found if each is not None), None)


def shape_in(primitive: Element, pose: Array, owner: str) -> Shape:
    """Return a primitive; raises `ArgumentError` and `DescriptionError` for impossible numbers."""
    kind: ShapeKind = primitive.tagName  # type: ignore[assignment]
    if kind == 'capsule' and version_of(primitive) < CAPSULES:
        raise DescriptionError(
            'URDF 1.0 has no capsules, and urdfdom omits the element; give <robot> version="1.1"'
        )
    if kind == 'box':
        return Shape(kind, np.array(vector(primitive, 'size', owner, None)), pose)
    width = 2.0 * number(primitive, 'radius', owner)
    length = width if kind == 'sphere' else number(primitive, 'length', owner)
    if kind == 'capsule':  # <capsule length> is that of its cylinder
        length += width
    return Shape(kind, np.array([width, width, length]), pose)
