# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""From states of the joints of wheels to displacements, and the path that follows."""

import numpy as np
import pytest

from screw_dynamics_ros.core.mobile import Odometry, platforms
from screw_dynamics_ros.core.mobile.followed_path import FollowedPath
from screw_dynamics_ros.core.mobile.wheel_readings import PathLostError, WheelReadings

DRIVE = [('r1', 'r2'), ('l1', 'l2')]
CAR = [('rear',)]
REST = np.zeros(4)
SECOND = 1_000_000_000


def read(readings, q, t, v=REST, **limits):
    options = {'max_gap': 0.5, 'max_rate': 100.0, **limits}
    return readings.read(q, v, round(t * SECOND), **options)


@pytest.fixture
def readings():
    """Readings of a platform with two wheels on each side, after one state."""
    made = WheelReadings(DRIVE)
    assert read(made, [1.0, 1.0, 2.0, 2.0], 10.0) is None
    return made


def test_wheels_of_one_side_are_averaged(readings):
    step = read(readings, [1.1, 1.3, 2.1, 2.1], 10.1)
    np.testing.assert_allclose(step.displacements, [0.2, 0.1], atol=1e-12)
    assert step.dt == pytest.approx(0.1)
    assert step.stamp == round(10.1 * SECOND)


def test_the_array_of_a_state_may_change_afterwards():
    """The mapper of joint states always fills the same one."""
    made, q = WheelReadings(CAR), np.array([0.0, 0.1])
    read(made, q, 1.0)
    q[:] = 0.2, 0.3
    step = read(made, q, 1.1)
    q[:] = 9.0
    np.testing.assert_allclose([*step.displacements, *step.steering], [0.2, 0.2], atol=1e-12)


def test_velocities_are_integrated_by_trapezoids_and_steering_by_the_middle():
    made = WheelReadings(CAR, by_position=False)
    assert read(made, [5.0, 0.2], 1.0, [2.0, 0.0]) is None
    step = read(made, [9.0, 0.4], 1.1, [4.0, 0.0])
    np.testing.assert_allclose(step.displacements, [0.3], atol=1e-12)
    np.testing.assert_allclose(step.steering, [0.3], atol=1e-12)


def test_steering_that_passes_half_a_turn():
    """From 3.1 rad to -3.1 rad an encoder of one turn has moved through pi, not through zero."""
    made = WheelReadings(CAR, by_position=False)
    read(made, [0.0, 3.1], 1.0, [2.0, 0.0])
    step = read(made, [0.0, -3.1], 1.1, [2.0, 0.0])
    np.testing.assert_allclose(step.steering, [np.pi], atol=1e-12)


@pytest.mark.parametrize(
    ('q', 't', 'reason'),
    [
        ([1, 1, 2, 2], 10.6, r'no joint state for 0.600 s, more than max_gap'),
        ([1, 1, 2, 2], 8.0, r'went back by 2.000 s'),
        ([30, 30, 2, 2], 10.1, r"wheel 'r1' jumped by 29 rad in 0.1000 s"),
    ],
)
def test_path_is_lost_and_goes_on_from_there(readings, q, t, reason):
    with pytest.raises(PathLostError, match=reason):
        read(readings, q, t)
    assert read(readings, q, t + 0.1).displacements == pytest.approx([0.0, 0.0])


def test_path_is_lost_where_the_wheels_do_not_tell_it():
    """A front wheel across a driven rear wheel: nothing tells how the car turns (C-135)."""
    path = FollowedPath(Odometry(platforms.bicycle(1.2, 0.3)), WheelReadings(CAR))

    def follow(rear, front, t):
        return path.follow([rear, front], REST, round(t * SECOND), 0.5, 100.0)

    follow(0.0, 0.0, 1.0)
    assert follow(0.1, 0.0, 1.1) is not None
    assert path.distance == pytest.approx(0.03)
    across = np.pi / 2
    assert follow(0.2, 2 * across, 1.2) is None  # the angle in the middle is across
    assert 'do not determine the motion' in path.lost
    pose = path.odometry.pose
    assert follow(0.3, 0.0, 1.3) is None
    assert follow(0.4, 0.0, 1.4) is None
    np.testing.assert_array_equal(path.odometry.pose, pose)
    path.odometry.reset()
    path.restart()
    follow(0.4, 0.0, 1.5)
    assert follow(0.5, 0.0, 1.6) is not None
    assert path.lost == ''


def test_slip_of_wheels_that_disagree_is_measured():
    readings = WheelReadings([(name,) for name in 'abcd'])
    path = FollowedPath(Odometry(platforms.mecanum(0.6, 0.5, 0.1)), readings)
    for k, q in enumerate(([0, 0, 0, 0], [1, 1, 1, 1.4])):
        path.follow(q, REST, (10 + k) * SECOND // 10, 0.5, 100.0)
    assert path.slip == pytest.approx(0.1 * 0.1 / 0.1)  # a quarter of 0.4 rad in 0.1 s


def test_slip_across_of_wheels_without_a_common_center():
    """Angles of +-a at the speed v: the mean is v cos(a), of which v sin(a) cos(a) is across."""
    base, a = platforms.swerve([[0.0, 0.3], [0.0, -0.3]], 0.1), 0.1
    path = FollowedPath(Odometry(base), WheelReadings([('left',), ('right',)]))
    for k in range(2):
        path.follow([k, k, a, -a], REST, (10 + k) * SECOND // 10, 0.5, 100.0)
    np.testing.assert_allclose(path.twist, [0.0, np.cos(a), 0.0], atol=1e-12)
    assert path.slip == pytest.approx(np.sin(a) * np.cos(a))
