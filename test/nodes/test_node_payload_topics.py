# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Payloads over DDS: a request from another process, the latched topic, diagnostics, `doctor`."""

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._set_payload')

from geometry_msgs.msg import InertiaStamped
from sensor_msgs.msg import JointState

from screw_dynamics_msgs import srv
from screw_dynamics_ros.cli.doctor.running_parameters import read_payloads
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.ros.topics import qos
from support.robots import urdf_path
from support.ros_harness import DEADLINE, OK

PLANAR = urdf_path('planar_2r').read_text()
GRAVITY = [1.0, -9.0, 2.0]
STATUS = 'carrying/dynamics: payload'


@pytest.fixture(scope='module')
def client(start, connect):
    start('dynamics', {'gravity': str(GRAVITY)}, ['-r', '__ns:=/carrying'])
    made = connect('carrying')
    made.describe(PLANAR)
    made.subscribe(JointState, 'dynamics/payload')
    made.expect(STATUS, OK)
    return made


def set_payload(client, name, mass, seconds=0):
    request = srv.SetPayload.Request(name=name, link='tip')
    request.inertia.inertia.m = mass
    request.transition_time.sec = seconds
    response = client.call(srv.SetPayload, 'dynamics/set_payload', request)
    assert response.success, response.message


def heard(client, topic):
    """Return the latched message of a topic that nobody has subscribed to before."""
    messages = []
    subscription = client.node.create_subscription(
        InertiaStamped, topic, messages.append, qos.LATCHED
    )
    client.wait(lambda: messages, what=topic)
    client.node.destroy_subscription(subscription)
    return messages[-1]


def test_a_payload_from_another_process(client):
    set_payload(client, 'box', 2.0)
    set_payload(client, 'gripper', 0.5)
    q, rest = [0.3, -0.5], [0.0, 0.0]
    _, (message,) = client.ask_all(['dynamics/payload'], ('joint1', 'joint2'), q, rest)
    robot = Robot.from_urdf(PLANAR, gravity=GRAVITY)
    body = RigidBody(2.5, np.zeros(3), np.zeros((3, 3)))
    expected = robot.payload_torques(q, rest, rest, {'tip': body})
    np.testing.assert_allclose(message.effort, expected, rtol=1e-12)
    latched = heard(client, '/carrying/dynamics/payload_inertia/tip')
    assert (latched.header.frame_id, latched.inertia.m) == ('tip', 2.5)
    client.wait(
        lambda: client.diagnostics[STATUS][2].get('payload') == '2.5 kg on tip',
        what='the payload on /diagnostics',
    )

    def turns(seconds):
        while True:
            yield
            client.executor.spin_once(seconds)

    found = read_payloads(client.node, turns, DEADLINE)
    assert {link: (each.mass, owner) for link, (each, owner) in found.items()} == {
        'tip': (2.5, '/carrying/dynamics')
    }

    request = srv.ClearPayload.Request()
    request.transition_time.nanosec = 300_000_000
    assert client.call(srv.ClearPayload, 'dynamics/clear_payload', request).success
    topic = '/carrying/dynamics/payload_inertia/tip'
    client.wait(lambda: heard(client, topic).inertia.m == 0.0, what='nothing')
    client.wait(lambda: client.diagnostics[STATUS][2].get('payload') == 'none', what='no payload')
