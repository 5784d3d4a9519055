# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node `wrist_sensor` through DDS: states of a robot at rest, and what its sensor shows."""

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import qos_profile_sensor_data
from std_srvs.srv import Trigger

from screw_dynamics_ros.core import Robot
from support.robots import urdf_path

FRAME, MASS, COM = 'panda_link8', 1.5, np.array([0.0, 0.02, 0.1])
BIAS = np.array([2.0, -1.0, 4.0, 0.1, 0.2, -0.3])  # force, moment
HOME = np.array([0.0, -0.6, 0.0, -2.0, 0.0, 1.7, 0.6, 0.0])
OUTPUT = 'wrist_sensor/wrench'


@pytest.fixture(scope='module')
def client(start, connect):
    """However long messages take: a sensor message may match a state of before."""
    start(
        'wrist_sensor',
        {
            'sensor_frame': FRAME,
            'tool_mass': MASS,
            'tool_center_of_mass': COM.tolist(),
            'match_limit': 1.0,
            'sensor_timeout': 3600.0,
            'state_timeout': 3600.0,
        },
        ['-r', '__ns:=/wrist', '-r', 'wrench:=sensor'],
    )
    made = connect('wrist')
    made.describe(urdf_path('panda').read_text())
    made.subscribe(WrenchStamped, OUTPUT)
    return made


class Arm:
    """An arm at rest with a tool on its sensor, and a contact."""

    def __init__(self, client):
        self.robot, self.client, self.contact = Robot.from_urdf(urdf_path('panda')), client, 0.0
        g = self.robot.link_pose(HOME, FRAME)[:3, :3].T @ [0.0, 0.0, -9.81]
        self.weight = np.concatenate([MASS * g, np.cross(MASS * COM, g)])
        client.wait(lambda: self.send() and client.received[OUTPUT], what='a wrench')

    def send(self):
        """Send a state and a sensor message of its time; return that."""
        rest = np.zeros(self.robot.nv)
        stamp = self.client.send(self.robot.joint_names, HOME, rest, rest)
        message = WrenchStamped()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        message.header.frame_id, w = FRAME, message.wrench
        shown = self.weight + BIAS + self.contact
        w.force.x, w.force.y, w.force.z, w.torque.x, w.torque.y, w.torque.z = shown.tolist()
        self.client.publisher(WrenchStamped, 'sensor', qos_profile_sensor_data).publish(message)
        return stamp

    def shown(self):
        """Return force and moment of the next message."""
        stamp = self.send()
        w = self.client.wait(lambda: self.client.with_stamp(OUTPUT, stamp), what='a wrench').wrench
        return np.array([w.force.x, w.force.y, w.force.z, w.torque.x, w.torque.y, w.torque.z])


def test_tare_leaves_the_contact(client):
    arm = Arm(client)
    for _ in range(10):
        np.testing.assert_allclose(arm.shown(), BIAS, atol=1e-9)
    answer = client.call(Trigger, 'wrist_sensor/tare', Trigger.Request())
    assert answer.success, answer.message
    np.testing.assert_allclose(arm.shown(), 0.0, atol=1e-9)
    arm.contact = np.array([5.0, 0.0, -8.0, 0.4, 0.0, 0.1])
    np.testing.assert_allclose(arm.shown(), arm.contact, atol=1e-9)
    client.expect('wrist/wrist_sensor: outputs', 0)
