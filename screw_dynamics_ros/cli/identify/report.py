# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The report of `identify`, as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from screw_dynamics_ros.core.description.drives import DRIVE_FIELDS
from screw_dynamics_ros.core.description.friction import FRICTION
from screw_dynamics_ros.core.measurement.annotation.unloaded_residual import (
    OBSERVER,
    UnloadedResidual,
)
from screw_dynamics_ros.core.measurement.identification.dynamics import DynamicIdentification
from screw_dynamics_ros.core.measurement.identification.intervals import between, with_interval
from screw_dynamics_ros.core.measurement.identification.least_squares import described

#: Largest number of printed combinations that the motion does not identify.
MAX_COMBINATIONS = 20

#: Fields that the table of drives has of each; further ones of friction if they are not zero.
FIELDS = ('armature', 'damping', 'coulomb', 'breakaway')

HEAD = ('joint', 'torque', 'identified', 'nominal')


def lines(result: DynamicIdentification, notes: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of the report."""
    yield heading(result)
    for note in notes:
        yield f'note    {note}'
    for finding in result.findings:
        yield f'{finding.severity.upper():<7} {finding}'
    yield from error_table(result)
    yield from drive_table(result)
    yield from delay(result)
    yield from load(result)
    yield from parameter_table(result)
    yield from held_combinations(result)


def page(
    result: DynamicIdentification,
    notes: Sequence[str],
    picture: str,
    residual: UnloadedResidual | None = None,
) -> str:
    """Return the report as Markdown."""
    parts = [f'# Identification of {result.description.name}', heading(result)]
    listed = [*(f'* {note}' for note in notes), *(f'* **{each}**' for each in result.findings)]
    if listed:
        parts.append('\n'.join(listed))
    if picture:
        parts.append(f'![torques, residuals and parameters]({picture})')
    for section in (
        error_table,
        drive_table,
        delay,
        load,
        parameter_table,
        held_combinations,
        groups,
    ):
        text = '\n'.join(section(result))
        if text:
            parts.append(f'```\n{text}\n```')
    errors = '\n'.join(residual_table(residual))
    if errors:
        parts.append(f'```\n{errors}\n```')
    return '\n\n'.join(parts) + '\n'


def heading(result: DynamicIdentification) -> str:
    """Return a summary of the fit."""
    held_out = result.torques.held_out
    return (
        f'robot {result.description.name}: {len(held_out)} samples below {result.cutoff:.3g} Hz, '
        f'{int(held_out.sum())} held out; {len(result.parameters)} base parameters, '
        f'{int(result.identified.sum())} identified, condition number {result.condition:.3g}'
    )


def error_table(result: DynamicIdentification) -> Iterator[str]:
    """Yield torque errors of the identified and the nominal model, for held-out data."""
    held_out = bool(result.torques.held_out.any())
    yield (
        f'  torque errors, {"held-out" if held_out else "fitted"} data, root mean squares [N m, N]'
    )
    width = max(map(len, (*result.joint_names, HEAD[0])))
    yield f'  {HEAD[0]:<{width}}' + ''.join(f'{name:>12}' for name in HEAD[1:])
    for name, *errors in zip(result.joint_names, *result.errors(held_out)):
        if np.isfinite(errors[0]):
            yield f'  {name:<{width}}' + ''.join(f'{x:12.4g}' for x in errors)


def drive_table(result: DynamicIdentification) -> Iterator[str]:
    """Yield the parameters of drives and efforts."""
    width = max(map(len, (*result.joint_names, 'drive')))
    fields = [
        name
        for name in DRIVE_FIELDS
        if name in FIELDS
        or (name in FRICTION and any(getattr(drive, name) for drive in result.drives.values()))
    ]
    heads = {name: max(len(name) + 2, 11) for name in (*fields, 'scale', '95 % +-', 'offset')}
    yield f'  {"drive":<{width}}' + ''.join(f'{name:>{wide}}' for name, wide in heads.items())
    half = np.ptp(result.scale_intervals(), axis=1) / 2
    for i, name in enumerate(result.joint_names):
        if np.isnan(result.effort_scale[i]):
            yield f'  {name:<{width}}   not determined: the motion does not determine its scale'
            continue
        drive = result.drives[name]
        if drive.breakaway is None:
            drive = replace(drive, breakaway=drive.coulomb)
        scale, _ = with_interval(result.effort_scale[i], half[i])
        rest = (f'{x:.4g}' for x in (half[i], result.effort_offset[i]))
        cells = [*(f'{getattr(drive, field):.4g}' for field in fields), scale, *rest]
        yield f'  {name:<{width}}' + ''.join(
            f'{cell:>{wide}}' for cell, wide in zip(cells, heads.values())
        )


def residual_table(residual: UnloadedResidual | None) -> Iterator[str]:
    """Yield the errors of external torques of unloaded motion, and thresholds for contacts."""
    if residual is None:
        return
    width = max(map(len, (*residual.joint_names, 'joint')))
    yield f'  errors of external torques, observer {OBSERVER} [N m, N]'
    names = ('deviation', 'of model', 'contact', 'collision')
    yield f'  {"joint":<{width}}' + ''.join(f'{name:>11}' for name in names)
    for name, *numbers in zip(
        residual.joint_names,
        residual.deviation,
        residual.model_deviation,
        residual.contact_threshold,
        residual.collision_threshold,
    ):
        yield f'  {name:<{width}}' + ''.join(f'{x:11.4g}' for x in numbers)


def delay(result: DynamicIdentification) -> Iterator[str]:
    """Yield the delay of efforts behind positions, if the motion determines it."""
    found = result.effort_delay
    if np.isfinite(found.deviation):
        yield (
            '  delay of efforts relative to positions: '
            f'{between(1e3 * found.value, 1e3 * found.half_width())} ms (95 %)'
            + (', compensated' if found.is_certain else ', not compensated')
        )


def load(result: DynamicIdentification) -> Iterator[str]:
    """Yield the known payload."""
    if result.load is not None:
        x, y, z = result.load.com
        yield (
            f'  load: {result.load.mass:.4g} kg, center of mass ({x:.3f}, {y:.3f}, {z:.3f}) m in '
            'the frame of its link'
        )


def parameter_table(result: DynamicIdentification) -> Iterator[str]:
    """Yield each base parameter with its confidence interval."""
    width = max(map(len, (*result.parameters, 'base parameter')))
    head = ('nominal', 'estimated', '95 % +-', 'physical')
    yield f'  {"base parameter":<{width}}' + ''.join(f'{name:>13}' for name in head)
    half = np.ptp(result.intervals(), axis=1) / 2
    numbers = np.stack((result.nominal, result.values, half, result.physical), axis=1)
    rows = zip(result.parameters, result.units, result.identified, numbers)
    for name, unit, identified, (nominal, value, error, physical) in rows:
        estimate = with_interval(value, error) if identified else ('no', '')
        data = ''.join(f'{text:>13}' for text in estimate)
        yield f'  {name:<{width}}{nominal:13.4g}{data}{physical:13.4g}  {unit}'


def groups(result: DynamicIdentification) -> Iterator[str]:
    """Yield the linear combinations that base parameters represent."""
    for name, group in zip(result.parameters, result.groups):
        if len(group) > 1:
            yield f'{name} represents {described({name: group[name], **group}, 20)}'


def held_combinations(result: DynamicIdentification) -> Iterator[str]:
    """Yield the combinations that the motion does not identify."""
    for combination in result.held[:MAX_COMBINATIONS]:
        yield f'HELD    near nominal values, not identified: {described(combination, 5)}'
    if len(result.held) > MAX_COMBINATIONS:
        yield f'HELD    and {len(result.held) - MAX_COMBINATIONS} more'
