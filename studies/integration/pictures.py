# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The figures of the paper, both groups side by side, and the orders of convergence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from screw_dynamics_ros.cli.command_line import save_figure
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import SE3, SO3xR3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.history import History
from screw_dynamics_ros.core.types import Array
from studies.integration.constraint_forms import (
    ACTUAL_ARM,
    CONSTANT_ARM,
)
from studies.integration.orders import Convergence
from studies.integration.runs import CASES, GROUPS, EnergyUnit, energy_drift
from studies.integration.study import Study

#: Colors that the color-blind can tell apart (Okabe and Ito), and marks beside them.
COLORS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000')
MARKS = 'os^Dv<>'
COLOR_OF = {SE3: COLORS[0], SO3xR3: COLORS[1]}
LABEL = {SE3: '$SE(3)$', SO3xR3: r'$SO(3)\times\mathbb{R}^3$'}
STYLE = {
    'font.size': 10,
    'axes.titlesize': 11,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'grid.color': '#e4e4e4',
    'axes.axisbelow': True,
    'legend.frameon': False,
    'legend.fontsize': 9,
}
#: What is drawn at the bottom of a logarithmic axis: smaller numbers are rounding.
FLOOR = 1e-17
RESOLUTION = 100  # dots per inch


class PaperFigure(NamedTuple):
    """A figure of the paper.

    Attributes
    ----------
    number : int
    case : str
    joint : str
        Whose gap it shows; '' for the energy.
    unit : {'J', 'relative'}
        Of the energy.
    """

    number: int
    case: str
    joint: str = ''
    unit: EnergyUnit = 'J'

    def values(self, history: History) -> Array:
        """Return what is drawn, (k,)."""
        return history.gaps[self.joint] if self.joint else energy_drift(history, self.unit)

    @property
    def label(self) -> str:
        """What the axis shows."""
        if self.joint:
            return 'gap $|g|$ [m]'
        return {'J': r'$|E-E_0|$ [J]', 'relative': r'$|T-T_0|\,/\,T_0$'}[self.unit]

    @property
    def title(self) -> str:
        """What the figure is about."""
        what = f'gap of {self.joint}' if self.joint else 'drift of the energy'
        return f'Fig. {self.number}: {CASES[self.case].title}, {what}'


FIGURES = (
    PaperFigure(2, 'E1', 'pivot'),
    PaperFigure(3, 'E1', unit='relative'),
    PaperFigure(5, 'E2', 'joint 1'),
    PaperFigure(6, 'E2', 'joint 2'),
    PaperFigure(7, 'E2'),
    PaperFigure(9, 'E3', 'joint 2'),
    PaperFigure(10, 'E3'),
    PaperFigure(12, 'E4', 'joint 1'),
    PaperFigure(13, 'E4', 'joint 2'),
    PaperFigure(14, 'E4', 'joint 3'),
    PaperFigure(15, 'E4'),
)


def save_pictures(study: Study, folder: Path) -> list[Path]:
    """Draw everything into a folder; raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with pyplot.rc_context(STYLE):
        for name, drawn in all_pictures(study, pyplot):
            paths.append(folder / f'{name}.png')
            save_figure(drawn, paths[-1], RESOLUTION)
            pyplot.close(drawn)
    return paths


def all_pictures(study: Study, pyplot: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and pictures."""
    for figure in FIGURES:
        yield f'figure_{figure.number:02d}', side_by_side(study, figure, pyplot)
    for case in dict.fromkeys(c.case for c in study.orders):
        yield f'orders_{case}', draw_orders([c for c in study.orders if c.case == case], pyplot)
    yield 'slow_base', draw_slow_base(study, pyplot)


def side_by_side(study: Study, figure: PaperFigure, pyplot: Any) -> Any:
    """Draw one figure of the paper, a panel for each group, on one logarithmic scale."""
    drawn, axes = pyplot.subplots(
        1, 2, figsize=(11.5 if figure.number == 3 else 9, 3.4), sharey=True, layout='constrained'
    )
    drawn.suptitle(figure.title, fontsize=11, fontweight='bold')
    for axis, group in zip(axes, GROUPS):
        history = study.runs[figure.case][group]
        values = figure.values(history)
        curve(axis, history.t, values, COLOR_OF[group])
        largest = np.abs(values).max()
        axis.set(title=f'{LABEL[group]}, at most {scientific(largest)}', xlabel='time [s]')
        axis.set_xlim(0.0, history.t[-1])
    if figure.number == 3:
        other_forms(axes[1], study)
    axes[0].set(yscale='log', ylabel=figure.label)
    return drawn


def other_forms(axis: Any, study: Study) -> None:
    """Add the energy of the heavy top with its constraints in other forms."""
    axis.lines[0].set_label('constraints as in (42)')
    labels = {
        CONSTANT_ARM: 'in the body frame, arm $r_0$',
        ACTUAL_ARM: r'in the body frame, arm $R^\top r$',
    }
    for (form, label), color in zip(labels.items(), COLORS[2:4]):
        history = study.forms[form]
        curve(axis, history.t, energy_drift(history, 'relative'), color)
        axis.lines[-1].set_label(label)
    axis.legend(loc='upper left', bbox_to_anchor=(1.02, 1.0), borderaxespad=0.0)


def curve(axis: Any, t: Array, values: Array, color: str) -> None:
    """Draw the absolute values of samples; the first one is zero and has no logarithm."""
    axis.plot(t[1:], np.maximum(np.abs(values[1:]), FLOOR), color=color, lw=0.9)


def scientific(value: float) -> str:
    """Return a number with two digits in the notation of formulas."""
    mantissa, _, exponent = f'{value:.1e}'.partition('e')
    return rf'${mantissa}\cdot10^{{{int(exponent)}}}$'


def draw_orders(found: Sequence[Convergence], pyplot: Any) -> Any:
    """Draw errors against the step: gap and solution, a panel for each group."""
    drawn, axes = pyplot.subplots(
        1, 4, figsize=(13, 4.2), sharex=True, sharey=True, layout='constrained'
    )
    title = CASES[found[0].case].title
    drawn.suptitle(f'Errors against the step, {title}', fontsize=11, fontweight='bold')
    tableaus = list(dict.fromkeys(c.tableau for c in found))
    panels = [(quantity, group) for quantity in ('gap', 'solution') for group in GROUPS]
    for axis, panel in zip(axes, panels):
        for c in (c for c in found if (c.quantity, c.group) == panel):
            k = tableaus.index(c.tableau)
            axis.plot(
                1e3 * c.steps,
                np.maximum(c.errors, FLOOR),
                color=COLORS[k % len(COLORS)],
                marker=MARKS[k % len(MARKS)],
                ls=('-', '--', ':')[k // len(COLORS)],
                ms=5,
                lw=1.1,
                label=c.tableau if 'order' in c.tableau else f'{c.tableau}, order {c.expected}',
            )
        name = {'gap': 'gap', 'solution': 'positions'}[panel[0]]
        axis.set(title=f'{name}, {LABEL[panel[1]]}', xlabel='step [ms]')
    axes[0].set(xscale='log', yscale='log', ylabel='gap, or error of positions [m]')
    ticks = 1e3 * found[0].steps
    axes[0].set_xticks(ticks, [f'{tick:g}' for tick in ticks])
    axes[0].minorticks_off()
    handles, labels = axes[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc='outside right center')
    return drawn


def draw_slow_base(study: Study, pyplot: Any) -> Any:
    """Draw the gap of a joint to a base against the mass of the base."""
    drawn, axis = pyplot.subplots(figsize=(5.6, 3.6), layout='constrained')
    for group, mark in zip(GROUPS, MARKS):
        factors = np.array(list(study.heavy_base[group]))
        gaps = np.array(list(study.heavy_base[group].values()))
        axis.plot(factors, gaps, marker=mark, ms=5, color=COLOR_OF[group], label=LABEL[group])
    last = study.heavy_base[SE3][max(study.heavy_base[SE3])] * max(study.heavy_base[SE3])
    guide = np.array([1e3, max(study.heavy_base[SE3])])
    axis.plot(guide, 3 * last / guide, color='0.5', lw=0.9, ls='--', label='1 / mass')
    axis.set(
        xscale='log',
        yscale='log',
        xlabel='mass of the base / mass of the body',
        ylabel='largest gap within 1 s [m]',
    )
    axis.set_title('A joint to a slowly moving base', fontweight='bold')
    axis.legend(loc='lower left')
    return drawn
