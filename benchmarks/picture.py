# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The benchmark as a picture; of the committed results: `python benchmarks/picture.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt
from figures import Figure, read
from matplotlib.figure import Figure as Picture
from matplotlib.patches import Patch

ROOT = Path(__file__).resolve().parents[1]
COMMITTED = ROOT / 'benchmarks' / 'results'
PATH = ROOT / 'results' / 'benchmark.png'

COLORS = {'Panda': '#2a6f97', 'UR5': '#6a994e', 'TALOS': '#c1663a'}
OURS, THEIRS = COLORS['Panda'], '0.55'
PYTHON, PARALLEL = 'Pinocchio from Python', 'Pinocchio ...InParallel'
COLUMN, ROW = 7.6, 0.19  # inches: width of a panel, height of a bar
FRAME = 5  # rows that title, axis and legend of a panel take
CHAIN_ROWS = 20

Draw = Callable[[plt.Axes, Sequence[Figure]], None]


def draw(figures: Sequence[Figure], path: Path, title: str) -> bool:
    """Draw what there is a panel for; return whether there was anything."""
    picture = drawn(figures, title)
    if picture is None:
        return False
    path.parent.mkdir(exist_ok=True)
    picture.savefig(path, dpi=110)
    plt.close(picture)
    return True


def conditions(where: Mapping[str, Any]) -> str:
    """Return on what machine and with what versions was measured, for the title."""
    return (
        f'{where["processor"]}, {where["cores"]} cores, {where["vectors"]} doubles per vector; '
        f'Python {where["python"]}, Pinocchio {where["pinocchio"]}'
    )


def drawn(figures: Sequence[Figure], title: str) -> Picture | None:
    """Return the picture in two columns of about the same height; None if there is no panel."""
    panels = [panel for panel in panels_of(figures) if panel[1]]
    if not panels:
        return None
    heights = [height + FRAME for *_, height in panels]
    until = [abs(sum(heights) - 2 * height) for height in accumulate(heights)]
    split = until.index(min(until)) + 1
    columns = [list(range(split)), list(range(split, len(panels)))]
    columns = [column for column in columns if column]
    rows = max(sum(heights[k] for k in column) for column in columns)
    picture = plt.figure(figsize=(COLUMN * len(columns), ROW * rows + 0.5), layout='constrained')
    for part, column in zip(picture.subfigures(1, len(columns), squeeze=False)[0], columns):
        sizes = [heights[k] for k in column]
        axes = part.subplots(len(column), 1, height_ratios=sizes, squeeze=False)[:, 0]
        for axis, k in zip(axes, column):
            function, content, name, _ = panels[k]
            function(axis, content)
            axis.set_title(name, fontsize=11)
            axis.spines[['top', 'right']].set_visible(False)
    picture.suptitle(title, fontsize=9, color='0.35')
    return picture


def panels_of(figures: Sequence[Figure]) -> list[tuple[Draw, list[Figure], str, int]]:
    """Return function, content, title and number of rows of each panel."""

    def group(start: str, peer: str = '') -> list[Figure]:
        return [f for f in figures if f.group.startswith(start) and peer in ('', f.peer)]

    single = [f for f in group('Single', PYTHON) if 'as is' not in f.robot]
    stacks, code, chains = group('Stacks', PARALLEL), group('C code'), group('Chains')
    delays = group('Node latency') + [f for f in group('1 kHz') if f.name.endswith('to last one')]
    return [
        (draw_ratios, single, f'Single calls: times faster than {PYTHON}', bars(single)),
        (draw_ratios, stacks, f'Stacks of 4096: times faster than {PARALLEL}', bars(stacks)),
        (draw_ratios, code, 'C code: times faster than Pinocchio in C++', bars(code)),
        (draw_chains, chains, 'Single calls against the length of a chain', CHAIN_ROWS),
        (draw_delays, delays, 'Nodes: from a joint state to the last output', 2 * len(delays) + 2),
    ]


# --- ratios ---------------------------------------------------------------------------------------


def bars(figures: Sequence[Figure]) -> int:
    """Return the rows of a panel of ratios: one for each robot, one between two functions."""
    return (len(COLORS) + 1) * len({label(f) for f in figures})


def draw_ratios(axis: plt.Axes, figures: Sequence[Figure]) -> None:
    """Draw one bar for each figure, with the required ratio as a mark."""
    labels = list(dict.fromkeys(label(f) for f in figures))
    height = 1.0 / (len(COLORS) + 1)
    for k, (robot, color) in enumerate(COLORS.items()):
        chosen = [f for f in figures if f.robot.startswith(robot)]
        if not chosen:
            continue
        rows = [labels.index(label(f)) + (k - 1) * height for f in chosen]
        ratios = [f.ratio for f in chosen]
        axis.barh(rows, ratios, height, color=color, label=chosen[0].robot)
        for row, f in zip(rows, chosen):
            end = f.ratio
            if f.required == f.required:
                end = max(end, f.required)
                at = [row - height / 2, row + height / 2]
                axis.plot([f.required] * 2, at, color='black', lw=2)
            axis.text(end, row, f' {f.ratio:.1f}', va='center', fontsize=8)
    if any(f.required == f.required for f in figures):
        axis.plot([], [], color='black', lw=2, label='required')
    axis.axvline(1.0, color='0.6', lw=0.8)
    ends = [max(f.ratio, f.required if f.required == f.required else 0.0) for f in figures]
    axis.set_xscale('log')
    low, high = 0.9 * min(1.0, *(f.ratio for f in figures)), 1.6 * max(ends)
    axis.set_xlim(low, high)
    ticks = [n for n in (0.5, 1, 2, 4, 10, 20, 40, 100, 200, 400) if low < n < high]
    axis.set_xticks(ticks, [str(n) for n in ticks])
    axis.minorticks_off()
    axis.set_yticks(range(len(labels)), labels, fontsize=9)
    axis.set_ylim(len(labels) - 0.4, -0.6)
    axis.set_xlabel("Pinocchio's time / ours (median of turns)")
    legend_below(axis)


def label(figure: Figure) -> str:
    """Return the name of a bar."""
    return figure.name.replace(', ', '\n')


def legend_below(axis: plt.Axes, ncols: int = 4, **options: Any) -> None:
    """Explain colors below the labels of the axis, where no bar can be."""
    axis.legend(
        fontsize=8,
        loc='upper center',
        bbox_to_anchor=(0.5, 0.0),
        borderaxespad=4.5,  # font sizes: tick labels and the label of the axis
        ncols=ncols,
        frameon=False,
        **options,
    )


# --- chains ---------------------------------------------------------------------------------------


def draw_chains(axis: plt.Axes, figures: Sequence[Figure]) -> None:
    """Draw times over the number of joints, both axes logarithmic."""
    for name, marker in (('RNEA', 'o'), ('ABA', 's')):
        chosen = [f for f in figures if f.name == name]
        joints = [int(f.robot.split()[0]) for f in chosen]
        for times, style, color, whose in (
            ([f.ours for f in chosen], '-', OURS, 'ours'),
            ([f.theirs for f in chosen], '--', THEIRS, 'Pinocchio'),
        ):
            axis.loglog(
                joints, times, marker=marker, ls=style, color=color, label=f'{name}, {whose}'
            )
    lengths = sorted({int(f.robot.split()[0]) for f in figures})
    least = min(f.ours for f in figures)
    axis.loglog(
        lengths,
        [0.7 * least * n / lengths[0] for n in lengths],
        color='black',
        lw=0.8,
        ls=':',
        label='proportional to the length',
    )
    axis.set_xticks(lengths, [str(n) for n in lengths])
    axis.minorticks_off()
    axis.set_xlabel('joints')
    axis.set_ylabel('microseconds')
    legend_below(axis, ncols=2)


# --- nodes ----------------------------------------------------------------------------------------


def draw_delays(axis: plt.Axes, figures: Sequence[Figure]) -> None:
    """Draw median and 99th percentile of ours and of each peer, one bar for each."""
    rows: dict[str, tuple[float, float, str]] = {}
    for f in figures:
        what = f.name.removesuffix(': state to last one')
        if f.group == '1 kHz':
            what = f'1 kHz, {what}'
        rows.setdefault(f'{what}: ours', (f.ours, f.ours_p99, OURS))
        rows[f'{what}: {f.peer}'] = f.theirs, f.theirs_p99, THEIRS
    places = range(len(rows))
    medians, percentiles, colors = zip(*rows.values())
    axis.barh(places, percentiles, 0.75, color=colors, alpha=0.4)
    axis.barh(places, medians, 0.75, color=colors)
    for row, (median, percentile, _) in zip(places, rows.values()):
        axis.text(percentile, row, f' {median:.0f}, {percentile:.0f}', va='center', fontsize=8)
    colored = [
        Patch(color=color, alpha=alpha, label=f'{whose}: {what}')
        for color, whose in ((OURS, 'ours'), (THEIRS, 'theirs'))
        for alpha, what in ((1.0, 'median'), (0.4, '99th percentile'))
    ]
    axis.set_xlim(0.0, 1.2 * max(percentiles))
    axis.set_yticks(places, rows, fontsize=9)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlabel('microseconds')
    legend_below(axis, ncols=2, handles=colored)


if __name__ == '__main__':
    parts = sorted(COMMITTED.glob('*.json'))
    measured = json.loads((COMMITTED / 'single_calls.json').read_text(encoding='utf-8'))
    draw(
        [figure for part in parts for figure in read(part)],
        PATH,
        conditions(measured['environment']),
    )
    print(PATH.relative_to(ROOT))
