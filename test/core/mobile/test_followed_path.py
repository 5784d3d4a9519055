# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""From states of the joints of wheels to displacements, and the path that follows.

Wheels that contradict each other, the mistake that explains it, and healthy ones.
"""

import numpy as np
import pytest

from screw_dynamics_ros.core.mobile import Odometry, platforms
from screw_dynamics_ros.core.mobile.followed_path import (
    SLIP_TOLERANCE,
    FollowedPath,
    PathLostError,
    WheelCheck,
    WheelReadings,
)
from screw_dynamics_ros.core.mobile.platforms import (
    ackermann,
    differential_drive,
    mecanum,
    omnidirectional,
    steering_for,
    swerve,
)

DRIVE = [('r1', 'r2'), ('l1', 'l2')]
CAR = [('rear',)]
REST = np.zeros(4)
SECOND = 1_000_000_000
CORNERS = [[0.4, 0.3], [0.4, -0.3], [-0.4, 0.3], [-0.4, -0.3]]
PLATFORMS = {
    'car': (ackermann(1.2, 0.8, 0.3), 0.0),
    'swerve': (swerve(CORNERS, 0.1), 0.2),
    'mecanum': (mecanum(0.6, 0.4, 0.1), 0.2),
    'three wheels': (omnidirectional(3, 0.3, 0.05), 0.2),
    'differential': (differential_drive(0.5, 0.1), 0.0),
}


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


def driven(kind, seconds, change=lambda q, s: (q, s), noise=0.0, dt=0.02, seed=0):
    """Return the check of a platform on a path with curves to both sides, after each step."""
    platform, sideways = PLATFORMS[kind]
    check, found = WheelCheck(platform), []
    rng = np.random.default_rng(seed)
    wheels = np.zeros(len(platform.driven))
    read = wheels.copy()
    for k in range(round(seconds / dt)):
        t = dt * k
        twist = np.array([0.4 * np.sin(0.9 * t + seed), 0.6, sideways * np.sin(0.5 * t)])
        steering = steering_for(platform, twist)
        wheels = wheels + platform.wheel_rates(twist, steering) * dt
        before, read = read, np.round((wheels + noise * rng.normal(size=len(wheels))) / 2e-3) * 2e-3
        check.add(*change(read - before, steering + noise * rng.normal(size=len(steering))))
        found.append((check.misfit, check.likely))
    return found


def swapped(pair):
    def change(values):
        values = values.copy()
        values[list(pair)] = values[list(reversed(pair))]
        return values

    return change


def reversed_wheel(q):
    q = q.copy()
    q[2] = -q[2]
    return q


@pytest.mark.parametrize(
    ('kind', 'change', 'cause'),
    [
        ('car', lambda q, s: (q, -s), 'the steering angles had the opposite sign'),
        ('swerve', lambda q, s: (q, -s), 'the steering angles had the opposite sign'),
        ('swerve', lambda q, s: (reversed_wheel(q), s), 'wheel3 turned the other way'),
        ('car', lambda q, s: (swapped((0, 1))(q), s), 'rear_left and rear_right were swapped'),
        ('swerve', lambda q, s: (q, swapped((1, 2))(s)), 'wheel2 and wheel3 were swapped'),
        ('mecanum', lambda q, s: (reversed_wheel(q), s), 'rear_left turned the other way'),
    ],
)
def test_a_mistake_is_found_and_named(kind, change, cause):
    found = driven(kind, 10.0, change)
    assert max(misfit for misfit, _ in found) > SLIP_TOLERANCE
    assert found[-1][1] == cause


@pytest.mark.parametrize('kind', PLATFORMS)
@pytest.mark.parametrize('seed', range(2))
def test_healthy_wheels_agree(kind, seed):
    """With encoders of 2 mrad, noise of wheels and steering of 2 mrad, at 50 and 500 Hz."""
    dt = (0.02, 0.002)[seed % 2]
    found = driven(kind, 2.0 + 4.0 * (dt > 0.01), noise=2e-3, dt=dt, seed=seed)
    assert max(misfit for misfit, _ in found) < SLIP_TOLERANCE
    assert {likely for _, likely in found} == {''}


def test_a_path_is_judged_after_a_while_and_forgotten():
    check = WheelCheck(PLATFORMS['swerve'][0])
    right, wrong = np.full(4, 0.1), np.array([0.1, 0.1, 0.1, -0.1])

    def add(step, count):
        for _ in range(count):
            check.add(step, np.full(4, 0.1))
        return check.misfit > SLIP_TOLERANCE, check.likely

    assert add(wrong, 10) == (False, '')
    assert add(wrong, 60) == (True, 'wheel4 turned the other way')
    assert add(right, 300) == (False, '')
    assert add(wrong, 100) == (True, 'wheel4 turned the other way')
    assert add(np.zeros(4), 100) == (True, 'wheel4 turned the other way')  # it has stopped
    check.restart()
    assert (check.misfit, check.likely) == (0.0, '')


def test_mistakes_that_explain_the_same_steps_are_not_named():
    """Straight ahead, any wheel of a mecanum platform may have turned the other way."""
    check = WheelCheck(PLATFORMS['mecanum'][0])
    for _ in range(200):
        check.add(np.array([0.1, 0.1, 0.1, -0.1]), np.zeros(0))
    assert check.misfit > SLIP_TOLERANCE
    assert check.likely == ''
