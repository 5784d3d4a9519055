# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of a sensor, and whether the robot was at rest meanwhile; without ROS running."""

from types import SimpleNamespace

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError, NotAtRestError
from screw_dynamics_ros.nodes.force_torque import sensor_messages, tool_poses
from screw_dynamics_ros.nodes.force_torque.sensor_messages import SensorMessages, WrenchSample
from screw_dynamics_ros.nodes.force_torque.tool_poses import RestStates
from screw_dynamics_ros.ros.joint_states.mapper import ObservedState
from support.messages import wrench_message

S, MS = 10**9, 10**6
NOW = 1000.0  # s, on the monotonic clock


@pytest.fixture(autouse=True)
def _stopped_clock(monkeypatch):
    for module in (tool_poses, sensor_messages):
        monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: NOW))


# --- messages -----------------------------------------------------------------------------------


def message(stamp, frame='tool', numbers=range(1, 7)):
    """Return a message with force (1, 2, 3) and moment (4, 5, 6)."""
    return wrench_message(frame, numbers[:3], numbers[3:], stamp)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_moment_first_with_the_sign_of_the_sensor(sign):
    messages = SensorMessages()
    assert messages.last == -np.inf
    sample = messages.take(message(5 * S + 7), '', sign, 0.5)
    assert sample.wrench.tolist() == [sign * x for x in (4, 5, 6, 1, 2, 3)]
    assert (sample.stamp, sample.arrival) == (5 * S + 7, NOW)
    assert (messages.samples, messages.accepted, messages.frame) == ([sample], 1, 'tool')
    assert messages.last == NOW


@pytest.mark.parametrize(
    ('later', 'left'),
    [
        (1, 2),
        (500 * MS, 2),
        (500 * MS + 1, 1),  # a pause
        (0, None),
        (-1, None),
        (1 - S, None),
        (-S, 1),  # the clock was set back
    ],
)
def test_order_of_stamps(later, left):
    messages = SensorMessages()
    messages.take(message(5 * S), '', 1.0, 0.5)
    if left is None:
        with pytest.raises(ArgumentError, match=f'it is {-later / S + 0.0:g} s earlier'):
            messages.take(message(5 * S + later), '', 1.0, 0.5)
        assert messages.accepted == len(messages.samples) == 1
    else:
        messages.take(message(5 * S + later), '', 1.0, 0.5)
        assert messages.accepted == 2
        assert len(messages.samples) == left


def test_frames_of_messages():
    """Without sensor_frame all have that of the first one; none is no frame."""
    messages = SensorMessages()
    for frame, reason in (
        ('', 'set sensor_frame'),
        ('tool', ''),
        ('arm', "'arm' instead of 'tool'"),
    ):
        if reason:
            with pytest.raises(ArgumentError, match=reason):
                messages.take(message((messages.accepted + 1) * MS, frame), '', 1.0, 0.5)
        else:
            messages.take(message(MS, frame), '', 1.0, 0.5)
    messages.take(message(2 * MS, 'arm'), 'given', 1.0, 0.5)
    assert messages.frame == 'tool'
    messages.restart()
    assert (messages.frame, messages.samples) == ('', [])


def test_messages_that_cannot_be_used():
    messages = SensorMessages()
    with pytest.raises(ArgumentError, match='no stamp'):
        messages.take(message(0), '', 1.0, 0.5)
    for k in range(6):
        numbers = [1.0] * 6
        numbers[k] = np.nan
        with pytest.raises(ArgumentError, match='not finite'):
            messages.take(message(S, numbers=numbers), '', 1.0, 0.5)
    assert messages.accepted == 0


def test_the_latest_samples_are_kept():
    messages = SensorMessages()
    for k in range(1, 6):
        messages.take(message(k * MS), '', 1.0, 0.5)
    messages.keep(3)
    assert [each.stamp for each in messages.samples] == [3 * MS, 4 * MS, 5 * MS]
    messages.take(message(6 * MS), '', 1.0, 0.5)
    assert [each.stamp for each in messages.samples] == [4 * MS, 5 * MS, 6 * MS]
    messages.forget()
    assert (messages.samples, messages.frame) == ([], 'tool')


# --- rest ---------------------------------------------------------------------------------------


class Robot:
    """A mapper with a continuous joint and another one, and what is known of its states."""

    def __init__(self):
        self.joints, self.continuous = ('hip', 'knee'), np.array([True, False])
        self.policies = SimpleNamespace(timeout=50 * MS, state_timeout=0.5)
        self.stamp, self.q, self.v = 0, np.zeros(2), np.zeros(2)
        self.restarted, self.last_accepted = False, NOW
        self.states = RestStates()

    def state(self, stamp, q=(0.0, 0.0), v=(0.0, 0.0)):
        self.stamp, self.q, self.v = stamp, np.array(q, float), np.array(v, float)
        state = np.array([self.q, self.v, np.zeros(2)])
        self.states.observe(ObservedState(self, state, stamp, NOW, self.restarted, True, True))

    def rest(self, stamps, **others):
        """Return the positions for samples with these stamps [ms]."""
        samples = [WrenchSample(x * MS, np.zeros(6), others.pop('arrival', NOW)) for x in stamps]
        options = {'limit': 0.1, 'gap': 0.02, 'timeout': 0.5, 'most': 3, **others}
        return self.states.positions(self, samples, **options)


def at_rest(first=100, last=200, **motion):
    """Return a robot with states every 10 ms."""
    robot = Robot()
    for k in range(first, last + 1, 10):
        robot.state(k * MS, **{name: row(1e-3 * (k - first)) for name, row in motion.items()})
    return robot


def test_mean_positions():
    """Of a joint without limits across its turn, too."""
    robot = at_rest(
        q=lambda t: ((np.pi - 0.002 + 0.04 * t + np.pi) % (2 * np.pi) - np.pi, 0.01 * t)
    )
    found = robot.rest([110, 150, 190])
    np.testing.assert_allclose(found, [np.pi, 0.0005], atol=1e-12)


@pytest.mark.parametrize(
    ('motion', 'moving'),
    [
        ({'v': lambda t: (0.0, 0.099)}, ''),
        ({'v': lambda t: (0.0, -0.101 if t > 0.095 else 0.0)}, 'knee moves: 0.101 rad/s'),
        ({'q': lambda t: (0.0, 0.099 * t)}, ''),
        ({'q': lambda t: (0.102 * t, 0.0)}, 'hip moves: 0 rad/s or m/s, by 0.0102 rad or m within'),
    ],
)
def test_a_robot_that_moves(motion, moving):
    """By its velocities, or by its positions."""
    robot = at_rest(**motion)
    if moving:
        with pytest.raises(NotAtRestError, match=moving):
            robot.rest([100, 150, 200])
    else:
        robot.rest([100, 150, 200])


@pytest.mark.parametrize(
    ('stamps', 'reason'),
    [
        ([80, 150, 220], ''),
        ([79, 150, 200], r'no joint states match .* differ by 0 s'),
        ([100, 150, 221], r'no joint states match .* differ by 0.021 s'),
        ([221, 222, 223], 'no joint state for 0.0 s'),
        ([100, 200], '2 sensor messages without a pause, at least 3'),
    ],
)
def test_states_and_samples_of_the_same_time(stamps, reason):
    """Their ends are at most the gap of 20 ms apart."""
    robot = at_rest()
    if reason:
        with pytest.raises(ArgumentError, match=reason):
            robot.rest(stamps)
    else:
        robot.rest(stamps)


def test_ages_of_states_and_samples():
    robot = at_rest()
    robot.rest([100, 200], most=2, arrival=NOW - 0.5)
    with pytest.raises(ArgumentError, match=r'no sensor message for 0\.6 s'):
        robot.rest([100], most=1, arrival=NOW - 0.6)
    robot.last_accepted = NOW - 0.5
    robot.rest([100, 150, 200])
    robot.last_accepted = NOW - 0.6
    with pytest.raises(ArgumentError, match=r'no joint state for 0\.6 s'):
        robot.rest([100, 150, 200])
    robot.policies.state_timeout = 0.0  # states do not grow old
    robot.rest([100, 150, 200])


def test_at_least_ten_samples_are_needed():
    robot = at_rest()
    with pytest.raises(ArgumentError, match='9 sensor messages without a pause, at least 10'):
        robot.rest(range(110, 200, 10), most=100)
    robot.rest(range(100, 200, 10), most=100)


@pytest.mark.parametrize('later', [51, 0, -10])
def test_states_after_a_pause_are_alone(later):
    """And those after a clock that was set back; the robot may have moved."""
    robot = at_rest(q=lambda t: (0.0, 1.0))
    robot.state((200 + later) * MS)
    samples = [200 + later] * 3
    np.testing.assert_array_equal(robot.rest(samples), [0.0, 0.0])
    robot.restarted = True
    robot.state((201 + later) * MS, q=(0.5, 0.5))
    np.testing.assert_array_equal(robot.rest(samples), [0.5, 0.5])


def test_states_within_the_timeout_belong_together():
    robot = at_rest(q=lambda t: (0.0, 1.0))
    robot.state(250 * MS)
    with pytest.raises(NotAtRestError, match='knee moves: 0 rad/s or m/s, by 1 rad'):
        robot.rest([200, 220, 250])
    robot.states.forget()
    with pytest.raises(ArgumentError, match='no joint state for'):
        robot.rest([200, 220, 250])
