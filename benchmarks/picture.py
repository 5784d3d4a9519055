"""The benchmark as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt
from figures import Figure

COLORS = {'Panda': '#2a6f97', 'UR5': '#6a994e', 'TALOS': '#c1663a'}
PYTHON, PARALLEL = 'Pinocchio from Python', 'Pinocchio ...InParallel'


def draw(figures: Sequence[Figure], path: Path, title: str) -> bool:
    """Draw ratios and times against the chain length; return whether there were any."""
    single = [
        f
        for f in figures
        if f.group.startswith('Single') and f.peer == PYTHON and 'as is' not in f.robot
    ]
    stacks = [f for f in figures if f.group.startswith('Stacks') and f.peer == PARALLEL]
    chains = [f for f in figures if f.group.startswith('Chains')]
    panels = [
        (draw_ratios, single, 'Single calls: times faster than Pinocchio from Python'),
        (draw_ratios, stacks, 'Stacks of 4096: times faster than Pinocchio ...InParallel'),
        (draw_chains, chains, 'Single calls against the length of a chain'),
    ]
    panels = [panel for panel in panels if panel[1]]
    if not panels:
        return False
    figure, axes = plt.subplots(
        1, len(panels), figsize=(6.4 * len(panels), 6.2), layout='constrained', squeeze=False
    )
    for axis, (function, content, name) in zip(axes[0], panels):
        function(axis, content)
        axis.set_title(name, fontsize=11)
        axis.spines[['top', 'right']].set_visible(False)
    figure.suptitle(title, fontsize=9, color='0.35')
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True


def draw_ratios(axis: plt.Axes, figures: Sequence[Figure]) -> None:
    """Draw one bar for each figure, with the required ratio as a mark."""
    labels = list(dict.fromkeys(label(f) for f in figures))
    height = 0.27
    for k, (robot, color) in enumerate(COLORS.items()):
        chosen = [f for f in figures if f.robot.startswith(robot)]
        rows = [labels.index(label(f)) + (k - 1) * height for f in chosen]
        axis.barh(
            rows,
            [f.ratio for f in chosen],
            height,
            color=color,
            label=chosen[0].robot if chosen else robot,
        )
        for row, f in zip(rows, chosen):
            axis.text(f.ratio, row, f' {f.ratio:.1f}', va='center', fontsize=8)
            if f.required == f.required:
                axis.plot(
                    [f.required] * 2, [row - height / 2, row + height / 2], color='black', lw=2
                )
    axis.plot([], [], color='black', lw=2, label='required')
    axis.axvline(1.0, color='0.6', lw=0.8)
    largest = max(f.ratio for f in figures)
    axis.set_xscale('log')
    axis.set_xlim(0.9 * min(1.0, *(f.ratio for f in figures)), 1.6 * largest)
    ticks = [n for n in (1, 2, 4, 10, 20, 40, 100, 200, 400) if n < 1.6 * largest]
    axis.set_xticks(ticks, [str(n) for n in ticks])
    axis.minorticks_off()
    axis.set_yticks(range(len(labels)), labels, fontsize=9)
    axis.invert_yaxis()
    axis.set_xlabel("Pinocchio's time / ours (median of turns)")
    axis.legend(fontsize=8, loc='upper center', bbox_to_anchor=(0.5, -0.1), ncols=4, frameon=False)


def label(figure: Figure) -> str:
    """Return the name of a bar."""
    return figure.name.replace(', ', '\n')


def draw_chains(axis: plt.Axes, figures: Sequence[Figure]) -> None:
    """Draw times over the number of joints, both axes logarithmic."""
    for name, marker in (('RNEA', 'o'), ('ABA', 's')):
        chosen = [f for f in figures if f.name == name]
        joints = [int(f.robot.split()[0]) for f in chosen]
        axis.loglog(
            joints, [f.ours for f in chosen], marker=marker, color='#2a6f97', label=f'{name}, ours'
        )
        axis.loglog(
            joints,
            [f.theirs for f in chosen],
            marker=marker,
            ls='--',
            color='0.5',
            label=f'{name}, Pinocchio',
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
    axis.legend(fontsize=8)
