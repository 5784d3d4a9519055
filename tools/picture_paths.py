# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw doc/pictures/all_solutions_paths.png: `python tools/picture_paths.py`."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test')]

from oracles import homotopy_6r as homotopy  # noqa: E402
from support.arms import arm  # noqa: E402

ARMS = {
    'Manseur-Doty arm': np.radians([2.517, 108.076, -67.957, -169.477, 179.995, 179.891]),
    'UR5': np.array([0.4, -1.1, 1.3, -0.7, 0.9, 0.2]),
}
STEPS = 200


def main() -> None:
    """Draw."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout='constrained')
    for place, (name, q) in zip(axes, ARMS.items()):
        chosen = arm(name)
        e, p, home = chosen.axes()
        pose = chosen.robot('reference').link_pose(q, chosen.tool)
        shape, _ = homotopy.loop_of(e, p, pose @ np.linalg.inv(home))
        draw(place, shape)
        place.set(title=name, xlabel='s', xlim=(1, 0), ylim=(-4, 4))
    axes[0].set_ylabel('imaginary part of x$_3$ [rad]')
    figure.savefig(ROOT / 'doc' / 'pictures' / 'all_solutions_paths.png', dpi=90)


def draw(place: plt.Axes, shape: np.ndarray) -> None:
    """Draw the imaginary part of an angle along the 16 paths to a loop (6, 5)."""
    start, x = homotopy.general_loop()
    s = np.linspace(1.0, 0.0, STEPS + 1) ** 2
    points, each = [x], (homotopy.PATHS, 6, 5)
    shapes = [shape + t * (start - shape) for t in s]
    alive = np.ones(homotopy.PATHS, dtype=bool)
    for one, other in pairwise(shapes):
        x, left = homotopy.track(x, np.broadcast_to(one, each), np.broadcast_to(other, each))
        alive &= left == 0.0
        points.append(np.where(alive[:, None], x, complex(np.nan, np.nan)))
    real = np.abs(points[-1].imag).max(axis=1) < homotopy.REAL
    for k, path in enumerate(np.array(points)[:, :, 2].imag.T):
        place.plot(s, path, color='tab:blue' if real[k] else 'silver', lw=1)


if __name__ == '__main__':
    main()
