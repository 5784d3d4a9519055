# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Plot of `identify`: torques, residuals, parameters with confidence intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from screw_dynamics_ros.core.identification import DynamicIdentification
from screw_dynamics_ros.core.identification.model_check import ModelCheck

from ..command_line import drawing

MEASURED, IDENTIFIED, NOMINAL, GRAY = '#404040', '#0072b2', '#d55e00', '#f0f0f0'
RESOLUTION = 90  # dots per inch
MAX_JOINTS = 12


#: An identified model, or a given model that is compared with recordings.
Result = DynamicIdentification | ModelCheck


def save_picture(result: Result, path: Path) -> None:
    """Draw one page; raises ImportError without matplotlib."""
    joints = [
        i
        for i in range(len(result.joint_names))
        if np.isfinite(result.torques.measured[:, i]).all()
    ][:MAX_JOINTS]
    rows = len(joints)
    with drawing(path, RESOLUTION) as pyplot:
        figure = pyplot.figure(figsize=(12, 1.6 + 1.35 * max(rows, 4)), layout='constrained')
        is_fit = isinstance(result, DynamicIdentification)
        widths = (5, 3, 4) if is_fit else (5, 3)
        grid = figure.add_gridspec(rows, len(widths), width_ratios=widths)
        what = 'identified dynamics' if is_fit else 'model and recording'
        figure.suptitle(f'{result.description.name}: {what}', fontsize=11)
        first = None
        for row, i in enumerate(joints):
            left = figure.add_subplot(grid[row, 0], sharex=first)
            first = first or left
            draw_torque(left, result, i)
            residual = figure.add_subplot(grid[row, 1], sharex=first)
            draw_residual(residual, result, i)
            for axis in (left, residual):
                shade(axis, result)
                axis.tick_params(labelbottom=row == rows - 1)
                if row == rows - 1:
                    axis.set_xlabel('time without gaps [s]' + '; shaded: held out' * is_fit)
            if row == 0:
                left.legend(ncols=3, loc='lower left', bbox_to_anchor=(0, 1), borderaxespad=0.0)
                residual.set_title('error of the torque [N m, N]')
        if isinstance(result, DynamicIdentification):
            draw_parameters(figure.add_subplot(grid[:, 2]), result)


def time(result: Result) -> np.ndarray:
    """Return times without gaps (M,) [s]."""
    t = result.torques.t
    step = float(np.median(np.diff(t))) if len(t) > 1 else 1.0
    return step * np.arange(len(t))


def draw_torque(axis: Any, result: Result, i: int) -> None:
    """Draw measured and modeled torques of a joint."""
    t = time(result)
    torques = result.torques
    axis.plot(t, torques.measured[:, i], color=MEASURED, lw=1.6, label='measured')
    is_fit = isinstance(result, DynamicIdentification)
    if is_fit:
        axis.plot(t, torques.nominal[:, i], color=NOMINAL, lw=0.8, ls='--', label='nominal')
    label = 'identified' if is_fit else 'model'
    axis.plot(t, torques.identified[:, i], color=IDENTIFIED, lw=0.9, label=label)
    axis.set_ylabel(result.joint_names[i], fontsize=7)


def draw_residual(axis: Any, result: Result, i: int) -> None:
    """Draw the errors of both models."""
    t = time(result)
    torques = result.torques
    axis.plot(t, torques.reported[:, i] - torques.nominal[:, i], color=NOMINAL, lw=0.6)
    axis.plot(t, torques.measured[:, i] - torques.identified[:, i], color=IDENTIFIED, lw=0.8)


def shade(axis: Any, result: Result) -> None:
    """Shade held-out data."""
    t, marks = time(result), np.r_[False, result.torques.held_out, False].astype(int)
    for start, end in zip(np.flatnonzero(np.diff(marks) > 0), np.flatnonzero(np.diff(marks) < 0)):
        axis.axvspan(t[start], t[end - 1], color=GRAY, zorder=0)


def draw_parameters(axis: Any, result: DynamicIdentification) -> None:
    """Draw the identified parameters, relative to the larger of value and nominal value."""
    half = np.ptp(result.intervals(), axis=1) / 2
    size = np.maximum(np.maximum(np.abs(result.nominal), np.abs(result.values)), 1e-12)
    chosen = np.flatnonzero(result.identified)
    place = np.arange(len(chosen))[::-1]
    values = result.values[chosen] / size[chosen]
    axis.errorbar(
        values,
        place,
        xerr=half[chosen] / size[chosen],
        fmt='o',
        ms=2.5,
        lw=0.9,
        color=IDENTIFIED,
        label='estimated, 95 %',
    )
    axis.plot(
        result.nominal[chosen] / size[chosen], place, '|', color=NOMINAL, ms=6, label='nominal'
    )
    axis.set_yticks(place, [result.parameters[k] for k in chosen], fontsize=5)
    axis.set_ylim(-1, len(chosen))
    axis.set_xlim(-1.6, 1.6)
    axis.set_xlabel('base parameters, relative to the larger of both values')
    axis.legend(ncols=2, loc='lower left', bbox_to_anchor=(0, 1), borderaxespad=0.0)
