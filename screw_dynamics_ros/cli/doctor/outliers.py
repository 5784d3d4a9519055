# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Values of a description that are implausible compared with neighboring bodies.

They may be correct, so loading does not refuse them; more often a decimal point or a unit is wrong.
The bounds exceed the values of carefully described robots. In example-robot-data, they only report
placeholders of moments of inertia, those of the old UR5, and those of Romeo and Laikago, which are
about the link frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from screw_dynamics_ros.comparison.reading import carriers, rigid_bodies
from screw_dynamics_ros.core.description import Finding, Inertia, Joint, RobotDescription
from screw_dynamics_ros.core.description.body_inertia import POINT_RADIUS
from screw_dynamics_ros.core.description.robot_description import Severity
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.names import shorten

MAX_MASS_RATIO = 10.0  # times the parent body, in mass and in mass per length
MAX_GYRATION_RATIO = 3.0  # radius of gyration / longest distance nearby
MIN_GYRATION_RATIO = 1.0 / 10.0  # radius of gyration / length of the body
MAX_CENTER_DISTANCE_RATIO = 2.0  # distance of the center of mass / longest distance nearby
MAX_LIMIT_RATIO = 10.0  # a limit / limits of neighboring joints
MIN_PARALLEL_AXIS_SHARE = 0.1  # m |c|^2 / largest moment: below, the point hardly matters
LARGE_PARALLEL_AXIS_SHARE = 0.55  # a ball remains a body up to 0.5
MIN_ABOUT_FRAMES_SHARE = 0.8  # of the links of a robot
BODY_TOLERANCE = 0.01  # of the largest moment, in the triangle inequality
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


@dataclass(eq=False)
class BodyValues:
    """A link that a joint moves, with all links fixed to it, and its neighbors.

    Attributes
    ----------
    joint : Joint
        Joint whose child link is the head of the body.
    inertia : Inertia
        Inertia in the frame of the head.
    length : float
        Distance from the head to the farthest joint, fixed frame, or point of a shape [m].
    before, after : Body or None, list of BodyValues
    offset : float
        Distance of its joint from the head of the parent body [m].
    """

    joint: Joint
    inertia: Inertia
    length: float
    offset: float
    before: BodyValues | None
    after: list[BodyValues] = field(default_factory=list)

    @property
    def extent(self) -> float:
        """Length of the body, at least the distance of its center of mass [m]."""
        return max(self.length, float(np.linalg.norm(self.inertia.com)))

    @property
    def nearby(self) -> float:
        """Longest distance in the body and its neighbors [m]."""
        lengths = [self.length, self.offset, *(body.length for body in self.after)]
        return max([*lengths, self.before.length] if self.before is not None else lengths)

    @property
    def gyration(self) -> float:
        """Largest radius of gyration about the center of mass [m]."""
        largest = float(np.linalg.eigvalsh(self.inertia.matrix)[-1])
        return math.sqrt(max(largest, 0.0) / self.inertia.mass)


@dataclass(frozen=True)
class Outlier:
    """A value beyond its bound, and its ratio to the reference."""

    subject: str
    factor: float
    message: str

    @property
    def quantity(self) -> str:
        """Name of the quantity, as in findings of the reader."""
        return self.message.removeprefix('its ').split(' is ')[0]


Rule = Callable[[BodyValues], Iterator[Outlier]]


def outliers(description: RobotDescription) -> Iterator[Finding]:
    """Yield a finding for each kind of implausible value, with all affected links.

    Values already reported when reading the description are excluded.
    """
    yield from inertias_about_frames(description)
    bodies = moving_bodies(description)
    reported = {(each.subject, each.message.split(' is ')[0]) for each in description.findings}
    for rule, severity, kind, remedy in RULES:
        found = [
            outlier
            for body in bodies
            for outlier in rule(body)
            if (f'{kind} {outlier.subject}', outlier.quantity) not in reported
        ]
        if found:
            worst = max(found, key=lambda each: each.factor)
            others = [each.subject for each in found if each is not worst]
            more = f'; the same of {shorten(others)}' if others else ''
            yield Finding(severity, f'{kind} {worst.subject}', f'{worst.message}{more}', remedy)


def inertias_about_frames(description: RobotDescription) -> Iterator[Finding]:
    """Yield a finding if the inertias of a robot appear to be about its link frames.

    Such matrices are still those of bodies without the term of the parallel axes, which correct
    ones rarely are where the term is large. In example-robot-data they are in 22 of 26 links of
    Romeo (of its second description, by others: in none of 25), in all 8 of Laikago, and in at most
    half of those of each of the other 64 robots. With the term added, 60 of 64 are reported.
    """
    shares = {}  # of the parallel axes, by link
    bodies = []
    for link in description.links:
        body = link.inertia
        if body is None:
            continue
        moment = body.mass * float(body.com @ body.com)
        largest = float(np.linalg.eigvalsh(body.matrix)[-1])
        if not moment > MIN_PARALLEL_AXIS_SHARE * largest > 0.0:
            continue
        shares[link.name] = moment / largest
        term = moment * np.eye(3) - body.mass * np.outer(body.com, body.com)
        a, b, c = np.linalg.eigvalsh(body.matrix - term)
        if a + b >= c - BODY_TOLERANCE * largest:
            bodies.append(link.name)
    worst = max(bodies, key=shares.__getitem__, default=None)
    if (
        worst is not None
        and shares[worst] >= LARGE_PARALLEL_AXIS_SHARE
        and len(bodies) >= MIN_ABOUT_FRAMES_SHARE * len(shares)
    ):
        yield Finding.warning(
            f'robot {description.name}',
            f'its inertia matrices appear to be about the link frames: {len(bodies)} of '
            f'{len(shares)} are still those of bodies without the term of the parallel axes, '
            f'which is {shares[worst]:.0%} of the largest moment of {worst}',
            'if so, subtract m (|c|^2 1 - c c^T): a description has them about centers of mass',
        )


def moving_bodies(description: RobotDescription) -> list[BodyValues]:
    """Return the bodies moved by joints, parents first."""
    held, inertias = carriers(description), rigid_bodies(description)
    lengths = dict.fromkeys((head for head, _ in held.values()), 0.0)
    for link in description.links:
        head, pose = held[link.name]
        lengths[head] = max(lengths[head], distance(pose))
        for shape in link.shapes:
            corners = 0.5 * shape.extents * CORNERS @ shape.pose[:3, :3].T + shape.pose[:3, 3]
            farthest = np.linalg.norm(corners @ pose[:3, :3].T + pose[:3, 3], axis=1).max()
            lengths[head] = max(lengths[head], float(farthest))
    joints = [joint for joint in description.joints if not joint.kind.is_fixed]
    offsets = {joint.name: distance(held[joint.parent][1] @ joint.origin) for joint in joints}
    for joint in joints:
        head, _ = held[joint.parent]
        lengths[head] = max(lengths[head], offsets[joint.name])
    bodies: dict[str, BodyValues] = {}
    for joint in joints:
        before = bodies.get(held[joint.parent][0])
        head = joint.child
        bodies[head] = BodyValues(joint, inertias[head], lengths[head], offsets[joint.name], before)
        if before is not None:
            before.after.append(bodies[head])
    return list(bodies.values())


def distance(pose: Array) -> float:
    """Return the length of the translation of a pose (4, 4) [m]."""
    return float(np.linalg.norm(pose[:3, 3]))


def heavy(body: BodyValues) -> Iterator[Outlier]:
    """Yield a body that is much heavier than its parent.

    Mass per length must exceed the ratio too, because the cross of two intersecting axes is light
    and short. A wheel may be heavier than its fork.
    """
    before, mass = body.before, body.inertia.mass
    is_wheel = body.joint.kind.is_periodic and not body.after
    if before is None or is_wheel or min(before.inertia.mass, before.extent, body.extent) <= 0.0:
        return
    factor = mass / before.inertia.mass
    if factor >= MAX_MASS_RATIO and factor * before.extent >= MAX_MASS_RATIO * body.extent:
        yield Outlier(
            body.joint.child,
            factor,
            f'its {mass:.4g} kg are {factor:.3g} times the mass of {before.joint.child} '
            f'({before.inertia.mass:.4g} kg), its parent',
        )


def wide(body: BodyValues) -> Iterator[Outlier]:
    """Yield a body whose moments of inertia are too large for its size."""
    around = max(body.nearby, body.extent)
    if body.inertia.mass > 0.0 and body.gyration > MAX_GYRATION_RATIO * around > 0.0:
        yield Outlier(
            body.joint.child,
            body.gyration / around,
            f'{moments(body)}, but joints and shapes nearby are at most {around:.3g} m apart',
        )


def slim(body: BodyValues) -> Iterator[Outlier]:
    """Yield a body whose moments of inertia are too small for its size, except points."""
    if body.inertia.mass > 0.0 and POINT_RADIUS < body.gyration < MIN_GYRATION_RATIO * body.length:
        yield Outlier(
            body.joint.child,
            body.length / body.gyration,
            f'{moments(body)}, but it is {body.length:.3g} m long',
        )


def moments(body: BodyValues) -> str:
    """Return a text with the radius of gyration and its inputs."""
    mass, radius = body.inertia.mass, body.gyration
    return (
        f'its radius of gyration is {radius:.3g} m (moments of inertia of up to '
        f'{radius**2 * mass:.3g} kg m^2 for {mass:.3g} kg)'
    )


def far(body: BodyValues) -> Iterator[Outlier]:
    """Yield a body whose center of mass is far from it."""
    if body.inertia.mass <= 0.0:
        return
    distance = float(np.linalg.norm(body.inertia.com))
    around = max(body.nearby, 2.0 * body.gyration)
    if distance > MAX_CENTER_DISTANCE_RATIO * around > 0.0:
        yield Outlier(
            body.joint.child,
            distance / around,
            f'its center of mass is {distance:.3g} m from its joint, but joints and shapes '
            f'nearby are at most {around:.3g} m apart',
        )


def uneven_limits(body: BodyValues) -> Iterator[Outlier]:
    """Yield limits far above or below those of neighboring joints of the same kind."""
    if body.before is None:
        return
    kind = body.joint.kind
    near = [each.joint for each in (body.before, *body.after)]
    near = [each for each in near if each.kind.turns == kind.turns]
    units = {'effort': kind.effort_unit, 'velocity': f'{kind.position_unit}/s'}
    for name, unit in units.items():
        value, *others = (getattr(each.limits, name) for each in (body.joint, *near))
        if len(others) < 2 or not all(0.0 < each < math.inf for each in (value, *others)):
            continue
        factor = max(value / max(others), min(others) / value)
        if factor >= MAX_LIMIT_RATIO:
            yield Outlier(
                body.joint.name,
                factor,
                f'its {name} limit is {value:.4g} {unit}, those of the neighboring joints '
                f'are {", ".join(f"{each:.4g}" for each in others)}',
            )


RULES: tuple[tuple[Rule, Severity, str, str], ...] = (
    (heavy, 'warning', 'link', 'check both masses'),
    (wide, 'warning', 'link', 'check mass, <inertia> and their units'),
    (
        slim,
        'info',
        'link',
        'correct for a point mass; else check units of <inertia>, and m d^2 of its parts',
    ),
    (far, 'warning', 'link', 'check the <origin> of its <inertial>'),
    (uneven_limits, 'warning', 'joint', 'check its <limit>'),
)
