# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States recorded at rest and in motion: what is kept, what is refused, and at which limits."""

from types import SimpleNamespace

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError, MissingStateError, NotAtRestError
from screw_dynamics_ros.nodes.model import effort_recording
from screw_dynamics_ros.nodes.model.effort_recording import EffortRecording
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.joint_states.policies import Policies

JOINTS = ('lift', 'wrist')  # the wrist turns without limits
START = 10**18  # ns
PERIOD = 0.01  # s


class Recorded:
    """A recording, and joint states with a clock in our hands."""

    def __init__(self, timeout=0.5):
        self.now, self.stamp = 100.0, START
        self.recording = EffortRecording()
        self.mapper = self.another(timeout)

    @staticmethod
    def another(timeout=0.5):
        policies = Policies(velocity='reject', state_timeout=timeout)
        return JointStateMapper(
            JOINTS, continuous={'wrist'}, policies=policies, clock=lambda: START
        )

    def state(self, q=(0.3, 0.1), v=(0.0, 0.0), tau=(5.0, 1.0), after=PERIOD):
        """Let a state come some time after the last one."""
        self.now += after
        self.stamp += round(after * 1e9)
        message = JointStateMessage.of(JOINTS, q, v, tau, self.stamp)
        assert self.mapper.update(message, self.now)
        self.recording.observe(self.mapper.observed)

    def states(self, count, **numbers):
        for _ in range(count):
            self.state(**numbers)


@pytest.fixture
def make(monkeypatch):
    def made(**options):
        recorded = Recorded(**options)
        monkeypatch.setattr(
            effort_recording, 'time', SimpleNamespace(monotonic=lambda: recorded.now)
        )
        return recorded

    return made


@pytest.fixture
def recorded(make):
    return make()


def test_a_pose_is_the_latest_states(recorded):
    """At most a hundred, of which the newest comes last."""
    assert recorded.recording.recorded() == []
    recorded.states(3, q=(0.31, 0.1))
    recorded.states(99)
    recorded.state(q=(0.305, 0.1), v=(0.05, -0.05), tau=(6.0, 2.0))
    stamp, q = recorded.recording.add_pose()
    assert stamp == recorded.stamp
    np.testing.assert_array_equal(q, [0.305, 0.1])
    (pose,) = recorded.recording.recorded()
    assert pose.at_rest
    assert pose.states.shape == (100, 3, 2)
    np.testing.assert_array_equal(pose.states[0], [[0.3, 0.1], [0.0, 0.0], [5.0, 1.0]])
    np.testing.assert_array_equal(pose.states[-1], [[0.305, 0.1], [0.05, -0.05], [6.0, 2.0]])
    np.testing.assert_allclose(np.diff(pose.stamps), 1e7)
    assert pose.stamps[-1] == recorded.stamp
    assert recorded.recording.counts == (1, 0)


def test_ten_states_are_enough(recorded):
    with pytest.raises(MissingStateError, match='no joint states with velocity and effort so far'):
        recorded.recording.add_pose()
    recorded.states(9)
    with pytest.raises(MissingStateError, match=r'^9 joint states .* at least 10 are needed'):
        recorded.recording.add_pose()
    recorded.state()
    recorded.recording.add_pose()


@pytest.mark.parametrize('numbers', [{'v': ()}, {'tau': ()}])
def test_states_without_velocity_or_effort_are_not_recorded(recorded, numbers):
    recorded.states(20, **numbers)
    with pytest.raises(MissingStateError, match='so far'):
        recorded.recording.add_pose()


def test_states_before_a_pause_are_not_part_of_a_pose(recorded):
    recorded.states(20)
    recorded.state(after=0.5)  # as long as state_timeout is no pause
    recorded.recording.add_pose()
    recorded.state(after=0.51)
    with pytest.raises(MissingStateError, match=r'^1 joint states'):
        recorded.recording.add_pose()


def test_time_that_goes_back_is_a_pause_even_close_to_the_last_state_with_efforts(recorded):
    recorded.states(20)
    recorded.recording.begin_motion(60.0)
    recorded.states(3)
    recorded.states(60, tau=())
    recorded.state(after=-0.55)
    with pytest.raises(MissingStateError, match=r'^1 joint states'):
        recorded.recording.add_pose()
    recorded.states(3)
    assert [len(each.states) for each in recorded.recording.recorded()] == [3, 4]


def test_states_that_are_out_of_date_are_no_pose(recorded, make):
    recorded.states(20)
    recorded.now += 0.5
    recorded.recording.add_pose()
    recorded.now += 0.1
    with pytest.raises(
        MissingStateError, match=r'no joint states for 0\.6 s, longer than state_timeout \(0\.5 s\)'
    ):
        recorded.recording.add_pose()
    without_timeout = make(timeout=0.0)
    without_timeout.states(20)
    without_timeout.now += 1e6
    without_timeout.recording.add_pose()


@pytest.mark.parametrize(
    ('moved', 'fault'),
    [
        ({'v': (0.05, 0.0)}, ''),
        ({'v': (0.051, 0.0)}, 'lift moved, at up to 0.051 rad/s (m/s) and by 0 rad (m)'),
        ({'v': (0.0, -0.051)}, 'wrist moved, at up to 0.051'),
        ({'q': (0.3099, 0.1)}, ''),  # 0.05 rad/s in 0.2 s
        ({'q': (0.3101, 0.1)}, 'and by 0.0101 rad (m) within 0.2 s; the limit for rest is 0.05'),
        ({'q': (0.3 - 2.0 * np.pi, 0.1)}, 'lift moved, at up to 0 rad/s'),
        ({'q': (0.3, 0.1 - 2.0 * np.pi)}, ''),
        ({'q': (0.3, 0.12 + 2.0 * np.pi)}, 'and by 0.02 rad'),
    ],
)
def test_a_robot_that_moves_is_not_at_rest(recorded, moved, fault):
    """By its velocities, or by positions that agree with them no more."""
    recorded.states(20)
    recorded.state(**moved)
    if not fault:
        recorded.recording.add_pose()
        return
    with pytest.raises(NotAtRestError) as raised:
        recorded.recording.add_pose()
    assert fault in str(raised.value)
    assert recorded.recording.counts == (0, 0)


def test_a_turning_joint_at_rest_on_both_sides_of_a_half_turn(recorded):
    recorded.states(10, q=(0.3, np.pi))
    recorded.states(10, q=(0.3, -np.pi))
    recorded.recording.add_pose()


def test_positions_that_go_back_and_forth_are_a_motion(recorded):
    recorded.states(5)
    recorded.state(q=(0.294, 0.1))
    recorded.states(14)
    recorded.state(q=(0.306, 0.1))
    with pytest.raises(NotAtRestError, match=r'by 0\.012'):
        recorded.recording.add_pose()


def test_there_are_at_most_two_hundred_poses(recorded):
    recorded.states(10)
    for _ in range(200):
        recorded.recording.add_pose()
    with pytest.raises(ArgumentError, match='already 200 poses'):
        recorded.recording.add_pose()
    assert recorded.recording.counts == (200, 0)
    recorded.recording.clear()
    assert recorded.recording.counts == (0, 0)
    assert recorded.recording.recorded() == []
    recorded.recording.add_pose()


# --- motions --------------------------------------------------------------------------------------


def test_a_motion_is_all_states_of_its_duration(recorded):
    recorded.states(5)
    assert recorded.recording.remaining == 0.0
    recorded.recording.begin_motion(0.105)
    assert recorded.recording.remaining == pytest.approx(0.105)
    for k in range(20):
        recorded.state(q=(0.1 * k, 0.0), v=(10.0, 0.0), tau=(k, -k))
    (motion,) = recorded.recording.recorded()
    assert not motion.at_rest
    np.testing.assert_allclose(motion.states[:, 0, 0], 0.1 * np.arange(10))
    np.testing.assert_array_equal(motion.states[:, 2, 1], -np.arange(10))
    np.testing.assert_array_equal(motion.stamps, START + 1e7 * np.arange(6, 16))
    assert recorded.recording.counts == (0, 10)
    assert recorded.recording.remaining == 0.0
    recorded.recording.begin_motion(0.105)
    recorded.states(3)
    assert len(recorded.recording.recorded()) == 2
    assert recorded.recording.counts == (0, 13)


def test_a_pause_divides_a_motion_and_a_single_state_is_none(recorded):
    recorded.state()
    recorded.recording.begin_motion(60.0)
    recorded.states(3)
    recorded.state(after=0.6)
    recorded.state(after=0.6)
    recorded.states(4)
    lengths = [len(each.states) for each in recorded.recording.recorded()]
    assert lengths == [3, 5]
    assert recorded.recording.counts == (0, 9)


def test_poses_come_before_motions(recorded):
    recorded.states(10)
    recorded.recording.begin_motion(1.0)
    recorded.states(10)
    recorded.recording.add_pose()
    assert [each.at_rest for each in recorded.recording.recorded()] == [True, False]


@pytest.mark.parametrize('duration', [0.0, -1.0, 60.1, float('nan')])
def test_durations_out_of_range(recorded, duration):
    with pytest.raises(ArgumentError, match=f'more than 0 and at most 60 s, got {duration:g}'):
        recorded.recording.begin_motion(duration)
    assert recorded.recording.remaining == 0.0


def test_one_motion_at_a_time_until_it_is_cleared(recorded):
    recorded.recording.begin_motion(60.0)
    recorded.states(100)
    with pytest.raises(NotAtRestError, match=r'is being recorded, for another 59\.0 s'):
        recorded.recording.begin_motion(1.0)
    recorded.recording.clear()
    assert recorded.recording.remaining == 0.0
    recorded.states(3)
    assert recorded.recording.counts == (0, 0)
    recorded.recording.begin_motion(1.0)


def test_the_number_of_states_is_limited(recorded, monkeypatch):
    assert effort_recording.MAX_STATES == effort_recording.MAX_MOTION_S * 1000  # at 1 kHz
    monkeypatch.setattr(effort_recording, 'MAX_STATES', 5)
    recorded.state()
    recorded.recording.begin_motion(1.0)
    recorded.states(7)
    assert recorded.recording.counts == (0, 5)
    assert recorded.recording.remaining == 0.0
    with pytest.raises(ArgumentError, match='already 5 states, the maximum'):
        recorded.recording.begin_motion(1.0)


def test_another_robot_begins_again(recorded):
    recorded.states(10)
    recorded.recording.add_pose()
    recorded.recording.begin_motion(60.0)
    recorded.states(10)
    recorded.mapper = recorded.another()
    recorded.states(9)
    assert recorded.recording.recorded() == []
    assert recorded.recording.remaining == 0.0
    with pytest.raises(MissingStateError, match=r'^9 joint states'):
        recorded.recording.add_pose()
