# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""~/contact and ~/collision: what raises and lowers them, what holds while nothing comes."""

import numpy as np
import pytest
import rclpy
from rclpy.qos import DurabilityPolicy
from rclpy.serialization import deserialize_message
from std_msgs.msg import Bool

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.nodes.outputs.external_wrenches import contact_flags
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.ros.diagnostics import Level
from support.host_bench import Bench, serialized
from support.robots import urdf_path

JOINTS = ['joint1', 'joint2']
PLANAR = urdf_path('planar_2r').read_text()
Q = [0.4, -0.3]
STEP = 2_000_000  # ns
FLAGS = {
    'flag_joints': JOINTS,
    'contact_thresholds': [2.0, 1.0],
    'collision_thresholds': [8.0, 4.0],
    'contact_duration': 0.004,
    'collision_duration': 0.0,
    'release_duration': 0.004,
    'release_ratio': 0.5,
}


class Pushes:
    """The node in this process, and an arm at rest that is pushed."""

    def __init__(self, monkeypatch, **parameters):
        parameters = {'max_delay': 10.0, **parameters}
        self.bench = Bench(monkeypatch, WrenchEstimator, 'wrench_estimator', **parameters)
        monkeypatch.setattr(contact_flags, 'time', self.bench.clock)
        self.take(PLANAR)
        self.robot = Robot.from_urdf(PLANAR, backend='reference')
        self.stamp = self.bench.clock.time_ns() + 10**9

    def take(self, text):
        self.bench.describe(text)

    def push(self, *torque, step=STEP, **lost):
        """Return contact and collision as published, None for what is not."""
        bench = self.bench
        self.stamp += step
        bench.clock.offset += (self.stamp - bench.clock.time_ns()) * 1e-9
        bench.sent.clear()
        tau = lost.get('effort', self.robot.gravity_torques(Q) - np.array(torque))
        bench.host.states.receive(serialized(JOINTS, Q, self.stamp, None, tau), {})
        sent = {topic.split('/')[3]: data for topic, data in bench.sent}
        return tuple(
            deserialize_message(sent[level], Bool).data if level in sent else None
            for level in ('contact', 'collision')
        )

    def set(self, **values):
        results = self.bench.set(**values)
        self.bench.finish()
        return results.successful, results.reason

    @property
    def status(self):
        return self.bench.part.status()


@pytest.fixture
def arm(monkeypatch, keep):
    return keep(Pushes(monkeypatch, **FLAGS))


def test_two_levels_with_hysteresis_and_durations(arm):
    assert arm.push(0.0, 0.0) == (False, False)
    assert arm.push(0.0, -1.5) == (False, False)  # above, but not for long
    assert arm.push(0.0, -1.5) == (False, False)
    assert arm.push(0.0, -1.5) == (True, False)
    assert 'contact at joint2: -1.5 beyond 1' in arm.status.summary
    assert arm.push(0.0, -0.6) == (True, False)  # between the thresholds
    assert arm.push(9.0, 0.0) == (True, True)  # at once
    assert 'collision at joint1: 9 beyond 8' in arm.status.summary
    assert arm.status.level == Level.WARN
    assert [arm.push(0.9, 0.4) for _ in range(3)] == [(True, True)] * 2 + [(False, False)]
    assert arm.status.values['collision'] == 'no'


def test_what_is_raised_holds_while_nothing_comes(arm, monkeypatch):
    """Pauses, states without efforts: the flag stays, and the times restart."""
    arm.push(9.0, 0.0)
    assert arm.push(0.0, 0.0) == (False, True)
    assert arm.push(0.0, 0.0, step=10**9) == (False, True)  # 1 s below, but not seen
    assert arm.push(0.0, 0.0, effort=[np.nan, np.nan]) == (None, None)
    assert 'held: no external torques' in arm.status.values['collision']
    assert [arm.push(0.0, 0.0)[1] for _ in range(3)] == [True, True, False]
    arm.push(9.0, 0.0)
    mapper = arm.bench.host.mapper
    monkeypatch.setattr(mapper, 'last_accepted', mapper.last_accepted - 1e4)
    assert 'held: no joint states for' in arm.status.values['collision']
    assert 'held' in arm.status.summary


def test_the_last_flag_reaches_who_subscribes_later(arm):
    for level in ('contact', 'collision'):
        publisher = arm.bench.part._publishers.get(Bool, f'~/{level}')
        assert publisher.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL


def test_nothing_before_the_observer_has_settled(arm):
    arm.set(observer='momentum', observer_time_constant=0.001)
    assert arm.push(9.0, 0.0) == (None, None)
    while arm.push(9.0, 0.0) == (None, None):
        pass
    assert arm.push(9.0, 0.0)[1]


def test_reset_and_another_robot_lower_the_flags(arm):
    assert arm.push(9.0, 0.0) == (False, True)
    arm.bench.part._tare._forget()
    assert arm.push(5.0, 0.0) == (False, False)
    assert arm.push(9.0, 0.0)[1]
    arm.take(PLANAR.replace('planar_2r', 'another'))
    arm.stamp += 10**9
    assert arm.push(5.0, 0.0) == (False, False)


def test_another_frame_or_threshold_keeps_them(arm):
    assert arm.push(9.0, 0.0)[1]
    arm.set(frames=['link1'])
    assert arm.push(5.0, 0.0)[1]
    arm.set(collision_thresholds=[20.0, 4.0])  # released below 10
    assert [arm.push(5.0, 0.0)[1] for _ in range(4)] == [True, True, False, False]


CONTRADICTIONS = (
    ({'release_ratio': 1.0}, 'release_ratio must be less than 1'),
    ({'contact_thresholds': [8.0, 1.0]}, 'threshold 8 of joint1 must be less than its collision'),
    ({'collision_thresholds': [8.0, 1.0]}, 'threshold 1 of joint2 must be less than its collision'),
    ({'contact_thresholds': [1.0]}, 'has 1 elements for 2 flag_joints'),
    ({'contact_thresholds': [0.0, 1.0]}, 'contact_thresholds'),
    ({'collision_thresholds': [], 'collision_share': 0.01, 'contact_share': 0.001}, '2 of joint1'),
    ({'contact_share': 0.3}, 'contact_share 0.3 must be less than collision_share 0.3'),
    ({'flag_joints': ['joint1', 'elbow']}, "no joint 'elbow'"),
    ({'flag_joints': ['joint1', 'joint1']}, 'names a joint twice'),
)


def test_thresholds_that_contradict_each_other_are_refused(arm):
    for values, reason in CONTRADICTIONS:
        success, text = arm.set(**values)
        assert not success
        assert reason in text
    assert arm.push(9.0, 0.0)[1]  # as before


def test_they_are_refused_at_the_start(monkeypatch, ros_domain):
    rclpy.init(domain_id=ros_domain)
    try:
        with pytest.raises(ArgumentError, match='release_ratio'):
            Pushes(monkeypatch, release_ratio=1.0)
    finally:
        rclpy.shutdown()


def test_shares_of_the_effort_limits(arm):
    """Joints without thresholds of their own; without limit they are not watched, which is said."""
    arm.set(flag_joints=[''], contact_thresholds=[], collision_thresholds=[])
    limited = PLANAR.replace('effort="', 'effort="1')
    assert limited != PLANAR
    robot = Robot.from_urdf(limited, backend='reference')
    arm.take(limited)
    arm.stamp += 10**9
    first, second = robot.limits.effort
    assert arm.push(0.29 * first, 0.29 * second)[1] is False
    assert arm.push(0.31 * first, 0.0)[1] is True
    arm.set(contact_share=0.0, collision_share=0.0)
    assert arm.push(1e3, 0.0) == (None, None)
    assert 'no joint has an effort limit' in arm.status.summary
