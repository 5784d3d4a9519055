# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fields that two readings of one robot disagree on, each as a change that can be tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.description import Inertia, Joint, Link
from ..core.description.urdf_writer import roll_pitch_yaw
from ..core.lie import se3
from ..core.types import Array
from .reading import DescriptionReading, inertia_of

#: Differences that are ignored [kg, m, kg m^2].
MASS_TOLERANCE, LENGTH_TOLERANCE, MOMENT_TOLERANCE = 1e-12, 1e-9, 1e-14


@dataclass(frozen=True)
class FieldDifference:
    """One field that a program has read differently.

    Attributes
    ----------
    subject : str
        'link <name>' or 'joint <name>'.
    field : str
        As in the URDF, for instance 'origin rpy'.
    ours, theirs : str
        The values, with units where they are not those of a URDF.
    change : callable
        Returns a reading with their value instead of ours.
    """

    subject: str
    field: str
    ours: str
    theirs: str
    change: Callable[[DescriptionReading], DescriptionReading]

    def __str__(self) -> str:
        return f'{self.subject}: {self.field}: here {self.ours}, there {self.theirs}'


def field_differences(
    ours: DescriptionReading, theirs: DescriptionReading, same: float
) -> Iterator[FieldDifference]:
    """Yield the fields in which two readings with the same links and joints differ.

    same : float
        What numbers may differ by, relative to the larger one, and angles in rad: programs
        decompose inertias and rotations, and some files have six digits.
    """
    for mine, other in zip(ours.description.links, theirs.description.links):
        yield from of_links(mine, other, same)
    for own, foreign in zip(ours.description.joints, theirs.description.joints):
        yield from of_joints(own, foreign, same)
        yield from of_armatures(own.name, ours, theirs, same)


def of_links(ours: Link, theirs: Link, same: float) -> Iterator[FieldDifference]:
    """Yield the differences of the inertials of one link."""
    a, b = inertia_of(ours), inertia_of(theirs)
    mass = max(a.mass, b.mass)
    if not b.mass and a.mass > MASS_TOLERANCE and not b.matrix.any():
        yield inertial_change(ours.name, 'inertial', f'{a.mass:.6g} kg', 'none', lambda _: b)
        return
    if differs(a.mass, b.mass, MASS_TOLERANCE, same):
        yield inertial_change(
            ours.name,
            'mass',
            f'{a.mass:.6g}',
            f'{b.mass:.6g}',
            lambda body: replace(body, mass=b.mass),
        )
    if mass > MASS_TOLERANCE and differs(a.com, b.com, LENGTH_TOLERANCE, same):
        yield inertial_change(
            ours.name,
            'inertial origin xyz',
            numbers(a.com),
            numbers(b.com),
            lambda body: replace(body, com=b.com),
        )
    if differs(a.matrix, b.matrix, MOMENT_TOLERANCE, same):
        moments = np.linalg.eigvalsh(a.matrix), np.linalg.eigvalsh(b.matrix)
        turned = not differs(*moments, MOMENT_TOLERANCE, same)
        yield inertial_change(
            ours.name,
            'inertial origin rpy' if turned else 'inertia',
            f'{entries(a.matrix)} kg m^2 in the axes of the link' if turned else entries(a.matrix),
            entries(b.matrix),
            lambda body: replace(body, matrix=b.matrix),
        )


def inertial_change(
    link: str, field: str, ours: str, theirs: str, change: Callable[[Inertia], Inertia]
) -> FieldDifference:
    """Return a difference in the inertia of a link."""

    def apply(reading: DescriptionReading) -> DescriptionReading:
        own = reading.link(link)
        return reading.with_link(replace(own, inertia=change(inertia_of(own))))

    return FieldDifference(f'link {link}', field, ours, theirs, apply)


def of_joints(ours: Joint, theirs: Joint, same: float) -> Iterator[FieldDifference]:
    """Yield the differences of one joint."""
    name, a, b = ours.name, ours.origin, theirs.origin
    if differs(a[:3, 3], b[:3, 3], LENGTH_TOLERANCE, same):
        yield joint_change(
            name,
            'origin xyz',
            numbers(a[:3, 3]),
            numbers(b[:3, 3]),
            lambda joint: replace(joint, origin=se3.pose(joint.origin[:3, :3], b[:3, 3])),
        )
    if np.linalg.norm(a[:3, :3] - b[:3, :3]) > same:
        yield joint_change(
            name,
            'origin rpy',
            numbers(roll_pitch_yaw(a[:3, :3])),
            numbers(roll_pitch_yaw(b[:3, :3])),
            lambda joint: replace(joint, origin=se3.pose(b[:3, :3], joint.origin[:3, 3])),
        )
    if not ours.kind.is_scalar:
        return
    if np.linalg.norm(ours.axis - theirs.axis) > same:
        yield joint_change(
            name,
            'axis',
            numbers(ours.axis),
            numbers(theirs.axis),
            lambda joint: replace(joint, axis=theirs.axis),
        )
    for field in ('damping', 'friction'):
        mine, other = getattr(ours, field), getattr(theirs, field)
        if differs(mine, other, MASS_TOLERANCE, same):
            yield joint_change(
                name,
                f'dynamics {field}',
                f'{mine:.6g}',
                f'{other:.6g}',
                lambda joint, field=field, other=other: replace(joint, **{field: other}),
            )
    for field in ('lower', 'upper', 'velocity', 'effort'):
        mine, other = getattr(ours.limits, field), getattr(theirs.limits, field)
        if differs(mine, other, LENGTH_TOLERANCE, same):
            yield joint_change(
                name,
                f'limit {field}',
                f'{mine:.6g}',
                f'{other:.6g}',
                lambda joint, field=field, other=other: replace(
                    joint, limits=replace(joint.limits, **{field: other})
                ),
            )


def joint_change(
    name: str, field: str, ours: str, theirs: str, change: Callable[..., Joint]
) -> FieldDifference:
    """Return a difference of a joint."""
    return FieldDifference(
        f'joint {name}',
        field,
        ours,
        theirs,
        lambda reading: reading.with_joint(change(reading.joint(name))),
    )


def of_armatures(
    name: str, ours: DescriptionReading, theirs: DescriptionReading, same: float
) -> Iterator[FieldDifference]:
    """Yield the difference of the reflected inertia of one joint."""
    mine, other = (float(each.armatures.get(name, 0.0)) for each in (ours, theirs))
    if differs(mine, other, MOMENT_TOLERANCE, same):
        yield FieldDifference(
            f'joint {name}',
            'armature',
            f'{mine:.6g}',
            f'{other:.6g}',
            lambda reading: replace(reading, armatures={**reading.armatures, name: other}),
        )


def differs(a: Any, b: Any, nothing: float, same: float) -> bool:
    """Return whether numbers or arrays differ by more than `same` of their size and `nothing`."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if np.array_equal(a, b):
        return False
    size = max(float(np.abs(a).max()), float(np.abs(b).max()))
    return not float(np.abs(a - b).max()) <= (same * size if np.isfinite(size) else 0.0) + nothing


def numbers(values: Any) -> str:
    """Return the text of a vector, without rounding residues."""
    return ' '.join(f'{0.0 if abs(x) < 1e-12 else x:.6g}' for x in values)


def entries(matrix: Array) -> str:
    """Return ixx ixy ixz iyy iyz izz of an inertia matrix."""
    return numbers(matrix[np.triu_indices(3)])
