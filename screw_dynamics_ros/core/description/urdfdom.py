# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What urdfdom reads otherwise: the parser of robot_state_publisher, MoveIt, Gazebo and Pinocchio.

It refuses some numbers that other programs accept. An <inertial> with one of them is dropped with
an error on stderr, and what follows in the link with it, while the description counts as read.

Source: urdfdom 2 to 6, `strToDouble` and `parseVector` in urdf_model/utils.h of urdfdom_headers,
`parseInertial` and `parseLink` in link.cpp, `parseURDF` in model.cpp (which ignores what
`parseLink` returns).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.dom.minidom import Element

import numpy as np

from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.description.robot_description import Finding, RobotDescription
from screw_dynamics_ros.core.description.xml_document import child, children, short

READERS = 'urdfdom (robot_state_publisher, MoveIt, Gazebo)'

#: What std::istream reads as a number up to its last character.
_NUMBER = re.compile(r'[ \t\n\v\f\r]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?', re.ASCII)

_MOMENTS = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


class _Fault(NamedTuple):
    """The attribute at which urdfdom gives an inertial up, and whether it has the mass by then."""

    tag: str
    key: str
    value: str | None
    has_mass: bool


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
    for joint in description.joints:
        if joint.kind.has_pitch:
            yield Finding(
                'warning',
                f'joint {joint.name}',
                f'a URDF has no {joint.type} joints; {READERS} refuses the whole description',
                'for other programs make it revolute, with a prismatic joint behind it that mimics '
                f'it with multiplier {joint.pitch:.6g}',
            )
    inertias = {link.name: link.inertia for link in description.links}
    for link in children(robot, 'link'):
        inertial, inertia = child(link, 'inertial'), inertias.get(link.getAttribute('name'))
        fault = None if inertial is None else _fault(inertial)
        if fault is not None and inertia is not None:
            yield _dropped_inertial(link, inertia, fault)


def _name_findings(robot: Element, name: str) -> Iterator[Finding]:
    if not robot.hasAttribute('name'):
        yield Finding(
            'warning',
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
    if fault.value is None:
        what, remedy = f'<{fault.tag}> without {fault.key}', f'add {fault.key}="0"'
    else:
        what = f'<{fault.tag} {fault.key}="{short(repr(fault.value)[1:-1])}">'
        remedy = 'write plain numbers, with single spaces between them and nothing after them'
    return Finding(
        'warning',
        f'link {link.getAttribute("name")}',
        f'{READERS} refuses {what}: there the link {lost} {moments}{more}',
        remedy,
    )


def _fault(inertial: Element) -> _Fault | None:
    """Return the first attribute of an <inertial> that urdfdom refuses, in the order it reads."""
    origin = child(inertial, 'origin')
    for key in ('xyz', 'rpy'):
        if origin is not None and origin.hasAttribute(key):
            value = origin.getAttribute(key)
            words = [word for word in value.split(' ') if word]
            if len(words) != 3 or not all(map(is_read, words)):
                return _Fault('origin', key, value, has_mass=False)
    mass, moments = child(inertial, 'mass'), child(inertial, 'inertia')
    if mass is not None and not is_read(mass.getAttribute('value')):
        return _Fault('mass', 'value', mass.getAttribute('value'), has_mass=False)
    if moments is not None:
        for key in _MOMENTS:
            moment = moments.getAttribute(key) if moments.hasAttribute(key) else None
            if moment is None or not is_read(moment):
                return _Fault('inertia', key, moment, has_mass=True)
    return None


def is_read(text: str) -> bool:
    r"""Return whether urdfdom reads an attribute as a number.

    White space may stand before it, and nothing after it.

    >>> [is_read(text) for text in ('1e-3', ' 1', '1 ', '1\n', 'inf', '0x1')]
    [True, True, False, False, False, False]
    """
    return _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))
