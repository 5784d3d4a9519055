# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torques over time for each kind of trial."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use('Agg')

import matplotlib.pyplot as plt

JOINTS = {1: ('joint 2', '#2a6f97'), 3: ('joint 4', '#c1663a')}  # by place
GAP = 0.05  # s without commands, from which curves are interrupted
COLUMNS = 3
WORDS = {
    'driver stopped': 'driver stopped, on_loss: {on_loss}',
    'driver killed': 'driver killed, on_loss: {on_loss}',
    'node stopped': 'node stopped for 0.9 s',
    'description': 'description swapped, {detail}',
    'payload': '3 kg taken and laid down',
    'reference': 'reference begins and is lost',
    'SIGINT': 'SIGINT, on_end: {on_end}',
    'SIGTERM': 'SIGTERM, on_end: {on_end}',
    'SIGKILL': 'SIGKILL',
}
MARKED_END = ('driver stopped', 'node stopped', 'payload', 'reference')


def draw(pictures: dict[str, dict[str, Any]], kinds: Sequence[str], path: Path) -> None:
    """Draw a panel for each kind; the event is at 0 s."""
    rows = -(-len(kinds) // COLUMNS)
    figure, axes = plt.subplots(
        rows,
        COLUMNS,
        figsize=(4.6 * COLUMNS, 2.9 * rows),
        layout='constrained',
        squeeze=False,
        sharex=True,
    )
    for axis, kind in zip(axes.flat, kinds):
        draw_trial(axis, kind, pictures[kind])
    for axis in axes.flat[len(kinds) :]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel('commanded torque [N m]')
    for axis in axes[-1]:
        axis.set_xlabel('time after the event [s]')
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc='outside lower center', ncol=len(labels), frameon=False, fontsize=9
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=80, pil_kwargs={'optimize': True})
    plt.close(figure)


def draw_trial(axis: plt.Axes, kind: str, picture: dict[str, Any]) -> None:
    """Draw the torques of two joints, the event and the limits."""
    times, torques, limits = picture['times'], picture['torques'], picture['limits']
    cuts = np.flatnonzero(np.diff(times) > GAP) + 1
    for place, (name, color) in JOINTS.items():
        axis.plot(
            np.insert(times, cuts, np.nan),
            np.insert(torques[:, place], cuts, np.nan),
            color=color,
            lw=1.3,
            label=f'torque of {name}',
        )
    for sign in (-1.0, 1.0):
        axis.axhline(
            sign * limits[1],
            color='0.25',
            lw=1.0,
            ls=':',
            label='limit of both' if sign > 0 else None,
        )
    axis.axvline(0.0, color='#a4243b', lw=1.1, label='event')
    if kind in MARKED_END:
        axis.axvline(picture['over'], color='#a4243b', lw=1.1, ls='--')
    axis.plot([], [], color='#a4243b', lw=1.1, ls='--', label='end of the event')
    axis.set_ylim(-1.15 * limits[1], 1.15 * limits[1])
    axis.set_xlim(-0.4, 3.0)
    axis.set_title(WORDS[kind].format(**picture), fontsize=10)
    axis.spines[['top', 'right']].set_visible(False)
    axis.grid(color='0.92', lw=0.6)
