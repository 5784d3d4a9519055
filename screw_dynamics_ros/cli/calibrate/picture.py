# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Plot of `calibrate`: residuals of each measurement, before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from screw_dynamics_ros.core.measurement.identification.robot_calibration import RobotCalibration
from screw_dynamics_ros.core.types import Array

from ..command_line import save_figure
from .report import parts

#: Distinguishable by the color-blind.
COLOR_BEFORE, COLOR_AFTER, COLOR_REFERENCE = '#d55e00', '#0072b2', '#b0b0b0'
STYLE = {
    'font.size': 9,
    'axes.titlesize': 10,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'axes.grid.axis': 'y',
    'grid.color': '#e4e4e4',
    'axes.axisbelow': True,
    'legend.frameon': False,
}
RESOLUTION = 110  # dots per inch


def save_picture(result: RobotCalibration, kind: str, path: Path) -> None:
    """Draw the norms of the residuals; raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    size = result.residuals_after.shape[1]
    path.parent.mkdir(parents=True, exist_ok=True)
    with pyplot.rc_context(STYLE):
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
        save_figure(figure, path, RESOLUTION)
        pyplot.close(figure)


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
