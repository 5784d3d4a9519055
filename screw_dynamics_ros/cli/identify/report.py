# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The reports of `identify`: of an identified model, and of a given one beside recordings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress

import numpy as np

from screw_dynamics_ros.core.annotation.unloaded_residual import OBSERVER, UnloadedResidual
from screw_dynamics_ros.core.description.drives import DRIVE_FIELDS
from screw_dynamics_ros.core.description.friction import FRICTION
from screw_dynamics_ros.core.identification import DynamicIdentification
from screw_dynamics_ros.core.identification.model_check import ModelCheck
from screw_dynamics_ros.core.identification.residual_fit import ResidualFit
from screw_dynamics_ros.core.statistics.intervals import between, with_interval
from screw_dynamics_ros.core.statistics.least_squares import described

from ..report import Section, digits

#: Largest number of printed combinations that the motion does not identify.
MAX_COMBINATIONS = 20

#: Fields that the table of drives has of each; further ones of friction if they are not zero.
FIELDS = ('armature', 'damping', 'coulomb', 'breakaway')


def of_fit(
    result: DynamicIdentification,
    notes: Sequence[str] = (),
    residual: UnloadedResidual | None = None,
) -> list[Section]:
    """Return the report of an identified model."""
    held_out = result.torques.held_out
    head = (
        f'robot {result.description.name}: {len(held_out)} samples below {result.cutoff:.3g} Hz, '
        f'{int(held_out.sum())} held out; {len(result.parameters)} base parameters, '
        f'{int(result.identified.sum())} identified, condition number {result.condition:.3g}'
    )
    return [
        Section(head, noted(notes), list(result.findings)),
        errors(result),
        drives(result),
        base_parameters(result),
        *([] if residual is None else [external_torques(residual)]),
    ]


def of_check(check: ModelCheck, notes: Sequence[str] = ()) -> list[Section]:
    """Return the report of a given model: R2, root mean squares and offset of each joint."""
    head = (
        f'robot {check.description.name}: {len(check.torques.t)} samples below '
        f'{check.cutoff:.3g} Hz, not fitted'
    )
    numbers = np.stack([check.torque, check.residual, check.offset], axis=1)
    rows = [
        (name, f'{R2:.4f}' if moves else 'at rest', *digits(row))
        for name, R2, row, moves in zip(check.joint_names, check.R2, numbers, check.moves)
        if np.isfinite(row[0])
    ]
    table = Section('RMS of torques and residuals, mean of residuals [N m, N]')
    return [
        Section(head, noted(notes), list(check.findings)),
        table.table(('joint', 'R2', 'torque', 'residual', 'mean'), rows),
    ]


def noted(notes: Sequence[str]) -> list[str]:
    """Return the lines of notes."""
    return [f'note    {note}' for note in notes]


def interval_row(name: str, unit: str, value: float, half: float) -> tuple[str, ...]:
    """Return the cells of a value and half of its interval."""
    number, interval = with_interval(value, half, 5)
    return name, number, f'+- {interval}', unit


def errors(result: DynamicIdentification) -> Section:
    """Return torque errors of the identified and the nominal model, for held-out data."""
    held_out = bool(result.torques.held_out.any())
    data = 'held-out' if held_out else 'fitted'
    rows = [
        (name, *digits(row))
        for name, *row in zip(result.joint_names, *result.errors(held_out))
        if np.isfinite(row[0])
    ]
    section = Section(f'torque errors, {data} data, root mean squares [N m, N]')
    return section.table(('joint', 'torque', 'identified', 'nominal'), rows)


def drives(result: DynamicIdentification) -> Section:
    """Return the parameters of drives and efforts, the delay of efforts, and the known load."""
    rows, unknown = [], []
    fields = [
        name
        for name in DRIVE_FIELDS
        if name in FIELDS
        or (name in FRICTION and any(getattr(drive, name) for drive in result.drives.values()))
    ]
    half = np.ptp(result.scale_intervals(), axis=1) / 2
    for i, name in enumerate(result.joint_names):
        if np.isnan(result.effort_scale[i]):
            unknown.append(f'{name}: not determined: the motion does not determine its scale')
            continue
        drive = result.drives[name]
        if drive.breakaway is None:
            drive = replace(drive, breakaway=drive.coulomb)
        scale, _ = with_interval(result.effort_scale[i], half[i])
        numbers = digits([getattr(drive, field) for field in fields])
        rows.append((name, *numbers, scale, *digits((half[i], result.effort_offset[i]))))
    head = ('drive', *fields, 'scale', '95 % +-', 'offset')
    section = Section('drives and efforts').table(head, rows)
    section.lines += [*unknown, *delay(result), *load(result)]
    return section


def external_torques(residual: UnloadedResidual) -> Section:
    """Return the errors of external torques of unloaded motion, and thresholds for contacts."""
    columns = (
        residual.deviation,
        residual.model_deviation,
        residual.contact_threshold,
        residual.collision_threshold,
    )
    section = Section(f'errors of external torques, observer {OBSERVER} [N m, N]').table(
        ('joint', 'deviation', 'of model', 'contact', 'collision'),
        [(name, *digits(row)) for name, *row in zip(residual.joint_names, *columns)],
    )
    if residual.derived_share is not None:
        k = int(np.argmax(residual.derived_share))
        section.lines.append(
            'no velocities are recorded: noise of differences of positions is '
            f'{residual.derived_share[k]:.0%} of the mean square error of {residual.joint_names[k]}'
        )
    return section


def residuals(fit: ResidualFit) -> Section:
    """Return the errors that a model of residuals leaves, and where it is based on data."""
    m, rows = fit.model, []
    columns = (fit.before, fit.after, m.middles - m.ranges, m.middles + m.ranges, m.speeds, m.loads)
    for name, *row in zip(fit.joint_names, *columns):
        if np.isfinite(row[0]):
            rows.append((name, *digits(row, 3)))
    head = ('joint', 'offset', 'model', 'from', 'to', 'velocity', 'effort')
    section = Section('residuals in held-out blocks; positions, velocities, efforts with data')
    section.table(head, rows).findings += fit.findings
    for number, (before, after) in enumerate(fit.by_recording, 1):
        known = np.isfinite(before)
        cells = (digits(each[known], 3) for each in (before, after))
        pairs = zip(compress(fit.joint_names, known), *cells)
        text = ', '.join(f'{name} {a} -> {b}' for name, a, b in pairs)
        section.lines.append(f'recording {number}, fitted to the others: {text}')
    return section


def delay(result: DynamicIdentification) -> Iterator[str]:
    """Yield the delay of efforts behind positions, if the motion determines it."""
    found = result.effort_delay
    if np.isfinite(found.deviation):
        yield (
            'delay of efforts relative to positions: '
            f'{between(1e3 * found.value, 1e3 * found.half_width())} ms (95 %)'
            + (', compensated' if found.is_certain else ', not compensated')
        )


def load(result: DynamicIdentification) -> Iterator[str]:
    """Yield the known payload."""
    if result.load is not None:
        x, y, z = result.load.com
        yield (
            f'load: {result.load.mass:.4g} kg, center of mass ({x:.3f}, {y:.3f}, {z:.3f}) m in '
            'the frame of its link'
        )


def base_parameters(result: DynamicIdentification) -> Section:
    """Return each base parameter with its interval, and what the motion does not identify."""
    half = np.ptp(result.intervals(), axis=1) / 2
    numbers = np.stack((result.nominal, result.values, half, result.physical), axis=1)
    rows = []
    for name, unit, known, row in zip(result.parameters, result.units, result.identified, numbers):
        estimate = with_interval(row[1], row[2]) if known else ('no', '')
        nominal, physical = digits(row[[0, 3]])
        rows.append((name, nominal, *estimate, physical, unit))
    section = Section('base parameters')
    section.table(('parameter', 'nominal', 'estimated', '95 % +-', 'physical', ''), rows)
    section.lines += [
        f'HELD    near nominal values, not identified: {described(combination, 5)}'
        for combination in result.held[:MAX_COMBINATIONS]
    ]
    if len(result.held) > MAX_COMBINATIONS:
        section.lines.append(f'HELD    and {len(result.held) - MAX_COMBINATIONS} more')
    return section


def groups(result: DynamicIdentification) -> Section:
    """Return the linear combinations that base parameters represent."""
    return Section(
        'represented combinations',
        [
            f'{name} represents {described({name: group[name], **group}, 20)}'
            for name, group in zip(result.parameters, result.groups)
            if len(group) > 1
        ],
    )
