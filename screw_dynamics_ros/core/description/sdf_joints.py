# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints of SDFormat: axes in any frame, screws, universal and ball joints, mimic joints.

A joint of SDFormat has a separate frame, fixed to its child link. Where the axis, or the center
of a ball, does not pass through the origin of that link, a link without mass takes the name of the
joint and the place of its frame, and the child is fixed to it.

Source: SDFormat 1.11, joint.sdf and mimic.sdf; rotors: Drake, parsing documentation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple
from xml.dom.minidom import Element

import numpy as np

from ..errors import DescriptionError
from ..reproducible import norm, product
from .joint_types import JOINT_TYPES, JointType
from .robot_description import Joint, Limits, Link, Mimic
from .sdf_elements import flag_of, number_of, place_of, vector_of
from .sdf_frames import WORLD, FrameGraph, FrameNode
from .xml_document import axis_of, child, short, text_of


class SdfJoint(NamedTuple):
    """A type of joint of SDFormat.

    Attributes
    ----------
    name : str
    type, unlimited : str
        Type of the joint that each axis becomes, and if it has no limits of position.
    axes : tuple of str
        Elements with its axes, from the parent to the child.
    """

    name: str
    type: str
    unlimited: str
    axes: tuple[str, ...] = ('axis',)


_TYPES = {
    row.name: row
    for row in (
        SdfJoint('revolute', 'revolute', 'continuous'),
        SdfJoint('continuous', 'continuous', 'continuous'),
        SdfJoint('prismatic', 'prismatic', 'prismatic'),
        SdfJoint('screw', 'helical', 'helical'),
        SdfJoint('universal', 'revolute', 'continuous', ('axis', 'axis2')),
        SdfJoint('revolute2', 'revolute', 'continuous', ('axis', 'axis2')),
        SdfJoint('ball', 'ball', 'ball', ()),
        SdfJoint('fixed', 'fixed', 'fixed', ()),
    )
}
FIXED = JOINT_TYPES['fixed']
_UNSUPPORTED = {'gearbox': 'write a revolute joint with <mimic>'}

#: Extensions of Drake: moment of inertia of a rotor, and its speed relative to the joint's.
ROTOR = ('drake:rotor_inertia', 'drake:gear_ratio')

#: Distance of an axis from the origin of the child link, relative to that of the joint, below which
#: the axis passes through it.
_OFFSET_TOLERANCE = 1e-12


def has_rotor(joint: Element) -> bool:
    """Return whether the `ROTOR` of a joint is read: as in Drake, if it has one axis."""
    given = _TYPES.get(joint.getAttribute('type'))
    return joint.tagName == 'joint' and given is not None and len(given.axes) == 1


@dataclass(frozen=True)
class Parts:
    """The links and joints that one element becomes."""

    links: tuple[Link, ...]
    joints: tuple[Joint, ...]


def joint_parts(name: str, frame: FrameNode, frames: FrameGraph) -> Parts:
    """Return the links and joints of a <joint>.

    Raises
    ------
    DescriptionError
        A type that does not exist here, an unknown link or frame, an axis or number that is not
        one, limits that contradict each other.
    """
    element, owner = frame.element, place_of(frame.element)
    given = element.getAttribute('type')
    if given not in _TYPES:
        what = f'has unknown type {short(given)!r}' if given else 'has no type'
        if given in _UNSUPPORTED:
            what = f'is of type {given}, which does not exist here'
        remedy = _UNSUPPORTED.get(given, f'use one of {", ".join(_TYPES)}')
        raise DescriptionError(f'{owner} {what}; {remedy}')
    parent, below = (_end(element, role, frame.scope, frames) for role in ('parent', 'child'))
    if parent == below:
        raise DescriptionError(
            f'{owner}: its child {below!r} cannot move relative to its parent {parent!r}; name '
            'two links'
        )
    axes = [_Axis(name, tag, frame, frames) for tag in _TYPES[given].axes]
    if not axes:
        kind = JOINT_TYPES[_TYPES[given].type]
        if kind.is_fixed or not frames.relative(name, below)[:3, 3].any():
            return Parts((), (_without_axis(name, kind, parent, below, frames),))
        ball = _without_axis(name, kind, parent, name, frames)
        fixed = _without_axis(below, FIXED, name, below, frames)
        return Parts((Link(name),), (ball, fixed))
    names = [name] if len(axes) == 1 else [f'{name}::{axis.tag}' for axis in axes]
    last = name if any(axis.misses(below) for axis in axes) else below
    # The links that the axes move, and the frames where these are: the joint's for the first ones.
    moved = [*names[:-1], last]
    places = [parent, *(name for _ in names[:-1]), last]
    joints = [
        axis.joint(new, (above, link), places[k : k + 2])
        for k, (axis, new, (above, link)) in enumerate(
            zip(axes, names, pairwise([parent, *moved]), strict=True)
        )
    ]
    if last != below:
        joints.append(_without_axis(below, FIXED, last, below, frames))
    return Parts(tuple(Link(link) for link in moved if link != below), tuple(joints))


def frame_parts(name: str, frames: FrameGraph) -> Parts:
    """Return a <frame> as a link without mass, fixed to the link that it is attached to."""
    return Parts((Link(name),), (_without_axis(name, FIXED, frames.link(name), name, frames),))


def _without_axis(name: str, kind: JointType, parent: str, below: str, frames: FrameGraph) -> Joint:
    origin = frames.relative(parent, below)
    return Joint(name, kind.name, parent, below, origin, np.array([1.0, 0.0, 0.0]))


def _end(element: Element, role: str, scope: str, frames: FrameGraph) -> str:
    """Return the link that the parent or the child of a joint is fixed to."""
    named = text_of(child(element, role))
    if not named:
        raise DescriptionError(f'{place_of(element)} has no {role}; add <{role}>link</{role}>')
    return (
        WORLD
        if named == WORLD and role == 'parent'
        else frames.link(frames.named(named, scope, element, role))
    )


class _Axis:
    """An <axis> or <axis2> of a joint."""

    def __init__(self, name: str, tag: str, frame: FrameNode, frames: FrameGraph) -> None:
        self.name, self.tag, self.frame, self.frames = name, tag, frame, frames
        self.owner = place_of(frame.element)
        self.given = _TYPES[frame.element.getAttribute('type')]
        axis = child(frame.element, tag)
        xyz = None if axis is None else child(axis, 'xyz')
        if axis is None or xyz is None:
            raise DescriptionError(
                f'{self.owner} has no <{tag}> with <xyz>; add <{tag}><xyz>0 0 1</xyz></{tag}>'
            )
        if flag_of(axis, 'use_parent_model_frame'):
            raise DescriptionError(
                f'{self.owner}: <use_parent_model_frame> ended with SDFormat 1.6; write '
                '<xyz expressed_in="__model__">'
            )
        self.element = axis
        self.direction = axis_of(vector_of(xyz, self.owner), self.owner)
        given = xyz.getAttribute('expressed_in')
        if given:
            of = frames.named(given, frame.scope, frame.element, 'expressed_in')
            rotation = frames.relative(name, of)[:3, :3]
            self.direction = axis_of(product(rotation, self.direction[:, None])[:, 0], self.owner)
        self.dynamics = child(axis, 'dynamics')

    @property
    def kind(self) -> JointType:
        """The type of the joint here."""
        limits = self._limits()
        unlimited = math.isinf(limits.lower) and math.isinf(limits.upper)
        return JOINT_TYPES[self.given.unlimited if unlimited else self.given.type]

    def misses(self, link: str) -> bool:
        """Whether the axis does not pass through the origin of a link; slides never miss."""
        if not self.kind.turns:
            return False
        r = self.frames.relative(self.name, link)[:3, 3]
        return norm(np.cross(r, self.direction)) > _OFFSET_TOLERANCE * norm(r)

    def joint(self, name: str, links: tuple[str, str], frames: list[str]) -> Joint:
        """Return the joint between two links, parent first, that are at these frames."""
        kind = self.kind
        rotation = self.frames.relative(frames[1], self.name)[:3, :3]
        stiffness = self._dynamics('spring_stiffness')
        return Joint(
            name=name,
            type=kind.name,
            parent=links[0],
            child=links[1],
            origin=self.frames.relative(*frames),
            axis=axis_of(product(rotation, self.direction[:, None])[:, 0], self.owner),
            limits=self._limits(),
            mimic=self._mimic(),
            damping=self._dynamics('damping'),
            friction=self._dynamics('friction'),
            armature=self._armature(),
            spring_stiffness=stiffness,
            spring_position=self._dynamics('spring_reference') if stiffness else 0.0,
            pitch=self._pitch() if kind.has_pitch else 0.0,
        )

    def _dynamics(self, tag: str) -> float:
        """Return an element of <dynamics>, 0 without it."""
        return number_of(self.dynamics, tag, 0.0, self.owner)

    def _armature(self) -> float:
        """Return the inertia of a rotor behind its gear; as in Drake, 0 if there is no effort."""
        joint = self.frame.element
        inertia, ratio = (
            number_of(joint, tag, default, self.owner)
            for tag, default in zip(ROTOR, (0.0, 1.0), strict=True)
        )
        if inertia < 0.0:
            raise DescriptionError(
                f'{self.owner}: <{ROTOR[0]}> {inertia:g} is negative; correct it'
            )
        return inertia * ratio**2 if has_rotor(joint) and self._limits().effort > 0.0 else 0.0

    def _limits(self) -> Limits:
        limit = child(self.element, 'limit')
        lower, upper = (
            number_of(limit, tag, bound, self.owner, bound=True)
            for tag, bound in (('lower', -math.inf), ('upper', math.inf))
        )
        # A negative number means that there is no limit.
        velocity, effort = (
            math.inf if value < 0.0 else value
            for value in (
                number_of(limit, tag, math.inf, self.owner, bound=True)
                for tag in ('velocity', 'effort')
            )
        )
        if not JOINT_TYPES[self.given.type].has_range:
            return Limits(velocity=velocity, effort=effort)
        if lower > upper or lower == math.inf or upper == -math.inf:
            raise DescriptionError(
                f'{self.owner}: limits {lower:g} .. {upper:g} leave no position; correct them'
            )
        return Limits(lower, upper, velocity, effort)

    def _mimic(self) -> Mimic | None:
        """Return q = multiplier (q[leader] - reference) + offset."""
        mimic = child(self.element, 'mimic')
        if mimic is None:
            return None
        role, scope = 'leader', self.frame.scope
        leader = self.frames.named(mimic.getAttribute('joint'), scope, self.frame.element, role)
        leading = self.frames.all[leader].element
        leading_type = _TYPES.get(leading.getAttribute('type'))
        axes = () if leading_type is None else leading_type.axes
        axis = mimic.getAttribute('axis') or 'axis'
        if leading.tagName != 'joint' or axis not in axes:
            raise DescriptionError(
                f'{self.owner}: it mimics <{axis}> of {place_of(leading)}, which has none; name '
                'a joint that moves, and one of its axes'
            )
        multiplier, offset, reference = (
            number_of(mimic, tag, default, self.owner)
            for tag, default in (('multiplier', 1.0), ('offset', 0.0), ('reference', 0.0))
        )
        name = leader if len(axes) == 1 else f'{leader}::{axis}'
        return Mimic(name, multiplier, offset - multiplier * reference)

    def _pitch(self) -> float:
        """Return the advance per angle [m/rad], positive for a right-hand thread.

        <screw_thread_pitch> is the advance per revolution. <thread_pitch>, deprecated, is the angle
        per advance [rad/m], positive for a left-hand thread.
        """
        joint = self.frame.element
        old = number_of(joint, 'thread_pitch', 0.0, self.owner)
        pitch = number_of(joint, 'screw_thread_pitch', 0.0, self.owner) / (2.0 * math.pi)
        if pitch == 0.0 and old != 0.0:
            pitch = -1.0 / old
        if pitch == 0.0 or not math.isfinite(pitch):
            raise DescriptionError(
                f'{self.owner} is a screw with no advance; add <screw_thread_pitch>, the advance '
                'per revolution in m'
            )
        return pitch
