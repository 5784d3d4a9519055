# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which fields explain that a program computes something else: they are put in, and tried.

A difference is explained when our functions, on the description with the values that the program
has read, give what the program gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..core.errors import ScrewDynamicsError
from .field_differences import FieldDifference, field_differences
from .merged_bodies import merging_faults
from .peer import Peer
from .quantities import UNITS, Difference, SampledStates, Scale, Values, our_values
from .reading import DescriptionReading
from .structure import structural_differences

TRIAL_STATES = 3  # states in which changes are tried
READ_ALIKE_SHARE = 0.1  # of the tolerance, within which a field counts as read alike
INERTIAL_QUANTITIES = ('gravity torques', 'mass matrix', 'forward dynamics', 'link positions')


@dataclass(frozen=True)
class Cause:
    """A field that has a part in the difference, and how much it does alone.

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
