# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The measured tables of doc/reference/all_solutions.md and all_solutions_tables.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from page_tables.results import (
    Results,
    first,
    lost,
    machine_of,
    note,
    number,
    ours,
    table,
    theirs,
    times,
    verdict,
)

PARTS = ('all_solutions', 'all_solutions_speed')
KINDS = ('at limits', 'singular', 'right angles')
BORDERS = ('random', 'border, inside', 'border, outside')


def kind_of(note: str) -> str:
    """Return the kind of poses that a note begins with."""
    return note.partition(':')[0]


class Figures:
    """Figures of one part, found by arm, name and kind of poses."""

    def __init__(self, folder: Path) -> None:
        self.results = Results(folder, 'all_solutions')
        self._found = {
            (figure['robot'], figure['name'], kind_of(note(figure))): figure
            for figure in self.results.figures
        }

    def value(self, arm: str, name: str, kind: str) -> float:
        """Return a measured number."""
        return float(self._found[arm, name, kind]['ours'])

    def remark(self, arm: str, name: str, kind: str) -> str:
        """Return what a note says after the kind of poses."""
        return note(self._found.get((arm, name, kind))).partition(': ')[2]


def random_poses(folder: Path) -> str:
    """Return the table of random poses."""
    figures = Figures(folder)
    rows = []
    for arm in figures.results.names('robot'):
        histogram = figures.remark(arm, 'solutions', 'random')
        counts = [int(part.split(':')[0]) for part in histogram.split(', ')]
        rows.append(
            (
                arm,
                figures.remark(arm, 'lost', 'random').removesuffix(' poses'),
                *(
                    number(figures.value(arm, name, 'random'))
                    for name in ('lost', 'equal pairs', 'beyond limits', 'residual', 'certified')
                ),
                f'{min(counts)} to {max(counts)}',
                number(figures.value(arm, 'solutions', 'random')),
            )
        )
    heads = (
        'arm',
        'poses',
        'lost',
        'equal pairs',
        'beyond limits',
        'residual [m, 1]',
        'certified [%]',
        'solutions',
        'mean',
    )
    return table(heads, rows, 'numbers of poses, pairs and solutions')


def hard_poses(folder: Path) -> str:
    """Return the table of hard poses."""
    figures = Figures(folder)
    rows = []
    for arm in figures.results.names('robot'):
        cells = []
        for kind in KINDS:
            lost_ones = number(figures.value(arm, 'lost', kind))
            share = number(figures.value(arm, 'certified', kind))
            cells.append(f'{lost_ones} ({share} %)')
        worst = max(figures.value(arm, 'residual', kind) for kind in KINDS)
        pairs = sum(figures.value(arm, 'equal pairs', kind) for kind in KINDS)
        empty = sum(figures.value(arm, 'no answer', kind) for kind in KINDS)
        poses = figures.remark(arm, 'lost', 'singular').removesuffix(' poses')
        rows.append((arm, poses, *cells, number(empty), number(pairs), number(worst)))
    heads = ('arm', 'poses each', *KINDS, 'no answer', 'equal pairs', 'residual [m, 1]')
    return table(heads, rows, 'configurations that were not found (share of answers certified)')


def path_tracking(folder: Path) -> str:
    """Return the table of sets compared with path tracking."""
    figures = Figures(folder)
    rows = [
        (arm, *(figures.remark(arm, 'sets that agree', kind) for kind in BORDERS))
        for arm in figures.results.names('robot')
    ]
    return table(('arm', *BORDERS), rows, 'sets of solutions that agree') + verdict(figures.results)


def speed(folder: Path) -> str:
    """Return the table of times."""
    results = Results(folder, 'all_solutions_speed')
    rows = []
    for figure in (each for each in results.figures if each['name'] == 'time'):
        counted = first(
            results.select(robot=figure['robot'], name='solutions', peer=figure['peer'])
        )
        rows.append(
            (
                figure['robot'],
                figure['peer'],
                ours(figure),
                theirs(figure),
                times(figure),
                f'{number(figure.get("required"))}',
                f'{ours(counted)} / {theirs(counted)}',
                lost(figure),
            )
        )
    heads = (
        'arm',
        'beside',
        'ours',
        'theirs',
        'times faster',
        'required',
        'solutions, mean: ours / theirs',
        'remark',
    )
    return table(heads, rows, 'times in µs: median (99th percentile)') + verdict(results)


def measured_on(folder: Path) -> str:
    """Return what was measured on."""
    return machine_of(folder, PARTS)


TABLES: dict[str, Callable[[Path], str]] = {
    'measured_on': measured_on,
    'random_poses': random_poses,
    'hard_poses': hard_poses,
    'path_tracking': path_tracking,
    'speed': speed,
}
