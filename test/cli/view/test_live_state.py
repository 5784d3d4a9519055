# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The state of a running robot: whatever comes, in any order, no old robot is shown as live."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.cli.view.live_state import (
    CONTACT_FORCE,
    CONTACT_POINT,
    STATE_TIMEOUT,
    LiveState,
)
from support.messages import wrench_message
from support.robots import urdf_path

TEXTS = {name: urdf_path(name).read_text() for name in ('planar_2r', 'gripper_tree')}
INVALID = (
    '<robot/>',
    '/etc/passwd',
    '',
    '<robot name="x"><link name="a"/><link name="b"/></robot>',
)
SEQUENCES, STEPS = 20, 40


def settle(live):
    """Wait for what is being built, which ends in any case."""
    while live.is_building:
        live.adopt()
        time.sleep(1e-3)


def joint_state(stamp, names, position, velocity=(), effort=()):
    message = JointState(
        name=list(names), position=list(position), velocity=list(velocity), effort=list(effort)
    )
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    return serialize_message(message)


def wrench(frame, force, moment):
    return serialize_message(wrench_message(frame, force, moment))


class Sequence:
    """Random events at a live state, and what must be shown after them."""

    def __init__(self, seed):
        self.random, self.live = random.Random(seed), LiveState()
        self.now, self.robot, self.refused = 10**18, None, False
        self.q = self.received = None  # of the newest state of this robot

    def joints(self):
        return self.live.shown.joints

    def describe(self):
        name = self.random.choice([*TEXTS, 'invalid'])
        text = self.random.choice(INVALID) if name == 'invalid' else TEXTS[name]
        self.live.describe(text)
        settle(self.live)
        self.refused = name == 'invalid'
        if not self.refused and name != self.robot:
            self.robot, self.q, self.received = name, None, None

    def send(self):
        self.now += 10**7
        q = [self.random.uniform(-1.0, 1.0) for _ in self.joints()]
        self.live.receive_joint_state(
            joint_state(self.now, self.joints(), q, np.zeros(len(q)), np.ones(len(q))), self.now
        )
        if q:
            self.q, self.received = q, self.now

    def send_malformed(self):
        names, n = self.joints(), len(self.joints())
        nan, stamp = [np.nan] * n, self.now + 1
        data = self.random.choice(
            [
                b'',
                self.random.randbytes(60),
                joint_state(stamp, names, nan) if n else b'\0',
                joint_state(stamp, names, [0.0] * (n + 1)),
                joint_state(stamp, ['other'], [0.0]),
                joint_state(stamp, [*names, *names], [0.0] * (2 * n)) if n else b'\0\1',
                joint_state(stamp, [f'j{k}' for k in range(1001)], [0.0] * 1001),
            ]
        )
        self.live.receive_joint_state(data, self.now)

    def send_outputs(self):
        names, n = self.joints(), len(self.joints())
        value = self.random.choice([1.0, np.nan, np.inf])
        for topic, data in (
            ('dynamics/gravity', joint_state(self.now, names, (), (), [value] * n)),
            ('dynamics/coriolis', joint_state(self.now, ['other'], (), (), [value])),
            ('wrench_estimator/wrench/none', wrench('x', (value, 0.0, 0.0), (0.0, 0.0, 0.0))),
            (CONTACT_POINT, self.random.randbytes(40)),
            (CONTACT_FORCE, serialize_message(Float64MultiArray(data=[value]))),
        ):
            self.live.receive(topic, data, self.now)
        self.live.receive_diagnostics(self.random.randbytes(50), self.now)

    def wait(self):
        self.now += self.random.choice([10**7, STATE_TIMEOUT, 10 * STATE_TIMEOUT])

    def check(self):
        live, state = self.live, self.live.state(self.now)
        assert live.shown.urdf == TEXTS.get(self.robot, live.shown.urdf)
        assert (live.shown.robot.nv == 0) == (self.robot is None)
        assert state.q.shape == (live.shown.robot.nq,)
        assert np.isfinite(state.q).all()
        assert all(
            tau.shape == (live.shown.robot.nv,) and np.isfinite(tau).all()
            for tau in state.torques.values()
        )
        levels = {line.name: line.level for line in state.diagnostics}
        is_current = self.received is not None and self.now - self.received <= STATE_TIMEOUT
        assert (levels.get('joint_states') == 'stale') == (not is_current)
        assert (levels.get('robot_description') == 'error') == self.refused
        if self.q is not None:
            np.testing.assert_array_equal(state.q, self.q)
        assert ('gravity' in state.torques) == is_current
        if not is_current:
            assert (state.torques, state.wrenches, state.contacts) == ({}, (), ())
            np.testing.assert_array_equal(state.v, 0.0)


@pytest.mark.parametrize('seed', range(SEQUENCES))
def test_any_order_of_events(seed):
    sequence = Sequence(seed)
    events = [
        sequence.describe,
        *[sequence.send] * 4,
        sequence.send_malformed,
        sequence.send_outputs,
        sequence.wait,
    ]
    for _ in range(STEPS):
        sequence.random.choice(events)()
        sequence.check()


@pytest.fixture
def live():
    made = LiveState()
    made.describe(TEXTS['planar_2r'])
    settle(made)
    names = made.shown.joints
    made.receive_joint_state(joint_state(10**18, names, [0.3, 0.4], [0.5, 0.6], [1.0, 2.0]), 10**18)
    return made


def test_published_torques_take_the_place_of_computed_ones(live):
    names, robot = live.shown.joints, live.shown.robot
    computed = live.state(10**18).torques
    np.testing.assert_allclose(computed['gravity'], robot.gravity_torques(np.array([0.3, 0.4])))
    live.receive('dynamics/gravity', joint_state(10**18, names[::-1], (), (), [7.0, 8.0]), 10**18)
    live.receive(
        'wrench_estimator/external_torque', joint_state(1, names, (), (), [3.0, 4.0]), 10**18
    )
    torques = live.state(10**18).torques
    np.testing.assert_array_equal(torques['gravity'], [8.0, 7.0])
    np.testing.assert_array_equal(torques['external'], [3.0, 4.0])
    np.testing.assert_array_equal(torques['measured'], [1.0, 2.0])
    np.testing.assert_array_equal(torques['coriolis'], computed['coriolis'])
    assert 'payload' not in torques

    later = 10**18 + STATE_TIMEOUT + 1
    live.receive_joint_state(joint_state(later, names, [0.3, 0.4], [0.5, 0.6]), later)
    torques = live.state(later).torques
    np.testing.assert_array_equal(torques['gravity'], computed['gravity'])
    assert not {'external', 'measured'} & torques.keys()


def test_wrench_and_contact_have_the_order_and_link_of_the_core(live):
    token, link = list(live.shown.links.items())[-1]
    covariance = np.arange(36.0).reshape(6, 6)
    covariance += covariance.T
    point = PoseWithCovarianceStamped()
    point.header.frame_id = f'left_{link}'
    point.pose.pose.position.x = 0.1
    for topic, data in (
        (f'wrench_estimator/wrench/{token}', wrench(link, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))),
        (
            f'wrench_estimator/wrench_covariance/{token}',
            serialize_message(Float64MultiArray(data=covariance.ravel().tolist())),
        ),
        (CONTACT_POINT, serialize_message(point)),
        (CONTACT_FORCE, wrench(f'left_{link}', (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))),
    ):
        live.receive(topic, data, 10**18)
    state = live.state(10**18)
    (shown,), (contact,) = state.wrenches, state.contacts
    assert shown.link == contact.link == link
    np.testing.assert_array_equal(shown.wrench, [4.0, 5.0, 6.0, 1.0, 2.0, 3.0])
    order = [3, 4, 5, 0, 1, 2]
    np.testing.assert_array_equal(shown.covariance, covariance[np.ix_(order, order)])
    np.testing.assert_array_equal(contact.point, [0.1, 0.0, 0.0])
    np.testing.assert_array_equal(contact.force, [1.0, 2.0, 3.0])


def test_statuses_have_one_line_and_grow_old(live):
    message = DiagnosticArray(
        status=[DiagnosticStatus(level=b'\1', name='a' * 1000, message='two\nlines <b>')]
    )
    live.receive_diagnostics(serialize_message(message), 10**18)
    (line,) = [each for each in live.state(10**18).diagnostics if each.name.startswith('a')]
    assert (line.level, line.message) == ('warning', 'two\\nlines <b>')
    assert len(line.name) < 200
    (old,) = [each for each in live.state(2 * 10**18).diagnostics if each.name.startswith('a')]
    assert old.level == 'stale'
