# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Faults of programs that merge links which are fixed to one another.

The parts agree one by one, the sum does not. Known faults are tried on each fixed link of the body
and on all of them; if one gives exactly the body that the program computes with, it is named.
MuJoCo 3.3 turned the inertia of a merged link wrongly (google-deepmind/mujoco#2982).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from ..core.description import Inertia, Joint
from ..core.description.urdf_writer import roll_pitch_yaw
from ..core.lie import se3
from ..core.types import Array
from .field_differences import (
    LENGTH_TOLERANCE,
    MASS_TOLERANCE,
    MOMENT_TOLERANCE,
    FieldDifference,
    differs,
    entries,
    numbers,
)
from .reading import (
    MASSLESS,
    DescriptionReading,
    carriers,
    inertia_of,
    rigid_bodies,
    with_rigid_body,
)


def merging_faults(
    reading: DescriptionReading, bodies: Mapping[str, Inertia], same: float
) -> Iterator[FieldDifference]:
    """Yield what explains that the merged bodies of a program are not the sums of their parts.

    Parameters
    ----------
    reading : DescriptionReading
        What the program has read, link by link.
    bodies : {link: Inertia}
        The rigid bodies it computes with, by the link at their head.
    same : float
        As in `field_differences`.
    """
    sums = rigid_bodies(reading.description)
    held = carriers(reading.description)
    for head, theirs in bodies.items():
        if head not in sums or same_body(sums[head], theirs, same):
            continue
        joints = [
            joint
            for joint in reading.description.joints
            if joint.kind.is_fixed and held[joint.child][0] == head
        ]
        if joints:
            yield from explained_body(reading, head, theirs, joints, same)


def explained_body(
    reading: DescriptionReading, head: str, theirs: Inertia, joints: list[Joint], same: float
) -> list[FieldDifference]:
    """Return the first known fault that gives their body, otherwise the body as a whole."""
    for tried in chain(([joint] for joint in joints), [joints]):
        for fault in FAULTS:
            changed = reading
            for joint in tried:
                changed = fault.change(changed, joint)
            if same_body(rigid_bodies(changed.description)[head], theirs, same):
                return [fault.difference(reading, joint, head) for joint in tried]
    return [unknown_fault(reading, head, theirs, joints, same)]


def unknown_fault(
    reading: DescriptionReading, head: str, theirs: Inertia, joints: list[Joint], same: float
) -> FieldDifference:
    """Return that a body is not the sum of its parts, with the turned ones as the likely cause."""
    held = carriers(reading.description)
    heavy = [joint for joint in joints if inertia_of(reading.link(joint.child)).mass] or joints
    turned = [joint for joint in heavy if is_turned(held[joint.child][1])] or heavy
    fields = list(body_fields(rigid_bodies(reading.description)[head], theirs, same))
    merged = ', '.join(f'link {joint.child}' for joint in turned)
    return FieldDifference(
        f'joint {", ".join(joint.name for joint in turned)}',
        'origin rpy' if turned is not heavy else 'origin',
        '; '.join(f'{field} {mine}' for field, mine, _ in fields),
        '; '.join(f'{field} {other}' for field, _, other in fields)
        + f' of the body that it makes of link {head} and {merged}',
        lambda each: replace(each, description=with_rigid_body(each.description, head, theirs)),
    )


def body_fields(ours: Inertia, theirs: Inertia, same: float) -> Iterator[tuple[str, str, str]]:
    """Yield (field, ours, theirs) of bodies that differ."""
    if differs(ours.mass, theirs.mass, MASS_TOLERANCE, same):
        yield 'mass', f'{ours.mass:.6g}', f'{theirs.mass:.6g}'
    if differs(ours.com, theirs.com, LENGTH_TOLERANCE, same):
        yield 'inertial origin xyz', numbers(ours.com), numbers(theirs.com)
    if differs(ours.matrix, theirs.matrix, MOMENT_TOLERANCE, same):
        yield 'inertia', entries(ours.matrix), entries(theirs.matrix)


def same_body(ours: Inertia, theirs: Inertia, same: float) -> bool:
    """Return whether two rigid bodies agree but for rounding."""
    return not any(body_fields(ours, theirs, same))


def is_turned(pose: Array) -> bool:
    """Return whether a pose (4, 4) has a rotation."""
    return bool(np.abs(pose[:3, :3] - np.eye(3)).max() > MASS_TOLERANCE)


# --- known faults ---------------------------------------------------------------------------------


def without_turn(reading: DescriptionReading, joint: Joint) -> DescriptionReading:
    """Return the reading with the rpy of a joint left out, for all that hang on it."""
    return reading.with_joint(replace(joint, origin=se3.pose(np.eye(3), joint.origin[:3, 3])))


def with_unturned_matrix(reading: DescriptionReading, joint: Joint) -> DescriptionReading:
    """Return the reading with the inertia matrix of the child as if its axes were the head's."""
    return reinertial(reading, joint, lambda body, R: replace(body, matrix=R.T @ body.matrix @ R))


def with_unturned_inertial(reading: DescriptionReading, joint: Joint) -> DescriptionReading:
    """Return the reading with center of mass and inertia of the child in the axes of the head."""
    return reinertial(
        reading,
        joint,
        lambda body, R: Inertia(body.mass, R.T @ body.com, R.T @ body.matrix @ R),
    )


def without_inertial(reading: DescriptionReading, joint: Joint) -> DescriptionReading:
    """Return the reading without the inertia of the child."""
    return reinertial(reading, joint, lambda body, R: MASSLESS)


def reinertial(
    reading: DescriptionReading, joint: Joint, change: Callable[[Inertia, Array], Inertia]
) -> DescriptionReading:
    """Return the reading with another inertia of the child; R turns its axes into the head's."""
    link = reading.link(joint.child)
    R = carriers(reading.description)[link.name][1][:3, :3]
    return reading.with_link(replace(link, inertia=change(inertia_of(link), R)))


@dataclass(frozen=True)
class BodyFault:
    """A way to merge the child of a fixed joint wrongly: what is dropped, and the result of it."""

    field: str
    dropped: str
    change: Callable[[DescriptionReading, Joint], DescriptionReading]

    def difference(self, reading: DescriptionReading, joint: Joint, head: str) -> FieldDifference:
        """Return the fault at one joint as a field that is read differently."""
        rpy = numbers(roll_pitch_yaw(joint.origin[:3, :3]))
        body = inertia_of(reading.link(joint.child))
        inertial = self.field == 'inertial'
        return FieldDifference(
            f'link {joint.child}' if inertial else f'joint {joint.name}',
            self.field,
            f'{body.mass:.6g} kg, {entries(body.matrix)} kg m^2' if inertial else rpy,
            f'{self.dropped} when link {joint.child} is merged into link {head}',
            lambda each: self.change(each, joint),
        )


FAULTS = (
    BodyFault('origin rpy', 'dropped', without_turn),
    BodyFault('origin rpy', 'dropped for center of mass and inertia', with_unturned_inertial),
    BodyFault('origin rpy', 'dropped for the inertia', with_unturned_matrix),
    BodyFault('inertial', 'dropped', without_inertial),
)
