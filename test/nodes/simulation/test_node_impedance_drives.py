# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Impedance drives of the simulator through DDS, in lock step."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from support.commanded_arm import impedance_command
from support.lock_step import JOINTS, LockStep, arm

KP, KD = np.array([400.0, 200.0, 0.0]), np.array([40.0, 10.0, 0.0])
NAMES = [*JOINTS, 'other_finger']


@pytest.fixture(scope='module')
def driver(start, connect, tmp_path_factory):
    """Return an arm with two drives; the gains of the first one are in its description."""
    path = tmp_path_factory.mktemp('urdf') / 'arm.urdf'
    gains = '<param name="kp">400</param><param name="kd">40</param>'
    path.write_text(
        arm().replace('<joint name="shoulder"><com', f'<joint name="shoulder">{gains}<com')
    )
    drives = {
        'impedance_joints': "['elbow']",
        'impedance_stiffness': '[200.0]',
        'impedance_damping': '[10.0]',
    }
    return LockStep(start, connect, path, 'drives', **drives)


@pytest.fixture(autouse=True)
def beginning(driver):
    driver.begin()


def check(state, position, velocity, effort, kp=KP, kd=KD):
    """Check the efforts of a joint state, with which the next step begins, for both drives."""
    q, v, tau = state
    law = kp * (position - q) + kd * (velocity - v) + effort
    np.testing.assert_allclose(tau[:2], law[:2], rtol=0.0, atol=1e-12)
    assert np.abs(v[:2]).max() > 1e-3


def test_all_numbers_of_joint_commands(driver):
    position, velocity, effort = [0.2, -0.1, 0.05], [0.1, 0.3, 0.0], [60.0, 20.0, np.nan]
    message = JointState(
        name=NAMES,
        position=[*position, np.nan],
        velocity=[*velocity, np.nan],
        effort=[*effort, np.nan],
    )
    for _ in range(10):
        state = driver.answer(JointState, 'joint_commands', message)
        check(state, position, velocity, effort)


def test_whole_frames(driver):
    """With gains of each message; a finger with a servo is refused."""
    message = impedance_command(
        joint_names=['elbow', 'shoulder'], position=[0.3, 0.1], velocity=[0.5, 0.0],
        stiffness=[150.0, 300.0], damping=[5.0, 20.0], effort=[10.0, 50.0]
    )  # fmt: skip
    numbers = (
        np.array([0.1, 0.3, 0.0]),
        np.array([0.0, 0.5, 0.0]),
        np.array([50.0, 10.0, 0.0]),
        np.array([300.0, 150.0, 0.0]),
        np.array([20.0, 5.0, 0.0]),
    )
    kind, topic = type(message), 'simulator/impedance_commands'
    for _ in range(10):
        check(driver.answer(kind, topic, message), *numbers)
    message.joint_names = ['elbow', 'finger']
    driver.send(kind, topic, message)
    driver.report(1, 'refused ~/impedance_commands', 'joint finger has an ideal servo')
