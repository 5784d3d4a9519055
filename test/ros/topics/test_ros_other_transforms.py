# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Who else publishes the frames of a robot, as far as it is known at the moment."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

rclpy = pytest.importorskip('rclpy')

from geometry_msgs.msg import TransformStamped  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

from screw_dynamics_ros.ros.names import NO_NODE, UNDISCOVERED  # noqa: E402
from screw_dynamics_ros.ros.topics.other_transforms import MAX_LOOKS, OtherTransforms  # noqa: E402
from support.sequences import run_sequences  # noqa: E402


@pytest.fixture
def node(ros_domain):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain)
    node = rclpy.create_node('kinematics', namespace='/arm', context=context)
    yield node
    node.destroy_node()
    context.shutdown()


@pytest.fixture
def others(node):
    """Return the watch of a node that has seen the frame `tool` of another node."""
    others = OtherTransforms(node, TFMessage)
    others.watch(['tool'], 1)
    others.receive_static(frames('tool'))
    return others


def frames(*children):
    return TFMessage(transforms=[TransformStamped(child_frame_id=child) for child in children])


def publish(node, *senders):
    """Let the node believe that these (namespace, name) publish all transforms."""
    node.get_publishers_info_by_topic = lambda topic: [
        SimpleNamespace(
            node_namespace=space, node_name=name, endpoint_gid=f'{space}/{name}'.encode()
        )
        for space, name in (('/arm', 'kinematics'), *senders)
    ]


def test_a_node_that_has_not_told_its_name_is_no_fault_and_found_later(node, others):
    publish(node, ('_NODE_NAMESPACE_UNKNOWN_', UNDISCOVERED))
    assert others.found() == []
    other = rclpy.create_node('other', context=node.context)
    publish(node, ('_NODE_NAMESPACE_UNKNOWN_', UNDISCOVERED), ('/', 'other'))
    assert others.found() == ['/other']
    other.destroy_node()


def test_a_program_without_ros_publishes_them(node, others):
    publish(node, (NO_NODE, NO_NODE))
    assert others.found() == ['a program without ROS']
    assert others.of_other_robots() == []


def test_a_node_that_is_gone_is_no_fault(node, others):
    publish(node, ('/arm', 'gone'))
    assert others.found() == []
    publish(node)
    assert others.found() == []


def test_a_state_publisher_of_this_namespace_is_waited_for(node):
    """It has the frames until it is known to have others: those of another robot or prefix."""
    rival = rclpy.create_node('robot_state_publisher', namespace='/arm', context=node.context)
    others = OtherTransforms(node, TFMessage)
    others.watch(['tool'], 1)
    publish(node, ('/arm', 'robot_state_publisher'))
    for _ in range(MAX_LOOKS):
        assert others.found() == ['/arm/robot_state_publisher']
    assert others.found() == []
    others.receive_static(frames('left/tool'))
    assert others.found() == []
    others.receive_static(frames('tool'))
    assert others.found() == ['/arm/robot_state_publisher']
    others.watch(['other_tool'], 2)  # another robot: it may get it, too
    assert others.found() == ['/arm/robot_state_publisher']
    rival.destroy_node()


def test_a_state_publisher_that_comes_again_is_waited_for_again(node):
    others = OtherTransforms(node, TFMessage)
    others.watch(['tool'], 1)
    for _ in range(2):
        publish(node, ('/arm', 'robot_state_publisher'))
        for _ in range(MAX_LOOKS):
            assert others.found() == ['/arm/robot_state_publisher']
        assert others.found() == []
        publish(node)
        others.found()
        assert others.found() == []


@pytest.mark.parametrize('follows', [False, True])
def test_without_fixed_joints_a_state_publisher_follows_the_same_joint_states(node, follows):
    """Of whatever name and namespace: no frame on /tf_static tells it."""
    rival = rclpy.create_node('publisher', context=node.context)
    topic = '/arm/joint_states' if follows else '/other/joint_states'
    rival.create_subscription(JointState, topic, lambda message: None, 10)
    others = OtherTransforms(node, TFMessage)
    publish(node, ('/', 'publisher'))
    others.watch(['tool'], 1, has_fixed=True)
    assert others.found() == []
    others.watch(['tool'], 2, has_fixed=False)
    assert others.found() == (['/publisher'] if follows else [])
    rival.destroy_node()


# --- who comes, goes, switches off and on ---------------------------------------------------------

RIVALS = ('one', 'two', 'three')
CONTENTS = ((), ('tool',), ('hand', 'camera'), ('camera',), ('left/tool',))


class Graph:
    """Nodes on /tf_static, and what the middleware keeps of them for new subscriptions."""

    def __init__(self):
        self.latched, self.lives, self.callback = {}, {}, None

    def start(self, name):
        self.lives[name] = self.lives.get(name, 0) + 1
        self.latched[name] = None

    def send(self, name, message):
        self.latched[name] = message
        self.callback(message)

    # what the class asks of a node

    def create_subscription(self, kind, topic, callback, profile, **more):
        self.callback = callback
        for message in self.latched.values():
            if message is not None:
                callback(message)
        return callback

    def destroy_subscription(self, subscription):
        assert subscription is self.callback

    def get_publishers_info_by_topic(self, topic):
        return [
            SimpleNamespace(
                node_namespace='/',
                node_name=name,
                endpoint_gid=f'{name}{self.lives[name]}'.encode(),
            )
            for name in self.latched
        ]

    def get_publisher_names_and_types_by_node(self, name, space):
        return []

    def get_name(self):
        return 'kinematics'

    def get_namespace(self):
        return '/'


class Rivals(RuleBasedStateMachine):
    """Whatever happened: who lives and has last sent frames of the robot has them."""

    def __init__(self):
        super().__init__()
        self.graph = Graph()
        self.graph.start('kinematics')
        self.others = OtherTransforms(self.graph, TFMessage)
        self.own = frames('tool', 'hand')
        self.own.transforms[0].header.stamp.nanosec = 5
        self.others.watch(['tool', 'hand'], 5)
        self.others.found()

    @property
    def living(self):
        return st.sampled_from(sorted(set(self.graph.latched) - {'kinematics'}))

    @rule(name=st.sampled_from(RIVALS))
    def start(self, name):
        """It starts, or again after it died."""
        self.graph.start(name)

    @precondition(lambda self: len(self.graph.latched) > 1)
    @rule(data=st.data())
    def die(self, data):
        del self.graph.latched[data.draw(self.living)]

    @precondition(lambda self: len(self.graph.latched) > 1)
    @rule(data=st.data(), children=st.sampled_from(CONTENTS))
    def send(self, data, children):
        """Without frames it takes back what it has sent: one of ours that is switched off."""
        self.graph.send(data.draw(self.living), frames(*children))

    @rule(sends=st.booleans())
    def publish(self, sends):
        """Our node begins or ends."""
        if not sends:
            self.others.expect_empty()
        self.graph.send('kinematics', self.own if sends else frames())

    @rule()
    def look(self):
        self.others.found()

    @rule()
    def after_some_looks(self):
        """All that live are named: messages do not tell from which one the frames are."""
        for _ in range(3):
            self.others.found()
        rivals = {name: each for name, each in self.graph.latched.items() if name in RIVALS}
        sent = {t.child_frame_id for each in rivals.values() if each for t in each.transforms}
        expected = sorted(f'/{name}' for name in rivals) if sent & {'tool', 'hand'} else []
        assert self.others.found() == expected

    teardown = after_some_looks


def test_who_has_the_frames_in_any_sequence_of_events():
    run_sequences(Rivals, 20, few=200)


@pytest.mark.parametrize('asks_first', [False, True])
@pytest.mark.parametrize('instead', [(), ('camera',)])
def test_frames_are_replaced_by_others(asks_first, instead):
    """Also within the second in which the middleware repeats what it has kept."""
    machine = Rivals()
    for name in ('one', 'two') if not asks_first else ('one',):
        machine.graph.start(name)
    machine.others.found()
    machine.graph.send('one', frames('tool'))
    machine.others.found()
    if asks_first:
        machine.graph.start('one')
        machine.graph.send('one', frames('tool'))
        machine.others.found()
    machine.graph.send('one', frames(*instead))
    machine.after_some_looks()
    assert machine.others.found() == []


def test_until_it_is_known_who_is_left_nothing_changes():
    """Of two that publish both topics the one with the frames ends; or the other one."""
    machine = Rivals()
    for name in ('one', 'two', 'three'):
        machine.graph.start(name)
    machine.graph.send('one', frames('tool'))
    assert machine.others.found() == ['/one', '/three', '/two']
    del machine.graph.latched['three']
    assert machine.others.found() == ['/one', '/three', '/two']
    assert machine.others.found() == ['/one', '/two']
    del machine.graph.latched['one']
    assert machine.others.found() == ['/one', '/two']
    assert machine.others.found() == []


def test_frames_that_are_sent_and_taken_back_at_once_are_no_rival():
    rivals = Rivals()
    for name in ('one', 'two'):
        rivals.graph.start(name)
    for content in ((), ('tool',), ()):
        rivals.graph.send('one', frames(*content))
        if not content:
            found = [rivals.others.found() for _ in range(4)]
    assert found[-1] == []
