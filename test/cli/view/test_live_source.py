# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A running or simulated robot over DDS: nodes come, change and go; what is shown follows."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from screw_dynamics_ros.cli.view import live_source
from screw_dynamics_ros.cli.view.live_source import LiveSource, SimulatedSource
from screw_dynamics_ros.cli.view.live_state import STATE_TIMEOUT
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from support.processes import is_running, wait_for
from support.robots import urdf_path
from support.ros_harness import Client

PLANAR, GRIPPER = (urdf_path(name).read_text() for name in ('planar_2r', 'gripper_tree'))
JOINTS = ('joint1', 'joint2')


@pytest.fixture
def source(ros_domain):
    made = LiveSource(['--ros-args', '-r', '__ns:=/left'], ros_domain)
    yield made
    made.close()


@pytest.fixture
def client(ros_domain):
    made = Client(ros_domain, '/left')
    yield made
    made.close()


def levels(state):
    return {line.name: line.level for line in state.diagnostics}


def shows(client, source, condition, meanwhile=lambda: None):
    """Read until a state meets the condition; return it."""

    def met():
        meanwhile()
        state = source.latest()
        return state if condition(state) else None

    return client.wait(met, what='a state of the source')


def test_nodes_come_change_and_go(source, client):
    assert source.robot.nv == 0
    assert levels(source.latest()) == {'robot_description': 'stale', 'joint_states': 'stale'}

    client.describe(PLANAR)
    shows(client, source, lambda state: len(state.q) == 2)
    assert (source.generation, source.urdf) == (1, PLANAR)

    def send():
        client.send(JOINTS, [0.3, 0.4], [0.0, 0.0], [1.0, 2.0])

    state = shows(client, source, lambda state: 'measured' in state.torques, send)
    np.testing.assert_array_equal(state.q, [0.3, 0.4])
    np.testing.assert_array_equal(state.torques['measured'], [1.0, 2.0])
    assert 'joint_states' not in levels(state)

    gravity = JointState(name=list(JOINTS), effort=[7.0, 8.0])
    publisher = client.node.create_publisher(JointState, 'dynamics/gravity', 1)

    def publish():
        send()
        publisher.publish(gravity)

    shows(client, source, lambda state: state.torques.get('gravity', [0])[0] == 7.0, publish)
    client.node.destroy_publisher(publisher)
    shows(client, source, lambda state: state.torques.get('gravity', [7.0])[0] != 7.0, send)

    client.drop_publisher('joint_states')
    state = shows(client, source, lambda state: levels(state).get('joint_states') == 'stale')
    assert not state.torques
    np.testing.assert_array_equal(state.q, [0.3, 0.4])

    client.describe('<robot name="broken"/>')
    shows(client, source, lambda state: levels(state).get('robot_description') == 'error')
    assert source.urdf == PLANAR
    client.describe(GRIPPER)
    state = shows(client, source, lambda state: source.generation == 2)
    assert len(state.q) == source.robot.nq
    assert levels(state)['joint_states'] == 'stale'
    client.drop_publisher('robot_description')
    shows(client, source, lambda state: levels(state).get('robot_description') == 'stale')


def test_states_that_waited_while_no_page_was_open_are_old(source, client):
    client.describe(PLANAR)
    shows(client, source, lambda state: len(state.q) == 2)

    def send():
        client.send(JOINTS, [0.1, 0.2], [0.0, 0.0])

    shows(client, source, lambda state: state.torques, send)
    send()
    source.clock = lambda: time.time_ns() + STATE_TIMEOUT
    state = source.latest()
    assert levels(state)['joint_states'] == 'stale'
    assert not state.torques


def test_topics_of_other_types_and_links_are_not_subscribed(source, client):
    client.describe(PLANAR)
    shows(client, source, lambda state: len(state.q) == 2)
    client.node.create_publisher(String, 'dynamics/gravity', 1)
    client.node.create_publisher(WrenchStamped, 'wrench_estimator/wrench/other', 1)
    client.node.create_publisher(WrenchStamped, 'wrench_estimator/wrench/link2', 1)
    client.wait(lambda: source.latest() and source.topics, what='a topic')
    assert source.topics == ['wrench_estimator/wrench/link2']


def test_a_payload_goes_to_the_nodes_of_the_namespace(source, client):
    interfaces = pytest.importorskip('screw_dynamics_msgs.srv')
    requests = []

    def answer(request, response):
        requests.append(request)
        response.success = request.inertia.inertia.m < 5.0
        response.message = 'carried' if response.success else 'too\nheavy'
        return response

    def line():
        return {each.name: each for each in source.latest().diagnostics}.get('payload')

    def carried(mass, level):
        source.carry('link2', RigidBody(mass, np.array([0.0, 0.1, 0.0]), np.zeros((3, 3))))
        return client.wait(lambda: (found := line()) and found.level == level and found)

    assert 'set_payload' in carried(1.0, 'error').message
    client.node.create_service(interfaces.SetPayload, 'bringup/set_payload', answer)
    others = []
    client.node.create_service(
        interfaces.SetPayload, '/right/set_payload', lambda *each: others.append(each) or each[1]
    )
    client.wait(lambda: [source.carry('link2', None), line().level == 'ok'][-1])
    assert carried(2.0, 'ok').message == 'carried'
    assert carried(6.0, 'error').message == 'too\\nheavy'
    assert (requests[-1].name, requests[-1].link) == ('view', 'link2')
    assert requests[-1].inertia.inertia.com.y == 0.1
    assert not others


def test_no_file_of_a_message_is_read(source, tmp_path):
    mesh = tmp_path / 'mesh.stl'
    mesh.write_bytes(b'solid')
    for uri in (f'file://{mesh}', str(mesh), f'package://../..{mesh}', 'package://rclpy/../x.stl'):
        assert source.mesh_file(uri) is None


def test_a_second_close_does_nothing(source):
    source.close()
    source.close()
    assert source.latest() is None


def test_simulated_and_estimated(ros_domain, monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', '')
    monkeypatch.setattr(live_source, 'free_domain', lambda: ros_domain)
    source = SimulatedSource(PLANAR, urdf_path('planar_2r'))
    try:
        pids = source.processes
        wait_for(lambda: {'measured', 'gravity', 'external'} <= source.latest().torques.keys())
        assert source.robot.joint_names == ('joint1', 'joint2')
        wait_for(lambda: 'error' not in {line.level for line in source.latest().diagnostics})
        os.kill(pids['bringup'], signal.SIGKILL)
        wait_for(lambda: 'error' in {line.level for line in source.latest().diagnostics})
    finally:
        source.close()
    assert not any(map(is_running, pids.values()))
