# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw doc/pictures/parallel_singularity.png: an octahedral platform turned about its axis.

python tools/parallel_singularity_picture.py
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use('Agg')
from matplotlib import pyplot as plt

from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.mechanisms.parallel import ParallelRobot
from screw_dynamics_ros.core.mechanisms.parallel.example_mechanisms import octahedron
from screw_dynamics_ros.core.mechanisms.parallel.platform_singularities import platform_singularity

PAGE = Path(__file__).resolve().parents[1] / 'doc/pictures/parallel_singularity.png'


def main() -> None:
    """Draw platform and smallest singular value."""
    mechanism = octahedron()
    robot = ParallelRobot(mechanism, backend='reference')
    angles = np.linspace(-120, 120, 241)
    smallest = []
    for angle in angles:
        T = mechanism.home @ se3.pose(so3.exp([0, 0, np.deg2rad(angle)]), np.zeros(3))
        q = robot.inverse_position(T)
        smallest.append(platform_singularity(mechanism, q, T).singular_values[-1])
    figure = plt.figure(figsize=(8, 3.2), dpi=90)
    left = figure.add_subplot(1, 2, 1, projection='3d')
    tops = mechanism.home[:3, 3] + mechanism.platform_pivots
    for b, t in zip(mechanism.base_pivots, tops):
        left.plot(*np.array([b, t]).T, color='C0')
    for pivots in (mechanism.base_pivots, tops):
        left.plot(*np.vstack([pivots, pivots[:1]]).T, color='black')
    left.set_box_aspect((1, 1, 0.6))
    right = figure.add_subplot(1, 2, 2)
    right.plot(angles, smallest)
    right.set_xlabel('turn about the axis [degrees]')
    right.set_ylabel('smallest singular value')
    right.set_ylim(0)
    right.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(PAGE)


if __name__ == '__main__':
    main()
