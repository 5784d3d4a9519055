# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Names and frames of a model in SDFormat: what a pose is relative to, and what moves a frame.

Links, joints, frames and nested models are frames in one scope each, the model that contains them.
Here each has one name, with the models between the outermost one and it: 'gripper::finger'. The
outermost model is '', what it is placed in 'world'. Each frame has a pose relative to another one
(SDFormat: "relative_to"), which is one graph, and is fixed to a link ("attached_to"), which is
another one. Both are followed without recursion: how deep they are is the choice of the file.

Source: SDFormat 1.7 to 1.12, sdformat.org/tutorials?tut=pose_frame_semantics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.dom.minidom import Element

import numpy as np

from ..errors import DescriptionError
from ..reproducible import product
from ..types import Array
from .sdf_elements import place_of, pose_of
from .xml_document import (
    MAX_NAME_LENGTH,
    child,
    line_of,
    name_attribute,
    short,
    text_of,
    without_residue,
)

WORLD = 'world'
MODEL_FRAME = '__model__'
KINDS = ('link', 'joint', 'frame', 'model')

#: Frames between a frame and the outermost model. It bounds the work for a hostile file.
MAX_FRAME_DEPTH = 200

#: Lengths up to this fraction of those they are the difference of are rounding residue.
_LENGTH_TOLERANCE = 1e-15


@dataclass(eq=False)
class FrameNode:
    """One link, joint, frame or model.

    Attributes
    ----------
    element : Element
    scope : str
        Name of the model that contains it.
    reference : str
        Name of the frame that the pose is relative to.
    pose : (4, 4) array
    depth : int
        Number of frames between it and the world; -1 until known.
    """

    element: Element
    scope: str
    reference: str = ''
    pose: Array = field(default_factory=lambda: np.eye(4))
    depth: int = -1

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        tag: str = self.element.tagName
        return tag


class FrameGraph:
    """The frames of a model and of its nested models.

    Attributes
    ----------
    model : Element
    all : dict of str to FrameNode
        By name, in document order; those of nested models behind those of the model.

    Raises
    ------
    DescriptionError
        A name is missing, reserved or there twice; a frame is unknown; poses form a cycle; a
        nested model is in another file.
    """

    def __init__(self, model: Element) -> None:
        self.model = model
        self.all: dict[str, FrameNode] = {'': FrameNode(model, WORLD, WORLD, depth=1)}
        self._links: dict[str, str] = {}
        self._collect()
        for name, frame in self.all.items():
            if name:
                frame.pose = pose_of(child(frame.element, 'pose'), place_of(frame.element))
                frame.reference = self._reference(frame)
        # Inner models first: the pose of a model may be that of a frame of an inner one.
        for name in reversed([name for name, each in self.all.items() if each.kind == 'model']):
            self._place(name)
        for name in self.all:
            self._depth(name)

    def of_kind(self, kind: str) -> dict[str, FrameNode]:
        """Return the frames of one of `KINDS`."""
        return {name: frame for name, frame in self.all.items() if frame.kind == kind}

    def named(self, name: str, scope: str, element: Element, role: str) -> str:
        """Return the full name of a frame that an element in `scope` names."""
        full = f'{scope}::{name}' if scope else name
        if name and full not in self.all:  # files of 1.7 may have a frame 'a::__model__'
            full = scope if name == MODEL_FRAME else full.removesuffix(f'::{MODEL_FRAME}')
        if name and full in self.all:
            return full
        there = [
            short(each.element.getAttribute('name'), 30)
            for each in self.all.values()
            if each.scope == scope
        ]
        more = f' and {len(there) - 8} more' if len(there) > 8 else ''
        raise DescriptionError(
            f'{place_of(element)}: its {role} {short(name)!r} is no link, joint, frame or nested '
            f'model beside it; there are {", ".join(there[:8]) or "none"}{more}'
        )

    def relative(self, reference: str, name: str) -> Array:
        """Return the pose (4, 4) of a frame in another one, either may be 'world'.

        Along the shortest way, so that no rounding from other parts of the robot enters.
        """
        ends = [reference, name]
        poses = [np.eye(4), np.eye(4)]
        while ends[0] != ends[1]:
            deeper = int(self._depth(ends[1]) >= self._depth(ends[0]))
            frame = self.all[ends[deeper]]
            poses[deeper] = product(frame.pose, poses[deeper])
            ends[deeper] = frame.reference
        return _difference(*poses)

    def link(self, name: str) -> str:
        """Return the name of the link that a frame is fixed to; 'world' of the world."""
        path: dict[str, None] = {}  # a set in order
        while name not in self._links and not (name == WORLD or self.all[name].kind == 'link'):
            if name in path:
                raise DescriptionError(
                    f'{place_of(self.all[name].element)} is attached to itself, through '
                    f'{_chain(list(path))}; attach one of them to a link'
                )
            path[name] = None
            name = self._attachment(name)
        link = self._links.get(name, name)
        self._links.update(dict.fromkeys(path, link))
        return link

    # --- construction -----------------------------------------------------------------------------

    def _collect(self) -> None:
        pending = ['']
        while pending:
            scope = pending.pop()
            for part in self.all[scope].element.childNodes:
                if not isinstance(part, Element):
                    continue
                if part.tagName == 'include':
                    uri = text_of(child(part, 'uri'))
                    raise DescriptionError(
                        f'<include> (line {line_of(part)}) of {short(uri)!r}: other files are not '
                        'read; write everything into one: `gz sdf -p robot.sdf > whole.sdf`'
                    )
                if part.tagName not in KINDS:
                    continue
                name = name_attribute(part)
                self._check_name(name, part)
                full = f'{scope}::{name}' if scope else name
                if len(full) > MAX_NAME_LENGTH:
                    raise DescriptionError(
                        f'{place_of(part)}: its name with those of the models around it has more '
                        f'than {MAX_NAME_LENGTH} characters; use shorter names, or fewer models'
                    )
                if full in self.all:
                    raise DescriptionError(
                        f'{place_of(part)} has the name of {place_of(self.all[full].element)}; '
                        'links, joints, frames and models of one model have different names, '
                        'rename one of them'
                    )
                self.all[full] = FrameNode(part, scope)
                if part.tagName == 'model':
                    pending.append(full)

    @staticmethod
    def _check_name(name: str, element: Element) -> None:
        if name == WORLD or (name.startswith('__') and name.endswith('__')):
            raise DescriptionError(f'{place_of(element)}: this name is reserved; rename it')

    def _reference(self, frame: FrameNode) -> str:
        """Return the name of the frame that a pose is relative to."""
        element, pose = frame.element, child(frame.element, 'pose')
        given = '' if pose is None else pose.getAttribute('relative_to')
        if given:
            return self.named(given, frame.scope, element, 'relative_to')
        if frame.kind == 'joint':
            return self.named(text_of(child(element, 'child')), frame.scope, element, 'child')
        attached = element.getAttribute('attached_to') if frame.kind == 'frame' else ''
        return self.named(attached or MODEL_FRAME, frame.scope, element, 'attached_to')

    def _place(self, name: str) -> None:
        """Give a model the pose of its origin, if the file has that of its placement frame."""
        model = self.all[name]
        if not name:
            model.pose = pose_of(child(model.element, 'pose'), place_of(model.element))
        placed = model.element.getAttribute('placement_frame')
        if not placed:
            return
        at = self.named(placed, name, model.element, 'placement_frame')
        pose = np.eye(4)
        path: list[str] = []
        while at != name:
            if at in path or len(path) > MAX_FRAME_DEPTH:
                raise _cyclic(self.all[at].element, path)
            path.append(at)
            pose, at = product(self.all[at].pose, pose), self.all[at].reference
        model.pose = product(model.pose, _difference(pose, np.eye(4)))

    def _depth(self, name: str) -> int:
        path: list[str] = []
        while name != WORLD and self.all[name].depth < 0:
            if name in path or len(path) > MAX_FRAME_DEPTH:
                raise _cyclic(self.all[name].element, path)
            path.append(name)
            name = self.all[name].reference
        depth = 0 if name == WORLD else self.all[name].depth
        if depth + len(path) > MAX_FRAME_DEPTH:
            raise _cyclic(self.all[path[-1]].element, path)
        for each in reversed(path):
            depth += 1
            self.all[each].depth = depth
        return depth

    def _attachment(self, name: str) -> str:
        """Return what a frame that is not a link is attached to."""
        frame = self.all[name]
        element, scope = frame.element, frame.scope
        if frame.kind == 'joint':
            return self.named(text_of(child(element, 'child')), scope, element, 'child')
        if frame.kind == 'frame':
            given = element.getAttribute('attached_to') or MODEL_FRAME
            return self.named(given, scope, element, 'attached_to')
        given = element.getAttribute('canonical_link')
        if given:
            return self.named(given, name, element, 'canonical_link')
        for kind in ('link', 'model'):
            first = child(element, kind)
            if first is not None:
                return self.named(first.getAttribute('name'), name, element, kind)
        raise DescriptionError(f'{place_of(element)} has no link; a model needs at least one')


def _difference(C1: Array, C2: Array) -> Array:
    """Return C1^-1 C2 (4, 4), without residue of rounding where angles are right or lengths 0."""
    r = C2[:3, 3] - C1[:3, 3]
    largest = max(np.abs(C1[:3, 3]).max(), np.abs(C2[:3, 3]).max())
    r = np.where(np.abs(r) <= _LENGTH_TOLERANCE * largest, 0.0, r)
    r = product(C1[:3, :3].T, r[:, None])[:, 0]
    pose = np.eye(4)
    pose[:3, :3] = without_residue(product(C1[:3, :3].T, C2[:3, :3]))
    pose[:3, 3] = np.where(np.abs(r) <= _LENGTH_TOLERANCE * largest, 0.0, r)
    return pose


def _chain(path: list[str]) -> str:
    shown = ' -> '.join(short(name, 40) for name in path[:5])
    return shown if len(path) <= 5 else f'{shown} -> ...'


def _cyclic(element: Element, path: list[str]) -> DescriptionError:
    return DescriptionError(
        f'{place_of(element)}: its pose is relative to itself or to a chain of more than '
        f'{MAX_FRAME_DEPTH} frames, {_chain(path)}; correct relative_to'
    )
