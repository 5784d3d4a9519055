# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Observers of external torques in the node: random sequences of states against a recomputation."""

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation.observers.table import OBSERVERS
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.ros.diagnostics import Level
from support.host_bench import Bench, serialized
from support.plain_observers import FALL, RISE, THRESHOLD, PlainObservers, Step
from support.robots import urdf_path
from support.sequences import run_sequences

JOINTS = ('joint1', 'joint2')
TOPIC = '/life/wrench_estimator/external_torque'
REDUCED = '/life/wrench_estimator/reduced_wrench/tip'
FLAG = '/life/wrench_estimator/collision'
PLANAR = urdf_path('planar_2r').read_text()
TIMEOUT = 0.5  # s
NAN = float('nan')


@pytest.fixture
def bench(monkeypatch, keep):
    made = keep(
        Bench(monkeypatch, WrenchEstimator, 'wrench_estimator', max_delay=10.0, backend='python')
    )
    made.describe(PLANAR)
    return made


def set_parameters(bench, **values):
    """Change parameters, and let everything be compiled."""
    assert bench.set(**values).successful
    bench.finish()


def send(bench, stamp, q, v, tau):
    """Let a joint state come; return what is published, by the last part of the topics."""
    bench.clock.offset = (stamp - bench.clock.time_ns()) * 1e-9 + bench.clock.offset
    bench.sent.clear()
    bench.host.states.receive(serialized(JOINTS, q, stamp, v, tau), {})
    return dict(bench.sent)


def torque_of(sent):
    """Return the external torques that were published, None if there are none."""
    data = sent.get(TOPIC)
    return None if data is None else np.array(deserialize_message(data, JointState).effort)


def wrench_of(sent):
    """Return force and moment of the reduced wrench, None if there is none."""
    if REDUCED not in sent:
        return None
    wrench = deserialize_message(sent[REDUCED], WrenchStamped).wrench
    return np.array([getattr(part, k) for part in (wrench.force, wrench.torque) for k in 'xyz'])


def agree(found, expected):
    """Whether both are there and equal, or neither is there."""
    if found is None or expected is None:
        return found is None and expected is None
    return bool(np.allclose(found, expected, rtol=1e-6, atol=1e-7))


class Observers(RuleBasedStateMachine):
    bench = None

    @initialize(observer=st.sampled_from(list(OBSERVERS)))
    def start(self, observer):
        set_parameters(
            self.bench,
            observer=observer,
            observer_time_constant=0.02,
            torque_cutoff=0.0,
            wrench_cutoff=5.0,
        )
        self.bench.part._flags.reset()
        robot = Robot.from_urdf(PLANAR, backend='python')
        self.plain = PlainObservers(robot, 'tip', observer)
        self.constant, self.cutoffs = 0.02, [0.0, 5.0]
        self.is_fresh = True
        self.stamp = self.bench.clock.time_ns() + 10**9
        self.regular(1, [0.0] * 6)  # what is late or comes twice is so after a first state

    def come(self, stamp, q, v, tau, **lost):
        """Let a state come, with fields that are lost."""
        fields = {'velocity': v, 'effort': tau} | {k: [NAN, NAN] for k in lost}
        self.sent = send(self.bench, stamp, q, fields['velocity'], fields['effort'])
        self.torque = self.reduced = self.flag = None  # what is expected

    def begin_anew(self):
        self.plain.steps.clear()
        self.plain.history.clear()

    @rule(step=st.integers(1, 60), numbers=st.lists(st.floats(-2.0, 2.0), min_size=6, max_size=6))
    def regular(self, step, numbers):
        self.stamp += step * 1_000_000
        q, v, tau = np.array(numbers).reshape(3, 2)
        self.come(self.stamp, q, v, tau)
        plain = self.plain
        plain.steps.append(Step(self.stamp, q, v, tau, self.constant, *self.cutoffs, self.is_fresh))
        self.is_fresh = False
        self.torque, self.reduced = plain.filtered()[-1], plain.reduced()[-1]
        if self.torque is None:
            plain.history.clear()
        else:
            self.flag = plain.flag(self.torque, self.stamp)

    @rule(count=st.integers(2, 9), step=st.integers(5, 30))
    def run(self, count, step):
        for k in range(count):
            self.regular(step, [0.1 * k, 0.2 + 0.3 * k, 0.3, 0.1 * k, 1.0, -1.0])

    @rule(count=st.integers(2, 6))
    def rest(self, count):
        """Near zero external torques: flags are lowered."""
        for _ in range(count):
            q = np.array([0.3, 0.4])
            tau = self.plain.robot.gravity_torques(q)
            self.regular(5, [*q, 0.0, 0.0, *tau])

    @rule()
    def twice(self):
        """The same stamp again is no new state."""
        self.come(self.stamp, [0.0, 0.0], [1.0, 1.0], [0.0, 0.0])

    @rule()
    def late(self):
        """A stamp that runs back by less than a restart is refused."""
        self.come(self.stamp - 500_000, [0.0, 0.0], [1.0, 1.0], [0.0, 0.0])

    @rule(seconds=st.sampled_from([TIMEOUT + 0.1, -3.0]))
    def pause(self, seconds):
        """A gap, or a clock that jumps back: all restart, flags stay."""
        self.stamp += round(seconds * 1e9)
        self.begin_anew()
        self.regular(1, [0.2, 0.1, 0.0, 0.0, 3.0, 1.0])

    @rule()
    def without_effort(self):
        """Refused by effort_policy reject; the observer restarts."""
        self.stamp += 2_000_000
        self.come(self.stamp, [0.1, 0.1], [0.0, 0.0], None, effort=True)
        self.begin_anew()

    @rule()
    def too_large(self):
        """Finite velocities that cannot be computed with: no results, all restart."""
        self.stamp += 2_000_000
        self.come(self.stamp, [0.1, 0.1], [1e200, 1e200], [0.0, 0.0])
        self.begin_anew()

    @rule(constant=st.sampled_from([0.005, 0.02, 0.05]))
    def other_time_constant(self, constant):
        """Takes effect at once, without a new start."""
        set_parameters(self.bench, observer_time_constant=constant)
        self.constant = constant
        self.sent, self.torque, self.reduced, self.flag = {}, None, None, None

    @rule(cutoff=st.sampled_from([0.0, 2.0, 30.0]), wrench_cutoff=st.sampled_from([0.0, 5.0]))
    def other_filters(self, cutoff, wrench_cutoff):
        set_parameters(self.bench, torque_cutoff=cutoff, wrench_cutoff=wrench_cutoff)
        self.is_fresh = self.is_fresh or not self.cutoffs[0]
        self.cutoffs = [cutoff, wrench_cutoff]
        self.sent, self.torque, self.reduced, self.flag = {}, None, None, None

    @rule(observer=st.sampled_from(list(OBSERVERS)))
    def another_observer(self, observer):
        set_parameters(self.bench, observer='static')
        set_parameters(self.bench, observer='kalman')
        set_parameters(self.bench, observer=observer)
        self.plain.observer = observer
        self.plain.steps.clear()
        self.sent, self.torque, self.reduced, self.flag = {}, None, None, None

    @invariant()
    def published_is_expected(self):
        assert agree(torque_of(self.sent), self.torque)
        assert agree(wrench_of(self.sent), self.reduced)
        data = self.sent.get(FLAG)
        assert (None if data is None else deserialize_message(data, Bool).data) == self.flag


def test_random_sequences(bench):
    """All observers, filters and flags against a recomputation from all states since a start."""
    set_parameters(
        bench,
        flag_joints=list(JOINTS),
        contact_thresholds=[0.1, 0.1],
        collision_thresholds=list(PlainObservers.thresholds),
        singularity_threshold=THRESHOLD,
        collision_duration=RISE,
        release_duration=FALL,
    )
    Observers.bench = bench
    run_sequences(Observers, 25, few=8)


@pytest.mark.parametrize('observer', OBSERVERS)
def test_each_observer_tells_a_push_at_rest(bench, observer):
    """Held against a push of (1, -2) N m: all agree; the static one and kalman at once."""
    set_parameters(bench, observer=observer, observer_time_constant=0.01)
    robot, q, push = Robot.from_urdf(PLANAR, backend='reference'), [0.4, -0.3], [1.0, -2.0]
    tau = robot.gravity_torques(q) - push
    stamp = bench.clock.time_ns() + 10**9
    answers = []
    for k in range(60):
        answers.append(send(bench, stamp + k * 5_000_000, q, [0.0, 0.0], tau))
    np.testing.assert_allclose(torque_of(answers[-1]), push, atol=2e-2)
    first = next(k for k, sent in enumerate(answers) if TOPIC in sent)
    assert first == {'static': 0, 'kalman': 0, 'sliding': 1}.get(observer, 10)
    covariance = answers[-1].get(f'{TOPIC}_covariance')
    assert covariance is not None
    D = np.array(deserialize_message(covariance, Float64MultiArray).data).reshape(2, 2)
    assert np.linalg.eigvalsh(D).min() > 0.0
    found = bench.part.status().values.get('covariances', '')
    assert found.startswith('valid at rest') == (observer == 'static')


def test_a_filter_that_was_off_does_not_remember(bench):
    set_parameters(bench, observer='static', torque_cutoff=1.0)
    robot, q, stamp = Robot.from_urdf(PLANAR, backend='reference'), [0.4, -0.3], [10**18]

    def torque(push):
        stamp[0] += 5_000_000
        tau = robot.gravity_torques(q) - push
        return torque_of(send(bench, stamp[0], q, [0.0, 0.0], tau))[0]

    assert torque([5.0, 0.0]) == pytest.approx(5.0)
    assert torque([0.0, 0.0]) > 4.8
    set_parameters(bench, torque_cutoff=0.0)
    assert torque([0.0, 0.0]) == pytest.approx(0.0, abs=1e-9)
    set_parameters(bench, torque_cutoff=1.0)
    assert torque([0.0, 0.0]) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ('pause', 'is_forgotten'), [(TIMEOUT - 0.01, False), (TIMEOUT + 0.01, True)]
)
def test_a_filter_restarts_after_a_pause_that_the_states_do_not_tell(bench, pause, is_forgotten):
    """A state that could not be stored leaves joint states without a history."""
    set_parameters(bench, observer='static', torque_cutoff=0.1)
    robot, q, stamp = Robot.from_urdf(PLANAR, backend='reference'), [0.4, -0.3], [10**18]

    def torque(push, step):
        stamp[0] += round(1e9 * step)
        tau = robot.gravity_torques(q) - push
        return torque_of(send(bench, stamp[0], q, [0.0, 0.0], tau))[0]

    assert torque([5.0, 0.0], 0.005) == pytest.approx(5.0)
    assert torque([0.0, 0.0], 0.005) > 4.9
    bench.host.states.mapper.reset()
    found = torque([0.0, 0.0], pause)
    assert not bench.host.states.mapper.restarted
    assert (abs(found) < 1e-9) == is_forgotten


def test_what_is_not_settled_is_reported(bench):
    set_parameters(bench, observer='momentum', observer_time_constant=1.0)
    stamp = bench.clock.time_ns() + 10**9
    assert TOPIC not in send(bench, stamp, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    status = bench.part.status()
    assert status.level == Level.WARN
    assert 'has not settled' in status.summary


def test_the_covariance_of_the_momentum_observer(bench):
    """Errors of efforts and velocities, of 600 states at rest, are as large as it says."""
    set_parameters(bench, observer='momentum', observer_time_constant=0.01)
    robot, rng = Robot.from_urdf(PLANAR, backend='reference'), np.random.default_rng(5)
    q, stamp, found = [0.4, -0.3], bench.clock.time_ns() + 10**9, []
    g = robot.gravity_torques(q)
    for k in range(700):
        v, noise = 0.002 * rng.normal(size=2), 0.2 * rng.normal(size=2)
        sent = send(bench, stamp + k * 2_000_000, q, v, g + noise)
        if k > 100:
            found.append(torque_of(sent))
    D = deserialize_message(sent[f'{TOPIC}_covariance'], Float64MultiArray)
    assert D.layout.dim[0].label == 'joint1,joint2'
    D = np.array(D.data).reshape(2, 2)
    np.testing.assert_allclose(np.cov(np.array(found).T), D, atol=0.2 * D.max())
    assert D[0, 1] > 0.1 * D.max()  # not of the efforts alone
