# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The pictures at the top of the performance pages, of committed results.

python benchmarks/page_pictures.py
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from figures import Figure, read
from picture import COMMITTED, OURS, PARALLEL, PYTHON, ROOT, THEIRS, draw_chains

PICTURES = ROOT / 'doc' / 'pictures'
CPP, ECHO = 'Pinocchio C++', 'echo of objects in rclpy'
PANDA = 'Panda, 9 dof'
DYNAMICS = ('inverse dynamics', 'forward dynamics', 'mass matrix', 'gravity torques')
ALL_OUTPUTS = 'all outputs: state to last one'
RK4, EULER, ROLLOUT = 'one arm, RK4', 'one arm, EULER', 'MuJoCo rollout, one thread'
WIDE = 15.0  # ratio of times
SETS = ('x86-64', 'AVX2', 'AVX-512')

#: Of each page the rows of its picture: part, robot, name, peer, and what the row is called.
ROWS = {
    'index': (
        ('single_calls', PANDA, 'inverse dynamics', PYTHON, 'inverse dynamics, one call'),
        ('stacks', PANDA, 'inverse dynamics, one core', PARALLEL, 'inverse dynamics, of 4096'),
        ('inverse_kinematics', 'Panda, 8 dof, one tip', 'time', 'Robotics Toolbox 1.5.0',
         'inverse kinematics'),
        ('simulation', 'Panda, 7 joints', RK4, 'mj_step', 'a simulated step'),
        ('node_kilohertz', 'Panda', ALL_OUTPUTS, ECHO, 'a node, all outputs'),
    ),
    'calls': tuple(('single_calls', PANDA, name, CPP, name) for name in DYNAMICS),
    'stacks': tuple(
        ('stacks', PANDA, f'{name}, one core', CPP, name) for name in DYNAMICS
    ),
    'simulation': (
        ('simulation', 'Panda, 7 joints', RK4, 'mj_step', RK4),
        ('simulation', 'Panda, 7 joints', '1024 arms, RK4', ROLLOUT, 'one of 1024 arms, RK4'),
        ('simulation', 'Panda, 7 joints', EULER, 'mj_step', EULER),
        ('simulation', 'Panda, 7 joints', '1024 arms, EULER', ROLLOUT, 'one of 1024 arms, EULER'),
    ),
    'inverse_kinematics': (
        ('inverse_kinematics', 'Panda, 8 dof, one tip', 'time', 'pink 4.4.0', 'Panda'),
        ('inverse_kinematics', 'Panda, 8 dof, one tip', 'time', 'Robotics Toolbox 1.5.0', 'Panda'),
        ('inverse_kinematics', 'UR5, 6 dof, one tip', 'time', 'EAIK 1.2.2', 'UR5'),
    ),
    'nodes': (
        ('node_kilohertz', 'Panda', ALL_OUTPUTS, ECHO, 'all outputs at 1 kHz'),
        ('node_kilohertz', 'Panda', 'outputs of theirs: state to last one', 'Pinocchio and rclpy',
         'outputs of the other node'),
    ),
    'instruction_sets': tuple(
        ('instruction_sets', PANDA, f'inverse dynamics, {each}', CPP, each) for each in SETS
    ),
}  # fmt: skip


def figure_of(part: str, robot: str, name: str, peer: str) -> Figure:
    """Return the first figure of a comparison; raises `StopIteration` without one."""
    figures = read(COMMITTED / f'{part}.json')
    return next(f for f in figures if (f.robot, f.name, f.peer) == (robot, name, peer))


def draw_pairs(axis: plt.Axes, rows: Sequence[Sequence[str]]) -> None:
    """Draw our time and that of the peer for each row, logarithmic if they differ much."""
    labels, times = [], []
    for k, (*which, label) in enumerate(rows):
        figure = figure_of(*which)
        for place, time, color in ((k - 0.2, figure.ours, OURS), (k + 0.2, figure.theirs, THEIRS)):
            axis.barh(place, time, 0.38, color=color)
            axis.text(time, place, f' {time:.4g} µs', va='center', fontsize=8)
        labels.append(f'{label}\nbeside {figure.peer}')
        times += [figure.ours, figure.theirs]
    is_wide = max(times) > WIDE * min(times)
    axis.set_xscale('log' if is_wide else 'linear')
    axis.set_xlim(0.5 * min(times) if is_wide else 0.0, (4.0 if is_wide else 1.3) * max(times))
    axis.set_yticks(range(len(rows)), labels, fontsize=9)
    axis.invert_yaxis()
    axis.set_xlabel(f'time [µs]{", logarithmic" if is_wide else ""}; blue: ours, gray: theirs')
    axis.spines[['top', 'right']].set_visible(False)


def main() -> None:
    """Write all pictures."""
    for page, rows in ROWS.items():
        picture, axis = plt.subplots(figsize=(7.6, 0.7 + 0.55 * len(rows)), layout='constrained')
        draw_pairs(axis, rows)
        picture.savefig(PICTURES / f'performance_{page}.png', dpi=100)
    picture, axis = plt.subplots(figsize=(7.6, 4.0), layout='constrained')
    chains = [f for f in read(COMMITTED / 'chain_length.json') if f.peer == PYTHON]
    draw_chains(axis, chains)
    picture.savefig(PICTURES / 'performance_large_robots.png', dpi=100)


if __name__ == '__main__':
    main()
