# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Links that only one of two descriptions has, fixed to a link of both: a tool, a camera."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from ..core.description import Inertia, Link, RobotDescription
from ..core.types import Array
from .field_differences import FieldDifference, entries, numbers
from .reading import MASSLESS, DescriptionReading, combined, inertia_of


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
                partial(without_inertial, name=link.name),
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


def without_inertial(reading: DescriptionReading, name: str) -> DescriptionReading:
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
