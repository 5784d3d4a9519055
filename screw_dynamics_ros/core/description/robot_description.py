# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robot descriptions: links, joints, inertias and limits, in file order, without reduction.

A `RobotDescription` is plain data, independent of the file format, and a valid tree:
`RobotDescription.from_parts` raises an error otherwise. Lengths are in m, angles in rad, masses in
kg, inertias in kg m^2; the arrays are read-only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..arguments import float_array, is_number
from ..errors import ArgumentError, DescriptionError, InertiaError
from .body_inertia import Inertia, inertia_fault
from .joint_types import JOINT_TYPES, JointType, scalar_types
from .shapes import Shape

Severity = Literal['error', 'warning', 'info']

#: Tolerance of rotation matrices and unit vectors.
UNIT_TOLERANCE = 1e-6

#: The last row of a pose.
BOTTOM = np.array([0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Finding:
    """A remark about a valid description, for logs and diagnostics.

    Attributes
    ----------
    severity : {'error', 'warning', 'info'}
    subject : str
        ``'link <name>'``, ``'joint <name>'`` or ``'robot <name>'``.
    message : str
        The fault, with its numbers.
    remedy : str
        What the user can do; empty for severity 'info'.
    """

    severity: Severity
    subject: str
    message: str
    remedy: str = ''

    @classmethod
    def warning(cls, subject: str, message: str, remedy: str = '') -> Finding:
        """Return a finding of severity 'warning'."""
        return cls('warning', subject, message, remedy)

    def __str__(self) -> str:
        return f'{self.subject}: {self.message}' + (f' ({self.remedy})' if self.remedy else '')


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body and its frame; `inertia` is None if the file has none.

    `shapes` are the primitives of its collision geometry, or of the visual geometry if there is no
    collision geometry; meshes are omitted.
    """

    name: str
    inertia: Inertia | None = None
    shapes: tuple[Shape, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.inertia, Inertia | None):
            raise ArgumentError(f'link {self.name!r}: inertia is no Inertia: {self.inertia!r}')
        if not all(isinstance(shape, Shape) for shape in self.shapes):
            raise ArgumentError(f'link {self.name!r}: shapes are no Shapes: {self.shapes!r}')


@dataclass(frozen=True)
class Limits:
    """Bounds of one joint: position (rad or m), speed (rad/s or m/s), effort (N m or N).

    Acceleration and deceleration are in rad/s^2 or m/s^2, jerk in rad/s^3 or m/s^3. Infinite if the
    description has no limit.

    Raises
    ------
    DescriptionError
        No numbers, NaN, a lower limit above the upper one, or another limit that is negative.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    acceleration: float = math.inf
    deceleration: float = math.inf
    jerk: float = math.inf

    def __post_init__(self) -> None:
        lower, upper, *magnitudes = astuple(self)
        ordered = all(map(is_number, (lower, upper, *magnitudes))) and lower <= upper
        if not (ordered and all(each >= 0.0 for each in magnitudes)):
            raise DescriptionError(
                f'{self} are not limits: lower must not be above upper, nor another one negative'
            )


@dataclass(frozen=True)
class Mimic:
    """The joint follows another one: q = multiplier * q[joint] + offset (rad or m)."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        for name in ('multiplier', 'offset'):
            value = getattr(self, name)
            if not (is_number(value) and abs(value) < math.inf):
                raise DescriptionError(
                    f'mimic of {self.joint!r}: {name} must be a finite number, got {value!r}'
                )


@dataclass(frozen=True, eq=False)
class Joint:
    """How a child link moves relative to its parent link.

    Attributes
    ----------
    name, type, parent, child : str
        `type` is one of `JOINT_TYPES`; `parent` and `child` are link names.
    origin : (4, 4) array
        Pose of the child link frame in the parent link frame at q = 0.
    axis : (3,) array
        Unit vector in the child frame: axis of rotation or translation, normal of a planar joint.
        Not used for fixed, floating and ball joints.
    limits : Limits
    mimic : Mimic or None
        May name a joint that is itself a mimic joint; never a cycle.
    damping : float
        Viscous friction, N m s/rad or N s/m.
    friction : float
        Coulomb friction, N m or N.
    armature : float
        Reflected inertia of the drive, kg m^2 or kg.
    spring_stiffness, spring_position : float
        Of a spring along the joint, N m/rad or N/m, and its position at rest, rad or m.
    pitch : float
        Advance along the axis per angle of a helical joint [m/rad], positive for a right-hand
        thread; 0 for all others. Its position is the angle, its effort the moment [N m].

    Raises
    ------
    DescriptionError
        If the type is unknown, the origin is not a rigid motion, the axis is not a unit vector, or
        the pitch is missing, not finite or not allowed.
    ArgumentError
        If an attribute has another type, or is not finite.
    """

    name: str
    type: str
    parent: str
    child: str
    origin: NDArray[np.float64]
    axis: NDArray[np.float64]
    limits: Limits = Limits()
    mimic: Mimic | None = None
    damping: float = 0.0
    friction: float = 0.0
    pitch: float = 0.0
    armature: float = 0.0
    spring_stiffness: float = 0.0
    spring_position: float = 0.0

    def __post_init__(self) -> None:
        if self.type not in JOINT_TYPES:
            raise DescriptionError(
                f'joint {self.name!r} has unknown type {self.type!r}; '
                f'use one of {", ".join(JOINT_TYPES)}'
            )
        for key, size in (('origin', (4, 4)), ('axis', (3,))):
            array = float_array(f'joint {self.name!r}: {key}', getattr(self, key)).copy()
            if array.shape != size:
                raise ArgumentError(
                    f'joint {self.name!r}: {key} must have shape {size}, got {array.shape}'
                )
            array.setflags(write=False)
            object.__setattr__(self, key, array)
        R = self.origin[:3, :3]
        rigid = np.abs(R.T @ R - np.eye(3)).max() < UNIT_TOLERANCE and np.linalg.det(R) > 0.0
        if not (rigid and np.isfinite(self.origin).all() and (self.origin[3] == BOTTOM).all()):
            raise DescriptionError(
                f'joint {self.name!r}: origin must be a rigid motion [[R, r], [0, 1]], with '
                f'R^T R = 1 and det R = 1, got {self.origin.tolist()}'
            )
        if self.kind.has_axis and not abs(np.linalg.norm(self.axis) - 1.0) < UNIT_TOLERANCE:
            raise DescriptionError(
                f'joint {self.name!r}: axis must be a unit vector, got {self.axis.tolist()}; '
                'divide it by its length, or make the joint fixed'
            )
        if self.kind.has_pitch != (self.pitch != 0.0) or not (
            is_number(self.pitch) and math.isfinite(self.pitch)
        ):
            needed = (
                'give the advance per angle [m/rad], a finite number other than 0'
                if self.kind.has_pitch
                else 'only a helical joint has one'
            )
            raise DescriptionError(
                f'joint {self.name!r} is {self.type} with pitch {self.pitch!r}; {needed}'
            )
        if not isinstance(self.limits, Limits) or not isinstance(self.mimic, Mimic | None):
            raise ArgumentError(
                f'joint {self.name!r}: limits must be Limits and mimic Mimic or None, '
                f'got {self.limits!r} and {self.mimic!r}'
            )

    @property
    def kind(self) -> JointType:
        """What a joint of this type does."""
        return JOINT_TYPES[self.type]


@dataclass(frozen=True, eq=False)
class Closure:
    """A joint that closes a loop of the tree.

    Attributes
    ----------
    name : str
    pair : {'spherical', 'weld'}
        As in `mechanisms.absolute_coordinates.lower_pairs.PAIRS`.
    links : pair of str
    poses : pair of (4, 4) arrays
        Poses of the joint in the two links.
    """

    name: str
    pair: str
    links: tuple[str, str]
    poses: tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """A tree of links, in depth-first order with children in document order.

    Attributes
    ----------
    name, root : str
        Name of the robot and of its root link.
    links : tuple of Link
        ``links[0]`` is the root.
    joints : tuple of Joint
        ``joints[i].child == links[i + 1].name``.
    findings : tuple of Finding
        Remarks of the reader, for logs; they do not raise errors.
    floating_base : bool
        Whether the root link moves freely by the file; never by a URDF.
    gravity : (3,) tuple or None
        Acceleration of free fall in the root frame [m/s^2]; None if the file does not say.
    postures : {name: {joint: positions}}
        Named configurations of the file, as `Robot` has the coordinates of each joint; those of
        mimic joints and of the free joint of the root are included.
    closures : tuple of Closure
        Joints that close loops, which `Robot` leaves open; see `LoopClosures.of`.
    actuated : tuple of str
        The joints with motors, in the order of the file; empty if it does not say.
    """

    name: str
    root: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    findings: tuple[Finding, ...] = ()
    floating_base: bool = False
    gravity: tuple[float, float, float] | None = None
    postures: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    closures: tuple[Closure, ...] = ()
    actuated: tuple[str, ...] = ()

    def turns(self, joints: Sequence[str]) -> NDArray[np.bool_]:
        """Return which of some joints are revolute or helical, (n,)."""
        kinds = {joint.name: joint.kind for joint in self.joints}
        return np.array([kinds[name].turns for name in joints], dtype=bool)

    @classmethod
    def from_parts(
        cls,
        name: str,
        links: Sequence[Link],
        joints: Sequence[Joint],
        findings: Iterable[Finding] = (),
        *,
        check_inertias: bool = True,
    ) -> RobotDescription:
        """Check that links and joints form one tree, and put them into depth-first order.

        Raises
        ------
        InertiaError
            No body has the inertia of a link; not with `check_inertias=False`.
        DescriptionError
            Duplicate names, unknown links, a link with two parents, no root or several, cycles;
            mimic joints that follow an unknown joint, themselves, or one with no scalar position.
        """
        for part in (*links, *joints):
            if not isinstance(part, Link | Joint):
                raise ArgumentError(f'robot {name!r}: {part!r} is neither a Link nor a Joint')
        for link in links if check_inertias else ():
            fault = None if link.inertia is None else inertia_fault(link.inertia)
            if fault is not None:
                raise InertiaError(f'link {link.name!r}: {fault[0]}; {fault[1]}')
        _check_names('link', [link.name for link in links])
        _check_names('joint', [joint.name for joint in joints])
        if not links:
            raise DescriptionError(f'robot {name!r} has no links; a description needs at least one')
        _check_mimics({joint.name: joint for joint in joints})
        root, ordered = _depth_first([link.name for link in links], joints)
        by_name = {link.name: link for link in links}
        return cls(
            name=name,
            root=root,
            links=(by_name[root], *(by_name[joint.child] for joint in ordered)),
            joints=tuple(ordered),
            findings=tuple(findings),
        )


def _check_names(kind: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DescriptionError(
                f'{kind} {name!r} is defined twice; rename or remove one of them'
            )
        seen.add(name)


def _check_mimics(joints: dict[str, Joint]) -> None:
    for joint in joints.values():
        if joint.mimic is None:
            continue
        if not joint.kind.is_scalar:
            raise DescriptionError(
                f'joint {joint.name!r} is {joint.type} and cannot mimic {joint.mimic.joint!r}; '
                f'remove its <mimic> or make it {scalar_types("or")}'
            )
        chain = [joint.name]
        while (mimic := joints[chain[-1]].mimic) is not None:
            master = joints.get(mimic.joint)
            if master is None:
                raise DescriptionError(
                    f'joint {chain[-1]!r} mimics joint {mimic.joint!r}, which does not exist; '
                    'correct the name in its <mimic>'
                )
            if not master.kind.is_scalar:
                raise DescriptionError(
                    f'joint {chain[-1]!r} mimics joint {master.name!r}, which is {master.type}; '
                    f'only {scalar_types()} joints can be followed'
                )
            if master.name in chain:
                cycle = ' -> '.join([*chain[chain.index(master.name) :], master.name])
                raise DescriptionError(
                    f'mimic cycle {cycle}; one of these joints must not mimic another'
                )
            chain.append(master.name)


def _depth_first(links: Sequence[str], joints: Sequence[Joint]) -> tuple[str, list[Joint]]:
    """Return the root link and the joints in depth-first order, siblings in document order."""
    children: dict[str, list[Joint]] = {link: [] for link in links}
    above: dict[str, Joint] = {}
    for joint in joints:
        for role, link in (('parent', joint.parent), ('child', joint.child)):
            if link not in children:
                raise DescriptionError(
                    f'joint {joint.name!r} has {role} link {link!r}, which does not exist; '
                    'define the link or correct the name'
                )
        if joint.child in above:
            raise DescriptionError(
                f'link {joint.child!r} has two parents, through joints {above[joint.child].name!r} '
                f'and {joint.name!r}; a robot is a tree here, so cut the closed loop at one of them'
            )
        above[joint.child] = joint
        children[joint.parent].append(joint)

    roots = [link for link in links if link not in above]
    if len(roots) > 1:
        raise DescriptionError(
            f'{len(roots)} root links: {_listing(roots)}; connect all but one of them to the tree '
            'by a joint, or remove them'
        )
    ordered: list[Joint] = []
    pending = [joint for root in roots for joint in reversed(children[root])]
    while pending:
        joint = pending.pop()
        ordered.append(joint)
        pending.extend(reversed(children[joint.child]))
    if not roots or len(ordered) + 1 < len(links):
        reached = {*roots, *(joint.child for joint in ordered)}
        cycle = _cycle(next(link for link in links if link not in reached), above)
        because = '' if roots else 'no root link: '
        raise DescriptionError(
            f'{because}the links {" -> ".join(map(repr, cycle))} form a cycle; '
            'remove one of its joints so that every link hangs on one root'
        )
    return roots[0], ordered


def _cycle(link: str, above: dict[str, Joint]) -> list[str]:
    """Return the links of the cycle met when climbing from `link`, parent before child, closed."""
    path = [link]
    while (parent := above[path[-1]].parent) not in path:
        path.append(parent)
    return [parent, *reversed(path[path.index(parent) :])]


def _listing(names: Sequence[str], most: int = 8) -> str:
    shown = ', '.join(map(repr, names[:most]))
    return shown if len(names) <= most else f'{shown} and {len(names) - most} more'
