# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Possible contact locations: straight segments on each moving body of a robot.

A body is a link with all links fixed to it. Its segments are

* the lines from its own joint to the joints of the bodies that it carries and to its end frames;
  without any of these, to the end of a uniform rod with the same center of mass;
* the axes of its shapes in the description: boxes, cylinders, spheres.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..description.robot_description import RobotDescription
from ..description.shapes import Shape
from ..types import Array

MIN_SEGMENT_LENGTH = 1e-3  # m


@dataclass(frozen=True, eq=False)
class Segment:
    """The axis of a part of a body.

    Attributes
    ----------
    link : str
        The first link of the body; the points are in its frame.
    start, end : (3,) arrays
        [m].
    part : str
        Description of the part.
    joints : frozenset of str
        The independent joints that move it, without mimic joints.
    shape : Shape or None
        The shape with this axis, in the frame of `link`.
    """

    link: str
    start: Array
    end: Array
    part: str
    joints: frozenset[str]
    shape: Shape | None = None

    @property
    def length(self) -> float:
        """[m]."""
        return float(np.linalg.norm(self.end - self.start))


def link_segments(description: RobotDescription, joints: Collection[str]) -> tuple[Segment, ...]:
    """Return the segments of all bodies that some of `joints` move, in order from the root.

    Examples
    --------
    >>> from screw_dynamics_ros.core import Robot
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf', backend='reference')
    >>> for each in link_segments(robot.description, robot.joint_names):
    ...     print(each.link, each.start.tolist(), each.end.tolist(), each.part)
    link1 [0.0, 0.0, 0.0] [1.0, 0.0, 0.0] to joint2
    link1 [0.0, 0.0, 0.0] [1.0, 0.0, 0.0] box
    link1 [1.0, 0.0, 0.0] [1.0, 0.0, 0.0] sphere
    link2 [0.0, 0.0, 0.0] [0.5, 0.0, 0.0] to tip
    link2 [0.0, 0.0, 0.0] [0.5, 0.0, 0.0] box
    link2 [0.5, 0.0, 0.0] [0.5, 0.0, 0.0] sphere
    """
    found = []
    for body, moved in moved_bodies(description, joints).items():
        poses = fixed_links(description, body)
        for name, point in longest_of_each_direction(ends(description, body, poses)):
            found.append(Segment(body, np.zeros(3), point, name, moved))
        for link in description.links:
            for shape in link.shapes if link.name in poses else ():
                placed = replace(shape, pose=poses[link.name] @ shape.pose)
                start, end, _ = placed.axis()
                part = shape.kind if link.name == body else f'{shape.kind} of {link.name}'
                found.append(Segment(body, start, end, part, moved, placed))
    return tuple(found)


def moved_bodies(
    description: RobotDescription, joints: Collection[str]
) -> dict[str, frozenset[str]]:
    """Return the bodies that some joints move, by their first links, with these joints."""
    by_name = {joint.name: joint for joint in description.joints}
    moved: dict[str, frozenset[str]] = {description.root: frozenset()}
    bodies = {}
    for joint in description.joints:  # depth first: parents come before their children
        leader = joint
        while leader.mimic is not None:
            leader = by_name[leader.mimic.joint]
        own = {leader.name} & set(joints)
        moved[joint.child] = moved[joint.parent] | own
        if not joint.kind.is_fixed and moved[joint.child]:
            bodies[joint.child] = moved[joint.child]
    return bodies


def fixed_links(description: RobotDescription, body: str) -> dict[str, Array]:
    """Return the links of a body with their poses (4, 4) in the frame of its first one."""
    poses: dict[str, Array] = {body: np.eye(4)}
    for joint in description.joints:
        if joint.kind.is_fixed and joint.parent in poses:
            poses[joint.child] = poses[joint.parent] @ joint.origin
    return poses


def ends(
    description: RobotDescription, body: str, poses: dict[str, Array]
) -> Iterator[tuple[str, Array]]:
    """Yield the joints and end frames of a body, whose links have `poses`, with their positions."""
    parents = {joint.parent for joint in description.joints}
    found = False
    for joint in description.joints:
        if joint.parent not in poses:
            continue
        is_joint = not joint.kind.is_fixed
        if is_joint or joint.child not in parents:
            found = True
            name = joint.name if is_joint else joint.child
            yield f'to {name}', (poses[joint.parent] @ joint.origin)[:3, 3]
    inertia = next(link.inertia for link in description.links if link.name == body)
    if not found and inertia is not None:
        yield 'to twice its center of mass', 2.0 * inertia.com


def longest_of_each_direction(places: Iterator[tuple[str, Array]]) -> list[tuple[str, Array]]:
    """Return the ends that are neither at the origin nor on a segment to another end.

    >>> longest_of_each_direction(iter([('a', np.ones(3)), ('b', 2.0 * np.ones(3))]))
    [('b', array([2., 2., 2.]))]
    """
    kept: list[tuple[str, Array]] = []
    for name, point in sorted(places, key=lambda each: -float(np.linalg.norm(each[1]))):
        distances = [distance_from_segment(point, other) for _, other in kept]
        if min([float(np.linalg.norm(point)), *distances]) >= MIN_SEGMENT_LENGTH:
            kept.append((name, point))
    return kept


def distance_from_segment(point: Array, end: Array) -> float:
    """Return the distance of a point from the segment between the origin and `end` [m]."""
    share = min(max(float(point @ end) / float(end @ end), 0.0), 1.0)
    return float(np.linalg.norm(point - share * end))
