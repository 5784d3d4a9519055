# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Find joint positions for a pose of the hand, and follow a line with it.

Run: python examples/02_inverse_kinematics.py
"""

import numpy as np

from screw_dynamics_ros.core import Robot, bundled_urdf

URDF = bundled_urdf('panda')
HAND = 'panda_hand'


def main() -> None:
    """Solve for one pose, then for a stream of poses."""
    robot = Robot.from_urdf(URDF)
    start = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8, 0.02])

    target = robot.link_pose(start, HAND)  # (4, 4): rotation and position in the root frame
    target[:3, 3] += [0.1, 0.15, -0.1]
    result = robot.inverse_kinematics(target, HAND, start)
    print(f'{result.message}: success {result.success}, error {result.residual:.1e}')
    print('q =', result.q.round(4))

    too_far = target.copy()
    too_far[0, 3] = 2.0
    result = robot.inverse_kinematics(too_far, HAND, start, restarts=5)
    print(f'a pose out of reach: success {result.success}; {result.message}')

    # 10 cm to the side in a second, within joint limits, at 100 Hz.
    dt, speed = 0.01, np.array([0.0, 0.0, 0.0, 0.0, 0.1, 0.0])  # (angular, linear)
    follower, target = robot.closed_loop(HAND, start, dt), robot.link_pose(start, HAND)
    for _ in range(100):
        step = follower.step(target, speed)
        target[:3, 3] += speed[3:] * dt
    error = np.linalg.norm(robot.link_pose(step.q, HAND)[:3, 3] - target[:3, 3])
    print(f'at the end of the line the hand is {1e3 * error:.3f} mm from its target')


if __name__ == '__main__':
    main()
