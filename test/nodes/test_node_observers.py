"""Observers of external torques in the node: random sequences of states against a recomputation."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.nodes.outputs.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.ros.diagnostics import Level
from support.host_bench import Bench, serialized
from support.robots import urdf_path

JOINTS = ('joint1', 'joint2')
TOPIC = '/life/wrench_estimator/external_torque'
PLANAR = urdf_path('planar_2r').read_text()
TIMEOUT = 0.5  # s
NAN = float('nan')


@pytest.fixture
def bench(monkeypatch, ros_domain):
    rclpy.init(domain_id=ros_domain)
    made = Bench(monkeypatch, WrenchEstimator, 'wrench_estimator', max_delay=10.0, backend='python')
    made.host.source.receive(String(data=PLANAR))
    made.finish()
    yield made
    made.close()
    rclpy.shutdown()


def set_parameters(bench, **values):
    """Change parameters, and let everything be compiled."""
    results = bench.node.set_parameters([Parameter(k, value=v) for k, v in values.items()])
    assert all(each.successful for each in results), results
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


class Plain:
    """The momentum observer, computed anew from all states since it started."""

    def __init__(self, robot):
        self.robot, self.constant = robot, 0.02
        self.states = []

    def torque(self):
        """Return r by (3) of `generalized_momentum`, None before it has settled."""
        r, before = np.zeros(2), None
        for stamp, q, v, tau, constant in self.states:
            p = self.robot.mass_matrix(q) @ v
            friction = self.robot.friction_torques(v)
            n = tau + self.robot.coriolis_matrix(q, v).T @ v - self.robot.gravity_torques(q)
            now = stamp, p, n - friction
            if before is not None:
                h = (stamp - before[0]) * 1e-9
                share = 1.0 - np.exp(-h / constant)
                r += share * ((p - before[1]) / h - 0.5 * (now[2] + before[2]) - r)
            before = now
        age = self.states[-1][0] - self.states[0][0] if self.states else 0
        return r if self.states and age >= round(5e9 * self.constant) else None


class Observers(RuleBasedStateMachine):
    bench = None

    @initialize()
    def start(self):
        set_parameters(self.bench, observer='static')
        set_parameters(self.bench, observer='momentum', observer_time_constant=0.02)
        self.plain = Plain(Robot.from_urdf(PLANAR, backend='python'))
        self.stamp = self.bench.clock.time_ns() + 10**9
        self.regular(1, [0.0] * 6)  # what is late or comes twice is so after a first state

    def come(self, stamp, q, v, tau, **lost):
        """Let a state come, with fields that are lost."""
        fields = {'velocity': v, 'effort': tau} | {k: [NAN, NAN] for k in lost}
        sent = send(self.bench, stamp, q, fields['velocity'], fields['effort'])
        self.published = torque_of(sent)

    @rule(
        step=st.integers(1, 60),
        numbers=st.lists(st.floats(-2.0, 2.0), min_size=6, max_size=6),
    )
    def regular(self, step, numbers):
        self.stamp += step * 1_000_000
        q, v, tau = np.array(numbers).reshape(3, 2)
        self.come(self.stamp, q, v, tau)
        self.plain.states.append((self.stamp, q, v, tau, self.plain.constant))
        self.expected = self.plain.torque()

    @rule(count=st.integers(2, 9), step=st.integers(5, 30))
    def run(self, count, step):
        for k in range(count):
            self.regular(step, [0.1 * k, -0.2, 0.3, 0.1 * k, 1.0, -1.0])

    @rule()
    def twice(self):
        """The same stamp again is no new state."""
        self.come(self.stamp, [0.0, 0.0], [1.0, 1.0], [0.0, 0.0])
        self.expected = None

    @rule()
    def late(self):
        """A stamp that runs back by less than a restart is refused."""
        self.come(self.stamp - 500_000, [0.0, 0.0], [1.0, 1.0], [0.0, 0.0])
        self.expected = None

    @rule()
    def pause(self):
        self.stamp += round((TIMEOUT + 0.1) * 1e9)
        self.plain.states.clear()
        self.regular(1, [0.2, 0.1, 0.0, 0.0, 3.0, 1.0])

    @rule()
    def without_effort(self):
        """Refused by effort_policy reject; the observer starts anew."""
        self.stamp += 2_000_000
        self.come(self.stamp, [0.1, 0.1], [0.0, 0.0], None, effort=True)
        self.plain.states.clear()
        self.expected = None

    @rule(constant=st.sampled_from([0.005, 0.02, 0.05]))
    def other_time_constant(self, constant):
        """Takes effect at once, without a new start."""
        set_parameters(self.bench, observer_time_constant=constant)
        self.plain.constant = constant
        self.published = self.expected = None

    @rule()
    def another_observer_and_back(self):
        set_parameters(self.bench, observer='kalman')
        set_parameters(self.bench, observer='momentum')
        self.plain.states.clear()
        self.published = self.expected = None

    @invariant()
    def published_is_expected(self):
        if self.published is None or self.expected is None:
            assert self.published is None
            assert self.expected is None
        else:
            np.testing.assert_allclose(self.published, self.expected, atol=1e-8)


def test_the_momentum_observer_through_random_sequences(bench):
    Observers.bench = bench
    run_state_machine_as_test(
        Observers,
        settings=settings(
            max_examples=12,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize('observer', ['static', 'filtered', 'momentum', 'kalman'])
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
    assert first == {'static': 0, 'kalman': 0}.get(observer, 10)
    covariance = answers[-1].get(f'{TOPIC}_covariance')
    assert covariance is not None
    D = np.array(deserialize_message(covariance, Float64MultiArray).data).reshape(2, 2)
    assert np.linalg.eigvalsh(D).min() > 0.0


def test_what_is_not_settled_is_reported(bench):
    set_parameters(bench, observer='momentum', observer_time_constant=1.0)
    stamp = bench.clock.time_ns() + 10**9
    assert TOPIC not in send(bench, stamp, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    status = bench.part.status()
    assert status.level == Level.WARN
    assert 'has not settled' in status.summary


def test_the_covariance_of_the_momentum_observer(bench):
    """Errors of efforts and velocities, of 900 states at rest, are as large as it says."""
    set_parameters(bench, observer='momentum', observer_time_constant=0.01)
    robot, rng = Robot.from_urdf(PLANAR, backend='reference'), np.random.default_rng(5)
    q, stamp, found = [0.4, -0.3], bench.clock.time_ns() + 10**9, []
    g = robot.gravity_torques(q)
    for k in range(1000):
        v, noise = 0.002 * rng.normal(size=2), 0.2 * rng.normal(size=2)
        sent = send(bench, stamp + k * 2_000_000, q, v, g + noise)
        if k > 100:
            found.append(torque_of(sent))
    D = deserialize_message(sent[f'{TOPIC}_covariance'], Float64MultiArray)
    assert D.layout.dim[0].label == 'joint1,joint2'
    D = np.array(D.data).reshape(2, 2)
    np.testing.assert_allclose(np.cov(np.array(found).T), D, atol=0.15 * D.max())
    assert D[0, 1] > 0.1 * D.max()  # not of the efforts alone
