# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A second robot leads over DDS: one of two publishers is followed, until it dies."""

import numpy as np
import pytest
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.law import LAWS
from support.robots import urdf_path
from support.ros_harness import DIRECT, OK, WARN

ARM = urdf_path('planar_2r').read_text()
JOINTS = ['joint1', 'joint2']
TOPIC = '/leader/joint_states'
OUTPUTS = 'controller: outputs'


@pytest.mark.parametrize('path', ['auto', 'python'])
def test_of_two_leaders_one_is_followed(start, connect, path):
    start(
        'controller',
        {'law': 'joint_impedance', 'leader_topic': TOPIC, 'data_path': path, **DIRECT},
    )
    follower, rest = connect(), [0.0, 0.0]
    leaders = {name: connect(name) for name in ('one', 'two')}
    positions = {'one': [0.1, -0.1], 'two': [-0.05, 0.05]}
    follower.describe(ARM)
    follower.subscribe(JointState, 'controller/feedforward')

    def lead(*names):
        follower.send(JOINTS, rest, rest, rest)
        for name in names:
            message = JointState(name=JOINTS, position=positions[name], velocity=rest)
            leaders[name].publisher(JointState, TOPIC, qos_profile_sensor_data).publish(message)

    def torques(*names):
        """Return the torques of a joint state after others have come."""
        count = len(follower.received['controller/feedforward']) + 5
        follower.wait(
            lambda: len(follower.received['controller/feedforward']) > count or lead(*names)
        )
        return list(follower.received['controller/feedforward'][-1].effort)

    law = LAWS['joint_impedance'].on(Robot.from_urdf(ARM))
    expected = {name: law.step(rest, rest, reference={'q': q})[0] for name, q in positions.items()}

    follower.expect(OUTPUTS, OK, 'ok', meanwhile=lambda: lead('one'))
    assert np.allclose(torques('one'), expected['one'])
    text = '/one/client is followed, messages of /two/client are ignored'
    follower.expect(OUTPUTS, WARN, TOPIC, text, meanwhile=lambda: lead('one', 'two'))
    assert np.allclose(torques('one', 'two'), expected['one'])
    leaders['one'].close()
    follower.wait(lambda: np.allclose(torques('two'), expected['two']))
    leaders['two'].close()
    follower.expect(OUTPUTS, WARN, 'more than leader_timeout: holds where', meanwhile=lead)
    assert np.allclose(torques(), expected['two'])
