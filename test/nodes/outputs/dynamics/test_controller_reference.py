# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The state of a controller as reference, and messages of commands; without ROS running."""

from types import SimpleNamespace

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.nodes.outputs.dynamics import reference_controller
from screw_dynamics_ros.nodes.outputs.dynamics.reference_controller import (
    ABSENT,
    ControllerReference,
)
from screw_dynamics_ros.nodes.outputs.dynamics.reference_joints import ReferenceJoints
from screw_dynamics_ros.nodes.outputs.dynamics.reference_stamped import write_stamped
from screw_dynamics_ros.ros.messages import templates
from screw_dynamics_ros.ros.messages.cdr import packed
from screw_dynamics_ros.ros.status import Level, Status

S = 10**9
JOINTS = ('hip', 'knee', 'toe')
LIMITS = dict.fromkeys(JOINTS, (-1.0, 2.0, 3.0))
#: The toe follows the others, through loops.
OF_ROBOT = ReferenceJoints(JOINTS, (*JOINTS, 'fixed'), ('hip', 'knee'), LIMITS)
TOPIC = '/arm/controller_state'


class Subscribed:
    """A reference, and the subscriptions of its node."""

    def __init__(self, topic=TOPIC):
        self.parameters = {'controller_state_topic': topic}
        self.subscriptions = []
        node = SimpleNamespace(
            create_subscription=self._create, destroy_subscription=self.subscriptions.remove
        )
        self.reference = ControllerReference(node, self.parameters)

    def _create(self, kind, topic, callback, profile):
        self.subscriptions.append(SimpleNamespace(kind=kind, topic=topic, receive=callback))
        return self.subscriptions[-1]

    def state(self, *positions, stamp=10 * S, names=('knee', 'hip'), v=(0.5, -0.25), a=(1.0, 2.0)):
        message = reference_controller.JointTrajectoryControllerState(joint_names=list(names))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, S)
        message.reference = JointTrajectoryPoint(
            positions=list(positions), velocities=list(v), accelerations=list(a)
        )
        self.subscriptions[-1].receive(message)

    def at(self, stamp):
        """Return the rows of the reference at a stamp, None if there is none."""
        rows = np.zeros(4 * len(JOINTS))
        self.reference.timeout = 0.1
        is_known = write_stamped(self.reference, stamp, np.zeros(3), len(JOINTS), rows)
        return rows.reshape(4, -1) if is_known else None

    @property
    def status(self):
        status = Status('outputs')
        self.reference.report(status)
        return status


@pytest.fixture
def made():
    pytest.importorskip('control_msgs.msg')
    subscribed = Subscribed()
    subscribed.reference.bind(OF_ROBOT)
    return subscribed


def test_motion_at_a_stamp_near_that_of_the_state(made):
    """At most the timeout before and after it; with constant accelerations."""
    made.state(0.1, 0.2)
    assert made.status.summary == 'ok'  # not asked for yet
    for dt in (-0.1, 0.0, 0.05, 0.1):
        given, q, v, a = made.at(10 * S + round(dt * S))
        np.testing.assert_array_equal(given, [1.0, 1.0, 0.0])
        np.testing.assert_allclose(
            q, [0.2 - 0.25 * dt + dt * dt, 0.1 + 0.5 * dt + 0.5 * dt * dt, 0.0]
        )
        np.testing.assert_allclose(v, [-0.25 + 2.0 * dt, 0.5 + dt, 0.0])
        np.testing.assert_array_equal(a, [2.0, 1.0, 0.0])
        assert made.status.summary == 'ok'
    for dt, text in ((0.15, '0.15 s older'), (-0.15, '-0.15 s older')):
        assert made.at(10 * S + round(dt * S)) is None
        assert made.status.level == Level.WARN
        assert made.status.summary == (
            f'the controller state on {TOPIC} is {text} than the joint states, more than '
            'controller_state_timeout: it is not used'
        )
    assert made.at(10 * S) is not None


def test_a_refused_state_leaves_the_one_before(made):
    assert made.at(10 * S) is None
    assert made.status.level == Level.WARN
    assert made.status.summary == f'no controller state on {TOPIC} (controller_state_topic)'
    made.state(0.1, 0.2)
    made.state(0.1, 2.1, stamp=11 * S)
    assert made.status.level == Level.WARN
    assert made.status.summary.startswith(
        "controller state refused: positions of joint 'hip' in the controller state: 2.1"
    )
    assert made.at(11 * S) is None
    np.testing.assert_allclose(made.at(10 * S)[1], [0.2, 0.1, 0.0])
    made.state(0.3, 0.4, stamp=11 * S)
    assert made.at(11 * S)[1, 0] == 0.4
    assert made.status.summary == 'ok'


def test_another_robot_forgets_state_and_refusal(made):
    made.state(0.1, 0.2)
    made.state(9.0, 9.0)
    made.reference.bind(OF_ROBOT)
    assert made.at(10 * S) is None
    assert 'no controller state' in made.status.summary


def test_another_topic_forgets_them_too_and_has_the_only_subscription(made):
    made.state(0.1, 0.2)
    made.state(9.0, 9.0)
    made.parameters['controller_state_topic'] = '/other'
    made.reference.subscribe()
    assert [each.topic for each in made.subscriptions] == ['/other']
    assert made.at(10 * S) is None
    assert 'no controller state on /other' in made.status.summary
    made.parameters['controller_state_topic'] = ''
    made.reference.subscribe()
    assert made.subscriptions == []
    assert made.status.summary == 'ok'


def test_states_before_there_is_a_robot_are_ignored():
    pytest.importorskip('control_msgs.msg')
    subscribed = Subscribed()
    subscribed.state(9.0, 9.0)
    subscribed.reference.bind(OF_ROBOT)
    assert 'no controller state' in subscribed.status.summary


def test_without_the_package_of_the_message(monkeypatch):
    monkeypatch.setattr(reference_controller, 'JointTrajectoryControllerState', None)
    subscribed = Subscribed()
    assert subscribed.subscriptions == []
    assert (subscribed.status.level, subscribed.status.summary) == (Level.WARN, ABSENT)
    assert Subscribed(topic='').status.summary == 'ok'


# --- joints of references -------------------------------------------------------------------------


def test_references_name_joints_with_motors():
    """Within the limits of each, found by its own name."""
    point = np.array([[0.5], [1.0], [0.0]])
    OF_ROBOT.check('x', ['hip'], tuple(point[:, None]))
    with pytest.raises(UnknownNameError, match=r"joint 'toe' has no motor .* motors: hip, knee$"):
        OF_ROBOT.check('x', ['hip', 'toe'], (np.zeros((1, 2)), None, None))
    for name, row, text in (
        ('hip', (2.1, 0.0, 0.0), "positions of joint 'hip'"),
        ('knee', (0.0, -3.1, 0.0), "velocities of joint 'knee'"),
        ('knee', (0.0, 0.0, 1.1e6), "accelerations of joint 'knee'"),
    ):
        given = np.array([each == name for each in JOINTS])
        reference = np.outer([1.0, *row], given)
        with pytest.raises(ArgumentError, match=text):
            OF_ROBOT.check_reference('x', reference)


# --- messages of commands ------------------------------------------------------------------------


@pytest.mark.parametrize('has_type', [False, True])
def test_efforts_by_joint_names(monkeypatch, has_type):
    """As control_msgs/JointCommand, or as JointState where there is no such message."""
    if not has_type:
        monkeypatch.setattr(templates, 'joint_command_type', lambda: None)
    elif templates.joint_command_type() is None:
        pytest.skip('this distribution has no such message')
    kind, template = templates.joint_command(['toe', 'hip'])
    template.array(0)[:] = [1.0, 2.0]
    message = deserialize_message(template.encode(packed(3 * S + 5)), kind)
    assert message.header.stamp == Time(sec=3, nanosec=5)
    if not has_type:
        assert kind is JointState
        assert (message.name, list(message.effort)) == (['toe', 'hip'], [1.0, 2.0])
        return
    assert message.interface_name == 'effort'
    assert (message.joint_names, list(message.values)) == (['toe', 'hip'], [1.0, 2.0])
