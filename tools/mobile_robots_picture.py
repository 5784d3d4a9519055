# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw doc/pictures/mobile_robots.png: regions of odometry, and trailers on a circle.

python tools/mobile_robots_picture.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use('Agg')

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import chi2

from screw_dynamics_ros.core.mobile import Odometry, WheelNoise, differential_drive, planar
from screw_dynamics_ros.core.textbook.mobile import Trailer, TrailerChain

PICTURE = Path(__file__).resolve().parents[1] / 'doc' / 'pictures' / 'mobile_robots.png'
BASE = differential_drive(0.5, 0.1)
NOISE = WheelNoise(along=1e-3, across=1e-4)  # m^2/m
SHARE = 0.99


def draw_odometry(axes: plt.Axes) -> None:
    """Draw a drive, 1000 outcomes at its end, and the two regions of 99 %."""
    rng, steps = np.random.default_rng(1), 60
    odometry, truth, path = Odometry(BASE, NOISE), np.zeros((1000, 3)), [np.zeros(3)]
    for k in range(steps):
        dq = np.array([1.6, 1.6]) + (0.12 if k < 30 else -0.12) * np.array([1.0, -1.0])
        odometry.update(dq)
        variances = [*NOISE.along * np.abs(0.1 * dq), NOISE.across * np.abs(0.1 * dq).mean()]
        slips = rng.normal(size=(1000, 3)) * np.sqrt(variances)
        truth = planar.compose(truth, planar.exp(BASE.twist(dq) + slips @ BASE.noise_map().T))
        path.append(odometry.pose)
    x, y = np.array(path)[:, 1:].T
    axes.plot(x, y, 'k', lw=1.5, label='odometry')
    axes.plot(truth[:, 1], truth[:, 2], '.', ms=2, color='0.6', label='1000 outcomes')
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = np.stack([np.cos(angle), np.sin(angle)]) * np.sqrt(chi2.ppf(SHARE, 2))
    flat = np.linalg.cholesky(odometry.reference_covariance[1:, 1:]) @ circle
    axes.plot(x[-1] + flat[0], y[-1] + flat[1], 'C0--', lw=1, label='ellipse of x, y')
    body = outline(odometry)
    axes.plot(body[:, 1], body[:, 2], 'C3', lw=1.2, label='region of the body-frame error')
    axes.set(title='99 % after 10 m', xlabel='x [m]', ylabel='y [m]', aspect='equal')
    axes.legend(fontsize=7, loc='lower right')


def outline(odometry: Odometry) -> np.ndarray:
    """Return poses on the outline, seen from above, of the region xi^T P^-1 xi < c of two freedoms.

    It is spanned by the two largest axes of P, which leaves out hardly anything.
    """
    values, axes = np.linalg.eigh(odometry.covariance)
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    radius = np.sqrt(chi2.ppf(SHARE, 2))
    u = radius * np.stack([np.cos(angle), np.sin(angle)], -1) * np.sqrt(values[1:])
    return planar.compose(odometry.pose, planar.exp(u @ axes[:, 1:].T))


def draw_trailers(axes: plt.Axes) -> None:
    """Draw steady trailers behind a platform on a circle: on the axle, and hinged in the middle."""
    radius = 2.5
    for hinge, color, label in ((0.0, 'C3', 'hinge on the axle'), (0.6, 'C2', 'in the middle')):
        chain = TrailerChain([Trailer(0.6, hinge)] * 3)
        angles, radii = chain.steady(radius)
        pose = np.array([0.0, 0.0, 0.0])
        poses = np.vstack([pose, chain.poses(pose, angles)])
        axes.plot(poses[:, 1], poses[:, 2], 'o', color=color, ms=4, label=label)
        around = np.linspace(-2.2, 0.1, 100)
        axes.plot(radii[-1] * np.sin(around), radius - radii[-1] * np.cos(around), color, lw=1)
        for k, x in enumerate(poses):
            ends = planar.compose(x, [[0, 0, -0.15], [0, 0, 0.15]])
            axes.plot(ends[:, 1], ends[:, 2], color=color, lw=2.5)
            if k:
                joint = planar.compose(poses[k - 1], [0.0, -hinge, 0.0])
                line = np.array([poses[k - 1], joint, x])
                axes.plot(line[:, 1], line[:, 2], color=color, lw=0.8)
    axes.set(
        title='three trailers, R = 2.5 m',
        xlabel='x [m]',
        aspect='equal',
        xlim=(-2.8, 1.2),
        ylim=(-0.6, 4.2),
    )
    axes.legend(fontsize=7, loc='upper right')


def main() -> None:
    """Draw the picture."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 4.2))
    draw_odometry(left)
    draw_trailers(right)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=90)


if __name__ == '__main__':
    main()
