# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""
A robot made in Python
======================

Make a robot without a URDF: two links that turn about parallel axes, from parts or from a table.
Then let it swing.

Run: python examples/05_robot_made_in_python.py
"""

import numpy as np
from matplotlib import pyplot as plt

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.kinematics.link_table import LinkTable
from screw_dynamics_ros.core.simulation import SimulatedRobot
from screw_dynamics_ros.core.textbook.link_tables.denavit_hartenberg import StandardRow

# %%
# Rods of 1 m and 1 kg in a vertical plane.
rod = Inertia(1.0, [0.5, 0.0, 0.0], np.diag([0.0, 1 / 12, 1 / 12]))
axis, limits = np.array([0.0, 0.0, 1.0]), Limits(-np.inf, np.inf, np.inf, np.inf)
at_end = np.eye(4)
at_end[0, 3] = 1.0
description = RobotDescription.from_parts(
    'two_rods',
    [Link('base'), Link('upper', rod), Link('lower', rod), Link('tip')],
    [
        Joint('shoulder', 'continuous', 'base', 'upper', np.eye(4), axis, limits),
        Joint('elbow', 'continuous', 'upper', 'lower', at_end, axis, limits),
        Joint('tip_joint', 'fixed', 'lower', 'tip', at_end, axis, limits),
    ],
)
robot = Robot(description, gravity=(0.0, -9.81, 0.0))
q = np.array([0.3, 0.4])
print('tip at', robot.link_pose(q, 'tip')[:3, 3].round(4))
print('torques that hold it:', robot.gravity_torques(q).round(3))

# %%
# The same geometry as a Denavit-Hartenberg table.
other = Robot.from_geometry(LinkTable([StandardRow('revolute', a=1.0)] * 2))
difference = other.link_pose(q, other.link_names[-1]) - robot.link_pose(q, 'tip')
print(f'the table gives the same pose: {np.abs(difference).max():.1e}')

# %%
# It swings for 1.5 s without torques, and its energy stays.
pendulum = SimulatedRobot(robot, q)
states = [(pendulum.q.copy(), pendulum.v.copy())]
for _ in range(300):
    pendulum.step([0.0, 0.0], 0.005)
    states.append((pendulum.q.copy(), pendulum.v.copy()))
positions, rates = map(np.array, zip(*states))
energy = robot.kinetic_energy(positions, rates) + robot.potential_energy(positions)
print(f'energy changes by {np.ptp(energy):.1e} J')

figure, place = plt.subplots(figsize=(5.4, 4.6), layout='constrained')
points = [
    [robot.link_pose(each, name)[:2, 3] for name in ('upper', 'lower', 'tip')]
    for each in positions[::10]
]
for color, shape in zip(plt.colormaps['viridis'](np.linspace(0, 1, len(points))), points):
    place.plot(*np.transpose(shape), '.-', color=color, lw=1)
place.plot(*np.array([robot.link_pose(each, 'tip')[:2, 3] for each in positions]).T, 'tab:red')
place.set(xlabel='x [m]', ylabel='y [m]', aspect='equal', title='from dark to light: 1.5 s')
plt.show()
