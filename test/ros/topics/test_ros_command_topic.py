# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics that command a robot: one publisher is followed, others are named; large messages wait."""

import time as real_time
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

import rclpy
from std_msgs.msg import String

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.status import Level, Status
from screw_dynamics_ros.ros.topics import command_topic
from screw_dynamics_ros.ros.topics.command_topic import (
    DEPTH,
    LOOK_PERIOD_S,
    MAX_BYTES,
    STREAM_BYTES,
    STREAM_PERIOD_S,
    CommandTopic,
)

DEADLINE = 240.0  # s; only a failing test waits that long


class Followed:
    """A topic, its publishers and a clock in our hands."""

    def __init__(self, monkeypatch, domain):
        self.now, self.received, self.refused, self.is_busy = 0.0, [], [], False
        self.forgotten = 0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr(command_topic, 'time', clock)
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.nodes = {}
        self.node = self.made('listener')
        self.topic = CommandTopic(
            self.node,
            String,
            '~/reference',
            lambda message: self.received.append(message.data),
            self.refused.append,
            lambda: 0.5,
            lambda: self.is_busy,
            lambda: self.forgotten,
        )
        self.publishers = {}

    def made(self, name):
        node = rclpy.create_node(name, namespace='/arm', context=self.context, enable_rosout=False)
        self.nodes[name] = node
        return node

    def publisher(self, name):
        if name not in self.publishers:
            node, topic = self.made(name), '/arm/listener/reference'
            self.publishers[name] = node.create_publisher(String, topic, 20)
            self.wait(self.publishers[name].get_subscription_count)
        return self.publishers[name]

    def send(self, name, text):
        """Send a message, and look until it has been taken."""
        before = self.takes
        self.publisher(name).publish(String(data=text))

        def is_taken():
            self.topic.look()
            return self.takes > before

        self.wait(is_taken)
        self.now += 0.01

    @property
    def takes(self):
        return self.topic._taken.count

    @staticmethod
    def wait(condition):
        end = real_time.monotonic() + DEADLINE
        while not condition():
            assert real_time.monotonic() < end
            real_time.sleep(0.001)

    def end(self, name):
        """Let a publisher no longer exist."""
        self.publishers.pop(name)
        self.nodes.pop(name).destroy_node()
        self.wait(lambda: len(self.topic._names()) == len(self.publishers))

    def summary(self):
        status = Status('outputs')
        self.topic.report(status)
        return status.level, status.summary

    def close(self):
        for node in self.nodes.values():
            node.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def followed(monkeypatch, ros_domain):
    made = Followed(monkeypatch, ros_domain)
    take = type(made.topic._taken).take

    def counted(self, subscription):
        is_taken = take(self, subscription)
        self.count = getattr(self, 'count', 0) + is_taken
        return is_taken

    monkeypatch.setattr(type(made.topic._taken), 'take', counted)
    made.topic._taken.count = 0
    yield made
    made.close()


def test_of_two_publishers_the_first_is_followed_and_both_are_named(followed):
    for k in range(5):
        followed.send('teacher', f'teacher {k}')
        followed.send('planner', f'planner {k}')
    assert followed.received == [f'teacher {k}' for k in range(5)]
    followed.wait(lambda: '/arm/planner' in followed.summary()[1])
    level, summary = followed.summary()
    assert level == Level.WARN
    assert summary == (
        '~/reference has several publishers: /arm/teacher is followed, messages of /arm/planner '
        'are ignored until it is silent'
    )


def test_another_publisher_is_followed_when_the_first_is_silent(followed):
    followed.send('teacher', 'a')
    followed.now += 0.4
    followed.send('planner', 'b')
    followed.now += 0.2
    followed.is_busy = True
    followed.send('planner', 'c')
    followed.is_busy = False
    followed.send('planner', 'd')
    followed.send('teacher', 'e')
    assert followed.received == ['a', 'd']
    followed.now += 10.0
    assert followed.summary()[0] == Level.OK


def test_another_publisher_is_followed_when_the_first_no_longer_exists(followed):
    """As of programs that send one message and end."""
    followed.is_busy = True
    followed.send('first', 'a')
    followed.send('second', 'b')
    followed.end('first')
    followed.now += 0.1
    followed.send('second', 'c')
    assert followed.received == ['a', 'c']


def test_another_publisher_is_followed_after_messages_were_forgotten(followed):
    followed.send('teacher', 'a')
    followed.forgotten += 1
    followed.send('planner', 'b')
    followed.send('teacher', 'c')
    assert followed.received == ['a', 'b']


def test_the_newest_of_many_messages_is_converted(followed):
    publisher = followed.publisher('teacher')
    for k in range(3 * DEPTH):
        publisher.publish(String(data=str(k)))
    last = str(3 * DEPTH - 1)

    def is_there():
        followed.topic.look()
        return followed.received and followed.received[-1] == last

    followed.wait(is_there)
    assert len(followed.received) < followed.takes


def test_a_long_message_is_not_read(followed, monkeypatch):
    monkeypatch.setattr(command_topic, 'deserialize_message', None)
    followed.send('teacher', 'x' * 20_000_000)
    assert followed.refused == [f'a message is longer than {MAX_BYTES} bytes']


def test_looks_are_frequent_while_short_messages_come(followed):
    periods = []
    for text, silence in (('a', 0.0), ('a' * STREAM_BYTES, 0.0), ('b', 0.08), ('c', 0.2)):
        followed.send('teacher', text)
        followed.now += silence
        followed.topic.look()
        periods.append(followed.topic._timer.timer_period_ns * 1e-9)
    assert periods == [STREAM_PERIOD_S, LOOK_PERIOD_S, STREAM_PERIOD_S, LOOK_PERIOD_S]


def test_without_the_interface_of_c_the_executor_delivers(monkeypatch, ros_domain):
    def missing():
        raise ScrewDynamicsError('no librcl.so')

    monkeypatch.setattr(command_topic, 'TakenMessage', missing)
    made = Followed(monkeypatch, ros_domain)
    try:
        for name in ('teacher', 'planner'):
            made.publisher(name).publish(String(data=name))

        def is_there():
            rclpy.spin_once(made.node, executor=executor, timeout_sec=0.1)
            return len(made.received) == 2

        executor = rclpy.executors.SingleThreadedExecutor(context=made.context)
        made.wait(is_there)
        assert made.summary() == (
            Level.WARN,
            '~/reference: all of /arm/planner, /arm/teacher are followed',
        )
    finally:
        made.close()
