# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Platforms on wheels: closed forms, round trips, slips, forces, refusals."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mobile import planar, platforms
from screw_dynamics_ros.core.mobile.wheeled_platform import Wheel, WheeledPlatform

CORNERS = [[0.4, 0.3], [0.4, -0.3], [-0.4, 0.3], [-0.4, -0.3]]
HOLONOMIC = {
    'three omnidirectional wheels': platforms.omnidirectional(3, 0.3, 0.05, 0.2),
    'four omnidirectional wheels': platforms.omnidirectional(4, 0.3, 0.05),
    'mecanum': platforms.mecanum(0.6, 0.4, 0.1),
}
ALL = {
    **HOLONOMIC,
    'differential drive': platforms.differential_drive(0.5, 0.1, 0.11),
    'bicycle': platforms.bicycle(1.2, 0.3),
    'car': platforms.ackermann(1.2, 0.6, 0.3),
    'swerve': platforms.swerve(CORNERS, 0.1),
}
STEERING = {
    'bicycle': [0.35],
    'car': platforms.ackermann_angles(0.35, 1.2, 0.6),
    'swerve': platforms.steering_for(ALL['swerve'], [0.5, 1.0, 0.3]),
}
each = pytest.mark.parametrize('name', ALL)


def admissible(name, rng):
    """Return a platform, its steering angles, and a twist without slip."""
    platform, steering = ALL[name], STEERING.get(name, [])
    A = platform.slip_matrix(steering)
    free = np.eye(3) if not len(A) else np.linalg.svd(A)[2][np.linalg.matrix_rank(A, 1e-9) :].T
    return platform, steering, free @ rng.normal(size=free.shape[1])


def test_differential_drive_in_closed_form():
    """G as printed, omega = (v_r - v_l) / d, v_c = v_y; golden numbers of 8.7 (C-131, E-47)."""
    d, r = 0.5, 0.1
    base = platforms.differential_drive(d, r)
    G = planar.FORCE_LAST.T @ base.wrench_basis()
    np.testing.assert_allclose(G, [[1, 1, 0], [0, 0, 1], [d / 2, -d / 2, 0]], atol=1e-15)
    omega, vx, vy = base.twist([0.8 / r, 0.5 / r])
    assert (omega, vx, vy) == pytest.approx((0.6, 0.65, 0.0), abs=1e-12)
    np.testing.assert_allclose(
        base.wheel_rates([0.6, 0.65, 0.2]) * r, [0.65 + d * 0.3, 0.65 - d * 0.3], atol=1e-12
    )
    assert base.slip_matrix() @ [0.6, 0.65, 0.2] == pytest.approx([0.2])
    _, y = planar.center_of_rotation([omega, vx, vy])
    assert y == pytest.approx(platforms.differential_turn_radius(d, 0.8, 0.5), abs=1e-12)


def test_car_in_closed_form():
    """omega = v tan(sigma) / l = .304190412; slips as in (9.16), to the left (C-132, E-46)."""
    wheelbase, sigma = 1.2, 0.35
    car = platforms.bicycle(wheelbase, 0.3)
    t = car.twist([1.0 / 0.3], [sigma])
    np.testing.assert_allclose(t, [0.304190412, 1.0, 0.0], atol=5e-10)
    omega, vx, vy = wanted = np.array([0.7, 0.9, -0.2])
    book = [-vy, np.sin(sigma) * vx - np.cos(sigma) * (vy + wheelbase * omega)]
    np.testing.assert_allclose(car.slip_matrix([sigma]) @ wanted, -np.array(book), atol=1e-12)
    x, y = planar.center_of_rotation(t)
    assert (x, y) == pytest.approx((0.0, platforms.turn_radius(wheelbase, sigma)), abs=1e-12)
    inverse = np.linalg.inv(car.wrench_basis([sigma]).T)
    tan, cos = np.tan(sigma), np.cos(sigma)
    printed = [[tan / wheelbase, 1 / wheelbase, -1 / (wheelbase * cos)], [1, 0, 0], [0, -1, 0]]
    np.testing.assert_allclose(inverse @ np.diag([1, -1, -1]), printed, atol=1e-12)


def test_axles_of_a_car_share_the_center():
    """Ackermann angles: cot(outer) - cot(inner) = w / l, and one center for all wheels (C-132)."""
    wheelbase, w, sigma = 1.2, 0.6, 0.35
    left, right = angles = platforms.ackermann_angles(sigma, wheelbase, w)
    assert 1 / np.tan(right) - 1 / np.tan(left) == pytest.approx(w / wheelbase, abs=1e-12)
    car = ALL['car']
    assert platforms.center_residual(car, angles) < 1e-15
    assert platforms.center_residual(car, [sigma, sigma]) > 0.01
    t = [np.tan(sigma) / wheelbase, 1.0, 0.0]
    np.testing.assert_allclose(car.twist(car.wheel_rates(t, angles), angles), t, atol=1e-12)
    straight = platforms.ackermann_angles(0.0, wheelbase, w)
    np.testing.assert_array_equal(straight, [0.0, 0.0])


@each
def test_inverse_and_forward_velocity(name):
    """They are inverse to each other for every motion without slip (C-131, C-132, C-138, C-139)."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        platform, steering, t = admissible(name, rng)
        rates = platform.wheel_rates(t, steering)
        np.testing.assert_allclose(platform.twist(rates, steering), t, atol=1e-12)
        rest = platform.residual(rates, steering)
        np.testing.assert_allclose(np.concatenate([rest.along, rest.across]), 0.0, atol=1e-12)


@each
def test_power_of_wheel_forces(name):
    """t . w is the power of traction and of the forces across (C-131, C-132, FFK (9.9))."""
    rng = np.random.default_rng(2)
    platform, steering, _ = admissible(name, rng)
    t = rng.normal(size=3)
    torques = rng.normal(size=len(platform.driven))
    across = rng.normal(size=len(platform.slip_names))
    w = platform.wrench(torques, across, steering)
    slips = platform.slip_matrix(steering) @ t
    power = torques @ platform.wheel_rates(t, steering) + across @ slips
    assert t @ w == pytest.approx(power, abs=1e-12)
    back = platform.wrench(*platform.wheel_forces(w, steering), steering)
    np.testing.assert_allclose(back, w, atol=1e-12)


@each
def test_lines_of_the_wheels_are_legs_of_a_parallel_robot(name):
    """G from the lines in space, by points and directions, equals the matrices used (C-141)."""
    platform, steering = ALL[name], STEERING.get(name, [])
    angles = platform.steering_angles(steering)
    columns = []
    for wheel in (
        *platform.driven,
        *(w for n in platform.slip_names for w in platform.wheels if w.name == n),
    ):
        across = len(columns) >= len(platform.driven)
        angle = wheel.direction + angles.get(wheel.name, 0.0) + (np.pi / 2 if across else 0.0)
        scale = 1.0
        if wheel.roller_angle is not None:
            angle, scale = angle + wheel.roller_angle, 1 / np.cos(wheel.roller_angle)
        point = np.append(wheel.position, 0.0)
        force = scale * np.array([np.cos(angle), np.sin(angle), 0.0])
        columns.append(np.concatenate([np.cross(point, force), force]))
    G = planar.EMBEDDING.T @ np.array(columns).T
    np.testing.assert_allclose(platform.wrench_basis(steering), G, atol=1e-12)


def test_slip_of_a_measured_twist():
    """What was injected is found, along and across (C-133)."""
    base = ALL['differential drive']
    t = base.twist([8.0, 5.0])
    rates = np.array([8.0, 5.0]) + [0.5, 0.0]
    slips = base.slips(t + [0.0, 0.0, 0.07], rates)
    np.testing.assert_allclose(slips.across, [0.07], atol=1e-12)
    np.testing.assert_allclose(slips.along, [0.5 * 0.1, 0.0], atol=1e-12)


def test_mecanum_and_omnidirectional_wheels():
    """G_i = (a; p x a) / (a.u): rim speeds are what the rollers pass on (C-138)."""
    base = ALL['mecanum']
    for wheel, row in zip(base.wheels, base.drive_matrix()):
        a = wheel.direction + wheel.roller_angle
        roller = np.array([np.cos(a), np.sin(a)])
        t = np.array([0.4, -0.3, 0.9])
        x, y = wheel.position
        ground = np.array([t[1] - t[0] * y, t[2] + t[0] * x])
        assert roller @ ground == pytest.approx(roller[0] * (row @ t), abs=1e-12)
    np.testing.assert_allclose(base.wheel_rates([0, 1, 0]) * 0.1, 1.0, atol=1e-12)
    assert base.internal_forces().shape == (4, 1)
    three = ALL['three omnidirectional wheels']
    np.testing.assert_allclose(three.wheel_rates([1, 0, 0]) * 0.05, 0.3, atol=1e-12)
    assert three.internal_forces().shape == (3, 0)


def test_wheels_that_disagree_leave_a_residual():
    """Of four steered wheels (C-139): angles without a common center, rates of another motion."""
    base, t = ALL['swerve'], np.array([0.5, 1.0, 0.3])
    steering = platforms.steering_for(base, t)
    np.testing.assert_allclose(
        steering, [np.arctan2(t[2] + t[0] * x, t[1] - t[0] * y) for x, y in CORNERS], atol=1e-12
    )
    assert platforms.center_residual(base, steering) < 1e-15
    assert platforms.center_residual(base, steering + [0.1, 0, 0, 0]) > 0.01
    rates = base.wheel_rates(t, steering)
    np.testing.assert_allclose(base.residual(rates, steering).along, 0.0, atol=1e-12)
    assert np.abs(base.residual(rates + [1.0, 0, 0, 0], steering).along).max() > 0.01
    forces = base.internal_forces(steering)
    assert forces.shape == (8, 5)
    np.testing.assert_allclose(base.wrench_basis(steering) @ forces, 0.0, atol=1e-12)


@pytest.mark.parametrize('d', [0.0, 0.03, -0.2])
def test_how_far_wheels_are_from_a_common_center(d):
    """Of axles along x and y, and one at 45 degrees that passes their crossing at a distance d."""
    places = np.array([[0.5, 0.0], [0.0, 0.4], [0.3, -0.3] + d * np.sqrt([0.5, 0.5])])
    base = WheeledPlatform([
        Wheel('x', places[0], 0.1, direction=0.5 * np.pi), Wheel('y', places[1], 0.1),
        Wheel('slanted', places[2], 0.1, direction=0.25 * np.pi, driven=False),
    ])  # fmt: skip
    size = np.sqrt(np.mean(np.sum(places**2, axis=1)))
    c = np.sqrt(0.5)
    A = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [d / size, -c, c]])
    least = np.sqrt(max(np.linalg.eigvalsh(A.T @ A)[0], 0.0))
    assert platforms.center_residual(base) == pytest.approx(least, abs=1e-8)
    assert (least > 1e-3) == bool(d)


def test_two_axles_share_a_center():
    assert platforms.center_residual(ALL['bicycle'], [0.3]) == 0.0
    assert platforms.center_residual(ALL['differential drive']) == 0.0
    assert platforms.center_residual(ALL['mecanum']) == 0.0


def test_wheels_steer_to_the_nearer_side():
    """Backwards without turning round; a point at rest keeps its angle; turns are counted."""
    base = ALL['swerve']
    np.testing.assert_allclose(platforms.steering_for(base, [0, -1, 0]), 0.0, atol=1e-12)
    before = np.full(4, 2 * np.pi + 0.1)
    after = platforms.steering_for(base, [0, 1, 0], before)
    np.testing.assert_allclose(after, 2 * np.pi, atol=1e-12)
    np.testing.assert_array_equal(platforms.steering_for(base, [0, 0, 0], before), before)


@pytest.mark.parametrize(
    ('make', 'reason'),
    [
        (lambda: platforms.differential_drive(0.5, 0.0), r"'right': radius \[m\] must be a finite"),
        (lambda: platforms.differential_drive(0.5, float('nan')), 'radius'),
        (lambda: platforms.differential_drive(-0.5, 0.1), 'wheel_separation'),
        (lambda: platforms.differential_drive(0.0, 0.1), 'wheel_separation'),
        (lambda: platforms.differential_drive(0.5, 0.1, -0.1), r"'left': radius"),
        (lambda: platforms.bicycle(0.0, 0.1), r'wheelbase \[m\] must be'),
        (lambda: platforms.ackermann(0.0, 0.5, 0.1), r'wheelbase \[m\] must be'),
        (lambda: platforms.ackermann(1.0, 0.0, 0.1), r'track \[m\] must be'),
        (lambda: platforms.ackermann_angles(0.1, 0.0, 1.0), r'wheelbase \[m\] must be'),
        (lambda: platforms.ackermann_angles(0.1, 1.0, 0.0), r'track \[m\] must be'),
        (lambda: platforms.ackermann_angles(-0.5 * np.pi, 1.0, 1.0), 'below pi / 2, got -1.57'),
        (lambda: platforms.mecanum(0.0, 0.4, 0.1), r'length \[m\] must be'),
        (lambda: platforms.mecanum(0.6, 0.0, 0.1), r'width \[m\] must be'),
        (lambda: platforms.omnidirectional(3, 0.0, 0.1), r'distance of the wheels \[m\] must be'),
        (lambda: platforms.omnidirectional(3.0, 0.3, 0.1), 'at least 3 wheels, got 3.0'),
        (lambda: platforms.swerve([[0.0, 0.0]], 0.1), r'shape \(n, 2\), n >= 2, got \(1, 2\)'),
        (lambda: platforms.swerve(np.zeros((2, 3)), 0.1), r'shape .* got \(2, 3\)'),
        (lambda: platforms.swerve(np.zeros(4), 0.1), r'shape .* got \(4,\)'),
        (lambda: platforms.swerve(CORNERS, 0.1, ['a']), '1 names for 4 wheels'),
        (lambda: platforms.omnidirectional(2, 0.3, 0.1), 'at least 3 wheels'),
        (lambda: WheeledPlatform([]), 'at least one driven wheel'),
        (lambda: WheeledPlatform([Wheel('a', [0, 0], 1.0)] * 2), 'different names'),
        (lambda: Wheel('a', [0, 0], 1.0, roller_angle=np.pi / 2), 'pass nothing on'),
        (lambda: Wheel('a', [0, np.inf], 1.0), 'position must be finite'),
        (lambda: Wheel('a', [0, 0], 1.0, roller_angle=0.0, driven=False), 'does nothing'),
        (lambda: WheeledPlatform([Wheel('a', [0, 0], 1.0, roller_angle=0.0)]), 'do not determine'),
        (lambda: ALL['swerve'].twist(np.ones(4), np.full(4, np.nan)), 'finite angles'),
        (lambda: platforms.ackermann_angles(1.6, 1.0, 1.0), 'below pi / 2'),
        (lambda: platforms.ackermann_angles('left', 1.0, 1.0), 'steering must hold real numbers'),
        (lambda: platforms.ackermann_angles(0.1, 1.0, -1.0), r'track \[m\] must be'),
        (lambda: platforms.turn_radius(1.0, np.inf), 'steering must be a finite angle'),
        (lambda: platforms.turn_radius(0.0, 0.1), r'wheelbase \[m\] must be'),
        (lambda: platforms.swerve('wheels', 0.1), 'positions must hold real numbers'),
        (lambda: platforms.steering_for(ALL['swerve'], [1.0, 2.0]), 'twist must have shape'),
        (lambda: platforms.steering_for(ALL['swerve'], [np.nan] * 3), 'twist must be finite'),
        (lambda: platforms.steering_for(ALL['swerve'], np.ones(3), [0.0]), 'before must have'),
    ],
)
def test_impossible_platforms_are_refused(make, reason):
    with pytest.raises(ArgumentError, match=reason):
        make()


@pytest.mark.parametrize(
    ('platform', 'places', 'directions'),
    [
        (
            platforms.differential_drive(0.5, 0.1, 0.2),
            {'right': [0, -0.25], 'left': [0, 0.25]},
            [0, 0],
        ),
        (platforms.bicycle(1.2, 0.3), {'rear': [0, 0], 'front': [1.2, 0]}, [0, 0]),
        (
            platforms.ackermann(1.2, 0.6, 0.3),
            {'rear_left': [0, 0.3], 'rear_right': [0, -0.3],
             'front_left': [1.2, 0.3], 'front_right': [1.2, -0.3]},
            [0] * 4,
        ),
        (
            platforms.omnidirectional(4, 0.5, 0.1, 0.5 * np.pi),
            {'wheel1': [0, 0.5], 'wheel2': [-0.5, 0], 'wheel3': [0, -0.5], 'wheel4': [0.5, 0]},
            np.pi * np.array([1.0, 1.5, 2.0, 2.5]),
        ),
        (
            platforms.mecanum(0.6, 0.4, 0.1),
            {'front_left': [0.3, 0.2], 'front_right': [0.3, -0.2],
             'rear_left': [-0.3, 0.2], 'rear_right': [-0.3, -0.2]},
            [0] * 4,
        ),
        (
            platforms.swerve(CORNERS, 0.1, ['a', 'b', 'c', 'd']),
            dict(zip('abcd', CORNERS)),
            [0] * 4,
        ),
    ],
)  # fmt: skip
def test_names_and_places_of_wheels(platform, places, directions):
    """Those at the rear of cars drive, those in front are steered; all others drive."""
    assert [wheel.name for wheel in platform.wheels] == list(places)
    found = [wheel.position for wheel in platform.wheels]
    np.testing.assert_allclose(found, list(places.values()), atol=1e-12)
    np.testing.assert_allclose([wheel.direction for wheel in platform.wheels], directions)
    is_car = any(name.startswith('rear') for name in places) and 'a' not in places
    is_car &= all(wheel.roller_angle is None for wheel in platform.wheels)
    for wheel in platform.wheels:
        assert wheel.driven == (not is_car or wheel.name.startswith('rear'))
        assert wheel.steered == ('a' in places or (is_car and wheel.name.startswith('front')))


def test_radii_and_turns():
    """By default both wheels of a differential drive have one radius."""
    assert platforms.differential_drive(0.5, 0.1).radii.tolist() == [0.1, 0.1]
    assert platforms.differential_drive(0.5, 0.1, 0.2).radii.tolist() == [0.1, 0.2]
    assert platforms.turn_radius(1.2, 0.0) == np.inf
    assert platforms.turn_radius(1.2, -0.25 * np.pi) == pytest.approx(-1.2)
    assert platforms.differential_turn_radius(0.5, 0.3, 0.3) == np.inf
    assert platforms.differential_turn_radius(0.5, 0.0, 0.3) == pytest.approx(-0.25)
    assert platforms.swerve(CORNERS, 0.1).wheels[3].name == 'wheel4'
