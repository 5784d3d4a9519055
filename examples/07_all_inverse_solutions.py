# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""
All inverse solutions
=====================

Every configuration of an arm with six joints that brings its flange to one pose, with the statement
that there are no others.

Run: python examples/07_all_inverse_solutions.py
"""

import numpy as np
from matplotlib import pyplot as plt

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.kinematics.link_table import LinkTable
from screw_dynamics_ros.core.textbook.link_tables.denavit_hartenberg import StandardRow

# %%
# An arm with three parallel axes and the dimensions of a UR5, as Denavit-Hartenberg parameters.
rows = [
    (0.089159, 0.0, np.pi / 2),
    (0.0, -0.425, 0.0),
    (0.0, -0.39225, 0.0),
    (0.10915, 0.0, np.pi / 2),
    (0.09465, 0.0, -np.pi / 2),
    (0.0823, 0.0, 0.0),
]
robot = Robot.from_geometry(
    LinkTable([StandardRow('revolute', d=d, a=a, alpha=alpha) for d, a, alpha in rows])
)
flange = robot.link_names[-1]
pose = robot.link_pose([0.4, -1.2, 1.5, -0.9, -1.3, 0.2], flange)

# %%
# `doubt` is empty if there are certainly no further solutions.
solutions = robot.all_inverse_kinematics(pose, flange, images=False)
print(f'{len(solutions.q)} solutions, at most {solutions.bound} for {solutions.family}')
print(f'largest pose error {solutions.residuals.max():.1e}; doubt: {solutions.doubt or "none"}')
for q, branch in zip(solutions.q, solutions.branches):
    print(solutions.branch_labels[branch].ljust(40), q.round(2))

# %%
figure, places = plt.subplots(
    2, 4, figsize=(10, 5.4), layout='constrained', subplot_kw={'projection': '3d'}
)
for place, q, branch in zip(places.flat, solutions.q, solutions.branches):
    for other in solutions.q:
        place.plot(*robot.link_poses(other)[:, :3, 3].T, color='0.8', lw=1)
    place.plot(*robot.link_poses(q)[:, :3, 3].T, '.-', color='tab:blue', lw=3)
    place.plot(*pose[:3, 3], 'o', color='tab:red')
    place.set(aspect='equal', xticks=[], yticks=[], zticks=[])
    place.set_title(solutions.branch_labels[branch], fontsize=8)
plt.show()
