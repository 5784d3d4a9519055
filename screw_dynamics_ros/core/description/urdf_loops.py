# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Extensions of URDF for robots with loops, as `urdf_writer` writes them; urdfdom ignores them.

* ``<loop_closure name="pin" type="spherical">`` has two
  ``<end link="rocker"><origin xyz="0 0 0.25"/></end>``;
* ``<motor joint="crank"/>``;
* ``<posture name="low"><position joint="elbow" value="0.9"/></posture>``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar
from xml.dom.minidom import Element

from ..errors import DescriptionError
from .robot_description import Closure, RobotDescription
from .urdf_elements import origin_in, vector
from .xml_document import children, name_attribute, short

T = TypeVar('T')

PAIRS = ('spherical', 'weld')


def with_loops(description: RobotDescription, robot: Element) -> RobotDescription:
    """Return a description with the closures, motors and postures of its <robot>.

    Raises `DescriptionError` for unknown names and types, and for invalid numbers.
    """
    links = {link.name: link for link in description.links}
    joints = {joint.name: joint for joint in description.joints}
    postures = {}
    for posture in children(robot, 'posture'):
        owner = f'posture {name_attribute(posture)!r}'
        postures[name_attribute(posture)] = {
            joint.name: vector(each, 'value', owner, None, joint.kind.nq)
            for each in children(posture, 'position')
            for joint in [_named(each, 'joint', joints, owner)]
        }
    return replace(
        description,
        closures=tuple(_closure(each, links) for each in children(robot, 'loop_closure')),
        actuated=tuple(
            _named(each, 'joint', joints, 'a <motor>').name for each in children(robot, 'motor')
        ),
        postures=postures,
    )


def _closure(element: Element, links: Mapping[str, object]) -> Closure:
    name, pair = name_attribute(element), element.getAttribute('type')
    ends = children(element, 'end')
    owner = f'loop closure {name!r}'
    if pair not in PAIRS or len(ends) != 2:
        raise DescriptionError(
            f'{owner} has type {short(pair)!r} and {len(ends)} ends; use one of '
            f'{", ".join(PAIRS)}, and two <end link="...">'
        )
    for end in ends:
        _named(end, 'link', links, owner)
    first, second = ends
    return Closure(
        name,
        pair,
        (first.getAttribute('link'), second.getAttribute('link')),
        (origin_in(first, owner), origin_in(second, owner)),
    )


def _named(element: Element, kind: str, parts: Mapping[str, T], owner: str) -> T:
    """Return the link or joint that an attribute names."""
    name = element.getAttribute(kind)
    if name not in parts:
        raise DescriptionError(
            f'{owner} has {kind} {short(name)!r}, which does not exist; correct the name'
        )
    return parts[name]
