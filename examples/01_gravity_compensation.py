# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hold an arm against gravity: the torques a driver with effort commands needs.

Run: python examples/01_gravity_compensation.py
"""

import numpy as np

from screw_dynamics_ros.core import Robot, bundled_urdf
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.simulation import SimulatedRobot

URDF = bundled_urdf('panda')


def main() -> None:
    """Simulate a second, with compensation and without."""
    robot = Robot.from_urdf(URDF)
    q = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8, 0.02])

    tau = robot.gravity_torques(q)
    for joint, torque in zip(robot.joint_names, tau):
        print(f'{joint:20} {torque:8.3f} N m or N')

    for name, command in (('compensated', tau), ('without torques', np.zeros(robot.nv))):
        arm = SimulatedRobot(robot, q)
        for _ in range(100):
            arm.step(command, 0.01)
        print(f'{name}: moved by {np.abs(arm.q - q).max():.2e} rad in a second')

    # A tool of 2 kg, 10 cm in front of the flange, adds to the torques.
    tool = {'panda_hand': RigidBody(2.0, [0.0, 0.0, 0.1], np.zeros((3, 3)))}
    rest = np.zeros(robot.nv)
    added = robot.payload_torques(q, rest, rest, tool)
    print(f'the tool adds up to {np.abs(added).max():.2f} N m')


if __name__ == '__main__':
    main()
