# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Plot of the demo: time series of a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..command_line import save_figure
from .push import Push
from .recording import DemoRecording, singular_values

COLORS = ('#0b6fa4', '#d1495b', '#3b8e5a', '#8d5fa8', '#e08e00', '#5b6770', '#17a2a2', '#a0522d')
STYLE = {
    'font.size': 9,
    'axes.titlesize': 10,
    'axes.titleweight': 'bold',
    'axes.titlelocation': 'left',
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'grid.color': '#e4e4e4',
    'axes.axisbelow': True,
    'legend.frameon': False,
    'lines.linewidth': 1.4,
}
MAX_CURVE_POINTS = 4000  # per curve


def save_picture(recording: DemoRecording, push: Push, path: Path, title: str) -> None:
    """Draw forces, torques, singular values and latency; raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(
            4, 1, figsize=(10, 11), sharex=True, height_ratios=(3, 4, 2, 2), layout='constrained'
        )
        figure.suptitle(title, fontsize=11)
        axes[0].text(
            (push.start + push.end) / 2,
            1.0,
            'push',
            ha='center',
            va='bottom',
            transform=axes[0].get_xaxis_transform(),
            color='#a07400',
        )
        for axis, draw in zip(axes, (draw_force, draw_torques, draw_singular_values, draw_latency)):
            axis.axvspan(push.start, push.end, color='#fff3d6', lw=0)
            draw(axis, recording)
            axis.margins(x=0.0)
        axes[-1].set_xlabel('time [s]')
        axes[-1].set_xlim(left=0.0)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_figure(figure, path, 110)
        pyplot.close(figure)


def draw_force(axis: Any, recording: DemoRecording) -> None:
    """Draw the applied force and its estimate."""
    wrench, applied = recording.series['wrench'].values(), recording.series['applied'].values()
    for i, name in enumerate('xyz'):
        axis.plot(
            *thin(recording.time('applied'), applied[:, i]),
            color='black',
            lw=0.9,
            ls=(0, (5, 3)),
            zorder=3,
            label='applied' if i == 0 else None,
        )
        axis.plot(
            *thin(recording.time('wrench'), wrench[:, i]),
            color=COLORS[i],
            label=f'estimated {name}',
        )
    axis.set(title='Force on the tool, in the tool frame', ylabel='N')
    beside(axis)


def draw_torques(axis: Any, recording: DemoRecording) -> None:
    """Draw the feedforward of the measured state and the torques of the simulator."""
    count = len(recording.joints)
    effort = recording.series['joint_states'].values()[:, 2 * count :]
    feedforward = recording.series['feedforward'].values()
    for i, joint in enumerate(recording.joints):
        color = COLORS[i % len(COLORS)]
        axis.plot(
            *thin(recording.time('joint_states'), effort[:, i]), color=color, lw=2.6, alpha=0.35
        )
        axis.plot(
            *thin(recording.time('feedforward'), feedforward[:, i]),
            color=color,
            lw=1.1,
            label=joint,
        )
    axis.set(
        title='Joint torques: feedforward of the measured state (thin), simulator (wide)',
        ylabel='N m',
    )
    beside(axis)


def draw_singular_values(axis: Any, recording: DemoRecording) -> None:
    """Draw the singular values of the Jacobian of the tool."""
    time, values = recording.time('jacobian'), recording.series['jacobian'].values()
    if len(values):
        for i, sigma in enumerate(singular_values(values).T):
            axis.plot(*thin(time, sigma), color=COLORS[i], label=rf'$\sigma_{i + 1}$')
    axis.set(title='Singular values of the Jacobian of the tool', ylim=(0, None))
    beside(axis)


def draw_latency(axis: Any, recording: DemoRecording) -> None:
    """Draw the time from the arrival of a joint state to that of its last output."""
    index, since_arrival, _ = recording.latency()
    milliseconds = since_arrival * 1e3
    axis.scatter(
        recording.time('joint_states')[index], milliseconds, s=3, lw=0, color=COLORS[5], alpha=0.6
    )
    for percent, color in ((50, COLORS[0]), (99, COLORS[1])):
        if len(milliseconds):
            level = float(np.percentile(milliseconds, percent))
            axis.axhline(level, color=color, lw=1.1, label=f'{percent} %: {level:.2f} ms')
            axis.set_ylim(0.0, 2.5 * level)
    axis.set(
        title='Latency to the last output, measured by this client',
        ylabel='ms',
    )
    beside(axis)


def beside(axis: Any) -> None:
    """Put the legend to the right of the curves."""
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc='upper left', bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


def thin(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reduce the number of points below the resolution of the plot."""
    step = max(1, len(time) // MAX_CURVE_POINTS)
    return time[::step], values[::step]
