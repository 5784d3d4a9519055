"""What a robot description says: links, joints, inertias and limits, in file order and unreduced.

A `RobotDescription` is plain data, independent of the format it was read from, and a checked tree:
`RobotDescription.from_parts` refuses everything else. Lengths are in m, angles in rad, masses in
kg, inertias in kg m^2; the arrays are read-only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DescriptionError

JointType = Literal['revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar']
Severity = Literal['error', 'warning', 'info']

#: Degrees of freedom of each joint type.
JOINT_FREEDOMS: dict[str, int] = {
    'revolute': 1,
    'continuous': 1,
    'prismatic': 1,
    'fixed': 0,
    'floating': 6,
    'planar': 3,
}


@dataclass(frozen=True)
class Finding:
    """One remark about a description that could be read, for logs and diagnostics.

    Attributes
    ----------
    severity : {'error', 'warning', 'info'}
    subject : str
        ``'link <name>'``, ``'joint <name>'`` or ``'robot <name>'``.
    message : str
        What is wrong, with the numbers.
    remedy : str
        What to do about it; empty for plain information.
    """

    severity: Severity
    subject: str
    message: str
    remedy: str = ''

    def __str__(self) -> str:
        return f'{self.subject}: {self.message}' + (f' ({self.remedy})' if self.remedy else '')


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass distribution of one link.

    Attributes
    ----------
    mass : float
        In kg.
    com : (3,) array
        Centre of mass in the link frame, in m.
    matrix : (3, 3) array
        Rotational inertia about the centre of mass, resolved in the link axes, in kg m^2.
    """

    mass: float
    com: NDArray[np.float64]
    matrix: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, 'com', _frozen(self.com))
        object.__setattr__(self, 'matrix', _frozen(self.matrix))

    def numbers(self) -> tuple[float, list[float], list[list[float]]]:
        """Return mass, centre of mass and matrix as plain numbers, to the last digit."""
        return self.mass, self.com.tolist(), self.matrix.tolist()


@dataclass(frozen=True)
class Link:
    """A rigid body and the frame fixed to it; `inertia` is None where none is given."""

    name: str
    inertia: Inertia | None = None


@dataclass(frozen=True)
class Limits:
    """Bounds of one joint: position (rad or m), speed (rad/s or m/s), effort (N m or N).

    Infinite where the description sets none.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf


@dataclass(frozen=True)
class Mimic:
    """The joint follows another one: q = multiplier * q[joint] + offset (rad or m)."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Joint:
    """How a child link moves relative to its parent link.

    Attributes
    ----------
    name, type, parent, child : str
        `type` is one of `JOINT_FREEDOMS`; `parent` and `child` are link names.
    origin : (4, 4) array
        Pose of the child link frame in the parent link frame at q = 0.
    axis : (3,) array
        Unit vector in the child frame: axis of rotation or translation, normal of a planar joint.
        Without meaning for fixed and floating joints.
    limits : Limits
    mimic : Mimic or None
        May name a joint that is itself a mimic joint; never a cycle.
    damping : float
        Viscous friction, N m s/rad or N s/m.
    friction : float
        Coulomb friction, N m or N.
    """

    name: str
    type: JointType
    parent: str
    child: str
    origin: NDArray[np.float64]
    axis: NDArray[np.float64]
    limits: Limits = Limits()
    mimic: Mimic | None = None
    damping: float = 0.0
    friction: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, 'origin', _frozen(self.origin))
        object.__setattr__(self, 'axis', _frozen(self.axis))


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
        What the reader had to remark; to be logged, never raised.
    """

    name: str
    root: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    findings: tuple[Finding, ...] = ()

    @classmethod
    def from_parts(
        cls,
        name: str,
        links: Sequence[Link],
        joints: Sequence[Joint],
        findings: Iterable[Finding] = (),
    ) -> RobotDescription:
        """Check that links and joints form one tree, and put them into depth-first order.

        Raises
        ------
        DescriptionError
            Duplicate names, unknown links, a link with two parents, no root or several, cycles;
            mimic joints that follow an unknown joint, themselves, or one with no scalar position.
        """
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


def _frozen(values: ArrayLike) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


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
        if JOINT_FREEDOMS[joint.type] != 1:
            raise DescriptionError(
                f'joint {joint.name!r} is {joint.type} and cannot mimic {joint.mimic.joint!r}; '
                'remove its <mimic> or make it revolute, continuous or prismatic'
            )
        chain = [joint.name]
        while (mimic := joints[chain[-1]].mimic) is not None:
            master = joints.get(mimic.joint)
            if master is None:
                raise DescriptionError(
                    f'joint {chain[-1]!r} mimics joint {mimic.joint!r}, which does not exist; '
                    'correct the name in its <mimic>'
                )
            if JOINT_FREEDOMS[master.type] != 1:
                raise DescriptionError(
                    f'joint {chain[-1]!r} mimics joint {master.name!r}, which is {master.type}; '
                    'only revolute, continuous and prismatic joints can be followed'
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
    pending = list(reversed(children[roots[0]])) if roots else []
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
