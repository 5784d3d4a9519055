# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""
Inverse kinematics
==================

Find joint positions for a pose of the hand, and follow a path with it.

Run: python examples/02_inverse_kinematics.py
"""

import numpy as np
from matplotlib import pyplot as plt

from screw_dynamics_ros.core import Robot, bundled_urdf

HAND = 'panda_hand'
robot = Robot.from_urdf(bundled_urdf('panda'))
start = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8, 0.02])

# %%
# One pose: the result says whether it was reached, and how closely.
target = robot.link_pose(start, HAND)  # (4, 4): rotation and position in the root frame
target[:3, 3] += [0.1, 0.15, -0.1]
result = robot.inverse_kinematics(target, HAND, start)
print(f'{result.message}: success {result.success}, error {result.residual:.1e}')
too_far = target.copy()
too_far[0, 3] = 2.0
result = robot.inverse_kinematics(too_far, HAND, start, restarts=5)
print(f'a pose out of reach: success {result.success}; {result.message}')

# %%
# A circle of 15 cm in 4 s at 100 Hz, within the joint limits: each step gets the pose, and the
# twist (angular, linear) with which it moves.
dt, radius, rate = 0.01, 0.15, 2 * np.pi / 4
first, follower = robot.link_pose(start, HAND), robot.closed_loop(HAND, start, dt)
path, errors = [start], []
for k in range(400):
    angle, target = rate * k * dt, first.copy()
    target[:3, 3] += radius * np.array([0.0, np.sin(angle), np.cos(angle) - 1])
    velocity = radius * rate * np.array([0.0, np.cos(angle), -np.sin(angle)])
    errors.append(np.linalg.norm(robot.link_pose(path[-1], HAND)[:3, 3] - target[:3, 3]))
    path.append(follower.step(target, [0.0, 0.0, 0.0, *velocity]).q)
print(f'along the circle the hand stays within {1e3 * max(errors):.2f} mm')

# %%
figure = plt.figure(figsize=(9, 4), layout='constrained')
space = figure.add_subplot(121, projection='3d')
links = [f'panda_link{i}' for i in range(9)]
for q in path[::50]:
    arm = np.array([robot.link_pose(q, link)[:3, 3] for link in [*links, HAND]])
    space.plot(*arm.T, '.-', color='tab:blue', alpha=0.4)
space.plot(*np.array([robot.link_pose(q, HAND)[:3, 3] for q in path]).T, color='tab:red', lw=2)
space.set(xlabel='x [m]', ylabel='y [m]', zlabel='z [m]', aspect='equal')
space.set(xticks=[0, 0.3], yticks=[-0.1, 0.1], zticks=[0, 0.4, 0.8])
place = figure.add_subplot(122)
place.plot(dt * np.arange(400), 1e3 * np.array(errors), color='tab:red')
place.set(xlabel='time [s]', ylabel='distance from the circle [mm]')
plt.show()
