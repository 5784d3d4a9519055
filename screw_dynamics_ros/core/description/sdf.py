# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SDFormat 1.4 and newer to `RobotDescription`.

A file has one model that moves, alone or in a world. Poses may be relative to any frame, models
may be nested: their links and joints are named as in SDFormat, 'gripper::finger'. Frames are links
without mass. Sensors, materials and contact properties are ignored.

Source: SDFormat 1.4 to 1.12, sdformat.org/spec.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import get_args
from xml.dom.minidom import Element

import numpy as np

from ..errors import ArgumentError, DescriptionError, InertiaError
from ..reproducible import product
from ..types import Array
from .body_inertia import Inertia
from .checks import (
    STANDARD_GRAVITY,
    InertiaCheck,
    check_inertia_check,
    gravity_findings,
    judged_findings,
)
from .rerooting import hung_on
from .robot_description import Finding, Joint, Link, RobotDescription
from .sdf_elements import flag_of, number_of, place_of, pose_of, vector_of
from .sdf_frames import WORLD, FrameGraph, FrameNode
from .sdf_joints import ROTOR, Parts, frame_parts, has_rotor, joint_parts
from .sdf_versions import converted
from .shapes import Shape, ShapeKind
from .xml_document import (
    child,
    children,
    inertia_in,
    name_attribute,
    parsed,
    short,
    source_of,
    text_of,
)

_CONVERT = 'convert it with `gz sdf -p robot.sdf > converted.sdf`'

#: Relative difference of gravity in the root link and in the world from which it is reported.
_TILT_TOLERANCE = 1e-9

#: Gravity of a <world> without <gravity> [m/s^2].
_DEFAULT_GRAVITY = (0.0, 0.0, -9.8)
#: Flags of links and models: the value without an effect, the ignored element, and the remedy.
_FLAGS = {
    'gravity': (
        True,
        'gravity is switched off for it; here it acts on all links',
        'compensate its weight, or remove <gravity>',
    ),
    'kinematic': (False, '<kinematic> is ignored: here forces move it', 'remove <kinematic>'),
    'enable_wind': (False, '<enable_wind> is ignored', 'add the wrench of the wind'),
}

#: Plugins that change the motion, by words in their names: joints that follow others, forces.
_PLUGINS = re.compile(
    'mimic|spring|damp|friction|buoyan|hydro|lift|drag|thrust|wind(?!ow)|detachable|suction', re.I
)


def read_sdf(
    text_or_path: str | bytes | os.PathLike[str],
    *,
    inertia_check: InertiaCheck = 'warn',
    floating_base: bool = False,
) -> RobotDescription:
    """Read a model in SDFormat.

    A joint whose parent is the world makes 'world' the root link. Without one, the root is the link
    that has no parent, and it is the base as in a URDF: fixed, unless the robot is made with a
    floating base. A link without <inertial> has 1 kg and 1 kg m^2, as SDFormat defines it. Joints
    whose child is nearer to the root turn round, see `hung_on`.

    Parameters
    ----------
    text_or_path : str, bytes or path
        XML text (any text that contains ``<``), or the path of a file.
    inertia_check : {'warn', 'error', 'ignore'}
        As in `read_urdf`.
    floating_base : bool
        Whether the root link will move freely.

    Returns
    -------
    RobotDescription
        `findings` lists doubtful values, and ignored elements. `gravity` is that of the world
        (without <gravity> 9.8 m/s^2); in the frame of the root link if that is tilted and does not
        move freely.

    Raises
    ------
    DescriptionError
        The text is not SDFormat of version 1.4 or newer with one model that moves, its joints do
        not form one tree, or it has what does not exist here: gearboxes, other files. Names element
        and line.
    InertiaError
        A negative mass, an inertia to be computed, or `inertia_check='error'` and an unphysical
        one.
    ArgumentError
        `inertia_check` or the type of `text_or_path` is not one of the above.

    Examples
    --------
    >>> read_sdf('<sdf version="1.9"><model name="stone"><link name="a"/></model></sdf>').root
    'a'
    """
    check_inertia_check(inertia_check)
    sdf = _sdf_element(source_of(text_or_path))
    remarks = converted(sdf)
    model = _model(sdf, remarks)
    frames = FrameGraph(model)
    remarks.extend(left_out(sdf, frames))
    links = [_link(name, frame, frames, remarks) for name, frame in frames.of_kind('link').items()]
    parts = [
        *(joint_parts(name, frame, frames) for name, frame in frames.of_kind('joint').items()),
        *(frame_parts(name, frames) for name in frames.of_kind('frame')),
    ]
    description = RobotDescription.from_parts(
        name_attribute(model),
        *_tree(
            [*_world(parts), *links, *(link for part in parts for link in part.links)],
            [joint for part in parts for joint in part.joints],
            frames,
            remarks,
        ),
        check_inertias=False,
    )
    gravity = _gravity(sdf, description, frames, remarks, floating_base)
    findings = (*remarks, *judged_findings(description, inertia_check))
    return replace(description, gravity=gravity, findings=findings)


# --- the model ----------------------------------------------------------------------------------


def _sdf_element(source: str | bytes) -> Element:
    root = parsed(source).documentElement
    if root is None or root.tagName != 'sdf':
        tag = root.tagName if root is not None else 'none'
        raise DescriptionError(f'the root element is <{tag}>, not <sdf>; give an SDFormat file')
    return root


def _model(sdf: Element, remarks: list[Finding]) -> Element:
    """Return the model of a file; remarks name others in its world."""
    worlds = children(sdf, 'world')
    scope = worlds[0] if worlds else sdf
    models = children(scope, 'model')
    moving = [each for each in models if not flag_of(each, 'static')] or models
    if len(moving) != 1 or len(worlds) > 1 or (worlds and child(sdf, 'model') is not None):
        found = [*worlds[1:], *(moving or children(scope, 'include'))]
        listed = f': {", ".join(map(place_of, found[:8]))}' if found else ''
        raise DescriptionError(
            f'{place_of(scope)} has {len(moving)} movable models, expected one{listed}; '
            'give a file with one <model>, with all that it includes written out: '
            f'{_CONVERT}'
        )
    model = moving[0]
    pose = child(model, 'pose')
    given = '' if pose is None else pose.getAttribute('relative_to')
    if given not in ('', WORLD):
        raise DescriptionError(
            f'{place_of(model)}: its pose is relative to {short(given)!r}, outside of it; '
            'write it in the world, or remove it'
        )
    others = [
        each
        for tag in ('model', 'include', 'joint')
        for each in (children(scope, tag) if worlds else ())
        if each is not model
    ]
    if others:
        subject, named = f'robot {name_attribute(model)}', ', '.join(map(place_of, others[:8]))
        remarks.append(Finding('info', subject, f'of its world is ignored: {named}'))
    return model


def _world(parts: list[Parts]) -> Iterator[Link]:
    if any(joint.parent == WORLD for part in parts for joint in part.joints):
        yield Link(WORLD)


def _tree(
    links: list[Link], joints: list[Joint], frames: FrameGraph, remarks: list[Finding]
) -> tuple[list[Link], list[Joint]]:
    """Return links and joints with joints from the root to the leaves: children may be nearer."""
    children_of_joints = {joint.child for joint in joints}
    roots = [link.name for link in links if link.name not in children_of_joints]
    if not roots or len(joints) + 1 != len(links):
        _check_parents(joints)  # a loop, or several trees
        return links, joints
    names: set[str] = set()
    for k, joint in enumerate(joints):  # a link below several joints is fixed to several frames
        if joint.name in names:
            joints[k] = replace(joint, name=f'{joint.parent}_to_{joint.child}')
        names.add(joint.name)
    hung = hung_on(roots[0], links, joints)  # the world is the first link
    children_of = {joint.name: joint.child for joint in hung[1]}
    of_file = frames.of_kind('joint')
    remarks.extend(
        Finding('info', f'joint {joint.name}', f'turned round: {joint.child!r} is nearer the root')
        for joint in joints
        if children_of[joint.name] != joint.child
        and (joint.name in of_file or not joint.kind.is_fixed)
    )
    return hung


def _check_parents(joints: list[Joint]) -> None:
    """Refuse a link with two parents, naming joints of the file, not those of their frames."""
    above: dict[str, str] = {}
    for joint in joints:
        name = joint.parent if joint.name == joint.child else joint.name
        if above.setdefault(joint.child, name) != name:
            raise DescriptionError(
                f'link {joint.child!r} has two parents, through joints {above[joint.child]!r} and '
                f'{name!r}; a robot is a tree here, so cut the closed loop at one of them'
            )


def _gravity(
    sdf: Element,
    description: RobotDescription,
    frames: FrameGraph,
    remarks: list[Finding],
    floating_base: bool,
) -> tuple[float, float, float] | None:
    """Return gravity as `Robot` needs it, None if the file does not say."""
    world, root = child(sdf, 'world'), description.root
    given = None if world is None else child(world, 'gravity')
    if given is not None:
        x, y, z = vector_of(given, place_of(given)).tolist()
    else:
        x, y, z = STANDARD_GRAVITY if world is None else _DEFAULT_GRAVITY
    gravity = (x, y, z)
    remarks.extend(gravity_findings(f'robot {description.name}', gravity))
    R = frames.relative(WORLD, root)[:3, :3]
    turned = product(R.T, np.array(gravity)[:, None])[:, 0]
    if np.abs(turned - gravity).max() > _TILT_TOLERANCE * np.abs(gravity).max():
        listed = ', '.join(f'{component:.6g}' for component in turned)
        remarks.append(
            Finding.warning(
                f'link {root}',
                'the root link is tilted in the world, and gravity is given in its frame',
                f'without a floating base use gravity ({listed}), as Robot.from_sdf does, or fix '
                'it to the world by a joint whose parent is world',
            )
        )
        if not floating_base:
            x, y, z = turned.tolist()
            return (x, y, z)
    return None if world is None else gravity


# --- links --------------------------------------------------------------------------------------


def _link(name: str, frame: FrameNode, frames: FrameGraph, remarks: list[Finding]) -> Link:
    element = frame.element
    parts = children(element, 'collision') or children(element, 'visual')
    shapes = (_shape(part, name, frame, frames, remarks) for part in parts)
    return Link(
        name, _inertia(name, element, remarks), tuple(each for each in shapes if each is not None)
    )


def _inertia(name: str, element: Element, remarks: list[Finding]) -> Inertia:
    owner, inertial = place_of(element), child(element, 'inertial')
    if inertial is None:
        remarks.append(
            Finding.warning(
                f'link {name}',
                'has no <inertial>; SDFormat then defines 1 kg, and 1 kg m^2 about each axis',
                'add its <inertial>',
            )
        )
        return Inertia(1.0, np.zeros(3), np.eye(3))
    if inertial.getAttribute('auto').lower() in ('true', '1'):
        raise InertiaError(
            f'{owner}: <inertial auto="true"> is to be computed from collision geometry; write the '
            'numbers: `gz sdf --expand-auto-inertials -p robot.sdf > whole.sdf`'
        )
    if child(inertial, 'fluid_added_mass') is not None:
        remarks.append(
            Finding.warning(f'link {name}', '<fluid_added_mass> is ignored', 'add its wrench')
        )
    tensor = child(inertial, 'inertia')
    try:
        pose = child(inertial, 'pose')
        if pose is not None and pose.getAttribute('relative_to'):
            raise DescriptionError(
                f'{owner}: {place_of(pose)} of an <inertial> is relative to its link; remove '
                'relative_to'
            )
        xx, yy, zz = (number_of(tensor, tag, 1.0, owner) for tag in ('ixx', 'iyy', 'izz'))
        xy, xz, yz = (number_of(tensor, tag, 0.0, owner) for tag in ('ixy', 'ixz', 'iyz'))
        mass, placed = number_of(inertial, 'mass', 1.0, owner), pose_of(pose, owner)
    except DescriptionError as error:
        raise InertiaError(str(error)) from None
    moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return inertia_in(placed, mass, moments, owner)


def _shape(
    part: Element, link: str, frame: FrameNode, frames: FrameGraph, remarks: list[Finding]
) -> Shape | None:
    """Return the primitive of a <collision> or <visual>; None for meshes and unusable ones."""
    geometry, owner = child(part, 'geometry'), place_of(frame.element)
    kinds = get_args(ShapeKind)
    found = (
        [] if geometry is None else [each for kind in kinds for each in children(geometry, kind)]
    )
    if not found:
        return None
    primitive, pose = found[0], child(part, 'pose')
    kind: ShapeKind = primitive.tagName  # type: ignore[assignment]
    placed = pose_of(pose, owner)
    if pose is not None and (given := pose.getAttribute('relative_to')):
        reference = frames.named(given, frame.scope, part, 'relative_to')
        placed = product(frames.relative(link, reference), placed)
    try:
        return Shape(kind, _extents(primitive, owner), placed)
    except (ArgumentError, DescriptionError) as error:
        remarks.append(
            Finding.warning(f'link {link}', f'its shape is ignored: {error}', 'correct it')
        )
        return None


def _extents(primitive: Element, owner: str) -> Array:
    if primitive.tagName == 'box':
        size = child(primitive, 'size')
        return np.ones(3) if size is None else vector_of(size, owner)
    width = 2.0 * number_of(primitive, 'radius', 1.0, owner)
    is_cylinder = primitive.tagName == 'cylinder'
    length = number_of(primitive, 'length', 1.0, owner) if is_cylinder else width
    return np.array([width, width, length])


def left_out(sdf: Element, frames: FrameGraph) -> Iterator[Finding]:
    """Yield a finding for each element that acts in a simulator and not here."""
    robot = f'robot {name_attribute(frames.model)}'
    scopes = [*children(sdf, 'world')]
    for name, model in frames.of_kind('model').items():
        scopes.append(model.element)
        subject = f'model {name}' if name else robot
        if flag_of(model.element, 'static'):
            yield Finding(
                'info', subject, 'the model is <static>, where no joint moves; here they do'
            )
        yield from _flags(subject, model.element)
    for name, link in frames.of_kind('link').items():
        scopes.append(link.element)
        yield from _flags(f'link {name}', link.element)
        yield from _decay(name, link.element)
    for name, joint in frames.of_kind('joint').items():
        scopes.append(joint.element)
        yield from _motor(name, joint.element)
    yield from _plugins(robot, scopes)
    yield from _extensions(robot, scopes)


def _flags(subject: str, element: Element) -> Iterator[Finding]:
    for tag, (usual, what, remedy) in _FLAGS.items():
        if child(element, tag) is not None and flag_of(element, tag) != usual:
            yield Finding.warning(subject, what, remedy)


def _decay(name: str, link: Element) -> Iterator[Finding]:
    decay = child(link, 'velocity_decay')
    if any(number_of(decay, tag, 0.0, place_of(link)) for tag in ('linear', 'angular')):
        yield Finding.warning(
            f'link {name}', '<velocity_decay> is ignored', 'write <dynamics><damping> of the joints'
        )


def _motor(name: str, joint: Element) -> Iterator[Finding]:
    physics = child(joint, 'physics')
    ode = None if physics is None else child(physics, 'ode')
    if number_of(ode, 'max_force', 0.0, place_of(joint)):
        yield Finding.warning(
            f'joint {name}',
            'the motor <max_force> of ODE is ignored',
            'remove it, or command the effort',
        )
    if ode is not None and child(ode, 'suspension') is not None:
        yield Finding.warning(
            f'joint {name}',
            'the <suspension> of ODE is ignored',
            'write a prismatic joint with <spring_stiffness>',
        )


def _plugins(robot: str, scopes: list[Element]) -> Iterator[Finding]:
    for scope in scopes:
        for plugin in children(scope, 'plugin'):
            called = ' '.join(map(plugin.getAttribute, ('filename', 'name')))
            if not _PLUGINS.search(called):
                continue
            follower = child(plugin, 'mimicJoint')
            subject = f'joint {short(text_of(follower))}' if follower is not None else robot
            yield Finding.warning(
                subject,
                f'{place_of(plugin)} of {place_of(scope)} acts in the simulator and is ignored',
                'write <mimic> in the <axis> of the joint that follows'
                if 'mimic' in called.lower()
                else 'add its forces',
            )


def _extensions(robot: str, scopes: list[Element]) -> Iterator[Finding]:
    """Report elements of other namespaces, as <drake:joint>, with unknown meaning."""
    found = [
        place_of(each)
        for scope in scopes
        for holder in (scope, *children(scope, 'axis'), *children(scope, 'axis2'))
        for each in holder.childNodes
        if isinstance(each, Element)
        and ':' in each.tagName
        and not (each.tagName in ROTOR and has_rotor(scope))
    ]
    if found:
        yield Finding.warning(
            robot,
            f'extensions of SDFormat are ignored: {", ".join(found[:8])}',
            'write joints and links without extensions',
        )
