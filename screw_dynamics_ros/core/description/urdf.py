# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""URDF to `RobotDescription`.

A URDF from a topic is untrusted input: it is parsed safely (`xml_document`), and all numbers are
checked. Deviations that other readers accept are accepted here (unknown elements, undeclared
namespaces, a missing <limit>), except those that would silently change the model.

One extension: `<joint type="helical" pitch="...">` is a screw joint, pitch in m/rad.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import NoReturn, get_args
from xml.dom.minidom import Element

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.description.checks import (
    InertiaCheck,
    check_inertia_check,
    judged_findings,
)
from screw_dynamics_ros.core.description.joint_types import JOINT_TYPES, JointType
from screw_dynamics_ros.core.description.robot_description import (
    Finding,
    Joint,
    Limits,
    Link,
    Mimic,
    RobotDescription,
)
from screw_dynamics_ros.core.description.ros2_control import unevaluated_parameters
from screw_dynamics_ros.core.description.shapes import Shape, ShapeKind
from screw_dynamics_ros.core.description.urdfdom import urdfdom_findings
from screw_dynamics_ros.core.description.xml_document import (
    child,
    children,
    robot_element,
    short,
    source_of,
    with_line_breaks,
)
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError, InertiaError
from screw_dynamics_ros.core.reproducible import product, sine_cosine, unit

#: Rotation matrix entries this close to 0, 1 or -1 are rounding residue of a right angle.
_RIGHT_ANGLE_TOLERANCE = 1e-15

#: Characters of a name: they become frames, topics and lines of files.
_MAX_NAME_LENGTH = 255

#: No robot needs larger numbers (SI units), and their products would overflow further on.
_MAX_NUMBER = 1e30


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
    description = RobotDescription.from_parts(
        name,
        [_link(element, remarks) for element in children(robot, 'link')],
        [_joint(element, remarks) for element in children(robot, 'joint')],
        check_inertias=False,
    )
    kept = with_line_breaks(source)
    as_urdfdom = robot if kept == source else robot_element(kept)
    return replace(
        description,
        findings=(
            *remarks,
            *urdfdom_findings(as_urdfdom, description),
            *unevaluated_parameters(robot),
            *judged_findings(description, inertia_check),
        ),
    )


# --- elements -----------------------------------------------------------------------------------


def _link(element: Element, remarks: list[Finding]) -> Link:
    name = _name(element)
    inertial = child(element, 'inertial')
    parts = children(element, 'collision') or children(element, 'visual')
    shapes = (_shape(part, name, remarks) for part in parts)
    return Link(
        name,
        None if inertial is None else _inertia(inertial, f'link {name!r}'),
        tuple(shape for shape in shapes if shape is not None),
    )


def _shape(part: Element, link: str, remarks: list[Finding]) -> Shape | None:
    """Return the primitive of a <collision> or <visual>; None for meshes and unusable ones."""
    geometry, owner = child(part, 'geometry'), f'link {link!r}'
    kinds = get_args(ShapeKind)
    found = (
        [] if geometry is None else [each for kind in kinds for each in children(geometry, kind)]
    )
    if not found:
        return None
    primitive = found[0]
    kind: ShapeKind = primitive.tagName  # type: ignore[assignment]
    try:
        if kind == 'box':
            extents = _vector(primitive, 'size', owner, (0.0, 0.0, 0.0))
        else:
            width = 2.0 * _number(primitive, 'radius', owner)
            length = _number(primitive, 'length', owner) if kind == 'cylinder' else width
            extents = width, width, length
        return Shape(kind, np.array(extents), _origin(part, owner))
    except (ArgumentError, DescriptionError) as error:
        remarks.append(
            Finding('warning', f'link {link}', f'its shape is left out: {error}', 'correct it')
        )
        return None


def _inertia(inertial: Element, owner: str) -> Inertia:
    mass_element, tensor = child(inertial, 'mass'), child(inertial, 'inertia')
    if mass_element is None or tensor is None:
        missing = '<mass value="..."/>' if mass_element is None else '<inertia ixx="..." .../>'
        raise InertiaError(
            f'{owner}: <inertial> has no {missing}; add it, or remove the <inertial> altogether'
        )
    try:
        mass = _number(mass_element, 'value', owner)
        xx, yy, zz = (_number(tensor, key, owner) for key in ('ixx', 'iyy', 'izz'))
        xy, xz, yz = (_number(tensor, key, owner, 0.0) for key in ('ixy', 'ixz', 'iyz'))
        origin = _origin(inertial, owner)
    except DescriptionError as error:
        raise InertiaError(str(error)) from None
    if mass < 0.0:
        raise InertiaError(f'{owner}: mass is {mass:g} kg; a mass cannot be negative, correct it')
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    rotation = origin[:3, :3]
    if not np.array_equal(rotation, np.eye(3)):
        matrix = product(rotation, matrix, rotation.T)
        matrix = 0.5 * (matrix + matrix.T)
    return Inertia(mass, origin[:3, 3], matrix)


def _joint(element: Element, remarks: list[Finding]) -> Joint:
    name = _name(element)
    owner = f'joint {name!r}'
    given = element.getAttribute('type')
    if given not in JOINT_TYPES:
        what = f'has unknown type {given!r}' if given else 'has no type'
        raise DescriptionError(f'{owner} {what}; use one of {", ".join(JOINT_TYPES)}')
    kind = JOINT_TYPES[given]
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
        origin=_origin(element, owner),
        axis=_axis(element, owner) if kind.has_axis else np.array([1.0, 0, 0]),
        limits=_limits(element, kind, name, remarks),
        mimic=mimic,
        damping=0.0 if dynamics is None else _number(dynamics, 'damping', owner, 0.0),
        friction=0.0 if dynamics is None else _number(dynamics, 'friction', owner, 0.0),
        pitch=_number(element, 'pitch', owner, None if kind.has_pitch else 0.0),
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
        [1.0, 0.0, 0.0] if given is None else _vector(given, 'xyz', owner, (1.0, 0.0, 0.0))
    )
    # Scaled first: the square of a small or large component must not vanish or overflow.
    largest = np.abs(axis).max()
    if largest == 0.0:
        raise DescriptionError(
            f'{owner}: axis is zero; give it a direction, or make the joint fixed'
        )
    return unit(axis / largest)


def _limits(element: Element, kind: JointType, name: str, remarks: list[Finding]) -> Limits:
    if not kind.is_scalar:
        return Limits()
    owner = f'joint {name!r}'
    limit = child(element, 'limit')
    velocity = effort = math.inf
    if limit is not None:
        velocity = _number(limit, 'velocity', owner, math.inf, bound=True)
        effort = _number(limit, 'effort', owner, math.inf, bound=True)
        for key, value in (('velocity', velocity), ('effort', effort)):
            if value < 0.0:
                raise DescriptionError(
                    f'{owner}: {key} limit is {value:g}; it is a magnitude and cannot be negative'
                )
    if not kind.has_range:
        return Limits(velocity=velocity, effort=effort)
    if limit is None or not (limit.hasAttribute('lower') or limit.hasAttribute('upper')):
        remarks.append(
            Finding(
                'warning',
                f'joint {name}',
                f'is {kind.name} but has no position limits; they are taken as infinite',
                'add <limit lower="..." upper="..." velocity="..." effort="..."/>',
            )
        )
        return Limits(velocity=velocity, effort=effort)
    # One bound alone: the other is 0, as the URDF specification says (a gripper's upper="0.04").
    lower = _number(limit, 'lower', owner, 0.0, bound=True)
    upper = _number(limit, 'upper', owner, 0.0, bound=True)
    if lower > upper:
        raise DescriptionError(
            f'{owner}: lower limit {lower:g} is above upper limit {upper:g}; correct them'
        )
    if lower == math.inf or upper == -math.inf:
        raise DescriptionError(
            f'{owner}: limits {lower:g} .. {upper:g} leave no position; correct them'
        )
    return Limits(lower, upper, velocity, effort)


def _mimic(element: Element, owner: str) -> Mimic | None:
    mimic = child(element, 'mimic')
    if mimic is None:
        return None
    master = mimic.getAttribute('joint')
    if not master:
        raise DescriptionError(f'{owner}: <mimic> names no joint; add joint="..."')
    multiplier = _number(mimic, 'multiplier', owner, 1.0)
    return Mimic(master, multiplier, _number(mimic, 'offset', owner, 0.0))


def _origin(element: Element, owner: str) -> NDArray[np.float64]:
    """Return the pose (4, 4) of an <origin>; the identity if it is missing."""
    pose = np.eye(4)
    origin = child(element, 'origin')
    if origin is not None:
        pose[:3, 3] = _vector(origin, 'xyz', owner, (0.0, 0.0, 0.0))
        pose[:3, :3] = rotation_from_rpy(*_vector(origin, 'rpy', owner, (0.0, 0.0, 0.0)))
    return pose


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> NDArray[np.float64]:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), right angles exact."""
    (sr, cr), (sp, cp), (sy, cy) = map(sine_cosine, (roll, pitch, yaw))
    rotation = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    nearest = np.round(rotation)
    return np.where(np.abs(rotation - nearest) <= _RIGHT_ANGLE_TOLERANCE, nearest + 0.0, rotation)


# --- attributes ---------------------------------------------------------------------------------


def _name(element: Element) -> str:
    name = element.getAttribute('name')
    if not name:
        raise DescriptionError(f'a <{element.tagName}> has no name; add name="..."')
    if len(name) > _MAX_NAME_LENGTH or not name.isprintable():
        raise DescriptionError(
            f'the name of a <{element.tagName}> has control characters, or more than '
            f'{_MAX_NAME_LENGTH}: {short(ascii(name))}; rename it'
        )
    return name


def _number(
    element: Element, key: str, owner: str, default: float | None = None, *, bound: bool = False
) -> float:
    """Return one attribute as a finite number; a `bound` may also be infinite."""
    if not element.hasAttribute(key):
        if default is None:
            raise DescriptionError(f'{owner}: <{element.tagName}> has no {key}; add {key}="..."')
        return default
    text = element.getAttribute(key)
    value = _to_float(text)
    if value is None or math.isnan(value) or not (bound or abs(value) <= _MAX_NUMBER):
        _refuse_number(element, key, owner, text, 'a finite number')
    return value


def _vector(
    element: Element, key: str, owner: str, default: tuple[float, float, float]
) -> tuple[float, ...]:
    """Return one attribute as three finite numbers."""
    if not element.hasAttribute(key):
        return default
    text = element.getAttribute(key)
    values = [_to_float(word) for word in text.split()]
    if len(values) != 3 or not all(v is not None and abs(v) <= _MAX_NUMBER for v in values):
        _refuse_number(element, key, owner, text, 'three finite numbers separated by spaces')
    return tuple(value for value in values if value is not None)


def _to_float(text: str) -> float | None:
    try:
        return None if '_' in text else float(text)
    except ValueError:
        return None


def _refuse_number(element: Element, key: str, owner: str, text: str, expected: str) -> NoReturn:
    hint = ' (a xacro expression: expand the file with xacro first)' if '${' in text else ''
    raise DescriptionError(
        f'{owner}: <{element.tagName} {key}="{short(text)}"> is not {expected}, at most '
        f'{_MAX_NUMBER:g}; correct it{hint}'
    )
