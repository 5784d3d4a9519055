# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""
Identification
==============

Masses in a description are often wrong. The torques of a motion are linear in them, so least
squares on a recorded motion corrects what torques depend on.

Run: python examples/10_identification.py
"""

import numpy as np
from matplotlib import pyplot as plt

from screw_dynamics_ros.core import Robot, bundled_urdf

robot = Robot.from_urdf(bundled_urdf('panda'))
rng = np.random.default_rng(1)

# %%
# A motion of 10 s made of sines within the joint limits, and the torques of the true robot, whose
# inertial parameters differ by 30 % from the description; the sensors add noise of 0.2 N m.
time = np.linspace(0.0, 10.0, 1000)
rates = 2 * np.pi * 0.1 * np.arange(1, 6)
amplitudes = rng.uniform(-0.4, 0.4, (5, robot.nv))
amplitudes[:, -1] = 0.0  # the gripper stays closed
angles = np.outer(time, rates)
q = 0.5 * (robot.limits.lower + robot.limits.upper) + np.sin(angles) @ amplitudes
v = (rates * np.cos(angles)) @ amplitudes
a = (-(rates**2) * np.sin(angles)) @ amplitudes
Y = robot.regressor(q, v, a)  # (1000, nv, 10 n): torques = Y @ inertial parameters
nominal = robot.inertial_parameters
true = nominal * rng.normal(1.0, 0.3, nominal.shape)
measured = Y @ true + 0.2 * rng.standard_normal((1000, robot.nv))

# %%
# Only base parameters can be identified: as many as there are independent columns. The first half
# of the motion identifies, the second half tests.
base = robot.base_parameters()
columns = Y[..., base.columns]
first = slice(0, 500)
identified = np.linalg.lstsq(
    columns[first].reshape(-1, len(base.names)), measured[first].ravel(), rcond=None
)[0]
before, after = measured - Y @ nominal, measured - columns @ identified
second = slice(500, None)
print(f'{len(base.names)} base parameters of {len(nominal)}')
for name, residual in (('description', before), ('identified', after)):
    print(f'{name}: {np.sqrt(np.mean(residual[second] ** 2)):.2f} N m RMS')

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout='constrained')
left.plot(time, measured[:, 3], color='0.7', lw=3, label='measured')
left.plot(time, (Y @ nominal)[:, 3], color='tab:red', label='description')
left.plot(time, (columns @ identified)[:, 3], color='tab:blue', label='identified')
left.axvspan(0, 5, color='tab:gray', alpha=0.15)
left.set(xlabel='time [s], gray: used', ylabel='torque of panda_joint4 [N m]')
left.legend()
joints = np.arange(1, 8)
for shift, color, residual in ((-0.2, 'tab:red', before), (0.2, 'tab:blue', after)):
    right.bar(joints + shift, np.sqrt(np.mean(residual[second, :7] ** 2, 0)), 0.4, color=color)
right.axhline(0.2, color='black', ls='--', label='noise')
right.set(xlabel='joint', ylabel='RMS residual, second half [N m]')
right.legend()
plt.show()
