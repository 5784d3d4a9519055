# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""
Force without a force sensor
============================

Estimate the force on the hand from noisy joint torques, and say how certain it is.

Run: python examples/03_contact_wrench.py
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import chi2

from screw_dynamics_ros.core import Robot, bundled_urdf

HAND, NOISE = 'panda_hand', 0.3  # N m, standard deviation of each measured torque
robot = Robot.from_urdf(bundled_urdf('panda'))
rng = np.random.default_rng(0)
push = np.array([0.0, 0.0, 0.5, 10.0, 0.0, -5.0])  # (moment, force) in the frame of the hand
v, a = rng.uniform(-0.5, 0.5, (2, robot.nv))

# %%
# In a posture with a bent elbow and in one with a nearly stretched one: what drives report
# while something pushes, minus what they would report without contact, is J^T times the wrench.
figure, places = plt.subplots(1, 2, figsize=(9, 4.4), layout='constrained')
for place, elbow in zip(places, (-2.0, -0.8)):
    q = np.array([0.0, -0.5, 0.0, elbow, 0.0, 1.6, 0.8, 0.02])
    measured = robot.inverse_dynamics(q, v, a, {HAND: push})
    measured = measured + NOISE * rng.standard_normal((400, robot.nv))
    external = robot.inverse_dynamics(q, v, a) - measured
    estimate = np.linalg.pinv(robot.jacobian(q, HAND, 'body').T)  # wrench = estimate @ torques
    wrenches = external @ estimate.T
    covariance = NOISE**2 * estimate @ estimate.T

    # Force along x and z of the hand, with the ellipse that should hold 95 % of the estimates.
    force, part = wrenches[:, [3, 5]] - push[[3, 5]], covariance[np.ix_([3, 5], [3, 5])]
    inside = np.mean(np.sum(force * np.linalg.solve(part, force.T).T, axis=1) < chi2.ppf(0.95, 2))
    report = robot.singularity(q, HAND)
    print(
        f'elbow at {elbow}: rank {report.rank} of 6, smallest singular value '
        f'{report.smallest:.3f} m, {100 * inside:.1f} % of the estimates in the ellipse'
    )
    angles = np.linspace(0, 2 * np.pi, 200)
    circle = np.sqrt(chi2.ppf(0.95, 2)) * np.array([np.cos(angles), np.sin(angles)])
    ellipse = push[[3, 5], None] + np.linalg.cholesky(part) @ circle
    place.plot(wrenches[:, 3], wrenches[:, 5], '.', ms=3, alpha=0.5, label='estimates')
    place.plot(*ellipse, color='black', label='95 % ellipse')
    place.plot(*push[[3, 5]], 'P', ms=10, color='tab:red', label='true force')
    place.set(title=f'elbow at {elbow} rad', xlabel='force along x [N]')
    place.set(xlim=(-5, 25), ylim=(-20, 10), aspect='equal')
places[0].set_ylabel('force along z [N]')
places[0].legend()
plt.show()
