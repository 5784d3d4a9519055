# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""
Gravity compensation
====================

Hold an arm against gravity: the torques a driver with effort commands needs, and what an error in
them does.

Run: python examples/01_gravity_compensation.py
"""

import numpy as np
from matplotlib import pyplot as plt

from screw_dynamics_ros.core import Robot, bundled_urdf
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.simulation import SimulatedRobot

robot = Robot.from_urdf(bundled_urdf('panda'))
q = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8, 0.02])

# %%
# The torques that hold the arm still, and those with a tool of 2 kg, 10 cm in front of the flange.
tau = robot.gravity_torques(q)
rest = np.zeros(robot.nv)
tool = {'panda_hand': RigidBody(2.0, [0.0, 0.0, 0.1], np.zeros((3, 3)))}
added = robot.payload_torques(q, rest, rest, tool)
print('torques [N m]:', tau[:7].round(2))
print(f'the tool adds up to {np.abs(added).max():.2f} N m')

# %%
# Simulated for a second: right torques, torques 1 % too small, and none.
times, moved = np.arange(1, 101) * 0.01, {}
for name, share in {'compensated': 1.0, '1 % too small': 0.99, 'without torques': 0.0}.items():
    arm = SimulatedRobot(robot, q)
    moved[name] = []
    for _ in times:
        arm.step(share * tau, 0.01)
        moved[name].append(np.abs(arm.q - q).max())
    print(f'{name}: moved by {moved[name][-1]:.2e} rad in a second')

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout='constrained')
joints = np.arange(1, 8)
left.bar(joints - 0.2, tau[:7], 0.4, label='arm')
left.bar(joints + 0.2, (tau + added)[:7], 0.4, label='with the tool')
left.set(xlabel='joint', ylabel='gravity torque [N m]')
left.legend()
for name, values in moved.items():
    right.plot(times, values, label=name)
right.set(xlabel='time [s]', ylabel='largest displacement of a joint [rad]', ylim=(-0.05, 1))
right.legend()
plt.show()
