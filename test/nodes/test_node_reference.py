# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the feedforward follows: trajectories over time, the state of a controller, or neither."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from scipy.interpolate import BPoly
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.nodes.outputs.dynamics import reference, reference_trajectory
from screw_dynamics_ros.nodes.outputs.dynamics.reference_joints import ReferenceJoints
from screw_dynamics_ros.nodes.outputs.dynamics.reference_trajectory import (
    TrajectoryReference,
    write_trajectory,
)
from screw_dynamics_ros.ros.diagnostics import Level
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages.trajectories import set_duration
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from support.host_bench import Bench, serialized
from support.planar_2r import LIMITED
from support.sequences import run_sequences

JOINTS = ('joint1', 'joint2')
TIMES = (0.5, 1.0, 2.0)
POINTS = np.array([[0.1, -0.2], [0.4, 0.3], [0.2, 0.9]])
RATES = np.array([[0.2, 0.1], [-0.1, 0.4], [0.0, 0.0]])
ACCELERATIONS = np.array([[0.0, 1.0], [0.5, -0.5], [0.2, 0.0]])


@pytest.fixture
def bench(monkeypatch, keep):
    made = keep(Bench(monkeypatch))
    made.describe(LIMITED)
    return made


def trajectory(times, *rows, names=JOINTS, stamp=0):
    """Return a message with positions, velocities and accelerations as far as given."""
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    for time, *values in zip(times, *rows):
        fields = ('positions', 'velocities', 'accelerations')
        point = JointTrajectoryPoint(**{f: list(map(float, v)) for f, v in zip(fields, values)})
        set_duration(point.time_from_start, time)
        message.points.append(point)
    return message


class Run:
    """Joint states with stamps in our hands, and what the feedforward follows at each."""

    def __init__(self, bench):
        self.bench, self.start = bench, bench.clock.time_ns()
        self.now = 0.0

    def state(self, t, q=(0.0, 0.0), v=(0.0, 0.0)):
        """Let a state with a stamp [s] come; return the rows of the reference."""
        self.bench.clock.offset += t - self.now
        self.now = t
        self.bench.host.states.receive(serialized(JOINTS, q, self.stamp(t), v), {})
        return self.bench.part.outputs.reference.reshape(4, 2).copy()

    def stamp(self, t):
        return self.start + round(t * 1e9)

    def send(self, message):
        self.bench.part.reference.receive(message)

    @property
    def status(self):
        return self.bench.part.status()


@pytest.fixture
def run(bench):
    made = Run(bench)
    made.state(0.001)
    return made


@pytest.mark.parametrize('count', [1, 2, 3])
def test_a_trajectory_is_interpolated_at_the_stamps_of_the_states(run, count):
    """As by SciPy: linear, cubic or quintic between points."""
    rows = (POINTS, RATES, ACCELERATIONS)[:count]
    oracle = BPoly.from_derivatives(TIMES, np.stack(rows, axis=1))
    run.send(trajectory(TIMES, *rows, stamp=run.stamp(0.25)))
    run.state(0.26)
    for t in (0.51, 0.9, 1.4, 1.99):
        given, q, v, a = run.state(0.25 + t)
        assert given.tolist() == [1.0, 1.0]
        for found, order in ((q, 0), (v, 1), (a, 2)):
            expected = oracle.derivative(order)(t) if order else oracle(t)
            np.testing.assert_allclose(found, expected, atol=1e-6)
    assert run.status.values['feedforward follows'] == 'reference'
    assert run.status.level == Level.OK


def test_progress_of_both_trajectories_is_reported(run):
    """Of the one that is followed, and of the next one, which begins later."""
    run.send(trajectory(TIMES, POINTS, stamp=run.stamp(0.25)))
    run.state(0.26)
    assert run.status.values['trajectory followed'] == '0.01 s of 2 s'
    assert 'trajectory waits' not in run.status.values
    run.send(trajectory(TIMES, POINTS, stamp=run.stamp(2.0)))
    run.state(1.5)
    values = run.status.values
    assert values['trajectory followed'] == '1.25 s of 2 s'
    assert values['trajectory waits'] == '-0.50 s of 2 s'


def test_reports_evaluate_the_reference_between_two_joint_states(run, monkeypatch):
    """Not while the compiled loop does."""
    held = []
    monkeypatch.setattr(reference, 'write_reference', lambda *_: held.append(STATE_LOCK._depth))
    assert run.status.level == Level.OK
    assert held == [1]


def test_after_its_end_the_last_point_is_held_then_the_measured_state_counts(run):
    run.send(trajectory(TIMES, POINTS, RATES + 0.1, stamp=run.stamp(0.002)))
    run.state(0.01)
    for t in (2.1, 2.4):
        np.testing.assert_array_equal(run.state(t), [[1, 1], POINTS[-1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(run.state(2.51), np.zeros((4, 2)))
    assert run.status.values['feedforward follows'] == 'measured state'
    assert run.status.level == Level.OK


def test_with_timeout_zero_the_last_point_is_held_for_ever(run):
    assert run.bench.set(reference_timeout=0.0).successful
    run.send(trajectory(TIMES, POINTS))
    run.state(0.01)
    np.testing.assert_array_equal(run.state(99.0)[1], POINTS[-1])


def test_before_its_start_the_measured_state_counts_and_the_way_begins_there(run):
    """From rest at the measured positions to the first point, by a cubic with its velocity."""
    run.send(trajectory(TIMES, POINTS, RATES, stamp=run.stamp(1.0)))
    assert not run.state(0.9).any()
    measured = np.array([0.3, 0.1])
    run.state(1.0, measured)
    oracle = BPoly.from_derivatives([0.0, TIMES[0]], [[measured, [0, 0]], [POINTS[0], RATES[0]]])
    _, q, v, a = run.state(1.2, (9.0, 9.0))
    np.testing.assert_allclose(q, oracle(0.2), atol=1e-9)
    np.testing.assert_allclose(v, oracle.derivative()(0.2), atol=1e-9)
    np.testing.assert_allclose(a, oracle.derivative(2)(0.2), atol=1e-8)


def test_another_trajectory_replaces_it_in_the_middle_without_a_step(run):
    run.send(trajectory([0.0, 2.0], [[0, 0], [1, -1]], np.zeros((2, 2)), stamp=run.stamp(0.01)))
    run.state(0.02)
    before = run.state(1.01)
    np.testing.assert_allclose(before[1], [0.5, -0.5])
    run.send(trajectory([1.0, 2.0], np.zeros((2, 2)), np.zeros((2, 2)), stamp=run.stamp(1.01)))
    after = run.state(1.010001)
    np.testing.assert_allclose(after[1:3], before[1:3], atol=1e-5)
    np.testing.assert_allclose(run.state(2.01)[1], 0.0, atol=1e-9)


def test_a_single_point_ends_a_trajectory_and_the_other_way_round(run):
    run.send(trajectory(TIMES, POINTS))
    run.state(0.01)
    run.send(trajectory([0.0], [[0.25, 0.25]]))
    assert run.state(0.1)[1].tolist() == [0.25, 0.25]
    run.send(trajectory(TIMES, POINTS, stamp=run.stamp(0.4)))
    assert run.state(0.3)[1].tolist() == [0.25, 0.25]
    assert run.state(0.45)[1].tolist() != [0.25, 0.25]


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        (trajectory(TIMES, POINTS * 9), "positions of joint 'joint1' in the reference at point 1"),
        (trajectory(TIMES, POINTS, RATES * 1e6), "velocities of joint 'joint1'"),
        (trajectory(TIMES, POINTS, RATES, ACCELERATIONS * 1e9), "accelerations of joint 'joint2'"),
        (trajectory((0.0, 1.0, 1.0), POINTS), 'time_from_start must increase'),
        (trajectory((-1.0, 1.0, 2.0), POINTS), 'begins at -1 s'),
        (trajectory(TIMES, POINTS, names=('joint1', 'nose')), "'nose'"),
        (trajectory(TIMES, POINTS[:, :1]), '1 positions for 2 joints'),
        (trajectory(TIMES, POINTS, stamp=10**18), 's before its arrival'),
    ],
)
def test_a_trajectory_that_cannot_be_followed_is_refused_by_name(run, message, reason):
    """And the one before goes on."""
    run.send(trajectory(TIMES, POINTS))
    run.state(0.01)
    before = run.state(0.9)
    run.send(message)
    assert reason in run.status.summary
    np.testing.assert_array_equal(run.state(0.900001)[0], before[0])
    assert run.status.values['feedforward follows'] == 'reference'


def test_a_trajectory_goes_on_when_the_model_is_compiled_again(run):
    run.send(trajectory(TIMES, POINTS))
    run.state(0.01, (0.3, 0.3))
    before = run.state(0.1)
    run.bench.host.reload()
    run.bench.finish()
    after = run.state(0.1001)
    np.testing.assert_allclose(after[1], before[1], atol=1e-3)
    assert after[0].all()


# --- random sequences -----------------------------------------------------------------------------


class References(RuleBasedStateMachine):
    """Messages, states and silence in any order, against the list of all that was sent."""

    def __init__(self):
        super().__init__()
        self.time = 1000.0
        SourceClock.now = lambda: self.time
        joints = ReferenceJoints(JOINTS, JOINTS, JOINTS, dict.fromkeys(JOINTS, (-3.0, 3.0, 9.0)))
        self.mapper = JointStateMapper(JOINTS, clock=lambda: round(self.time * 1e9))
        self.source = TrajectoryReference()
        self.source.timeout = 0.5
        self.source.bind(joints, self.mapper)
        self.path, self.waiting, self.point = None, None, None

    @rule(dt=st.sampled_from([0.0, 0.01, 0.3, 0.6]))
    def pass_time(self, dt):
        self.time += dt

    @rule(q=st.floats(-2, 2), delay=st.sampled_from([0.0, -0.2, 0.4]))
    def send_path(self, q, delay):
        start = round((self.time + delay) * 1e9)
        self.source.receive(trajectory([0.0, 1.0], [[q, q], [-q, 0.0]], stamp=start))
        assert not self.source.is_refused
        self.waiting = start / 1e9, q

    @rule(q=st.floats(-2, 2))
    def send_point(self, q):
        self.source.receive(trajectory([0.3], [[q, 0.0]]))
        self.point, self.path, self.waiting = (self.time, q), None, None

    @rule(bad=st.sampled_from([[[9, 9], [0, 0]], [[float('nan'), 0], [0, 0]], [[0], [0]], []]))
    def send_bad(self, bad):
        self.source.receive(trajectory([0.0, 1.0], bad))
        assert self.source.is_refused

    @rule()
    def ask(self):
        stamp = round(self.time * 1e9)
        if self.waiting is not None and stamp / 1e9 >= self.waiting[0] - 1e-9:
            self.path, self.waiting, self.point = self.waiting, None, None
        found, measured = np.zeros(8), np.zeros(6)
        is_given = write_trajectory(self.source, stamp, self.time, measured, 2, found)
        expected = None
        if self.point is not None and self.time - self.point[0] <= 0.5:
            expected = self.point[1]
        elif self.point is not None:
            self.point = None
        if self.path is not None and expected is None:
            start, q = self.path
            elapsed = self.time - start
            if elapsed <= 1.5:
                expected = q * (1.0 - 2.0 * min(max(elapsed, 0.0), 1.0))
        if expected is None:
            assert not is_given
        else:
            np.testing.assert_allclose(found[2], expected, atol=1e-5)


class SourceClock:
    """The module `time` of the source."""

    now = staticmethod(lambda: 0.0)

    @classmethod
    def monotonic(cls):
        return cls.now()


def test_random_sequences_of_references(monkeypatch):
    monkeypatch.setattr(reference_trajectory, 'time', SourceClock)
    run_sequences(References, 25, few=30)


# --- the state of a controller --------------------------------------------------------------------


def controller_state(names=JOINTS, q=(0.5, -0.5), v=(0.2, 0.1), a=(1.0, 0.0), stamp=0):
    messages = pytest.importorskip('control_msgs.msg')
    message = messages.JointTrajectoryControllerState(joint_names=list(names))
    message.reference = JointTrajectoryPoint(
        positions=list(q), velocities=list(v), accelerations=list(a)
    )
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    return message


@pytest.fixture
def following(run):
    assert run.bench.set(controller_state_topic='/arm/controller_state').successful
    run.tell = run.bench.part.reference.controller.receive
    return run


def test_what_the_controller_follows_is_followed_up_to_the_stamp_of_each_state(following):
    run = following
    assert 'no controller state on /arm/controller_state' in run.status.summary
    run.tell(controller_state(JOINTS[::-1], stamp=run.stamp(0.1)))
    given, q, v, a = run.state(0.12)
    assert given.all()
    np.testing.assert_allclose(q[::-1], [0.5 + 0.2 * 0.02 + 0.5 * 0.02**2, -0.5 + 0.1 * 0.02])
    np.testing.assert_allclose(v[::-1], [0.2 + 0.02, 0.1])
    np.testing.assert_allclose(a[::-1], [1.0, 0.0])
    assert run.status.values['feedforward follows'] == 'controller state'
    assert run.status.level == Level.OK


def test_an_old_state_of_the_controller_does_not_count(following):
    run = following
    run.tell(controller_state(stamp=run.stamp(0.1)))
    assert run.state(0.19)[0].all()
    assert not run.state(0.21).any()
    assert 'more than controller_state_timeout' in run.status.summary
    assert run.status.values['feedforward follows'] == 'measured state'
    run.tell(controller_state(stamp=run.stamp(0.25)))
    assert run.state(0.26)[0].all()


def test_a_state_of_the_controller_from_the_future_does_not_count(following):
    following.tell(controller_state(stamp=following.stamp(0.35)))
    assert not following.state(0.2)[0].any()
    assert following.status.values['feedforward follows'] == 'measured state'
    assert following.state(0.3)[0].all()


def test_a_reference_of_its_own_comes_before_the_controller(following):
    run = following
    run.send(trajectory([0.0], [[0.25, 0.25]]))
    run.tell(controller_state(stamp=run.stamp(0.1)))
    assert run.state(0.1)[1].tolist() == [0.25, 0.25]
    run.tell(controller_state(stamp=run.stamp(0.7)))
    np.testing.assert_allclose(run.state(0.7)[1], [0.5, -0.5])


def test_a_topic_that_cannot_be_is_refused(run):
    answer = run.bench.set(controller_state_topic='/not a topic')
    assert not answer.successful
    assert "controller_state_topic '/not a topic'" in answer.reason


@pytest.mark.usefixtures('keep')
def test_a_topic_that_cannot_be_ends_the_start(monkeypatch):
    with pytest.raises(ArgumentError, match="controller_state_topic '/not a topic'"):
        Bench(monkeypatch, controller_state_topic='/not a topic')


def test_only_the_named_joints_follow(following):
    run = following
    run.tell(controller_state(JOINTS[1:], (0.5,), (0.0,), (), stamp=run.stamp(0.1)))
    np.testing.assert_array_equal(run.state(0.1), [[0, 1], [0, 0.5], [0, 0], [0, 0]])


def test_nan_velocities_and_accelerations_are_none(following):
    run = following
    nan = (float('nan'), 0.0)
    run.tell(controller_state(v=nan, a=nan, stamp=run.stamp(0.1)))
    np.testing.assert_array_equal(run.state(0.1)[1:], [[0.5, -0.5], [0, 0], [0, 0]])


@pytest.mark.parametrize(
    ('fields', 'reason'),
    [
        ({'names': ('joint1', 'nose')}, "'nose'"),
        ({'names': ('joint1', 'joint1')}, 'twice'),
        ({'q': (float('nan'), 0.0)}, "positions of joint 'joint1' in the controller state"),
        ({'q': (99.0, 0.0)}, 'not within its limits'),
        ({'q': (0.0,)}, '1 positions for 2 joints'),
        ({'q': ()}, 'no positions'),
    ],
)
def test_an_unusable_state_of_the_controller_is_refused_by_name(following, fields, reason):
    run = following
    run.tell(controller_state(**fields, stamp=run.stamp(0.1)))
    assert reason in run.status.summary
    assert not run.state(0.1).any()


def test_older_versions_call_it_desired(following):
    class Older:
        """The fields of that version, as far as they are read."""

        joint_names = JOINTS
        desired = JointTrajectoryPoint(positions=[0.5, -0.5])
        header = controller_state(stamp=following.stamp(0.1)).header

    following.tell(Older)
    np.testing.assert_allclose(following.state(0.1)[1], [0.5, -0.5])


# --- another robot --------------------------------------------------------------------------------


def test_the_feedforward_follows_another_robot(monkeypatch, keep):
    """Before the controller, after `~/reference`; until it falls silent."""
    bench = keep(Bench(monkeypatch, leader_topic='/leader', leader_joints=['joint2=elbow']))
    bench.describe(LIMITED)
    run = Run(bench)
    run.state(0.001)
    leader = JointState(name=['elbow', 'other'], position=[0.1, 9.0], velocity=[0.2, 9.0])
    run.bench.part.reference.leader.receive(leader)
    given, q, v, a = run.state(0.051)
    assert given.tolist() == [0.0, 1.0]
    np.testing.assert_allclose([q[1], v[1], a[1]], [0.11, 0.2, 0.0])
    assert run.status.values['feedforward follows'] == 'leader'
    run.send(trajectory([0.0], [[0.25, 0.25]]))
    assert run.state(0.06)[1].tolist() == [0.25, 0.25]
    assert not run.state(0.7).any()
    assert 'more than leader_timeout: feedforward follows the measured' in run.status.summary
