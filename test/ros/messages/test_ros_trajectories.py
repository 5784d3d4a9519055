# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Trajectories are read by name, and refused as a whole if anything is wrong."""

import numpy as np
import pytest

pytest.importorskip('trajectory_msgs.msg')
from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.messages.trajectories import (
    MAX_DURATION_S,
    read_trajectory,
    set_duration,
    trajectory_points,
)

JOINTS = ('a', 'b', 'c')


def trajectory(names, *points, **changes):
    """Return a trajectory with points (positions, velocities, accelerations) half a second apart.

    `changes` are fields of the last point.
    """
    message = JointTrajectory(
        joint_names=list(names),
        points=[
            JointTrajectoryPoint(
                **{
                    name: [float(x) for x in values]
                    for name, values in zip(('positions', 'velocities', 'accelerations'), point)
                },
                time_from_start=Duration(sec=k // 2, nanosec=500_000_000 * (k % 2)),
            )
            for k, point in enumerate(points)
        ],
    )
    for name, value in changes.items():
        setattr(message.points[-1], name, value)
    return message


def test_by_name():
    """In the order of the message; mimic joints are left out."""
    read = read_trajectory(
        trajectory(['c', 'mimic', 'a'], ([1, 2, 3], [10, 20, 30]), ([4, 5, 6], [40, 50, 60])),
        JOINTS,
        known=['mimic'],
    )
    assert read.joints == ('c', 'a')
    np.testing.assert_array_equal(read.stamps, [0, 500_000_000])
    np.testing.assert_array_equal(read.q, [[1, 3], [4, 6]])
    np.testing.assert_array_equal(read.v, [[10, 30], [40, 60]])
    assert read.a is None


def test_positions_only():
    read = read_trajectory(trajectory('b', ([1],), ([2],)), JOINTS)
    assert read.v is None
    assert read.a is None


def test_efforts_are_read_on_request():
    message = trajectory('cb', ([1, 2],), ([3, 4],))
    message.points[0].effort, message.points[1].effort = [5.0, 6.0], [7.0, 8.0]
    assert read_trajectory(message, JOINTS).efforts is None
    read = read_trajectory(message, JOINTS, with_efforts=True)
    np.testing.assert_array_equal(read.efforts, [[5.0, 6.0], [7.0, 8.0]])
    for wrong, reason in (([7.0], '1 effort for 2'), ([], '0 effort'), ([7.0, np.nan], "'b'.*nan")):
        message.points[1].effort = wrong
        with pytest.raises(ScrewDynamicsError, match=reason):
            read_trajectory(message, JOINTS, with_efforts=True)
    without = read_trajectory(trajectory('b', ([1],)), JOINTS, with_efforts=True)
    assert without.efforts is None


def test_durations():
    """Negative times too, as divmod has them: nanosec is never negative."""
    duration = Duration()
    for seconds, expected in ((1.25, (1, 250_000_000)), (-0.5, (-1, 500_000_000)), (0, (0, 0))):
        set_duration(duration, seconds)
        assert (duration.sec, duration.nanosec) == expected


@pytest.mark.parametrize('seconds', [MAX_DURATION_S, -MAX_DURATION_S])
def test_times_that_a_message_cannot_hold(seconds):
    duration = Duration()
    set_duration(duration, seconds)
    assert (duration.sec, duration.nanosec) == (seconds, 0)
    for more in (1.001 * seconds, float('inf'), float('nan')):
        with pytest.raises(ScrewDynamicsError, match=r'a time of .* s is longer than a message'):
            set_duration(duration, more)
    assert duration.sec == seconds


def test_points_are_read_as_they_were_written():
    numbers = np.random.default_rng(0).normal(size=(4, 3, 2))
    points = trajectory_points(np.array([0.25, 1.0, 2.5]), *numbers)
    for k, point in enumerate(points):
        fields = point.positions, point.velocities, point.accelerations, point.effort
        np.testing.assert_array_equal(fields, numbers[:, k])
    read = read_trajectory(JointTrajectory(joint_names=['b', 'a'], points=points), JOINTS)
    assert read.stamps.tolist() == [250_000_000, 1_000_000_000, 2_500_000_000]
    np.testing.assert_array_equal((read.q, read.v, read.a), numbers[:3])


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        (trajectory('ab'), 'no points'),
        (trajectory('', ([],)), 'no independent joint'),
        (trajectory(['mimic'], ([1],)), 'no independent joint'),
        (trajectory('ax', ([1, 2],)), "'x'"),
        (trajectory('aa', ([1, 2],)), "'a' twice"),
        (trajectory('ab', ([1, 2],), ([1],)), 'point 1 of the trajectory has 1 positions for 2'),
        (trajectory('ab', ([1, 2], [1])), '1 velocities for 2'),
        (
            trajectory('ab', ([1, 2], [1, 2]), ([1, 2],)),
            'point 1 of the trajectory has 0 velocities',
        ),
        (trajectory('ab', ([1, 2],), ([1, 2], [], [1, 2])), 'point 0 .* has 0 accelerations'),
        (trajectory('ab', ([1, 2],), ([1, np.nan],)), "positions of joint 'b' in point 1 .* nan"),
        (trajectory('ab', ([1, 2], [np.inf, 0])), "velocities of joint 'a' in point 0 .* inf"),
        (trajectory('a', ([1],), ([2],), time_from_start=Duration()), 'point 1 .* at 0.0 s'),
        (trajectory('a', ([1],), ([2],), time_from_start=Duration(sec=-1)), 'must increase'),
    ],
)
def test_refused(message, reason):
    with pytest.raises(ScrewDynamicsError, match=reason):
        read_trajectory(message, JOINTS, known=['mimic'])
