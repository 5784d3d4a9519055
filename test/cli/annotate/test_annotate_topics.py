# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The numbers of outputs as they stand in messages."""

import numpy as np
import pytest

pytest.importorskip('rosbags')

from screw_dynamics_ros.cli.annotate.topics import Topics
from screw_dynamics_ros.core import Robot

LINK = """<link name="{}"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
SLIDING_ARM = f"""<robot name="sliding_arm"><link name="floor"/>{LINK.format('base')}
  <joint name="slide" type="planar"><parent link="floor"/><child link="base"/></joint>
  {LINK.format('arm')}
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""


def test_efforts_and_covariances_are_those_of_the_joints_in_joint_states():
    """Three of the four velocities are those of the planar joint."""
    robot = Robot.from_urdf(SLIDING_ARM, backend='reference')
    torques, covariance = np.arange(8.0).reshape(2, 4), np.arange(32.0).reshape(2, 4, 4)
    outputs = {
        'external_torque': torques,
        'external_torque_covariance': covariance,
        'mass_matrix': covariance,
    }
    efforts, of_efforts, mass = Topics(robot, list(outputs)).stacks(outputs)
    np.testing.assert_array_equal(efforts.numbers, torques[:, 3:])
    np.testing.assert_array_equal(of_efforts.numbers, covariance[:, 3:, 3])
    np.testing.assert_array_equal(mass.numbers, covariance.reshape(2, 16))
    for stack in (efforts, of_efforts, mass):
        assert stack.form.count == stack.numbers.shape[1]
