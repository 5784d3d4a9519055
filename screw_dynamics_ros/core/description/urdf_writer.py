# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`RobotDescription` to URDF, the inverse of `urdf.read_urdf`; other origins in a given text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from xml.etree import ElementTree

import numpy as np

from ..errors import UnknownNameError
from ..types import Array
from .body_inertia import Inertia
from .robot_description import Joint, Limits, RobotDescription
from .shapes import Shape
from .urdf import DYNAMICS
from .urdf_elements import CAPSULES, MOTION, MOTION_LIMITS, UNLIMITED
from .xml_document import child, children, document_text, robot_document


def write_urdf(description: RobotDescription) -> str:
    r"""Return URDF text, numbers to the last digit: reading it gives the same links and joints.

    Shapes are written as <collision>; gravity and a free joint of the root are omitted. Helical
    and ball joints, armatures, springs, loops, motors and postures are extensions of URDF, see
    `urdf`; all else is read by urdfdom, of Lyrical and newer if there are capsules or limits of
    acceleration or jerk. Infinite limits that it requires are written as
    `UNLIMITED`.

    Examples
    --------
    >>> from screw_dynamics_ros.core.description.robot_description import Link, RobotDescription
    >>> write_urdf(RobotDescription.from_parts('stone', [Link('base')], []))
    '<robot name="stone">\n  <link name="base" />\n</robot>\n'
    """
    robot = ElementTree.Element('robot', {'name': description.name, **_version(description)})
    for link in description.links:
        element = ElementTree.SubElement(robot, 'link', name=link.name)
        if link.inertia is not None:
            _inertial(element, link.inertia)
        for shape in link.shapes:
            _collision(element, shape)
    for joint in description.joints:
        _joint(robot, joint)
    _loops(robot, description)
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding='unicode') + '\n'


def _inertial(link: ElementTree.Element, inertia: Inertia) -> None:
    inertial = ElementTree.SubElement(link, 'inertial')
    for tag, attributes in inertial_attributes(inertia).items():
        ElementTree.SubElement(inertial, tag, attributes)


def _collision(link: ElementTree.Element, shape: Shape) -> None:
    collision = ElementTree.SubElement(link, 'collision')
    ElementTree.SubElement(collision, 'origin', origin_attributes(shape.pose))
    geometry = ElementTree.SubElement(collision, 'geometry')
    width, _, length = map(float, shape.extents)
    sizes = {'radius': number_text(0.5 * width), 'length': number_text(length)}
    if shape.kind == 'box':
        sizes = {'size': _numbers(shape.extents)}
    elif shape.kind == 'capsule':  # the length of its cylinder, never zero for urdfdom
        sizes['length'] = number_text(max(length - width, 1e-9 * width))
    elif shape.kind == 'sphere':
        del sizes['length']
    ElementTree.SubElement(geometry, shape.kind, sizes)


def _joint(robot: ElementTree.Element, joint: Joint) -> None:
    element = ElementTree.SubElement(robot, 'joint', name=joint.name, type=joint.type)
    if joint.kind.has_pitch:
        element.set('pitch', number_text(joint.pitch))
    ElementTree.SubElement(element, 'origin', origin_attributes(joint.origin))
    ElementTree.SubElement(element, 'parent', link=joint.parent)
    ElementTree.SubElement(element, 'child', link=joint.child)
    if joint.kind.has_axis:
        ElementTree.SubElement(element, 'axis', xyz=_numbers(joint.axis))
    if joint.kind.is_scalar:
        limit = _limit(joint.limits, joint.kind.has_range)
        if limit:
            ElementTree.SubElement(element, 'limit', limit)
    if joint.mimic is not None:
        ElementTree.SubElement(
            element,
            'mimic',
            joint=joint.mimic.joint,
            multiplier=number_text(joint.mimic.multiplier),
            offset=number_text(joint.mimic.offset),
        )
    values = {key: getattr(joint, key) for key in DYNAMICS}
    if any(values.values()):  # other readers require damping and friction together
        kept = {key for key, x in values.items() if x} | {'damping', 'friction'}
        dynamics = {key: number_text(x) for key, x in values.items() if key in kept}
        ElementTree.SubElement(element, 'dynamics', dynamics)


def _loops(robot: ElementTree.Element, description: RobotDescription) -> None:
    for each in description.closures:
        closure = ElementTree.SubElement(robot, 'loop_closure', name=each.name, type=each.pair)
        for link, pose in zip(each.links, each.poses, strict=True):
            end = ElementTree.SubElement(closure, 'end', link=link)
            ElementTree.SubElement(end, 'origin', origin_attributes(pose))
    for actuated in description.actuated:
        ElementTree.SubElement(robot, 'motor', joint=actuated)
    for name, positions in description.postures.items():
        posture = ElementTree.SubElement(robot, 'posture', name=name)
        for joint in description.joints:
            if joint.name in positions:
                value = _numbers(positions[joint.name])
                ElementTree.SubElement(posture, 'position', joint=joint.name, value=value)


def _version(description: RobotDescription) -> dict[str, str]:
    """Return the version attribute of <robot> that a description requires."""
    needed = (1, 0)
    if any(shape.kind == 'capsule' for link in description.links for shape in link.shapes):
        needed = CAPSULES
    if any(
        math.isfinite(getattr(each.limits, key)) for each in description.joints for key in MOTION
    ):
        needed = MOTION_LIMITS
    return {'version': f'{needed[0]}.{needed[1]}'} if needed > (1, 0) else {}


def _limit(limits: Limits, has_range: bool) -> dict[str, str]:
    """Return the attributes of <limit>, none if nothing is limited and none is required."""
    values = asdict(limits)
    required = ['lower', 'upper', 'velocity', 'effort'][0 if has_range else 2 :]
    finite = [key for key, value in values.items() if math.isfinite(value)]
    if not (finite or has_range):
        return {}
    bounded = {key: min(max(values[key], -UNLIMITED), UNLIMITED) for key in (*required, *finite)}
    return {key: number_text(value) for key, value in bounded.items()}


def inertial_attributes(inertia: Inertia) -> dict[str, dict[str, str]]:
    """Return the attributes of the elements of an <inertial>, by tag, to the last digit."""
    entries = {
        f'i{"xyz"[i]}{"xyz"[j]}': number_text(inertia.matrix[i, j])
        for i in range(3)
        for j in range(i, 3)
    }
    return {
        'origin': {'xyz': _numbers(inertia.com), 'rpy': '0 0 0'},
        'mass': {'value': number_text(inertia.mass)},
        'inertia': entries,
    }


def origin_attributes(C: Array) -> dict[str, str]:
    """Return the attributes of an <origin> for a pose (4, 4), numbers to the last digit."""
    return {'xyz': _numbers(C[:3, 3]), 'rpy': _numbers(roll_pitch_yaw(C[:3, :3]))}


def roll_pitch_yaw(R: Array) -> tuple[float, float, float]:
    """Return angles with R = Rz(yaw) Ry(pitch) Rx(roll) [rad], exact at every pitch.

    At pitch +-pi/2 only yaw -+ roll matters; whatever the rounding leaves for yaw, roll completes.
    """
    yaw = math.atan2(R[1, 0], R[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    return math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1]), pitch, yaw


def _numbers(values: Iterable[float]) -> str:
    return ' '.join(number_text(x) for x in values)


def number_text(x: float) -> str:
    """Return the shortest text that reads back as the same number; no negative zero."""
    return repr(float(np.float64(x)) + 0.0)


def with_origins(text: str, origins: Mapping[str, Array]) -> str:
    r"""Return a URDF with the <origin> of some joints replaced.

    Parameters
    ----------
    text : str
        The URDF.
    origins : {joint: (4, 4) array}
        Poses of the child link in the parent link at q = 0 [m].

    Raises
    ------
    DescriptionError
        The text is no URDF.
    UnknownNameError
        It has no such joint.

    Examples
    --------
    >>> import numpy as np
    >>> joint = '<joint name="j"><!-- taught --><origin rpy="0 0 1"/></joint>'
    >>> print(with_origins(f'<robot name="r">\n{joint}\n</robot>', {'j': np.eye(4)}))
    <?xml version="1.0"?>
    <robot name="r">
    <joint name="j"><!-- taught --><origin rpy="0.0 0.0 0.0" xyz="0.0 0.0 0.0"/></joint>
    </robot>
    <BLANKLINE>
    """
    robot, document = robot_document(text)
    joints = {joint.getAttribute('name'): joint for joint in children(robot, 'joint')}
    for name, pose in origins.items():
        if name not in joints:
            raise UnknownNameError(f'no joint named {name!r}; there are {", ".join(joints)}')
        origin = child(joints[name], 'origin')
        if origin is None:
            origin = document.createElement('origin')
            joints[name].insertBefore(origin, joints[name].firstChild)
        if origin.hasAttribute('quat_xyzw'):
            origin.removeAttribute('quat_xyzw')
        for key, value in origin_attributes(pose).items():
            origin.setAttribute(key, value)
    return document_text(document)
