# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""
Torques along a trajectory
==========================

Check a planned motion against velocity and effort limits, and see which part of each torque comes
from where.

Run: python examples/04_trajectory_efforts.py
"""

import numpy as np
from matplotlib import pyplot as plt

from screw_dynamics_ros.core import Drive, Robot, bundled_urdf
from screw_dynamics_ros.core.motion.trajectory import (
    largest_speed_factor,
    sampled_motion,
    with_efforts,
)

friction = {f'panda_joint{i}': Drive(damping=1.0, coulomb=2.0) for i in range(1, 5)}
robot = Robot.from_urdf(bundled_urdf('panda'), drives=friction)
start = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8, 0.02])
end = np.array([1.5, 0.5, 0.4, -1.2, 0.6, 2.2, 0.0, 0.02])

# %%
# A smooth motion of one second, s from 0 to 1 with a bell-shaped speed; what exceeds a limit, and
# how much faster or slower the same path meets one.
time = np.linspace(0.0, 1.0, 101)
s = 10 * time**3 - 15 * time**4 + 6 * time**5
motion = sampled_motion(robot, time, robot.interpolate(start, end, s))
annotated = with_efforts(robot, motion)
for excess in annotated.exceeded:
    print('beyond a limit:', excess)
limit = largest_speed_factor(robot, motion)
print(f'{limit.factor:.2f} times as fast it meets the {limit.quantity} limit of {limit.joint}')

# %%
# The terms of the equation of motion are functions of their own; stacks of samples in, stacks out.
q, v, a = motion.q, motion.v, motion.a
terms = {
    'gravity': robot.gravity_torques(q),
    'Coriolis': robot.coriolis_torques(q, v),
    'friction': robot.friction_torques(v),
}
terms['acceleration'] = annotated.efforts - sum(terms.values())
figure, places = plt.subplots(1, 3, figsize=(11, 3.6), layout='constrained', sharey=True)
for place, joint in zip(places, (0, 1, 3)):
    for name, values in terms.items():
        place.plot(time, values[:, joint], lw=1.2, label=name)
    place.plot(time, annotated.efforts[:, joint], color='black', lw=2, label='sum')
    for sign in (-1, 1):
        place.axhline(sign * robot.limits.effort[joint], color='tab:gray', ls='--')
    place.set(title=robot.joint_names[joint], xlabel='time [s]')
places[0].set_ylabel('torque [N m], limit dashed')
places[0].legend(fontsize=8, ncols=2, loc='lower left')
plt.show()
