# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One stamp, one state: random joint states of several sources against a model of what counts.

The first message with a stamp counts for the joints it reports, on /tf and in torques alike,
whatever is repeated, late, incomplete, not a number or too large, and whenever its turn comes.
"""

import math

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.nodes.model.parts import Stage
from screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs import Dynamics
from screw_dynamics_ros.nodes.outputs.kinematics.kinematics_outputs import Kinematics
from support.host_bench import Bench, serialized
from support.sequences import run_sequences

JOINTS = ('shoulder', 'elbow', 'finger')
SOURCES = (JOINTS, JOINTS, JOINTS[:2], JOINTS[2:], JOINTS[1:])
MS = 10**6  # ns
TIMEOUT = 500 * MS  # state_timeout
NEVER = -(10**18)
NAN, HUGE = math.nan, 1e300
POSITIONS = [0.25, -0.5, 0.75, 1.0] * 4 + [NAN]


def link(name):
    return (
        f'<link name="{name}"><inertial><origin xyz="0.3 0 0"/><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
    )


def joint(name, kind, parent, axis):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="of_{name}"/>'
        f'<axis xyz="{axis}"/><limit effort="9" velocity="9" lower="-3" upper="3"/></joint>'
    )


ROBOT = (
    '<robot name="arm_with_finger"><link name="base"/>'
    + ''.join(link(f'of_{name}') for name in JOINTS)
    + joint('shoulder', 'revolute', 'base', '0 1 0')
    + joint('elbow', 'revolute', 'of_shoulder', '0 1 0')
    + joint('finger', 'prismatic', 'of_elbow', '1 0 0')
    + '</robot>'
)


def position(transform):
    """Return that of the joint which makes a transform."""
    r = transform.rotation
    return transform.translation.x or 2 * math.atan2(r.y, r.w)


class Turns(SingleThreadedExecutor):
    """Keeps tasks until they are asked for, and nothing of real time comes between."""

    def __init__(self):
        super().__init__()
        self.tasks = []

    def create_task(self, task):
        self.tasks.append(task)

    def take_turns(self):
        while self.tasks:
            self.tasks.pop(0)()


class Rule:
    """What is to be published under each stamp, as doc/how_to/transforms.md has it.

    Attributes
    ----------
    published : dict
        The positions by joint that belong to a stamp: all of them where a state was made.
    """

    def __init__(self):
        self.published = {}
        self.begin()

    def begin(self):
        """Time has gone back: nothing is known."""
        self.heard = dict.fromkeys(JOINTS, NEVER)
        self.newest = NEVER
        self.forget()

    def forget(self):
        """A fault: values are gone, stamps are not free again."""
        self.values, self.seen = {}, dict.fromkeys(JOINTS, NEVER)

    def take(self, names, positions, stamp):
        reported = {name: q for name, q in zip(names, positions) if math.isfinite(q)}
        last = max(self.heard[name] for name in names)
        if last - stamp > TIMEOUT:
            self.begin()
        elif stamp <= last:
            return
        self.heard.update(dict.fromkeys(reported, stamp))
        if len(reported) == len(names):
            self.values.update(reported)
            self.seen.update(dict.fromkeys(reported, stamp))
            newest = max(self.seen.values())
            if self.seen == self.heard and newest - min(self.seen.values()) <= TIMEOUT:
                if newest > self.newest:
                    self.newest = newest
                    self.published[newest] = dict(self.values)
                return
        if stamp > self.newest:
            self.published.setdefault(stamp, {}).update(reported)


class RepeatedStamps(RuleBasedStateMachine):
    """Sources that repeat stamps, a node that is slow, and outputs that fail."""

    bench = turns = robot = model = None  # see the fixture

    @initialize()
    def begin(self):
        cls = type(self)
        cls.turns.take_turns()  # what a sequence that failed has left
        cls.bench.sent.clear()
        cls.bench.clock.offset += 1000.0
        cls.model = Rule()
        self.now = self.bench.clock.time_ns()  # of the sources [ns]
        self.stamps = [self.now] * 2
        self.send(JOINTS, [0.1, 0.2, 0.003], [0.0] * 3, self.stamps[0])

    def wait(self, time):
        """Let time pass [ns]."""
        self.bench.clock.offset += time * 1e-9
        self.now += time

    def send(self, names, positions, velocities, stamp):
        self.stamps.append(stamp)
        message = serialized(list(names), positions, stamp, velocities)
        self.bench.host.states.receive(message, {})
        self.look()

    @rule(
        names=st.sampled_from(SOURCES),
        positions=st.lists(st.sampled_from(POSITIONS), min_size=3, max_size=3),
        velocity=st.sampled_from([0.0] * 6 + [HUGE, HUGE, NAN]),
        delay=st.sampled_from([1000, 2 * MS]),
        choice=st.sampled_from(['new', 'new', 'last', 'last', 'before', 'older']),
    )
    def joint_state(self, names, positions, velocity, delay, choice):
        self.wait(delay)
        stamp = {
            'new': self.now,
            'last': self.stamps[-1],
            'before': self.stamps[-2],
            'older': self.stamps[-1] - 1000,
        }[choice]
        count = len(names)
        self.send(names, positions[:count], [velocity] * count, stamp)

    @rule(
        positions=st.lists(st.sampled_from(POSITIONS), min_size=3, max_size=3),
        delay=st.sampled_from([1000, 2 * MS]),
        arm_first=st.booleans(),
    )
    def two_sources(self, positions, delay, arm_first):
        """Arm and gripper have the same stamps."""
        stamp = self.now
        parts = [(JOINTS[:2], positions[:2]), (JOINTS[2:], positions[2:])]
        for names, values in parts if arm_first else parts[::-1]:
            self.wait(delay)
            self.send(names, values, [0.0] * len(names), stamp)

    @rule()
    def turn(self):
        """What waits for its turn is answered."""
        self.turns.take_turns()
        self.look()

    @rule(is_back=st.booleans())
    def silence(self, is_back):
        """Time stands still, or restarts."""
        self.wait(400 * MS)
        if is_back:
            self.now -= 10_000 * MS
            self.stamps = [self.now] * 2

    def look(self):
        """Whatever was sent belongs to its stamp."""
        for topic, data in self.bench.sent:
            if topic == '/tf':
                message = deserialize_message(data, TFMessage)
                stamp = message.transforms[0].header.stamp
                published = self.model.published[stamp.sec * 10**9 + stamp.nanosec]
                for each in message.transforms:
                    name = each.child_frame_id.removeprefix('of_')
                    assert position(each.transform) == pytest.approx(published[name], abs=1e-12)
            elif topic.endswith('/gravity'):
                message = deserialize_message(data, JointState)
                stamp = message.header.stamp
                published = self.model.published[stamp.sec * 10**9 + stamp.nanosec]
                q = np.array([published[name] for name in self.robot.joint_names])
                np.testing.assert_allclose(
                    message.effort, self.robot.gravity_torques(q), rtol=1e-12, atol=1e-12
                )
        self.bench.sent.clear()

    def teardown(self):
        """A good state is answered whatever came before."""
        self.turn()
        self.wait(1000 * MS)
        message = serialized(list(JOINTS), [0.5, 0.5, 0.5], self.now)
        self.bench.host.states.receive(message, {})
        assert {'/tf', '/life/node/gravity'} <= {topic for topic, _ in self.bench.sent}
        self.look()


@pytest.fixture
def bench(monkeypatch, keep):
    """Return a node with frames and torques; what observes its states fails for huge speeds."""

    def groups(node, host):
        host.add(Kinematics(node, host), node)
        return Dynamics(node, host)

    def observe(observed):
        if np.abs(observed.state[1]).max() == HUGE:
            raise OverflowError('a number too large')

    made = keep(Bench(monkeypatch, groups, 'node', max_delay=10.0))
    made.describe(ROBOT)
    made.host.builder.groups[0]._transforms.look()
    made.host.states.look_for_listeners()
    made.host.states.stages = [*made.host.states.stages, Stage(observe=observe)]
    update = made.host.mapper.update

    def taken(message, arrival):
        """Let the model see messages when the node does: after what it catches up with."""
        RepeatedStamps.model.take(message.names, message.position.tolist(), message.stamp)
        return update(message, arrival)

    monkeypatch.setattr(made.host.mapper, 'update', taken)
    turns = Turns()
    turns.add_node(made.node)
    monkeypatch.setattr(RepeatedStamps, 'bench', made)
    monkeypatch.setattr(RepeatedStamps, 'turns', turns)
    monkeypatch.setattr(RepeatedStamps, 'robot', Robot.from_urdf(ROBOT, backend='reference'))
    return made


def test_one_stamp_has_one_state(bench):
    run_sequences(RepeatedStamps, 40, 'REPEATED_STAMPS_SEQUENCES')
