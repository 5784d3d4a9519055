# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Two publishers of joint states: the node refuses their messages if they disagree."""

import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from screw_dynamics_ros.ros.diagnostics import Level
from screw_dynamics_ros.ros.topics.taken_message import ID_SIZE, publisher_names
from support.host_bench import Bench, serialized
from support.robots import urdf_path

MS = 10**6


class Driven:
    """A node, and the nodes of two drivers, whose messages we pass on."""

    def __init__(self, monkeypatch):
        self.bench = Bench(monkeypatch)
        self.bench.describe(urdf_path('planar_2r').read_text())
        self.drivers = [
            Node(name, namespace='/life', enable_rosout=False)
            for name in ('broadcaster', 'joint_state_publisher')
        ]
        self.publishers = [
            each.create_publisher(JointState, 'joint_states', 10) for each in self.drivers
        ]
        self.count(2)

    def count(self, number):
        """Wait until the node has found a number of publishers."""
        self.bench.wait(lambda: self.bench.node.count_publishers('joint_states') == number)
        self.states.look_for_drivers()

    @property
    def states(self):
        return self.bench.host.states

    def identifier(self, driver):
        """Return what messages have of a driver, None for one that is not in the graph."""
        names = publisher_names(self.bench.node, '/life/joint_states')
        return next(
            (each for each, name in names.items() if name == driver), bytes(ID_SIZE - 1) + b'1'
        )

    def send(self, names, q, info=None):
        """Return whether there is an answer to a joint state."""
        self.bench.clock.offset += 0.01
        self.bench.sent.clear()
        self.states.receive(serialized(names, q, self.bench.clock.time_ns()), info or {})
        return any(topic.endswith('/gravity') for topic, _ in self.bench.sent)

    def both(self, second, count=20):
        """Let both drivers send; return the number of answers."""
        return sum(
            self.send(['joint1', 'joint2'], [0.5, -0.3]) + self.send(['joint2', 'joint1'], second)
            for _ in range(count)
        )

    @property
    def status(self):
        return self.bench.host.joint_state_status()


@pytest.fixture
def driven(monkeypatch, keep):
    made = keep(Driven(monkeypatch))
    yield made
    for node in made.drivers:
        node.destroy_node()


def test_publishers_that_disagree_are_refused_and_named(driven):
    assert driven.both([-0.3, 0.5]) == 40  # they agree
    assert driven.status.level == Level.OK
    assert driven.both([-0.3, 0.2]) <= 4
    status = driven.status
    assert status.level == Level.ERROR
    assert 'publishers of joint states disagree: joint1 is at 0.' in status.summary
    for driver in ('/life/broadcaster', '/life/joint_state_publisher', 'conflict_policy'):
        assert driver in status.summary
    assert driven.states.drivers  # the compiled loop leaves the messages to Python
    driven.drivers[1].destroy_publisher(driven.publishers[1])
    driven.count(1)
    assert driven.states.drivers == ''
    assert driven.send(['joint1', 'joint2'], [0.5, -0.3])


def test_each_message_is_used_with_the_policy_newest(driven):
    (result,) = driven.bench.node.set_parameters([Parameter('conflict_policy', value='newest')])
    assert result.successful
    assert driven.both([-0.3, 0.2]) == 40


CHOSEN, OTHER = '/life/broadcaster', '/life/joint_state_publisher'


def test_one_publisher_is_followed(driven):
    """Those of others are ignored, also when it is silent or gone."""
    joints, bench = ['joint1', 'joint2'], driven.bench
    sources = [
        {'publisher': driven.identifier(name)} for name in (CHOSEN, OTHER, '/not/discovered')
    ]
    (result,) = bench.node.set_parameters([Parameter('conflict_policy', value=CHOSEN)])
    assert result.successful
    driven.count(2)
    for _ in range(10):
        answers = [
            driven.send(joints, q, info) for q, info in zip(([0.5, -0.3], [0.2, 0.0]) * 2, sources)
        ]
        assert answers == [True, False, False]
        assert bench.host.mapper.q.tolist() == [0.5, -0.3]
    assert driven.status.level == Level.WARN
    text = 'joint states of other publishers are ignored: an unknown publisher; conflict_policy is'
    assert text in driven.status.summary
    driven.send(joints, [0.2, 0.0], sources[1])
    assert f'ignored: {OTHER}; conflict_policy is to follow {CHOSEN}' in driven.status.summary

    assert not driven.send(joints, [0.5, -0.3])  # executors do not tell the publisher
    assert f'restart it with conflict_policy {CHOSEN}' in driven.status.summary
    driven.drivers[0].destroy_publisher(driven.publishers[0])
    driven.count(1)
    assert driven.states.drivers == OTHER
    assert not driven.send(joints, [0.2, 0.0], sources[1])


def test_the_only_publisher_may_be_the_one_to_follow(driven):
    """The compiled loop has its messages."""
    driven.drivers[1].destroy_publisher(driven.publishers[1])
    driven.bench.node.set_parameters([Parameter('conflict_policy', value=CHOSEN)])
    driven.count(1)
    assert driven.states.drivers == ''
    assert driven.send(['joint1', 'joint2'], [0.5, -0.3], {'publisher': driven.identifier(CHOSEN)})
    assert not driven.send(['joint1', 'joint2'], [0.2, 0.0], {'publisher': b'not discovered'})


@pytest.mark.parametrize('value', ['broadcaster', 'oldest', ''])
def test_other_policies_are_refused(driven, value):
    (result,) = driven.bench.node.set_parameters([Parameter('conflict_policy', value=value)])
    assert not result.successful
    assert 'nor the name of a node with its namespace, such as /robot' in result.reason
