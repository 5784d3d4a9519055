# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Two publishers of joint states over DDS, of which nodes follow one."""

import numpy as np
import pytest
from nav_msgs.msg import Odometry
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot
from support.robots import urdf_path
from support.ros_harness import WARN

ARM = urdf_path('planar_2r').read_text()
FOLLOW = {'conflict_policy': '/chosen/client'}
IGNORED = 'joint states of other publishers are ignored: /other/client; conflict_policy is to'


class Drivers:
    """The nodes /chosen/client and /other/client, which report different positions."""

    def __init__(self, connect, names, chosen, other):
        self.client, self.names, self.q = connect('chosen'), names, chosen
        publisher = connect('other').publisher(
            JointState, '/chosen/joint_states', qos_profile_sensor_data
        )
        self.other = lambda message: publisher.publish(message)
        self.of_other = [float(x) for x in other]

    def send(self):
        """Let both send a state, 4 ms apart."""
        zeros = [0.0] * len(self.names)
        self.client.send(self.names, self.q, zeros, zeros)
        message = JointState(name=self.names, position=self.of_other, velocity=zeros, effort=zeros)
        stamp = self.client.stamp + 4_000_000
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        self.other(message)

    def outputs(self, topic, status):
        """Return 50 messages on a topic after the others are known to be ignored."""
        client = self.client
        client.expect(f'chosen/{status}', WARN, IGNORED, meanwhile=self.send)
        begin = len(client.received[topic])
        client.wait(lambda: len(client.received[topic]) > begin + 50 or self.send())
        return client.received[topic][begin:]


@pytest.mark.parametrize('path', ['auto', 'python'])
def test_torques_of_the_publisher_that_is_followed(start, connect, path):
    """In the compiled loop, and in Python, where messages are taken with their publishers."""
    start('dynamics', {'data_path': path, **FOLLOW}, ['-r', '__ns:=/chosen'])
    drivers = Drivers(connect, ['joint1', 'joint2'], [0.5, -0.3], [0.2, 0.0])
    drivers.client.describe(ARM)
    drivers.client.subscribe(JointState, 'dynamics/gravity')
    found = drivers.outputs('dynamics/gravity', 'dynamics: joint states')
    expected = Robot.from_urdf(ARM).gravity_torques([0.5, -0.3])
    assert np.array([message.effort for message in found]) == pytest.approx(
        np.tile(expected, (len(found), 1))
    )


def test_odometry_of_the_publisher_that_is_followed(start, connect):
    wheels = {
        'wheel_radius': 0.1,
        'wheel_separation': 0.5,
        'left_wheel_names': '[left]',
        'right_wheel_names': '[right]',
        'publish_rate': 1000.0,
    }
    start('odometry', {**wheels, **FOLLOW}, ['-r', '__ns:=/chosen'])
    drivers = Drivers(connect, ['left', 'right'], [0.0, 0.0], [0.01, 0.02])
    drivers.client.subscribe(Odometry, 'odometry/odom')
    for message in drivers.outputs('odometry/odom', 'odometry: odometry'):
        assert message.pose.pose.position.x == 0.0
