# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""URDF to `RobotDescription`.

A URDF from a topic is untrusted input: it is parsed safely (`xml_document`), and all numbers are
checked. Deviations that other readers accept are accepted here (unknown elements, undeclared
namespaces, a missing <limit>), except those that would silently change the model.

Extensions: `<joint type="helical" pitch="...">` is a screw joint, pitch in m/rad; `<dynamics>` may
have the attributes `armature`, `spring_stiffness` and `spring_position`, as `Joint` has them. Loops
are described as `urdf_writer` writes them; urdfdom ignores these elements:

* ``<loop_closure name="pin" type="spherical">`` has two
  ``<end link="rocker"><origin xyz="0 0 0.25"/></end>``;
* ``<motor joint="crank"/>``;
* ``<posture name="low"><position joint="elbow" value="0.9"/></posture>``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar
from xml.dom.minidom import Element

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, DescriptionError, InertiaError
from .body_inertia import Inertia
from .checks import InertiaCheck, check_inertia_check, judged_findings
from .joint_types import JOINT_TYPES, JointType
from .robot_description import Closure, Finding, Joint, Limits, Link, Mimic, RobotDescription
from .ros2_control import unevaluated_parameters
from .shapes import Shape
from .urdf_elements import (
    MOTION,
    MOTION_LIMITS,
    UNLIMITED,
    number,
    origin_in,
    primitive_of,
    shape_in,
    vector,
    version_of,
)
from .urdfdom import urdfdom_findings
from .xml_document import (
    axis_of,
    child,
    children,
    inertia_in,
    name_attribute,
    number_in,
    robot_element,
    short,
    source_of,
    text_of,
    with_line_breaks,
)

#: Attributes of <dynamics>, the last three an extension.
DYNAMICS = ('damping', 'friction', 'armature', 'spring_stiffness', 'spring_position')

#: Elements of <gazebo> that change the motion, values that change nothing, and remedies.
SIMULATED = {
    'springStiffness': (0.0, 'write <dynamics spring_stiffness="..." spring_position="..."/>'),
    'gravity': (1.0, 'here gravity acts on all links: compensate the weight'),
    'turnGravityOff': (0.0, 'here gravity acts on all links: compensate the weight'),
    'kinematic': (0.0, 'here forces move all links'),
    'dampingFactor': (0.0, 'write <dynamics damping="..."/> of the joints'),
    'velocity_decay': (0.0, 'write <dynamics damping="..."/> of the joints'),
}


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


def read_urdf(
    text_or_path: str | bytes | os.PathLike[str], *, inertia_check: InertiaCheck = 'warn'
) -> RobotDescription:
    """Read a URDF.

    Parameters
    ----------
    text_or_path : str, bytes or path
        XML text (any text that contains ``<``), or the path of a file.
    inertia_check : {'warn', 'error', 'ignore'}
        Treatment of physically impossible inertias: report them in `findings`, raise an error, or
        ignore them. A negative mass always raises an error.

    Returns
    -------
    RobotDescription
        `findings` lists doubtful values.

    Raises
    ------
    DescriptionError
        The text is not a URDF, or not one tree; names the link or joint, the value and the remedy.
    InertiaError
        A negative mass, an unreadable inertial, or `inertia_check='error'` and an unphysical one.
    ArgumentError
        `inertia_check` or the type of `text_or_path` is not one of the above.

    Examples
    --------
    >>> read_urdf('<robot name="stone"><link name="base"/></robot>').root
    'base'
    """
    check_inertia_check(inertia_check)
    source = source_of(text_or_path)
    robot = robot_element(source)
    name = robot.getAttribute('name') or 'robot'
    remarks: list[Finding] = []
    tree = RobotDescription.from_parts(
        name,
        [_link(element, remarks) for element in children(robot, 'link')],
        [_joint(element, remarks) for element in children(robot, 'joint')],
        check_inertias=False,
    )
    description = with_loops(tree, robot)
    kept = with_line_breaks(source)
    as_urdfdom = robot if kept == source else robot_element(kept)
    return replace(
        description,
        findings=(
            *remarks,
            *_simulator_findings(robot),
            *urdfdom_findings(as_urdfdom, description),
            *unevaluated_parameters(robot),
            *judged_findings(description, inertia_check),
        ),
    )


def _simulator_findings(robot: Element) -> Iterator[Finding]:
    """Yield what <gazebo> adds to the dynamics of a link or joint in a simulator, and not here."""
    joints = {each.getAttribute('name') for each in children(robot, 'joint')}
    for extension in children(robot, 'gazebo'):
        name = extension.getAttribute('reference')
        for tag, (neutral, remedy) in SIMULATED.items():
            text = text_of(child(extension, tag))
            if text and {'true': 1.0, 'false': 0.0}.get(text.lower(), number_in(text)) != neutral:
                kind = 'joint' if name in joints else 'link'
                message = f'<{tag}> of <gazebo> ({short(text)}) is not in the model'
                yield Finding.warning(f'{kind} {name}', message, remedy)


# --- elements -----------------------------------------------------------------------------------


def _link(element: Element, remarks: list[Finding]) -> Link:
    name = name_attribute(element)
    inertial = child(element, 'inertial')
    parts = children(element, 'collision') or children(element, 'visual')
    shapes = (_shape(part, name, remarks) for part in parts)
    return Link(
        name,
        None if inertial is None else _inertia(inertial, name, remarks),
        tuple(shape for shape in shapes if shape is not None),
    )


def _shape(part: Element, link: str, remarks: list[Finding]) -> Shape | None:
    """Return the primitive of a <collision> or <visual>; None for meshes and invalid ones."""
    owner = f'link {link!r}'
    primitive = primitive_of(child(part, 'geometry'))
    if primitive is None:
        return None
    try:
        return shape_in(primitive, origin_in(part, owner), owner)
    except (ArgumentError, DescriptionError) as error:
        remarks.append(
            Finding.warning(f'link {link}', f'its shape is ignored: {error}', 'correct it')
        )
        return None


def _inertia(inertial: Element, name: str, remarks: list[Finding]) -> Inertia:
    owner = f'link {name!r}'
    mass_element, tensor = child(inertial, 'mass'), child(inertial, 'inertia')
    if mass_element is None or tensor is None:
        missing = '<mass value="..."/>' if mass_element is None else '<inertia ixx="..." .../>'
        raise InertiaError(
            f'{owner}: <inertial> has no {missing}; add it, or remove the <inertial> altogether'
        )
    try:
        mass = number(mass_element, 'value', owner)
        xx, yy, zz = (number(tensor, key, owner) for key in ('ixx', 'iyy', 'izz'))
        products = {key: number(tensor, key, owner, 0.0) for key in ('ixy', 'ixz', 'iyz')}
        xy, xz, yz = products.values()
        origin = origin_in(inertial, owner)
    except DescriptionError as error:
        raise InertiaError(str(error)) from None
    for key, value in products.items():
        other = f'i{key[2]}{key[1]}'
        text = tensor.getAttribute(other)
        if text and number_in(text) != value:
            remarks.append(
                Finding.warning(
                    f'link {name}',
                    f'its {other} is {short(text)} and its {key} {value:g}: a tensor is symmetric, '
                    f'and {other} is not part of URDF and ignored',
                    f'correct {key}, and remove {other}',
                )
            )
    moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return inertia_in(origin, mass, moments, owner)


def _joint(element: Element, remarks: list[Finding]) -> Joint:
    name = name_attribute(element)
    owner = f'joint {name!r}'
    given = element.getAttribute('type')
    kind = JOINT_TYPES.get(given)
    if kind is None:
        what = f'has unknown type {given!r}' if given else 'has no type'
        raise DescriptionError(f'{owner} {what}; use one of {", ".join(JOINT_TYPES)}')
    mimic = _mimic(element, owner)
    if mimic is not None and kind.is_fixed:
        remarks.append(
            Finding('info', f'joint {name}', f'is fixed, its <mimic> of {mimic.joint!r} is ignored')
        )
        mimic = None
    dynamics = child(element, 'dynamics')
    return Joint(
        name=name,
        type=given,
        parent=_end(element, 'parent', owner),
        child=_end(element, 'child', owner),
        origin=origin_in(element, owner),
        axis=_axis(element, owner) if kind.has_axis else np.array([1.0, 0, 0]),
        limits=_limits(element, kind, name, remarks),
        mimic=mimic,
        **{key: 0.0 if dynamics is None else number(dynamics, key, owner, 0.0) for key in DYNAMICS},
        pitch=number(element, 'pitch', owner, None if kind.has_pitch else 0.0),
    )


def _end(element: Element, role: str, owner: str) -> str:
    end = child(element, role)
    link = '' if end is None else end.getAttribute('link')
    if not link:
        raise DescriptionError(f'{owner} has no {role} link; add <{role} link="..."/>')
    return link


def _axis(element: Element, owner: str) -> NDArray[np.float64]:
    given = child(element, 'axis')
    axis = np.array(
        (1.0, 0.0, 0.0) if given is None else vector(given, 'xyz', owner, (1.0, 0.0, 0.0))
    )
    return axis_of(axis, owner)


def _limits(element: Element, kind: JointType, name: str, remarks: list[Finding]) -> Limits:
    if not kind.is_scalar:
        return Limits()
    owner = f'joint {name!r}'
    limit = child(element, 'limit')
    magnitudes = {} if limit is None else _magnitudes(limit, owner, name, remarks)
    if not kind.has_range:
        return Limits(**magnitudes)
    given = [] if limit is None else [key for key in ('lower', 'upper') if limit.hasAttribute(key)]
    if limit is None or not given:
        remarks.append(
            Finding.warning(
                f'joint {name}',
                f'is {kind.name} but has no position limits; they are taken as infinite',
                'add <limit lower="..." upper="..." velocity="..." effort="..."/>',
            )
        )
        return Limits(**magnitudes)
    # One bound alone: the other is 0 by the URDF specification (a gripper's upper="0.04").
    lower, upper = 0.0, 0.0
    if len(given) == 1 and version_of(element) >= MOTION_LIMITS:
        lower, upper = -math.inf, math.inf
    lower = _bound(limit, 'lower', owner, lower)
    upper = _bound(limit, 'upper', owner, upper)
    if lower > upper:
        raise DescriptionError(
            f'{owner}: lower limit {lower:g} is above upper limit {upper:g}; correct them'
        )
    if lower == math.inf or upper == -math.inf:
        raise DescriptionError(
            f'{owner}: limits {lower:g} .. {upper:g} leave no position; correct them'
        )
    return Limits(lower, upper, **magnitudes)


def _magnitudes(limit: Element, owner: str, name: str, remarks: list[Finding]) -> dict[str, float]:
    """Return the limits other than those of position; infinite ones are omitted."""
    found = {}
    for key in ('velocity', 'effort', *MOTION):
        if key in MOTION and limit.hasAttribute(key) and version_of(limit) < MOTION_LIMITS:
            remarks.append(
                Finding.warning(
                    f'joint {name}',
                    f'its limit of {key} is ignored, as urdfdom does: it belongs to URDF 1.2',
                    'give <robot> version="1.2", which Lyrical and newer read',
                )
            )
            continue
        value = _bound(limit, key, owner, math.inf)
        if value < 0.0:
            raise DescriptionError(
                f'{owner}: {key} limit is {value:g}; it is a magnitude and cannot be negative'
            )
        found[key] = value
    if 'acceleration' in found and not limit.hasAttribute('deceleration'):
        found['deceleration'] = found['acceleration']
    return found


def _bound(limit: Element, key: str, owner: str, default: float) -> float:
    """Return a limit, infinite from `UNLIMITED` on."""
    value = number(limit, key, owner, default, bound=True)
    return value if abs(value) < UNLIMITED else math.copysign(math.inf, value)


def _mimic(element: Element, owner: str) -> Mimic | None:
    mimic = child(element, 'mimic')
    if mimic is None:
        return None
    master = mimic.getAttribute('joint')
    if not master:
        raise DescriptionError(f'{owner}: <mimic> names no joint; add joint="..."')
    multiplier = number(mimic, 'multiplier', owner, 1.0)
    return Mimic(master, multiplier, number(mimic, 'offset', owner, 0.0))
