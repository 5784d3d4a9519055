# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Node `kinematics` beside others: robot_state_publisher, prefixes, odd frame names, executors."""

import importlib

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import TransformStamped, TwistStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core import Robot
from support.robots import urdf_path
from support.ros_harness import LATCHED, OK, WARN

PLANAR = urdf_path('planar_2r').read_text()
STATE = ['joint1', 'joint2'], [0.3, 0.4], [1.0, 2.0]


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(PLANAR)


@pytest.fixture
def launch(start, connect, request):
    """Start the node in a namespace of the test's own; return a client there.

    Both end with the test: discovery on one machine serves a limited number of participants.
    """
    endings = []

    def make(parameters, text=PLANAR):
        namespace = 'k' + str(abs(hash(request.node.name)) % 10**6)
        node = start(
            'kinematics',
            parameters,
            [
                '-r',
                f'__ns:=/{namespace}',
                '-r',
                f'/tf:=/{namespace}/tf',
                '-r',
                f'/tf_static:=/{namespace}/tf_static',
            ],
        )
        client = connect(namespace)
        if text is not None:
            client.describe(text)
        client.prefix = f'{namespace}/kinematics: '
        client.process = node
        endings.extend((client.close, node.stop))
        return client

    yield make
    for end in endings:
        end()


def test_robot_state_publisher_has_the_frames(launch, robot):
    """While one runs in the namespace, /tf is left to it; when it ends, they come from here."""
    client = launch({})
    client.subscribe(TFMessage, 'tf')
    client.ask('tf', *STATE)
    rival = rclpy.create_node(
        'robot_state_publisher', context=client.context, namespace=client.node.get_namespace()
    )
    space = client.node.get_namespace()
    rival.create_publisher(TFMessage, f'{space}/tf', 10)
    rival.create_publisher(TFMessage, f'{space}/tf_static', LATCHED).publish(
        TFMessage(transforms=[TransformStamped(child_frame_id='tip')])
    )
    client.wait(
        lambda: (
            client.diagnostics.get(f'{client.prefix}outputs', (0, '', {}))[2]
            .get('tf', '')
            .endswith('/robot_state_publisher')
        ),
        what='giving way',
    )
    tip = robot.link_names[-1]
    client.subscribe(TwistStamped, f'kinematics/twist/{tip}')
    stamp, _ = client.ask(f'kinematics/twist/{tip}', *STATE)
    rival.destroy_node()
    client.ask('tf', *STATE)
    assert stamp not in client.stamps('tf')


def test_frames_of_a_node_of_another_name_and_namespace(launch, robot):
    """Who publishes frames of this robot on /tf_static, and /tf, has them."""
    client = launch({})
    client.subscribe(TFMessage, 'tf')
    client.ask('tf', *STATE)
    other = rclpy.create_node('state_publisher', context=client.context, namespace='/elsewhere')
    space = client.node.get_namespace()
    other.create_publisher(TFMessage, f'{space}/tf', 10)
    frames = TransformStamped(child_frame_id='tip')
    static = other.create_publisher(TFMessage, f'{space}/tf_static', LATCHED)
    static.publish(TFMessage(transforms=[frames]))
    tip, expected = robot.link_names[-1], 'published by /elsewhere/state_publisher'
    client.subscribe(TwistStamped, f'kinematics/twist/{tip}')
    client.wait(
        lambda: client.expect(f'{client.prefix}outputs', OK)['tf'] == expected, what=expected
    )
    stamp, _ = client.ask(f'kinematics/twist/{tip}', *STATE)
    other.destroy_node()
    client.ask('tf', *STATE)
    assert stamp not in client.stamps('tf')


def test_a_robot_with_the_same_frames_in_another_namespace_is_a_warning(launch, robot):
    """Who is first has /tf; the other one says who, and what to do."""
    client = launch({})
    client.subscribe(TFMessage, 'tf')
    client.ask('tf', *STATE)
    space = client.node.get_namespace()
    other = rclpy.create_node('kinematics', context=client.context, namespace='/another')
    other.create_subscription(JointState, 'joint_states', lambda message: None, 10)
    other.create_publisher(TFMessage, f'{space}/tf', 10)
    static = other.create_publisher(TFMessage, f'{space}/tf_static', LATCHED)
    static.publish(TFMessage(transforms=[TransformStamped(child_frame_id='tip')]))
    client.expect(
        f'{client.prefix}outputs',
        WARN,
        'no /tf: /another/kinematics publishes frames with the names of this robot',
        'frame_prefix',
    )
    other.destroy_node()
    client.expect(f'{client.prefix}outputs', OK)
    client.ask('tf', *STATE)


def test_frame_names_that_are_no_topic_names(launch):
    text = PLANAR.replace('"tip"', '"2nd arm/tool-0.ä"').replace('"base"', '"0: base"')
    client = launch({}, text)
    client.subscribe(TwistStamped, 'kinematics/twist/_2nd_arm_tool_0__')
    _, message = client.ask('kinematics/twist/_2nd_arm_tool_0__', *STATE)
    assert message.header.frame_id == '0: base'


@pytest.mark.parametrize(
    'parameters',
    [
        {'executor': 'single', 'backend': 'python'},
        {'executor': 'events', 'backend': 'reference', 'realtime_priority': '7'},
    ],
)
def test_executors_and_backends(launch, robot, parameters):
    if parameters.get('executor') == 'events':
        try:
            importlib.import_module('rclpy.experimental')
        except ImportError:
            pytest.skip('this rclpy has no EventsExecutor')
    tip = robot.link_names[-1]
    client = launch({**parameters, 'frames': f"['{tip}']"})
    topic = f'kinematics/twist/{tip}'
    client.subscribe(TwistStamped, topic)
    client.subscribe(Float64MultiArray, f'kinematics/jacobian/{tip}')
    for scale in (1.0, 2.0, 3.0):
        _, message = client.ask(topic, STATE[0], [0.3, 0.4], [scale, 2 * scale])
        expected = robot.jacobian([0.3, 0.4], tip) @ [scale, 2 * scale]
        linear, angular = message.twist.linear, message.twist.angular
        np.testing.assert_allclose(
            [angular.x, angular.y, angular.z, linear.x, linear.y, linear.z], expected, atol=1e-12
        )
    assert client.process.stop() == 0
    assert 'Traceback' not in client.process.output
