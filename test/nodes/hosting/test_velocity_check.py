# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Velocities that contradict positions, found while joint states arrive."""

import numpy as np
import pytest

from screw_dynamics_ros.nodes.hosting.velocity_check import VelocityCheck
from screw_dynamics_ros.ros.joint_states import reported_states
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Policies
from screw_dynamics_ros.ros.joint_states.reported_states import BLOCK_NS

START = 1_700_000_000_000_000_000
JOINTS = ('a', 'b')
FACTORS = {
    'zero while the positions change': 0.0,
    'in turns/s': 1.0 / (2.0 * np.pi),
    'in rpm': 60.0 / (2.0 * np.pi),
    'in deg/s': 180.0 / np.pi,
    'per minute': 60.0,
    'of the opposite sign': -1.0,
}


class Stream:
    """A driver of a joint that swings, `a`, and one at rest, `b`; a node that listens.

    `defects` change what the driver reports at a time: (t, q, v) -> (t, q, v).
    """

    def __init__(self, rate=500.0, amplitude=0.5, defects=lambda *sample: sample, **policies):
        self.mapper = JointStateMapper(
            JOINTS, policies=Policies(**policies), clock=lambda: self.now
        )
        self.check = VelocityCheck(self.mapper)
        self.step, self.amplitude, self.defects = 1.0 / rate, amplitude, defects
        self.t, self.now, self.factor, self.restarts = 0.0, START, 1.0, 0

    def send(self, count):
        """Send states, and judge them as the housekeeping of nodes does, every 0.1 s."""
        for _ in range(count):
            self.t += self.step
            q, v = self.amplitude * np.array([np.sin(5.0 * self.t), 5.0 * np.cos(5.0 * self.t)])
            t, q, v = self.defects(self.t, q, v)
            self.now = START + round(1e9 * t)
            sent = JointStateMessage.of(
                JOINTS, [q, 0.3], [self.factor * v, 0.0], [0.0, 0.0], self.now
            )
            if self.mapper.update(sent, t):
                self.restarts += self.mapper.restarted
            if self.t % 0.1 < self.step:
                self.check.update()
        return self.mapper.velocity_faults


@pytest.mark.parametrize('text', FACTORS)
@pytest.mark.parametrize('rate', [50.0, 250.0])
def test_faults_are_found_in_the_first_block(text, rate):
    """2 s of stamps in which the joint moves by 0.05 rad/s or more for the most part."""
    stream = Stream(rate)
    stream.factor = FACTORS[text]
    count = round(1e-9 * BLOCK_NS * rate)
    assert stream.send(count - round(0.1 * rate)) == {}
    found = stream.send(round(0.2 * rate))
    assert list(found) == ['a']
    assert text in found['a']


def test_verdicts_count_motion_and_not_time():
    """A joint that moves for 0.4 s of 4 s at a time: the third motion completes ten windows."""

    def hold(t, q, v):
        moved = 0.4 * (t // 4.0) + max(t % 4.0 - 3.6, 0.0)
        return t, moved, float(t % 4.0 > 3.6)

    stream = Stream(100.0, defects=hold)
    stream.factor = -1.0
    found = [len(stream.send(400)) for _ in range(8)]
    assert found[:3] == [0, 0, 0]
    assert found[-1] == 1
    resting = Stream(100.0, amplitude=1e-4)
    resting.factor = 60.0
    assert resting.send(3000) == {}


def test_a_block_is_complete_when_its_memory_is_full(monkeypatch):
    size = 256
    monkeypatch.setattr(reported_states, 'MAX_STATES', size)
    stream = Stream(500.0)
    stream.factor = -1.0
    assert 4 * size * stream.step > 1e-9 * BLOCK_NS > size * stream.step
    assert stream.send(5 * size) == {'a': 'of the opposite sign'}


def test_wrong_velocities_count_as_missing_until_they_are_right():
    stream = Stream(velocity_cutoff=0.0)
    mapper = stream.mapper
    stream.factor = 0.0
    stream.send(1100)
    before = mapper.q[0]
    stream.send(1)
    assert mapper.has_velocity
    assert mapper.v[0] == pytest.approx((mapper.q[0] - before) / stream.step, rel=1e-6)
    assert mapper.v[0] != 0.0
    assert not mapper.records  # nothing is missing
    assert stream.restarts == 1  # for observers
    stream.factor = 1.0
    assert stream.send(2200) == {}  # two blocks of 2 s: the one in between has both
    assert stream.restarts == 2
    stream.factor = 1.25  # may be wrong, but is used
    stream.send(1)
    assert mapper.v[0] == pytest.approx(1.25 * 2.5 * np.cos(5.0 * stream.t))


def test_later_faults_are_found_too():
    """Of 16 s of right velocities 2 s are compared."""
    stream = Stream(100.0)
    assert stream.send(400) == {}
    stream.factor = -1.0
    assert stream.send(2000) == {'a': 'of the opposite sign'}


@pytest.mark.parametrize('policy', ['reject', 'zero', 'hold'])
def test_the_policy_for_missing_velocities_decides(policy):
    stream = Stream(velocity=policy)
    stream.factor = -1.0
    stream.send(1100)
    assert stream.mapper.has_velocity == (policy == 'zero')
    assert stream.mapper.v[0] == 0.0


def test_wrong_velocities_may_be_used():
    stream = Stream(velocity_conflict='report')
    stream.factor = -1.0
    assert stream.send(1100) == {'a': 'of the opposite sign'}
    assert stream.mapper.v[0] == pytest.approx(-2.5 * np.cos(5.0 * stream.t))


def test_joints_of_several_messages():
    """Each publisher reports one joint; both move, the velocities of one are in turns/s."""
    mapper = JointStateMapper(JOINTS, policies=Policies(max_stamp_age=0.0), clock=lambda: START)
    for k in range(1300):
        t = 0.002 * k
        for name, factor in (('a', 1.0), ('b', 0.5 / np.pi)):
            v = [factor * 2.0 * np.cos(4.0 * t)]
            stamp = START + 2_000_000 * k
            mapper.update(
                JointStateMessage.of((name,), [0.5 * np.sin(4.0 * t)], v, [0.0], stamp), t
            )
    VelocityCheck(mapper).update()
    assert mapper.velocity_faults == {'b': 'in turns/s'}


class Defect:
    """One of the ways in which a right driver is not ideal."""

    def __init__(self, kind, seed):
        self.kind, self.rng = kind, np.random.default_rng(seed)
        self.q, self.v, self.t = 0.0, 0.0, 0.0

    def __call__(self, t, q, v):
        return getattr(self, self.kind)(t, q, v)

    def noise(self, t, q, v):
        return t, q + 1e-3 * self.rng.normal(), v + 0.3 * self.rng.normal()

    def encoder_of_12_bit(self, t, q, v):
        """Velocities are differences of positions in steps of 1.5 mrad."""
        before, step = self.q, 2.0 * np.pi / 4096
        self.q = step * np.round(q / step)
        t_before, self.t = self.t, t
        return t, self.q, (self.q - before) / (t - t_before)

    def slow_filter(self, t, q, v):
        """A low pass of 5 Hz, 32 ms late."""
        self.v += 0.06 * (v - self.v)
        return t, q, self.v

    def backlash(self, t, q, v):
        """Positions behind a gear with 10 mrad of play, velocities before it."""
        self.q = min(max(self.q, q - 0.005), q + 0.005)
        return t, self.q, v

    def repeated_stamps(self, t, q, v):
        return t - 0.002 * (round(t / 0.002) % 3 == 0), q, v

    def pauses(self, t, q, v):
        """Of 0.3 s, and of 2 s, in which the robot goes on."""
        return t + 0.3 * (t // 0.7) + 1.7 * (t // 2.9), q, v

    def jittered_stamps(self, t, q, v):
        return t + 0.0009 * self.rng.uniform(-1.0, 1.0), q, v

    def teleports(self, t, q, v):
        """A simulation that is put elsewhere each second."""
        return t, q + t // 1.0, v

    def wrapped(self, t, q, v):
        return t, (q + 2.0 * np.pi) % (2.0 * np.pi) - np.pi, v


@pytest.mark.parametrize('kind', [name for name in vars(Defect) if not name.startswith('_')])
@pytest.mark.parametrize('amplitude', [0.02, 2.0])
def test_right_velocities_cause_no_alarm(kind, amplitude):
    """In two blocks."""
    stream = Stream(amplitude=amplitude, defects=Defect(kind, seed=1))
    for _ in range(2):
        assert stream.send(1000) == {}
