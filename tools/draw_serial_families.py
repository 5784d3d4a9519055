# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw doc/pictures/serial_families.png: all branches of three arms for one pose of their tools.

PYTHONPATH=. .venv/bin/python tools/draw_serial_families.py [file]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt
import numpy as np

from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.family import Family
from screw_dynamics_ros.core.arms.families.spherical_shoulder_elbow_wrist import (
    SphericalShoulderElbowWrist,
)
from screw_dynamics_ros.core.arms.families.three_parallel_axes import ThreeParallelAxes
from screw_dynamics_ros.core.arms.families.three_two_one import ThreeTwoOne
from screw_dynamics_ros.core.types import Array

FILE = Path(__file__).resolve().parents[1] / 'doc' / 'pictures' / 'serial_families.png'
COLORS = {'forward': '#2a6f97', 'backward': '#c1663a'}

#: (number of joints before a point, the point of the upright arm)
Points = Sequence[tuple[int, Sequence[float]]]


def polyline(chain: SerialChain, points: Points, q: Array) -> Array:
    """Return where the points of an arm are at q, (number of points, 3)."""
    result = []
    for count, at_zero in points:
        part = SerialChain(chain.joint_names[:count], chain.screws[:count], np.eye(4))
        result.append(part.pose(q[:count]) @ [*at_zero, 1.0])
    return np.array(result)[:, :3]


def draw(
    axis: plt.Axes, arm: Family, points: Points, solutions: Iterable[tuple[Array, str]]
) -> None:
    """Draw an arm in several configurations."""
    chain = arm.chain()
    for q, color in solutions:
        line = polyline(chain, points, q)
        axis.plot(*line.T, '-o', color=color, linewidth=2.0, markersize=3.5, alpha=0.8)
    axis.plot(*line[-2:].T, color='black', linewidth=3.0)
    axis.plot(*line[0], 's', color='black', markersize=7)
    axis.set_aspect('equal')
    axis.view_init(elev=18, azim=25)
    axis.tick_params(labelsize=6)


def main(file: Path = FILE) -> None:
    """Draw the picture."""
    q = np.array([0.4, -0.7, -1.4, -1.5, 0.9, 1.2])
    figure, axes = plt.subplots(
        1, 3, figsize=(12, 4.6), subplot_kw={'projection': '3d'}, layout='constrained'
    )
    arm = ThreeTwoOne(0.4, 0.5, 0.45, 0.15, base_offset=0.15)
    wrist = (0, 0.15, 1.35)
    points = [(0, (0, 0, 0)), (1, (0, 0, 0.4)), (1, (0, 0.15, 0.4)), (2, (0, 0.15, 0.9))]
    draw(axes[0], arm, [*points, (4, wrist), (6, (0, 0.15, 1.5))], colored(arm, q))
    axes[0].set_title('321 with a base offset: eight branches', fontsize=10)

    other = ThreeParallelAxes(0.16, 0.43, 0.39, 0.1, 0.1, shoulder_offset=0.13)
    heights = np.cumsum([0.16, 0.43, 0.39, 0.1])
    points = [(0, (0, 0, 0)), (1, (0, 0, 0.16)), (1, (0.13, 0, 0.16))]
    points += [(i + 1, (0.13, 0, heights[i])) for i in (1, 2)]
    points += [(4, (0.13, 0, heights[3])), (6, (0.23, 0, heights[3]))]
    draw(axes[1], other, points, colored(other, q))
    axes[1].set_title('three parallel axes: eight branches', fontsize=10)

    srs = SphericalShoulderElbowWrist(l1=0.36, upper=0.42, lower=0.4, l7=0.126)
    C = srs.chain().pose([0.3, 0.4, 0.7, 1.3, 0.6, 1.1, -0.2])
    points = [(i, (0, 0, z)) for i, z in ((0, 0), (0, 0.36), (3, 0.78), (4, 1.18), (7, 1.306))]
    shades = mpl.colormaps['twilight'](np.linspace(0, 1, 17))
    swivels = np.linspace(-np.pi, np.pi, 17)[1:]
    draw(
        axes[2],
        srs,
        points,
        [(srs.branches(C, swivel)[0], shade) for swivel, shade in zip(swivels, shades)],
    )
    axes[2].set_title('S-R-S: one branch at 16 swivel angles', fontsize=10)
    figure.savefig(file, dpi=80)


def colored(arm: ThreeTwoOne | ThreeParallelAxes, q: Array) -> list[tuple[Array, str]]:
    """Return the branches for the pose at q, colored by the side of the arm."""
    solutions = arm.branches(arm.chain().pose(q))
    assert np.ptp(arm.chain().pose(solutions), axis=0).max() < 1e-9, 'some do not reach the pose'
    return [(q, COLORS[label.split(',')[0]]) for q, label in zip(solutions, arm.labels)]


if __name__ == '__main__':
    main(*map(Path, sys.argv[1:]))
