# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Differences from urdfdom, the parser of robot_state_publisher, MoveIt, Gazebo and Pinocchio.

It refuses some numbers that other programs accept. An <inertial> with one of them is dropped with
an error on stderr, with all that follows in the link, but the description is accepted; a joint
with one of them makes it refuse the whole description.

Source: urdfdom 2 to 6, `strToDouble` and `parseVector` in urdf_model/utils.h of urdfdom_headers,
`parseInertial` and `parseLink` in link.cpp, `parseJoint` in joint.cpp, `parseURDF` in model.cpp
(which ignores what `parseLink` returns).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.dom.minidom import Element

import numpy as np

from .body_inertia import Inertia
from .joint_types import JointType
from .robot_description import Finding, RobotDescription
from .urdf_elements import (
    MOTION,
    MOTION_LIMITS,
    QUATERNIONS,
    READERS,
    VERSIONS,
    given_version,
    version_of,
    version_text,
)
from .xml_document import child, children, short

#: What std::istream reads as a number up to its last character.
_NUMBER = re.compile(r'[ \t\n\v\f\r]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?', re.ASCII)

_MOMENTS = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')

#: Numbers of the elements of a joint.
_JOINT_NUMBERS = {
    'limit': ('lower', 'upper', 'effort', 'velocity'),
    'safety_controller': ('soft_lower_limit', 'soft_upper_limit', 'k_position', 'k_velocity'),
    'calibration': ('rising', 'falling'),
    'mimic': ('multiplier', 'offset'),
    'dynamics': ('damping', 'friction'),
}
_PLACED = ('inertial', 'visual', 'collision')  # elements of a link with an <origin>
_PLAIN = 'write plain numbers, with single spaces between them and nothing after them'


class _Fault(NamedTuple):
    """The attribute at which urdfdom gives up, and whether it has the mass of a link by then."""

    tag: str
    key: str
    value: str | None = None
    has_mass: bool = False

    def __str__(self) -> str:
        if self.value is None:
            return f'<{self.tag}> without {self.key}'
        return f'<{self.tag} {self.key}="{short(repr(self.value)[1:-1])}">'

    @property
    def remedy(self) -> str:
        if self.value is not None:
            return _PLAIN
        if self.tag == 'joint':
            return 'add <limit lower="..." upper="..." velocity="..." effort="..."/>'
        return f'add {self.key}="{0 if self.tag == "inertia" else "..."}"'


def urdfdom_findings(robot: Element, description: RobotDescription) -> Iterator[Finding]:
    """Yield where urdfdom has another robot than this package, or none.

    Parameters
    ----------
    robot : Element
        The <robot>, with the line breaks and tabs of its attributes (`with_line_breaks`).
    description : RobotDescription
        What this package reads there.
    """
    yield from _name_findings(robot, description.name)
    yield from _version_findings(robot, description.name)
    kinds = {joint.name: joint.kind for joint in description.joints}
    for element in children(robot, 'joint'):
        kind, name = kinds[element.getAttribute('name')], element.getAttribute('name')
        refused = _fault_of_joint(element, kind)
        if refused is not None:
            yield Finding.warning(
                f'joint {name}',
                f'{READERS} refuses {refused}, and with it the whole description',
                refused.remedy,
            )
        axis = child(element, 'axis')
        if kind.has_axis and axis is not None and not axis.hasAttribute('xyz'):
            yield Finding.warning(
                f'joint {name}',
                f'<axis> has no xyz; the axis is 1 0 0 here and zero in {READERS}',
                'add xyz="1 0 0"',
            )
    for joint in description.joints:
        if not joint.kind.in_urdf:
            remedy = 'three revolute joints whose axes meet'
            if joint.kind.has_pitch:
                remedy = (
                    'revolute, with a prismatic joint behind it that mimics it with multiplier '
                    f'{joint.pitch:.6g}'
                )
            yield Finding.warning(
                f'joint {joint.name}',
                f'a URDF has no {joint.type} joints; {READERS} refuses the whole description',
                f'for other programs make it {remedy}',
            )
    inertias = {link.name: link.inertia for link in description.links}
    for link in children(robot, 'link'):
        inertial, inertia = child(link, 'inertial'), inertias.get(link.getAttribute('name'))
        fault = None if inertial is None else _fault(inertial)
        if fault is not None and inertia is not None:
            yield _dropped_inertial(link, inertia, fault)


def _name_findings(robot: Element, name: str) -> Iterator[Finding]:
    if not robot.hasAttribute('name'):
        yield Finding.warning(
            f'robot {name}',
            f'<robot> has no name; it is called {name!r} here, while {READERS} refuses the whole '
            'description',
            'add name="..." to <robot>',
        )
    elif not robot.getAttribute('name'):
        yield Finding(
            'info',
            f'robot {name}',
            f'the name of <robot> is empty; it is called {name!r} here, and has no name in '
            f'{READERS}',
            'write one',
        )


def _dropped_inertial(link: Element, inertia: Inertia, fault: _Fault) -> Finding:
    """Return what the link lacks in urdfdom, in numbers."""
    mass = f'mass of {inertia.mass:.6g} kg'
    largest = float(np.linalg.eigvalsh(inertia.matrix)[-1])
    moments = f'moments of inertia of up to {largest:.6g} kg m^2'
    lost = f'keeps its {mass} but loses' if fault.has_mass else f'loses its {mass} and'
    shapes = [kind for kind in ('visual', 'collision') if children(link, kind)]
    more = f', and each <{"> and <".join(shapes)}>' if shapes else ''
    return Finding.warning(
        f'link {link.getAttribute("name")}',
        f'{READERS} refuses {fault}: there the link {lost} {moments}{more}',
        fault.remedy,
    )


def _fault(inertial: Element) -> _Fault | None:
    """Return the first attribute of an <inertial> that urdfdom refuses, in the order it reads."""
    fault = _fault_of_origin(inertial)
    if fault is not None:
        return fault
    mass, moments = child(inertial, 'mass'), child(inertial, 'inertia')
    if mass is not None and not is_read(mass.getAttribute('value')):
        return _Fault('mass', 'value', mass.getAttribute('value'), has_mass=False)
    if moments is not None:
        for key in _MOMENTS:
            moment = moments.getAttribute(key) if moments.hasAttribute(key) else None
            if moment is None or not is_read(moment):
                return _Fault('inertia', key, moment, has_mass=True)
    return None


def _fault_of_origin(element: Element) -> _Fault | None:
    """Return the first attribute of the <origin> of an element that urdfdom refuses."""
    origin = child(element, 'origin')
    if origin is None:
        return None
    sizes = {'xyz': 3, 'rpy': 3}
    if version_of(element) >= QUATERNIONS:
        sizes['quat_xyzw'] = 4
    faults = (_fault_of_vector(origin, key, size) for key, size in sizes.items())
    return next((fault for fault in faults if fault is not None), None)


def _fault_of_vector(element: Element, key: str, size: int = 3) -> _Fault | None:
    """Return the fault of an attribute unless it is missing, or has `size` numbers."""
    if not element.hasAttribute(key):
        return None
    value = element.getAttribute(key)
    words = [word for word in value.split(' ') if word]
    is_valid = len(words) == size and all(map(is_read, words))
    return None if is_valid else _Fault(element.tagName, key, value)


def _fault_of_joint(joint: Element, kind: JointType) -> _Fault | None:
    """Return the attribute for which urdfdom refuses a joint."""
    fault = _fault_of_origin(joint)
    axis = child(joint, 'axis')
    if fault is None and axis is not None and kind.has_axis:
        fault = _fault_of_vector(axis, 'xyz')
    if fault is not None:
        return fault
    version = version_of(joint)
    if kind.has_range and child(joint, 'limit') is None:
        return _Fault('joint', '<limit>')
    for tag, keys in _JOINT_NUMBERS.items():
        element = child(joint, tag)
        if element is None:
            continue
        required: tuple[str, ...] = ('k_velocity',) if tag == 'safety_controller' else ()
        if tag == 'limit':
            required = ('effort', 'velocity')
            if version >= MOTION_LIMITS:
                keys += MOTION
                required = ('lower', 'upper') if kind.has_range else ()
        given = [key for key in keys if element.hasAttribute(key)]
        for key in given:
            if not is_read(element.getAttribute(key)):
                return _Fault(tag, key, element.getAttribute(key))
        for key in required:
            if key not in given:
                return _Fault(tag, key)
        if tag == 'dynamics' and not given:
            return _Fault(tag, 'damping')
    return None


def _version_findings(robot: Element, name: str) -> Iterator[Finding]:
    """Yield what depends on the version, and which distributions read it."""
    version, newest = given_version(robot), max(VERSIONS)
    text = short(robot.getAttribute('version'))
    if version is None:
        yield Finding.warning(
            f'robot {name}',
            f'there is no URDF {text!r}: it is read here as {newest[0]}.{newest[1]}, and {READERS} '
            'refuses the whole description',
            f'use one of {", ".join(f"{major}.{minor}" for major, minor in VERSIONS)}',
        )
    elif version > (1, 0):
        yield Finding(
            'info',
            f'robot {name}',
            f'{version_text(robot)}; Kilted, Jazzy and older refuse the whole description',
        )
    if version_of(robot) >= QUATERNIONS:
        return
    for kind in ('link', 'joint'):
        for element in children(robot, kind):
            parts = [element, *(part for tag in _PLACED for part in children(element, tag))]
            origins = (child(part, 'origin') for part in parts)
            if any(each is not None and each.hasAttribute('quat_xyzw') for each in origins):
                yield Finding.warning(
                    f'{kind} {element.getAttribute("name")}',
                    'quat_xyzw of <origin> is ignored, as urdfdom does: it belongs to URDF 1.1',
                    'give <robot> version="1.1", which Lyrical and newer read, or write rpy',
                )


def is_read(text: str) -> bool:
    r"""Return whether urdfdom reads an attribute as a number.

    White space may stand before it, and nothing after it.

    >>> [is_read(text) for text in ('1e-3', ' 1', '1 ', '1\n', 'inf', '0x1')]
    [True, True, False, False, False, False]
    """
    return _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))
