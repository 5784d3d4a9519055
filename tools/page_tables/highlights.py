# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The tables of README.md and the start page: where ours is faster, and where it is slower."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from page_tables.benchmark import CPP, ECHO, PARALLEL, PYTHON
from page_tables.results import Figure, Results, number, unit_of


class Row(NamedTuple):
    """What is compared, and the figure that has it."""

    text: str
    part: str
    robot: str
    name: str
    peer: str
    short: str  # name of the peer


FASTER = (
    Row(
        'inverse dynamics', 'single_calls', 'Panda, 9 dof', 'inverse dynamics', PYTHON, 'Pinocchio'
    ),
    Row('the same, called from C', 'c_code', 'Panda, 9 dof', 'inverse dynamics, C', CPP, CPP),
    Row(
        'derivatives of forward dynamics',
        'single_calls',
        'Panda, 9 dof',
        'derivatives of forward dynamics',
        PYTHON,
        'Pinocchio',
    ),
    Row(
        'inverse dynamics, one of 4096 samples, one core',
        'stacks',
        'Panda, 9 dof',
        'inverse dynamics, one core',
        PARALLEL,
        'Pinocchio `...InParallel`',
    ),
    Row(
        'inverse kinematics',
        'inverse_kinematics',
        'Panda, 8 dof, one tip',
        'time',
        'Robotics Toolbox 1.5.0',
        'Robotics Toolbox',
    ),
    Row(
        'a simulated step, one robot',
        'simulation',
        'Panda, 7 joints',
        'one arm, RK4',
        'mj_step',
        'MuJoCo `mj_step`',
    ),
    Row(
        'a simulated step, one of 1024 robots',
        'simulation',
        'Panda, 7 joints',
        '1024 arms, RK4',
        'MuJoCo rollout, one thread',
        'MuJoCo `rollout`',
    ),
)

SLOWER = (
    Row(
        'all outputs of the nodes at 1 kHz',
        'node_kilohertz',
        'Panda',
        'all outputs: state to last one',
        ECHO,
        'an echo in rclpy',
    ),
)


def figure_of(folder: Path, row: Row) -> Figure:
    """Return the figure of a row."""
    (figure,) = Results(folder, row.part).select(robot=row.robot, name=row.name, peer=row.peer)
    return figure


def compared(folder: Path, rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table of rows."""
    lines = ['| Panda | ours | others | times faster |', '|---|---|---|---|']
    for row in rows:
        figure = figure_of(folder, row)
        unit, ratio = unit_of(figure), number(figure['ratio'])
        ours, theirs = (number(figure[whose]) for whose in ('ours', 'theirs'))
        lines.append(f'| {row.text} | {ours}{unit} | {theirs}{unit}, {row.short} | {ratio} |')
    return lines


def numbers(folder: Path) -> str:
    """Return the table of the start page: six rows."""
    return '\n'.join(compared(folder, FASTER[:6])) + '\n'


def faster(folder: Path) -> str:
    """Return the table, and the line below it."""
    lines = compared(folder, FASTER)
    slower = []
    for row in SLOWER:
        figure = figure_of(folder, row)
        share = number(figure['ours'] / figure['theirs'])
        slower.append(f'{row.text} ({share} times the time of {row.short})')
    return '\n'.join(lines) + f'\n\nSlower than the comparison: {", ".join(slower)}.\n'


TABLES: dict[str, Callable[[Path], str]] = {'faster': faster, 'numbers': numbers}
