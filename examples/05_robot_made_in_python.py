# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Make a robot without a URDF: two links that turn about parallel axes, from Python or a table.

Run: python examples/05_robot_made_in_python.py
"""

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.kinematics.link_table import LinkTable
from screw_dynamics_ros.core.textbook.link_tables.denavit_hartenberg import StandardRow


def main() -> None:
    """Make the arm twice, and compare."""
    rod = Inertia(1.0, [0.5, 0.0, 0.0], np.diag([0.0, 1 / 12, 1 / 12]))  # 1 m, 1 kg
    axis, limits = np.array([0.0, 0.0, 1.0]), Limits(-3.0, 3.0, 2.0, 50.0)
    elbow, tip = np.eye(4), np.eye(4)
    elbow[0, 3] = tip[0, 3] = 1.0
    description = RobotDescription.from_parts(
        'two_rods',
        [Link('base'), Link('upper', rod), Link('lower', rod), Link('tip')],
        [
            Joint('shoulder', 'revolute', 'base', 'upper', np.eye(4), axis, limits),
            Joint('elbow', 'revolute', 'upper', 'lower', elbow, axis, limits),
            Joint('tip_joint', 'fixed', 'lower', 'tip', tip, axis, limits),
        ],
    )
    robot = Robot(description, gravity=(0.0, -9.81, 0.0))
    q = np.array([0.3, 0.4])
    print('tip at', robot.link_pose(q, 'tip')[:3, 3].round(4))
    print('torques that hold it:', robot.gravity_torques(q).round(3))
    print('mass matrix:', robot.mass_matrix(q).round(3).tolist())
    print('as URDF:', write_urdf(description)[:60].replace('\n', ' '), '...')

    # The same geometry as a Denavit-Hartenberg table.
    table = LinkTable([StandardRow('revolute', a=1.0), StandardRow('revolute', a=1.0)])
    other = Robot.from_geometry(table)
    difference = other.link_pose(q, other.link_names[-1]) - robot.link_pose(q, 'tip')
    print(f'the table gives the same pose: {np.abs(difference).max():.1e}')


if __name__ == '__main__':
    main()
