# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a program has read from a description, as a description again.

Programs differ because they read a file differently. What one has read is brought back into the
form of a `RobotDescription`, whose links and joints are then compared by name, and whose fields can
be put into ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..core import Drive, Robot
from ..core.description import Inertia, Joint, Link, RobotDescription
from ..core.errors import DescriptionError
from ..core.lie import se3
from ..core.types import Array

MASSLESS = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True)
class DescriptionReading:
    """A robot as one program has read it.

    Attributes
    ----------
    description : RobotDescription
        What the program does not keep, for instance limits, is as in the file.
    armatures : {joint: float}
        Reflected inertias [kg m^2, kg], which a URDF cannot give; joints not named have none.
    """

    description: RobotDescription
    armatures: Mapping[str, float] = field(default_factory=dict)

    def robot(self, gravity: Array, backend: str) -> Robot:
        """Return the robot with viscous friction, without Coulomb friction.

        gravity (3,): acceleration of free fall in the root frame [m/s^2].
        """
        drives = {
            joint.name: Drive(
                damping=joint.damping, armature=float(self.armatures.get(joint.name, 0.0))
            )
            for joint in self.description.joints
            if joint.kind.is_scalar
        }
        return Robot(self.description, gravity=gravity, drives=drives, backend=backend)

    def link(self, name: str) -> Link:
        """Return the link of that name."""
        return next(link for link in self.description.links if link.name == name)

    def joint(self, name: str) -> Joint:
        """Return the joint of that name."""
        return next(joint for joint in self.description.joints if joint.name == name)

    def with_link(self, new: Link) -> DescriptionReading:
        """Return this reading with another link of the same name."""
        links = tuple(new if old.name == new.name else old for old in self.description.links)
        return replace(self, description=replace(self.description, links=links))

    def with_joint(self, new: Joint) -> DescriptionReading:
        """Return this reading with another joint of the same name."""
        joints = tuple(new if old.name == new.name else old for old in self.description.joints)
        return replace(self, description=replace(self.description, joints=joints))


def inertia_of(link: Link) -> Inertia:
    """Return the inertia of a link, zero where the description gives none."""
    return MASSLESS if link.inertia is None else link.inertia


def carriers(description: RobotDescription) -> dict[str, tuple[str, Array]]:
    """Return {link: (link that heads its rigid body, pose (4, 4) in that link's frame)}.

    A rigid body is a link and all that hang on it by fixed joints only; the body of the root does
    not move.
    """
    found = {description.root: (description.root, np.eye(4))}
    for joint in description.joints:
        head, pose = found[joint.parent]
        fixed = joint.kind.is_fixed
        found[joint.child] = (head, pose @ joint.origin) if fixed else (joint.child, np.eye(4))
    return found


def combined(parts: list[tuple[Array, Inertia]]) -> Inertia:
    """Return the inertia of parts, each given with the pose (4, 4) of its frame in the common one.

    Parts that no body has are added, too: they are to be compared, not judged.
    """
    mass = sum(part.mass for _, part in parts)
    centers = [pose[:3, :3] @ part.com + pose[:3, 3] for pose, part in parts]
    moment = sum((part.mass * c for c, (_, part) in zip(centers, parts)), np.zeros(3))
    com = moment / mass if mass else np.zeros(3)
    matrix = np.zeros((3, 3))
    for c, (pose, part) in zip(centers, parts):
        R, d = pose[:3, :3], c - com
        matrix += R @ part.matrix @ R.T + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return Inertia(float(mass), com, 0.5 * (matrix + matrix.T))


def rigid_bodies(description: RobotDescription) -> dict[str, Inertia]:
    """Return {head: inertia of its rigid body in the frame of the head}, without the root's."""
    parts: dict[str, list[tuple[Array, Inertia]]] = {}
    held = carriers(description)
    for link in description.links:
        head, pose = held[link.name]
        parts.setdefault(head, []).append((pose, inertia_of(link)))
    return {head: combined(each) for head, each in parts.items() if head != description.root}


def with_rigid_body(description: RobotDescription, head: str, inertia: Inertia) -> RobotDescription:
    """Return the description with the head such that its rigid body has this inertia."""
    held = carriers(description)
    parts = [
        (held[link.name][1], inertia_of(link))
        for link in description.links
        if held[link.name][0] == head and link.name != head
    ]
    own = subtracted(inertia, parts)
    links = tuple(
        replace(link, inertia=own) if link.name == head else link for link in description.links
    )
    return replace(description, links=links)


def subtracted(whole: Inertia, parts: list[tuple[Array, Inertia]]) -> Inertia:
    """Return the remainder of a rigid body without some parts, in its frame."""
    rest = combined(parts)
    mass = whole.mass - rest.mass
    if abs(mass) <= 1e-12 * max(whole.mass, rest.mass):
        mass = 0.0
    com = (whole.mass * whole.com - rest.mass * rest.com) / mass if mass else whole.com
    matrix = about(whole, com) - about(rest, com)
    return Inertia(max(mass, 0.0), com, 0.5 * (matrix + matrix.T))


def about(body: Inertia, point: Array) -> Array:
    """Return the inertia matrix (3, 3) of a body about a point (3,) [kg m^2]."""
    d = point - body.com
    return body.matrix + body.mass * (d @ d * np.eye(3) - np.outer(d, d))


def chain_to(description: RobotDescription, tip: str) -> RobotDescription:
    """Return the part of a robot from its root to one link."""
    above = {joint.child: joint for joint in description.joints}
    names = [tip]
    while names[-1] != description.root:
        names.append(above[names[-1]].parent)
    return replace(
        description,
        links=tuple(link for link in description.links if link.name in names),
        joints=tuple(joint for joint in description.joints if joint.child in names),
    )


@dataclass(frozen=True, eq=False)
class JointMap:
    """All scalar joints in terms of those that follow no other: values = gain q + offset.

    Attributes
    ----------
    names : tuple of str
        The n scalar joints in the order of the description, mimic joints included.
    gain : (n, nv) array
    offset : (n,) array
    """

    names: tuple[str, ...]
    gain: Array
    offset: Array

    @classmethod
    def of(cls, description: RobotDescription) -> JointMap:
        """Return the map of a description all of whose joints are scalar or fixed."""
        joints = {joint.name: joint for joint in description.joints if joint.kind.is_scalar}
        free = [name for name, joint in joints.items() if joint.mimic is None]
        gain, offset = np.zeros((len(joints), len(free))), np.zeros(len(joints))
        for row, name in enumerate(joints):
            multiplier, constant, joint = 1.0, 0.0, joints[name]
            while joint.mimic is not None:
                constant += multiplier * joint.mimic.offset
                multiplier *= joint.mimic.multiplier
                if joint.mimic.joint not in joints:
                    raise DescriptionError(
                        f'joint {name!r} follows joint {joint.mimic.joint!r}, which is not part of '
                        'the chain that is compared; choose another tip'
                    )
                joint = joints[joint.mimic.joint]
            gain[row, free.index(joint.name)], offset[row] = multiplier, constant
        return cls(tuple(joints), gain, offset)


def relative_pose(reference: Array, pose: Array) -> Array:
    """Return a pose (4, 4) in the frame of another (4, 4)."""
    return se3.inverse(reference) @ pose
