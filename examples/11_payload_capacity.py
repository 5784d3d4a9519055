# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""
What an arm can carry
=====================

The largest payload that the motors hold still, wherever the hand can be in the plane of the arm.

Run: python examples/11_payload_capacity.py
"""

import numpy as np
from matplotlib import pyplot as plt

from screw_dynamics_ros.core import Robot, bundled_urdf

TCP = 'panda_hand_tcp'
robot = Robot.from_urdf(bundled_urdf('panda'))

# %%
# All postures of shoulder and elbow with the gripper pointing down.
shoulder, elbow = np.meshgrid(np.linspace(-1.2, 1.7, 120), np.linspace(-3.0, -0.07, 120))
q = np.zeros((shoulder.size, robot.nq))
q[:, 1], q[:, 3] = shoulder.ravel(), elbow.ravel()
q[:, 5] = np.pi / 2 + q[:, 1] - q[:, 3] - np.pi / 2
down = np.array([robot.link_pose(each, TCP)[2, 2] for each in q[:: len(q) // 7]])
q = q[(q[:, 5] > robot.limits.lower[5]) & (q[:, 5] < robot.limits.upper[5])]
print('the gripper points down:', np.allclose(down, -1.0))

# %%
# A payload m adds m times the torques of 1 kg at the tool; the first motor at its limit decides.
arm = robot.gravity_torques(q)
per_kilogram = 9.81 * robot.jacobian(q, TCP)[:, 5]  # torques that hold a force of 1 kg along z
room = robot.limits.effort - np.sign(per_kilogram) * arm
with np.errstate(divide='ignore'):
    masses = np.where(np.abs(per_kilogram) > 1e-9, room / np.abs(per_kilogram), np.inf)
capacity, motor = masses[:, :7].min(axis=1), masses[:, :7].argmin(axis=1)
place = robot.link_pose(q, TCP)[:, [0, 2], 3]
print(f'from {capacity.min():.1f} kg at {place[capacity.argmin()].round(2)} m (x, z)')
print('first at its limit there:', robot.joint_names[motor[capacity.argmin()]])

# %%
figure, axes = plt.subplots(figsize=(6.4, 4.6), layout='constrained')
shades = axes.scatter(*place.T, c=capacity, s=6, cmap='viridis')
figure.colorbar(shades, label='largest payload [kg]')
axes.plot(0, 0.333, 'o', color='tab:red')
axes.annotate('shoulder', (0, 0.333), xytext=(8, -3), textcoords='offset points')
axes.set(xlabel='x [m]', ylabel='z [m]', aspect='equal')
plt.show()
