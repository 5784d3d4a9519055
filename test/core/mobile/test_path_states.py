# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wheels, their readings and the path that follows: limits crossed from both sides."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mobile import planar, platforms
from screw_dynamics_ros.core.mobile.followed_path import FollowedPath, PathLostError, WheelReadings
from screw_dynamics_ros.core.mobile.odometry import (
    Odometry,
    WheelNoise,
    checked_covariance,
    turn_drive_turn,
)
from screw_dynamics_ros.core.mobile.wheeled_platform import Wheel, WheeledPlatform, line

BASE = platforms.differential_drive(0.5, 0.1)
SECOND = 1_000_000_000
REST = np.zeros(2)


# --- wheels ---------------------------------------------------------------------------------------


def test_lines_of_a_wheel_anywhere():
    """p x e by the cross product in space; forces along the roller and across the wheel."""
    point, angle, steering, roller = np.array([0.3, -0.7, 0.0]), 0.4, 0.25, -0.6

    def by_cross_product(direction):
        force = np.array([np.cos(direction), np.sin(direction), 0.0])
        return np.array([np.cross(point, force)[2], force[0], force[1]])

    plain = Wheel('w', point[:2], 0.1, angle)
    np.testing.assert_allclose(plain.drive_line(), by_cross_product(angle), atol=1e-15)
    np.testing.assert_allclose(plain.drive_line(steering), by_cross_product(angle + steering))
    across = by_cross_product(angle + steering + 0.5 * np.pi)
    np.testing.assert_allclose(plain.slip_line(steering), across)
    np.testing.assert_allclose(plain.slip_line(), by_cross_product(angle + 0.5 * np.pi))
    rollers = Wheel('w', point[:2], 0.1, angle, roller)
    expected = by_cross_product(angle + steering + roller) / np.cos(roller)
    np.testing.assert_allclose(rollers.drive_line(steering), expected)
    np.testing.assert_allclose(line(point[:2], [0.0, 2.0]), [0.6, 0.0, 2.0])


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_rollers_up_to_85_degrees(sign):
    Wheel('w', [0, 0], 0.1, roller_angle=sign * np.radians(84.9))
    with pytest.raises(ArgumentError, match=r"wheel 'w': roller_angle is -?1\.485 rad"):
        Wheel('w', [0, 0], 0.1, roller_angle=sign * np.radians(85.1))


@pytest.mark.parametrize('name', ['direction', 'roller_angle'])
@pytest.mark.parametrize('value', [np.nan, np.inf, '1'])
def test_angles_that_are_no_numbers(name, value):
    with pytest.raises(ArgumentError, match=f"wheel 'w': {name} must be a finite number"):
        Wheel('w', [0, 0], 0.1, **{name: value})


def test_positions_of_wheels_cannot_be_changed():
    given = np.array([1.0, 2.0])
    wheel = Wheel('w', given, 0.1)
    with pytest.raises(ValueError, match='read-only'):
        wheel.position[0] = 3.0
    assert wheel.driven
    assert not wheel.steered
    assert (wheel.direction, wheel.roller_angle) == (0.0, None)


def test_wheels_of_one_axle_have_one_line():
    """Not those beside each other, ahead, turned, or steered."""
    first = Wheel('a', [0.0, 0.3], 0.1)
    for other, is_same in (
        (Wheel('b', [0.0, -0.5], 0.1), True),
        (Wheel('b', [1e-11, -0.5], 0.1), False),
        (Wheel('b', [0.2, -0.5], 0.1), False),
        (Wheel('b', [0.0, -0.5], 0.1, direction=1e-11), False),
        (Wheel('b', [0.0, -0.5], 0.1, steered=True), False),
    ):
        assert WheeledPlatform([first, other]).slip_names == (('a',) if is_same else ('a', 'b'))
    steered = WheeledPlatform([Wheel('a', [0, 0.3], 0.1, steered=True), Wheel('b', [0, 0], 0.1)])
    assert steered.slip_names == ('a', 'b')
    np.testing.assert_allclose(steered.fixed_slip_matrix(), [[0.0, 0.0, 1.0]], atol=1e-15)
    assert BASE.fixed_slip_matrix().shape == (1, 3)
    assert platforms.mecanum(0.6, 0.4, 0.1).fixed_slip_matrix().shape == (0, 3)


@pytest.mark.parametrize('name', ['differential', 'mecanum', 'car', 'locked'])
def test_the_admissible_twist_nearest_to_wheel_rates(name):
    """Against least squares over a basis of twists without slip (of all wheel rates)."""
    car = platforms.ackermann(1.2, 0.6, 0.3)
    platform, steering = {
        'differential': (platforms.differential_drive(0.5, 0.1, 0.12), []),
        'mecanum': (platforms.mecanum(0.6, 0.4, 0.1), []),
        'car': (car, platforms.ackermann_angles(0.3, 1.2, 0.6)),
        'locked': (car, [0.5, -0.5]),
    }[name]
    rates = np.random.default_rng(0).normal(size=len(platform.driven))
    found = platform.rolling_map(steering) @ rates
    A = platform.slip_matrix(steering)
    free = np.eye(3)
    if len(A):
        free = np.linalg.svd(A)[2][np.linalg.matrix_rank(A, 1e-9) :].T
    D = platform.drive_matrix(steering) / platform.radii[:, None]
    expected = free @ np.linalg.lstsq(D @ free, rates, rcond=None)[0] if free.size else np.zeros(3)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (name == 'locked') == (not found.any())


def test_noise_of_the_wheels_is_that_of_least_squares():
    """twist = noise_map (rim speeds, slips) minimizes the sum of squares of all slips."""
    platform = platforms.ackermann(1.2, 0.6, 0.3)
    steering = platforms.ackermann_angles(0.3, 1.2, 0.6)
    G = platform.wrench_basis(steering)
    slips = np.random.default_rng(0).normal(size=G.shape[1])
    expected = np.linalg.lstsq(G.T, slips, rcond=None)[0]
    np.testing.assert_allclose(platform.noise_map(steering) @ slips, expected, atol=1e-12)
    n = len(platform.driven)
    np.testing.assert_allclose(
        platform.twist_map(steering), platform.noise_map(steering)[:, :n] * 0.3, atol=1e-15
    )
    w = np.array([0.4, 1.0, -2.0])
    torques, across = platform.wheel_forces(w, steering)
    forces = np.linalg.lstsq(G, w, rcond=None)[0]
    np.testing.assert_allclose(np.concatenate([torques / 0.3, across]), forces, atol=1e-12)


# --- readings -------------------------------------------------------------------------------------


def after_one_state(**options):
    made = WheelReadings([('right',), ('left',)], **options)
    made.read(REST, REST, 10 * SECOND, 0.5, 100.0)
    return made


@pytest.mark.parametrize(('gap', 'is_lost'), [(0.5, False), (0.500001, True)])
def test_the_largest_gap(gap, is_lost):
    readings, stamp = after_one_state(), 10 * SECOND + round(gap * SECOND)
    if is_lost:
        with pytest.raises(PathLostError, match=r'for 0\.500 s, more than max_gap = 0\.5 s'):
            readings.read(REST, REST, stamp, 0.5, 100.0)
    else:
        assert readings.read(REST, REST, stamp, 0.5, 100.0).dt == pytest.approx(gap)


@pytest.mark.parametrize('step', [0, -1])
def test_stamps_that_do_not_increase(step):
    with pytest.raises(PathLostError, match='went back'):
        after_one_state().read(REST, REST, 10 * SECOND + step, 0.5, 100.0)


@pytest.mark.parametrize(
    ('moved', 'name'), [(9.99, None), (-9.99, None), (10.01, 'left'), (-10.01, 'left')]
)
def test_the_largest_rate(moved, name):
    """100 rad/s in 0.1 s, in both directions; the faster wheel is named."""
    readings, q = after_one_state(), [0.5 * moved, moved]
    if name is None:
        step = readings.read(q, REST, 10 * SECOND + SECOND // 10, 0.5, 100.0)
        np.testing.assert_allclose(step.displacements, q)
        return
    text = rf"wheel 'left' jumped by {moved:.4g} rad in 0\.1000 s, .* = 100 rad/s"
    with pytest.raises(PathLostError, match=text):
        readings.read(q, REST, 10 * SECOND + SECOND // 10, 0.5, 100.0)


def test_readings_forget():
    readings = after_one_state()
    readings.forget()
    assert readings.read([5.0, 5.0], REST, 11 * SECOND, 0.5, 100.0) is None
    assert readings.read([5.1, 5.2], REST, 11 * SECOND + SECOND // 5, 0.5, 100.0).dt == 0.2


# --- the path -------------------------------------------------------------------------------------


@pytest.fixture
def path():
    made = FollowedPath(Odometry(BASE), WheelReadings([('right',), ('left',)]))
    made.follow(REST, REST, 0, 0.5, 100.0)
    return made


def test_twist_distance_and_slip_of_a_step(path):
    """Wheels of a differential drive roll 0.1 m per radian; a curve has no slip."""
    step = path.follow([2.0, 1.0], REST, SECOND // 5, 0.5, 100.0)
    assert step.dt == pytest.approx(0.2)
    np.testing.assert_allclose(path.twist, [(0.2 - 0.1) / 0.5 / 0.2, 0.15 / 0.2, 0.0], atol=1e-12)
    assert path.distance == pytest.approx(0.15)
    assert path.slip == pytest.approx(0.0, abs=1e-12)
    path.follow([1.0, 0.0], REST, 2 * SECOND // 5, 0.5, 100.0)
    assert path.distance == pytest.approx(0.25)
    assert path.lost == ''
    np.testing.assert_allclose(path.odometry.pose[0], 0.2, atol=1e-12)


def test_a_lost_path_keeps_the_first_reason(path):
    path.follow([2.0, 1.0], REST, SECOND // 5, 0.5, 100.0)
    pose = path.odometry.pose
    assert path.follow([2.0, 1.0], REST, 2 * SECOND, 0.5, 100.0) is None
    reason = path.lost
    assert 'no joint state for 1.800 s' in reason
    assert path.follow([2.0, 1.0], REST, SECOND, 0.5, 100.0) is None
    assert path.lost == reason
    np.testing.assert_array_equal(path.odometry.pose, pose)
    assert path.distance == pytest.approx(0.15)
    path.restart()
    assert (path.lost, path.distance, path.slip) == ('', 0.0, 0.0)
    np.testing.assert_array_equal(path.twist, np.zeros(3))
    assert path.follow([9.0, 9.0], REST, 3 * SECOND, 0.5, 100.0) is None
    assert path.lost == ''


def test_a_platform_that_is_driven_without_measurements(path):
    path.drive(np.array([0.5, 0.3, -0.4]), 0.2)
    np.testing.assert_allclose(path.odometry.pose, planar.exp([0.1, 0.06, -0.08]), atol=1e-12)
    assert path.distance == pytest.approx(0.1)
    np.testing.assert_array_equal(path.twist, [0.5, 0.3, -0.4])


# --- covariances ----------------------------------------------------------------------------------


def test_noise_of_a_straight_step():
    """Both wheels roll 0.2 m: variances along and across, in closed form, to first order."""
    odometry = Odometry(BASE, WheelNoise(along=2e-4, across=3e-5))
    odometry.update([2.0, 2.0])
    each, across = 2e-4 * 0.2, 3e-5 * 0.2
    P = odometry.covariance
    assert P[0, 0] == pytest.approx(2 * each / 0.5**2)
    assert P[1, 1] == pytest.approx(each / 2)
    # across, and half of the length times the error of the heading: the integral of s^2 is 1/3
    assert P[2, 2] == pytest.approx(across + 0.1**2 * P[0, 0], rel=1e-9)
    moved = Odometry(BASE, WheelNoise(along=2e-4, across=3e-5))
    moved.move([0.0, 0.2, 0.0])
    np.testing.assert_allclose(moved.covariance, P, atol=1e-18)
    np.testing.assert_allclose(moved.pose, odometry.pose, atol=1e-15)
    back = Odometry(BASE, WheelNoise(along=2e-4, across=3e-5))
    back.update([-2.0, -2.0])
    assert back.covariance[0, 0] == pytest.approx(P[0, 0])
    default = WheelNoise()
    assert (default.along, default.across) == (1e-4, 1e-5)
    given = Odometry(BASE)
    given.move([0.0, 0.2, 0.0], np.diag([1.0, 2.0, 3.0]))
    assert given.covariance[0, 0] == pytest.approx(1.0)
    assert given.covariance[1, 1] == pytest.approx(2.0)


def test_covariance_of_a_steered_twist():
    car = platforms.bicycle(1.2, 0.3)
    odometry = Odometry(car, WheelNoise(1e-4, 4e-5))
    t = car.twist([1.0 / 0.3], [0.3])
    M = car.noise_map([0.3])
    rolled = 0.5  # m, in 0.5 s
    variances = np.array([1e-4 * rolled, *2 * [4e-5 * rolled]])
    expected = M @ np.diag(variances) @ M.T / 0.5**2
    np.testing.assert_allclose(odometry.twist_covariance(t, 0.5, [0.3]), expected, atol=1e-15)
    with pytest.raises(ArgumentError, match=r'dt \[s\]'):
        odometry.twist_covariance(t, 0.0, [0.3])


def test_covariances_up_to_rounding():
    """Symmetric and not negative within 1e-9 of the largest number, whatever its size."""
    for size in (1.0, 1e6, 1e-6):
        P = size * np.diag([1.0, 2.0, 0.0])
        P[0, 1] += 1e-9 * size
        found = checked_covariance(P)
        np.testing.assert_array_equal(found, found.T)
        assert found[0, 1] == pytest.approx(0.5e-9 * size)
        P[0, 1] += 3e-9 * size
        with pytest.raises(ArgumentError, match='symmetric'):
            checked_covariance(P)
        checked_covariance(size * np.diag([1.0, 2.0, -1.9e-9]))
        with pytest.raises(ArgumentError, match='no negative eigenvalue'):
            checked_covariance(size * np.diag([1.0, 2.0, -2.1e-9]))
    checked_covariance(np.zeros((3, 3)))
    for wrong in (np.eye(2), np.full((3, 3), np.nan)):
        with pytest.raises(ArgumentError, match=r'finite \(3, 3\) matrix'):
            checked_covariance(wrong)


def test_turns_in_place_first_and_last():
    np.testing.assert_array_equal(turn_drive_turn([0.7, 0, 0]), [[0, 0, 0], [0, 0, 0], [0.7, 0, 0]])
    found = turn_drive_turn([0.0, -1.0, 1.0])
    expected = [[0.75 * np.pi, 0, 0], [0, np.sqrt(2.0), 0], [-0.75 * np.pi, 0, 0]]
    np.testing.assert_allclose(found, expected, atol=1e-12)


# --- the plane ------------------------------------------------------------------------------------


def test_poses_near_the_plane():
    for size, is_in_plane in ((0.9e-9, True), (1.1e-9, False)):
        for place in ((2, 0), (2, 1), (2, 2), (2, 3), (0, 2), (1, 2)):
            C = planar.to_space([0.3, 1.0, 2.0])
            C[place] += size
            if is_in_plane:
                np.testing.assert_allclose(planar.from_space(C), [0.3, 1.0, 2.0])
            else:
                with pytest.raises(ArgumentError, match='not one of the plane'):
                    planar.from_space(C)
    C[2, 2] = np.nan
    with pytest.raises(ArgumentError, match='not one of the plane'):
        planar.from_space(C)
    with pytest.raises(ArgumentError, match=r'must have shape \(4, 4\), got \(3, 3\)'):
        planar.from_space(np.eye(3))
    with pytest.raises(ArgumentError, match=r'T must have shape \(\.\.\., 3, 3\), got \(4, 4\)'):
        planar.coordinates(np.eye(4))


@pytest.mark.parametrize('size', [1e-3, 1.0, 1e3])
def test_twists_near_the_plane(size):
    """Within 1e-9, relative to twists above 1."""
    V = np.array([0.0, 0.0, size, size, 0.0, 0.0])
    for k in (0, 1, 5):
        V[k] = 0.9e-9 * max(1.0, size)
        np.testing.assert_array_equal(planar.plane_twist(V), [size, size, 0.0])
        V[k] = 1.1e-9 * max(1.0, size)
        with pytest.raises(ArgumentError, match='rotates about z and moves in x and y only'):
            planar.plane_twist(V)
        V[k] = 0.0
    for wrong in (np.zeros(5), np.full(6, np.nan)):
        with pytest.raises(ArgumentError, match='six finite numbers'):
            planar.plane_twist(wrong)


def test_centers_and_lines_that_are_too_far():
    """Beyond 1e12 m there is none."""
    assert planar.center_of_rotation([1e-12, 0.99, 0.0]) is not None
    assert planar.center_of_rotation([1e-12, 1.01, 0.0]) is None
    assert planar.center_of_rotation([0.0, 0.0, 0.0]) is None
    np.testing.assert_array_equal(planar.center_of_rotation([-2.0, 0.0, 0.0]), [0.0, 0.0])
    assert planar.line_of_force([0.99, 1e-12, 0.0]) is not None
    assert planar.line_of_force([-1.01, 1e-12, 0.0]) is None
