# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""
Singularities along a path
==========================

How freely the hand can move while the arm reaches out: velocity ellipsoids, and the singular values
that report a singularity before it is there.

Run: python examples/06_singularities_on_a_path.py
"""

import numpy as np
from matplotlib import pyplot as plt

from screw_dynamics_ros.core import Robot, bundled_urdf

HAND = 'panda_hand'
robot = Robot.from_urdf(bundled_urdf('panda'))

# %%
# The elbow stretches, shoulder and wrist turn with it.
s = np.linspace(0.0, 1.0, 60)[:, None]
bent = np.array([0.0, -0.4, 0.0, -2.6, 0.0, 2.6, 0.8, 0.02])
stretched = np.array([0.0, 1.0, 0.0, -0.0698, 0.0, 1.6, 0.8, 0.02])
path = bent + s * (stretched - bent)

# %%
# `singularity` also says which twist is about to be lost.
reports = [robot.singularity(q, HAND) for q in path]
values = np.array([report.singular_values for report in reports])
worst = values[:, 5].argmin()
print(f'smallest singular value {values[0, 5]:.3f} m at first, then {values[worst, 5]:.4f} m')
print('twist (angular, linear) that is lost there:', reports[worst].weakest_twist.round(2))

# %%
# In the plane of the arm: what velocities joint rates of length 0.1 rad/s give.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout='constrained')
links = [*(f'panda_link{i}' for i in range(9)), HAND]
angles = np.linspace(0, 2 * np.pi, 100)
for k, color in zip((0, 20, 38, worst), plt.colormaps['viridis'](np.linspace(0, 0.85, 4))):
    arm = np.array([robot.link_pose(path[k], link)[[0, 2], 3] for link in links])
    jacobian = robot.jacobian(path[k], HAND)[[3, 5]]
    axes, lengths, _ = np.linalg.svd(jacobian)
    ellipse = arm[-1][:, None] + 0.15 * axes * lengths @ [np.cos(angles), np.sin(angles)]
    left.plot(*arm.T, '.-', color=color, lw=2)
    left.plot(*ellipse, color=color)
    right.axvline(s[k, 0], color=color, lw=2)
left.set(xlabel='x [m]', ylabel='z [m]', aspect='equal', title='velocity ellipses of the hand')
right.semilogy(s, values, color='black', lw=1)
right.semilogy(s, values[:, 5], color='tab:red', lw=2, label='smallest')
right.set(xlabel='place on the path', ylabel='singular values [m]')
right.legend()
plt.show()
