# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The report of `calibrate`, as text and as a plot of the residuals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from screw_dynamics_ros.core.calibration.robot_calibration import RobotCalibration
from screw_dynamics_ros.core.calibration.validation import Validation
from screw_dynamics_ros.core.description import RobotDescription
from screw_dynamics_ros.core.description.urdf_writer import roll_pitch_yaw
from screw_dynamics_ros.core.statistics.intervals import with_interval
from screw_dynamics_ros.core.statistics.least_squares import described
from screw_dynamics_ros.core.types import Array

from ..command_line import drawing
from ..report import Section, digits

#: Root mean square of the weighted residuals above which a warning is printed.
MAX_PLAUSIBLE_RMS = 1.5


def sections(result: RobotCalibration, validation: Validation | str, kind: str) -> list[Section]:
    """Return the report."""
    left = [f'{len(result.used)} fitted']
    left += [f'{len(result.held_out)} held out'] if result.held_out else []
    carriers = ', '.join(dict.fromkeys(result.links.values()))
    head = (
        f'robot {result.description.name}, link {carriers}: {len(result.residuals_after)} measured '
        f'{kind}, {", ".join(left)}; {result.message.split(";")[0]}'
    )
    outliers = [
        f'OUTLIER measurement {row + 1} is excluded: {size(result.residuals_after[row])}'
        for row in result.outliers
    ]
    found = [Section(head, outliers), residuals(result, validation), corrections(result, kind)]
    return [*found, Section('frames', list(frames(result)))]


def residuals(result: RobotCalibration, validation: Validation | str) -> Section:
    """Return root mean squares and maxima, before and after."""
    tables = [
        (name, result.residuals_before[list(rows)], result.residuals_after[list(rows)])
        for name, rows in (('fitted', result.used), ('held out', result.held_out))
        if rows
    ]
    if isinstance(validation, Validation):
        tables += [(f'{validation.folds} folds', validation.nominal, validation.calibrated)]
    rows = []
    for name, before, after in tables:
        for what, part, factor in parts(before.shape[1]):
            lengths = [factor * np.linalg.norm(e[:, part], axis=1) for e in (before, after)]
            for statistic, of in (('rms', rms), ('largest', np.max)):
                rows.append((name, f'{statistic} {what}', *digits(of(x) for x in lengths)))
    section = Section('residuals').table(('', '', 'before', 'after'), rows)
    section.lines.append(
        f'misfit {result.misfit:.3g} with {result.degrees_of_freedom:.4g} degrees of freedom '
        '(1: residuals agree with the deviations)'
    )
    if isinstance(validation, Validation):
        section.lines.append(
            f'cross-validation with {validation.folds} folds: the corrected robot is '
            f'{"better" if validation.improved else "NOT better"}'
        )
    if result.misfit > MAX_PLAUSIBLE_RMS:
        section.lines.append(
            'WARNING the residuals are larger than the deviations imply: the instrument is less '
            'accurate, the robot has other errors (elasticity, backlash), or there are outliers '
            '(--robust); intervals are computed from the residuals'
        )
    return section


def corrections(result: RobotCalibration, kind: str) -> Section:
    """Return each correction with its confidence interval, and combinations held."""
    by_residuals = result.misfit > MAX_PLAUSIBLE_RMS
    intervals = result.intervals(0.95, from_residuals=by_residuals)
    rows = [
        (name, *with_interval(value, (high - low) / 2, 6), unit(name, result.description))
        for name, value, (low, high) in zip(result.parameters, result.values, intervals)
    ]
    section = Section('corrections')
    if rows:
        section.table(('parameter', 'correction', '95 % +-', ''), rows)
    for combination in result.held:
        name = next(iter(combination))
        section.lines += [
            f'HELD    {name} at its nominal value; these {kind} do not determine the sum',
            f'        {described(combination)}',
        ]
    return section


def frames(result: RobotCalibration) -> Iterator[str]:
    """Yield results that a URDF cannot contain."""
    yield f'base in the frame of the instrument: {pose_text(result.base)}'
    for name, link in result.links.items():
        owner = f'target {name} on {link}' if len(result.links) > 1 else 'target on the link'
        yield f'{owner}: {pose_text(result.targets[name])}'
    for joint, scale in result.scales.items():
        yield f'{joint} moves {1 + scale:.9g} times its reading: correct this in the driver'


def parts(size: int) -> Sequence[tuple[str, slice, float]]:
    """Return the parts of a residual: unit, columns, factor."""
    position = ('[mm]', slice(-3, None) if size > 1 else slice(None), 1e3)
    return (('[mrad]', slice(3), 1e3), position) if size == 6 else (position,)


def unit(parameter: str, description: RobotDescription) -> str:
    """Return the unit of a parameter."""
    owner, _, kind = parameter.rpartition('.')
    if kind == 'offset':
        return next(joint for joint in description.joints if joint.name == owner).kind.position_unit
    return '' if kind == 'scale' else 'rad' if kind.startswith('r') else 'm'


def size(residual: Array) -> str:
    """Return the norms of one residual as text."""
    return ', '.join(
        f'{factor * np.linalg.norm(residual[part]):.3g} {what[1:-1]}'
        for what, part, factor in parts(len(residual))
    )


def pose_text(C: Array) -> str:
    """Return xyz and rpy of a pose."""
    xyz, rpy = (
        ' '.join(f'{x + 0.0:.9g}' for x in v) for v in (C[:3, 3], roll_pitch_yaw(C[:3, :3]))
    )
    return f'xyz="{xyz}" rpy="{rpy}"'


def rms(x: Array) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(x**2)))


#: Distinguishable by the color-blind.
COLOR_BEFORE, COLOR_AFTER, COLOR_REFERENCE = '#d55e00', '#0072b2', '#b0b0b0'
RESOLUTION = 110  # dots per inch


def save_picture(result: RobotCalibration, kind: str, path: Path) -> None:
    """Draw the norms of the residuals; raises ImportError without matplotlib."""
    size = result.residuals_after.shape[1]
    with drawing(path, RESOLUTION) as pyplot:
        figure, axes = pyplot.subplots(
            len(parts(size)),
            1,
            figsize=(8, 1.2 + 2.2 * len(parts(size))),
            sharex=True,
            squeeze=False,
            layout='constrained',
        )
        figure.suptitle(
            f'{result.description.name}: {len(result.residuals_after)} measured {kind}', fontsize=11
        )
        for axis, (unit, part, factor) in zip(axes[:, 0], parts(size)):
            before, after = (
                factor * np.linalg.norm(e[:, part], axis=1)
                for e in (result.residuals_before, result.residuals_after)
            )
            draw(axis, result, before, after)
            axis.set_ylabel(f'residual {unit}')
        axes[0, 0].legend(ncols=4, loc='lower left', bbox_to_anchor=(0.0, 1.0), borderaxespad=0.0)
        axes[-1, 0].set_xlabel('measurement')


def draw(axis: Any, result: RobotCalibration, before: Array, after: Array) -> None:
    """Draw one part of the residuals over the index of the measurements."""
    number = np.arange(1, len(after) + 1)
    axis.vlines(
        number, np.minimum(before, after), np.maximum(before, after), color=COLOR_REFERENCE, lw=0.7
    )
    axis.plot(number, before, 'o', ms=4, color=COLOR_BEFORE, label='nominal robot')
    for rows, style, label in (
        (result.used, {'color': COLOR_AFTER}, 'calibrated, fitted'),
        (result.held_out, {'mec': COLOR_AFTER, 'mfc': 'white'}, 'calibrated, held out'),
        (result.outliers, {'color': 'black', 'marker': 'x'}, 'outlier, excluded'),
    ):
        chosen = list(rows)
        if chosen:
            marks = {'marker': 'o', 'ls': '', 'ms': 4, **style}
            axis.plot(number[chosen], after[chosen], label=label, **marks)
    if min(before.min(), after.min()) > 0.0:
        axis.set_yscale('log')
    axis.margins(x=0.02)
