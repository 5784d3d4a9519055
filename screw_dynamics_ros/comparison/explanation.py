# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which fields explain that a program computes something else: they are put in, and tried.

A difference is explained when our functions, on the description with the values that the program
has read, give what the program gives.

Where programs merge links which are fixed to one another, the parts may agree one by one and the
sum not. Known faults are tried on each fixed link of the body
and on all of them; if one gives exactly the body that the program computes with, it is named.
MuJoCo 3.3 turned the inertia of a merged link wrongly (google-deepmind/mujoco#2982).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import numpy as np

from ..core.description import Inertia, Joint, Link, RobotDescription
from ..core.description.urdf_writer import roll_pitch_yaw
from ..core.errors import ScrewDynamicsError
from ..core.lie import se3
from ..core.types import Array
from .field_differences import (
    LENGTH_TOLERANCE,
    MASS_TOLERANCE,
    MOMENT_TOLERANCE,
    FieldDifference,
    differs,
    entries,
    field_differences,
    numbers,
)
from .peer import Peer
from .quantities import UNITS, Difference, SampledStates, Scale, Values, our_values
from .reading import (
    MASSLESS,
    DescriptionReading,
    carriers,
    combined,
    inertia_of,
    rigid_bodies,
    with_rigid_body,
)

TRIAL_STATES = 3  # states in which changes are tried
READ_ALIKE_SHARE = 0.1  # of the tolerance, within which two readings of a field are equal
INERTIAL_QUANTITIES = ('gravity torques', 'mass matrix', 'forward dynamics', 'link positions')


@dataclass(frozen=True)
class Cause:
    """A field that contributes to the difference, and its contribution alone.

    Attributes
    ----------
    difference : FieldDifference
    effects : {quantity: Difference}
        Changes of the quantities by this field alone, those above the tolerance.
    """

    difference: FieldDifference
    effects: dict[str, Difference]

    def __str__(self) -> str:
        changes = ', '.join(
            f'{name} by up to {change.absolute:.3g} {UNITS[name]}'
            + (f' ({change.where})' if change.where else '')
            for name, change in self.effects.items()
            if name in INERTIAL_QUANTITIES
        )
        return f'{self.difference}' + (f'; changes {changes}' if changes else '')


@dataclass(frozen=True)
class Comparison:
    """A program beside ours.

    Attributes
    ----------
    differences : {quantity: Difference}
    causes : list of Cause
        Those with the largest effect first.
    harmless : list of FieldDifference
        Fields that are read differently and change none of the quantities.
    explained : bool
        Whether nothing is left when all fields that are read differently are put into ours; true
        if nothing differs.
    """

    differences: dict[str, Difference]
    tolerance: float
    causes: list[Cause] = field(default_factory=list)
    harmless: list[FieldDifference] = field(default_factory=list)
    explained: bool = True

    @property
    def agrees(self) -> bool:
        """Whether all quantities agree to the tolerance."""
        return all(each.relative <= self.tolerance for each in self.differences.values())


def compare(
    peer: Peer, states: SampledStates, tolerance: float, backend: str = 'reference'
) -> Comparison:
    """Compare a program with ours in these states, and explain what differs.

    Parameters
    ----------
    peer : Peer
    states : SampledStates
        Of the part of the robot that the program computes.
    tolerance : float
        Largest relative difference, as in `quantities.Difference`.
    backend : str
        That of our functions which are compared.
    """
    ours = peer.ours
    mine, theirs = our_values(ours, states, backend), peer.values(states)
    scale = Scale.of(mine, ours.robot(states.gravity, 'reference').joint_names, states)
    found = differences(scale, mine, theirs)
    read = peer.read()
    structure = list(structural_differences(peer.subject, peer.theirs))
    fields = [*structure, *field_differences(ours, read.reading, tolerance * READ_ALIKE_SHARE)]
    plain = Comparison(found, tolerance, harmless=fields)
    if plain.agrees:
        return plain
    few = states.first(TRIAL_STATES)
    trial = Trial(scale, few, tolerance, our_values(ours, few), peer.values(few))
    parts = put_in(read.reading, structure)
    fields += merging_faults(parts, read.bodies, tolerance * READ_ALIKE_SHARE)
    causes, harmless = [], []
    for each in fields:
        effects = trial.effects(each.change(ours))
        if effects:
            causes.append(Cause(each, effects))
        else:
            harmless.append(each)
    causes.sort(key=lambda cause: -max(change.relative for change in cause.effects.values()))
    explained = bool(causes) and trial.is_explained(ours, fields)
    return Comparison(found, tolerance, causes, harmless, explained)


@dataclass(frozen=True)
class Trial:
    """Our functions on changed descriptions, in a few states."""

    scale: Scale
    states: SampledStates
    tolerance: float
    ours: Values
    theirs: Values

    def effects(self, changed: DescriptionReading) -> dict[str, Difference]:
        """Return what changes in our quantities by more than the tolerance."""
        values = self._values(changed)
        if values is None:
            return {'mass matrix': Difference(np.inf, np.inf)}
        found = differences(self.scale, self.ours, values)
        return {name: each for name, each in found.items() if each.relative > self.tolerance}

    def is_explained(self, ours: DescriptionReading, fields: Sequence[FieldDifference]) -> bool:
        """Return whether our quantities with all these fields changed are those of the program."""
        values = self._values(put_in(ours, fields))
        found = {} if values is None else differences(self.scale, values, self.theirs)
        return bool(found) and all(each.relative <= self.tolerance for each in found.values())

    def _values(self, reading: DescriptionReading) -> Values | None:
        try:
            return our_values(reading, self.states)
        except ScrewDynamicsError:  # a description that no robot has, for instance a massless arm
            return None


def put_in(reading: DescriptionReading, fields: Sequence[FieldDifference]) -> DescriptionReading:
    """Return a reading with the values of the program in these fields."""
    for each in fields:
        reading = each.change(reading)
    return reading


def differences(scale: Scale, ours: Values, theirs: Values) -> dict[str, Difference]:
    """Return the largest difference of each quantity that both have."""
    found = {name: scale.difference(name, ours, theirs) for name in UNITS}
    return {name: each for name, each in found.items() if each is not None}


def structural_differences(
    ours: RobotDescription, theirs: RobotDescription
) -> Iterator[FieldDifference]:
    """Yield the links with a mass that are in one description only.

    Their scalar joints must be the same, so that such a link is fixed to another one. A link that
    is only there is added to the link of ours that carries it.
    """
    own, foreign = ({link.name for link in each.links} for each in (ours, theirs))
    for link in ours.links:
        if link.name not in foreign and inertia_of(link).mass:
            yield FieldDifference(
                f'link {link.name}',
                'inertial',
                text(link),
                'no such link',
                partial(without_mass, name=link.name),
            )
    for link in theirs.links:
        if link.name not in own and inertia_of(link).mass:
            carrier, pose = carrier_of(theirs, link.name, own)
            yield FieldDifference(
                f'link {link.name}',
                'inertial',
                'no such link',
                f'{text(link)}, fixed to link {carrier}',
                partial(with_load, carrier=carrier, pose=pose, load=inertia_of(link)),
            )


def carrier_of(description: RobotDescription, name: str, known: set[str]) -> tuple[str, Array]:
    """Return the next link above that is known, and the pose (4, 4) in its frame."""
    above = {joint.child: joint for joint in description.joints}
    pose = np.eye(4)
    while name not in known and name in above:
        pose = above[name].origin @ pose
        name = above[name].parent
    return name, pose


def without_mass(reading: DescriptionReading, name: str) -> DescriptionReading:
    """Return a reading with a link that has no mass."""
    return reading.with_link(replace(reading.link(name), inertia=MASSLESS))


def with_load(
    reading: DescriptionReading, carrier: str, pose: Array, load: Inertia
) -> DescriptionReading:
    """Return a reading with a body added to a link."""
    link = reading.link(carrier)
    own = combined([(np.eye(4), inertia_of(link)), (pose, load)])
    return reading.with_link(replace(link, inertia=own))


def text(link: Link) -> str:
    """Return the inertial of a link."""
    body = inertia_of(link)
    return f'{body.mass:.6g} kg at {numbers(body.com)} m, {entries(body.matrix)} kg m^2'


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
    """Return the reading with the rpy of a joint ignored, for all links below it."""
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
    """A wrong way to merge the child of a fixed joint: the part that is dropped, and the result."""

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
