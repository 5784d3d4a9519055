# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Check a planned trajectory against velocity and effort limits, and scale it in time.

Run: python examples/04_trajectory_efforts.py
"""

import numpy as np

from screw_dynamics_ros.core import Robot, bundled_urdf
from screw_dynamics_ros.core.motion.trajectory import (
    largest_speed_factor,
    sampled_motion,
    with_efforts,
)

URDF = bundled_urdf('panda')


def main() -> None:
    """Annotate a motion of one second between two postures."""
    robot = Robot.from_urdf(URDF)
    start = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8, 0.02])
    end = np.array([1.5, 0.5, 0.4, -1.2, 0.6, 2.2, 0.0, 0.02])

    # A smooth motion: s goes from 0 to 1 with a bell-shaped speed.
    time = np.linspace(0.0, 1.0, 101)
    s = 10 * time**3 - 15 * time**4 + 6 * time**5
    positions = robot.interpolate(start, end, s)

    motion = sampled_motion(robot, time, positions)
    annotated = with_efforts(robot, motion)
    largest = np.abs(annotated.efforts).max(axis=0)
    for joint, torque, limit in zip(robot.joint_names, largest, robot.limits.effort):
        print(f'{joint:20} up to {torque:7.2f} of {limit:7.2f} N m or N')
    for excess in annotated.exceeded:
        print('beyond a limit:', excess)

    limit = largest_speed_factor(robot, motion)
    print(f'{limit.factor:.2f} times as fast it meets the {limit.quantity} limit of {limit.joint}')


if __name__ == '__main__':
    main()
