# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The joint states that a tare averages: which are kept, and when the robot is not at rest."""

from types import SimpleNamespace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.nodes.outputs.external_wrenches import tare, wrench_topics
from screw_dynamics_ros.nodes.outputs.external_wrenches.tare import TareStates
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_topics import (
    FiniteCheck,
    check_finite,
)
from screw_dynamics_ros.ros.data_path import externals
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Policies
from screw_dynamics_ros.ros.status import Level, Status
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID, VALID
from support.robots import joint, robot

JOINTS = ('rail', 'wrist')  # the wrist turns without limits
START = 10**18  # ns
PERIOD = 0.01  # s


@pytest.fixture(scope='module')
def arm():
    """Return a robot with a prismatic and a continuous joint."""
    links = [f'<link name="{name}"/>' for name in ('base', 'sled', 'hand')]
    limit = '<limit lower="-9" upper="9" velocity="1" effort="1"/>'
    text = robot(
        *links,
        joint('rail', 'base', 'sled', f'<axis xyz="1 0 0"/>{limit}', 'prismatic'),
        joint('wrist', 'sled', 'hand', '<axis xyz="1 0 0"/>', 'continuous'),
    )
    return Robot.from_urdf(text, backend='reference')


class States:
    """The states of a tare, with a clock in our hands."""

    def __init__(self, arm, samples=None, timeout=0.5):
        self.now, self.stamp, self.arm = 100.0, START, arm
        self.parameters = {row.name: row.default for row in tare.TABLE}
        self.parameters['tare_samples'] = samples or self.parameters['tare_samples']
        self.kept = TareStates(self.parameters)
        self.mapper = JointStateMapper(
            JOINTS,
            continuous={'wrist'},
            policies=Policies(velocity='reject', state_timeout=timeout),
            clock=lambda: START,
        )

    def come(self, count=1, q=(0.3, 0.1), v=(0.0, 0.0), tau=(5.0, 1.0), after=PERIOD):
        for _ in range(count):
            self.now += after
            self.stamp += round(after * 1e9)
            message = JointStateMessage.of(JOINTS, q, v, tau, self.stamp)
            assert self.mapper.update(message, self.now)
            self.kept.observe(self.mapper.observed)

    def fault(self, *service):
        return self.kept.fault(self.mapper, self.arm, *service)


@pytest.fixture
def make(monkeypatch, arm):
    def made(**options):
        states = States(arm, **options)
        monkeypatch.setattr(tare, 'time', SimpleNamespace(monotonic=lambda: states.now))
        return states

    return made


def test_the_newest_states_are_kept_as_many_as_wanted(make):
    states = make(samples=12)
    for k in range(20):
        states.come(q=(0.3, 0.001 * k), tau=(k, -k))
    found = states.kept.states
    assert found.shape == (12, 3, 2)
    np.testing.assert_array_equal(found[:, 2, 0], np.arange(8, 20))
    np.testing.assert_allclose(found[:, 0, 1], 0.001 * np.arange(8, 20))
    states.parameters['tare_samples'] = 15
    states.kept.resize()
    states.come(10, tau=(99.0, 0.0))
    assert states.kept.states[:, 2, 0].tolist() == [15.0, 16.0, 17.0, 18.0, 19.0, *[99.0] * 10]
    states.parameters['tare_samples'] = 3
    states.kept.resize()
    assert len(states.kept.states) == 3
    states.kept.forget()
    assert states.fault() == 'no joint states with velocity and effort so far; see /diagnostics'


def test_after_a_reset_only_later_states_show_a_motion(make):
    states = make()
    states.come(50)
    states.kept.forget()
    states.come(10)
    states.come(q=(0.312, 0.1))
    assert 'rail moved by 0.012 m within 0.1 s' in states.fault()


def test_how_many_states_may_be_averaged(make):
    samples, limit = tare.TABLE
    for count in (1, 10_000):
        states = make(samples=samples.convert(count))
        states.come(2)
        assert len(states.kept.states) == min(count, 2)
    for count in (0, 10_001):
        with pytest.raises(ArgumentError, match='tare_samples'):
            samples.convert(count)
    assert limit.convert(0.0) == 0.0
    with pytest.raises(ArgumentError, match='tare_velocity_limit'):
        limit.convert(-1e-9)


def test_ten_states_or_all_that_are_averaged_are_enough(make):
    states = make()
    assert 'so far' in states.fault()
    states.come(9)
    assert states.fault('~/x').startswith('9 joint states with velocity and effort since the start')
    assert states.fault('~/x').endswith('at least 10 are needed: call ~/x again later')
    assert 'call ~/tare again' in states.fault()
    states.come()
    assert states.fault() == ''
    states = make(samples=4)
    states.come(3)
    assert 'at least 4 are needed' in states.fault()
    states.come()
    assert states.fault() == ''


@pytest.mark.parametrize('numbers', [{'v': ()}, {'tau': ()}])
def test_states_without_velocity_or_effort_are_not_averaged(make, numbers):
    states = make()
    states.come(20, **numbers)
    assert 'so far' in states.fault()


def test_states_before_a_pause_or_a_reset_of_time_are_not_averaged(make):
    states = make()
    states.come(20)
    states.come(after=0.5)
    assert len(states.kept.states) == 21
    states.come(after=0.51)
    assert len(states.kept.states) == 1
    states.come(20)
    states.come(after=-30.0)
    assert len(states.kept.states) == 1


def test_time_that_goes_back_close_to_the_last_state_with_efforts(make):
    states = make()
    states.come(20)
    states.come(60, tau=())
    states.come(after=-0.55)
    assert len(states.kept.states) == 1


def test_a_gap_of_states_with_efforts_is_a_pause(make):
    states = make()
    states.come(20)
    states.come(60, tau=())
    states.come()
    assert len(states.kept.states) == 1


def test_states_out_of_date(make):
    states = make()
    states.come(20)
    states.now += 0.5
    assert states.fault() == ''
    states.now += 0.1
    assert states.fault().startswith(
        'no joint states with velocity and effort for 0.6 s, longer than state_timeout (0.5 s)'
    )
    states = make(timeout=0.0)
    states.come(20)
    states.now += 1e6
    assert states.fault() == ''


@pytest.mark.parametrize(
    ('moved', 'fault'),
    [
        ({'v': (0.05, -0.05)}, ''),
        ({'v': (-0.051, 0.0)}, 'rail moved at 0.051 m/s, more than tare_velocity_limit (0.05 m/s)'),
        ({'v': (0.0, 0.051)}, 'wrist moved at 0.051 rad/s, more than tare_velocity_limit (0.05 r'),
        ({'q': (0.3099, 0.1)}, ''),  # 0.05 m/s in 0.2 s
        ({'q': (0.3101, 0.1)}, 'rail moved by 0.0101 m within 0.2 s, more than tare_velocity'),
        ({'q': (0.3, 0.12 - 2.0 * np.pi)}, 'wrist moved by 0.02 rad within 0.2 s'),
        ({'q': (0.3, 0.1 + 2.0 * np.pi)}, ''),
        ({'q': (0.3 + 2.0 * np.pi, 0.1)}, 'rail moved by 6.28 m'),
    ],
)
def test_a_robot_that_moves(make, moved, fault):
    states = make()
    states.come(20)
    states.come(**moved)
    found = states.fault('~/record_residual')
    assert bool(found) == bool(fault)
    assert fault in found
    if fault:
        assert found.endswith('wait until the robot is at rest and call ~/record_residual again')
    states.parameters['tare_velocity_limit'] = 0.0
    assert states.fault() == ''


def test_a_turning_joint_at_rest_on_both_sides_of_a_half_turn(make):
    states = make()
    states.come(200, q=(0.3, np.pi))
    assert len(states.kept.states) == 100
    states.come(10, q=(0.3, -np.pi))
    assert states.fault() == ''


def test_positions_that_go_back_and_forth(make):
    states = make()
    states.come(5)
    states.come(q=(0.294, 0.1))
    states.come(14)
    states.come(q=(0.306, 0.1))
    assert 'rail moved by 0.012 m' in states.fault()


# --- numbers that are not finite ------------------------------------------------------------------


def test_numbers_that_are_not_finite_are_counted_with_the_effort_of_the_time(make, monkeypatch):
    states, numbers, moment = make(), np.zeros(3), [10.0]
    monkeypatch.setattr(wrench_topics, 'time', SimpleNamespace(monotonic=lambda: moment[0]))
    clock = SimpleNamespace(monotonic_ns=lambda: round(1e9 * moment[0]))
    monkeypatch.setattr(externals, 'time', clock)
    check, loop = FiniteCheck('~/wrench/tool', numbers, states.mapper), LoopRecord()
    loop.state, loop.time = states.mapper.state, np.zeros(2, dtype=np.int64)

    def report():
        status = Status('outputs')
        check.report(status)
        return status

    assert check_finite(check, loop) == VALID
    assert report().summary == 'ok'
    states.come(tau=(1.0, -1e200))
    for value in (np.inf, np.nan):
        numbers[2] = value
        assert check_finite(check, loop) == NOT_VALID
    states.come(tau=(2.0, 1.0))
    numbers[:] = 1e300  # their sum is finite, too
    assert check_finite(check, loop) == VALID
    moment[0] += 2.9
    status = report()
    assert status.level == Level.WARN
    assert status.summary == (
        'not published because numbers are not finite: ~/wrench/tool, 2 times so far '
        '(effort -1e+200 at wrist)'
    )
    moment[0] += 0.1
    assert report().summary == 'ok'
