# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Odometry: exact arcs against an ODE solver, calibrated covariance, resets, refusals."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.stats import chi2

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mobile import planar, platforms
from screw_dynamics_ros.core.mobile.odometry import Odometry, WheelNoise, turn_drive_turn

BASE = platforms.differential_drive(0.5, 0.1)


def drive_of(rng, steps):
    """Return wheel displacements (steps, 2) [rad] of a random drive: curves, straights, turns."""
    mean, difference = rng.uniform(-2.0, 4.0, steps), rng.uniform(-1.5, 1.5, steps)
    difference[rng.uniform(size=steps) < 0.2] = 0.0
    return np.stack([mean + difference, mean - difference], -1)


def test_golden_arc():
    """8.7: after 2 s at .8 and .5 m/s (C-135)."""
    odometry = Odometry(BASE)
    odometry.update([16.0, 10.0])
    np.testing.assert_allclose(odometry.pose, [1.2, 1.00970901, 0.690779099], atol=5e-9)
    ds, dphi = 1.3, 1.2
    x = ds * np.sinc(dphi / 2 / np.pi) * np.cos(dphi / 2)
    assert odometry.pose[1] == pytest.approx(x, abs=1e-14)


@pytest.mark.parametrize('seed', range(3))
def test_random_drives_against_an_ode_solver(seed):
    """x' = v cos(phi), y' = v sin(phi), phi' = omega, to 1e-10 (C-135)."""
    rng, odometry = np.random.default_rng(seed), Odometry(BASE, pose=[0.3, 1.0, -2.0])
    exact = np.array([0.3, 1.0, -2.0])
    for dq in drive_of(rng, 25):
        right, left = 0.1 * dq
        speed, omega = 0.5 * (right + left), (right - left) / 0.5

        def rate(_, x, speed=speed, omega=omega):
            return [omega, speed * np.cos(x[0]), speed * np.sin(x[0])]

        exact = solve_ivp(rate, (0, 1), exact, method='DOP853', rtol=1e-12, atol=1e-13).y[:, -1]
        odometry.update(dq)
        np.testing.assert_allclose(odometry.pose, exact, atol=1e-10)


def test_steered_platform_against_an_ode_solver():
    """A car whose steering moves during a step: the angle in the middle is second order."""
    car, errors = platforms.bicycle(1.2, 0.3), []
    for steps in (50, 100):
        odometry = Odometry(car)
        for k in range(steps):
            odometry.update([5.0 / 0.3 / steps], [0.6 * np.sin((k + 0.5) / steps)])
        exact = solve_ivp(
            lambda s, x: (
                5.0 * np.array([np.tan(0.6 * np.sin(s)) / 1.2, np.cos(x[0]), np.sin(x[0])])
            ),
            (0, 1),
            np.zeros(3),
            rtol=1e-11,
            atol=1e-12,
        ).y[:, -1]
        errors.append(np.abs(odometry.pose - exact).max())
    assert errors[1] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize('platform', ['differential', 'mecanum'])
def test_covariance_is_calibrated(platform):
    """The ellipse of 99 % covers 99 % of the true poses, that of 50 % half of them (C-135).

    Wheels slip along and across at random, with the stated variance per distance; 20 random drives,
    400 outcomes each. The heading is uncertain by more than 0.1 rad (one standard deviation).
    """
    base, noise = {
        'differential': (BASE, WheelNoise(3e-4, 1e-4)),
        'mecanum': (platforms.mecanum(0.6, 0.4, 0.1), WheelNoise(3e-3, 1e-3)),
    }[platform]
    rng, outcomes = np.random.default_rng(8), 400
    distances, deviation = [], 0.0
    for _ in range(20):
        odometry, truth = Odometry(base, noise), np.zeros((outcomes, 3))
        for right, left in drive_of(rng, 25):
            t = BASE.twist([right, left])
            if platform == 'mecanum':
                t = t + [0.0, 0.0, rng.uniform(-0.2, 0.2)]
            dq = base.wheel_rates(t)
            odometry.update(dq)
            rolled = np.abs(dq * base.radii)
            along = rng.normal(size=(outcomes, len(dq))) * np.sqrt(noise.along * rolled)
            across = rng.normal(size=(outcomes, len(base.slip_names)))
            slips = np.concatenate([along, across * np.sqrt(noise.across * rolled.mean())], -1)
            truth = planar.compose(truth, planar.exp(t + slips @ base.noise_map().T))
        deviation = max(deviation, np.sqrt(odometry.covariance[0, 0]))
        error = planar.log(planar.compose(planar.inverse(odometry.pose), truth))
        weights = np.linalg.inv(odometry.covariance)
        distances.extend(np.einsum('ni,ij,nj->n', error, weights, error))
    distances = np.array(distances)
    for share, tolerance in ((0.5, 0.02), (0.9, 0.012), (0.99, 0.004)):
        covered = np.mean(distances < chi2.ppf(share, 3))
        assert covered == pytest.approx(share, abs=tolerance)
    assert deviation > 0.1


def test_covariance_does_not_depend_on_the_sampling():
    """One arc at once, or in a hundred pieces (C-135)."""
    whole, pieces = Odometry(BASE), Odometry(BASE)
    whole.update([0.2, 0.1])
    for _ in range(100):
        pieces.update([0.002, 0.001])
    np.testing.assert_allclose(pieces.pose, whole.pose, atol=1e-14)
    np.testing.assert_allclose(pieces.covariance, whole.covariance, rtol=2e-2, atol=1e-9)


def test_covariance_in_the_reference():
    """(x, y) turn with the heading; a start with a covariance keeps it at rest."""
    P = np.diag([0.01, 0.04, 0.09])
    odometry = Odometry(BASE, pose=[np.pi / 2, 0, 0], covariance=P)
    np.testing.assert_allclose(
        odometry.reference_covariance, np.diag([0.01, 0.09, 0.04]), atol=1e-15
    )
    odometry.update([0.0, 0.0])
    np.testing.assert_allclose(odometry.covariance, P, atol=1e-15)
    odometry.reset([0.5, 0, 0], P)
    ahead = np.array([0.0, np.cos(0.5), np.sin(0.5)])
    assert ahead @ odometry.reference_covariance @ ahead == pytest.approx(0.04)


def test_covariance_of_a_twist():
    """That of a mean over dt: wheel noise per distance, divided by the time."""
    odometry = Odometry(BASE, WheelNoise(1e-4, 0.0))
    P = odometry.twist_covariance([0.0, 1.0, 0.0], 0.5)
    expected = 1e-4 / 0.5 * np.diag([2 / 0.5**2, 0.5, 0.0])  # per wheel 1e-4 m^2/s^3 * s
    np.testing.assert_allclose(P, expected, atol=1e-15)


@pytest.mark.parametrize('pose', [[0.3, 1.0, 2.0], [-3.0, -1.0, 0.1], [1.0, 0.0, 0.0], [0, -2, 0]])
def test_turn_drive_turn_reaches_the_pose(pose):
    """By odometry over the wheel rotations of its three twists (C-135, IPK of 3.26)."""
    odometry = Odometry(BASE)
    for t in turn_drive_turn(pose):
        assert t[2] == 0.0
        odometry.update(BASE.wheel_rates(t))
    np.testing.assert_allclose(odometry.pose[1:], pose[1:], atol=1e-12)
    assert planar.wrapped(odometry.pose[0] - pose[0]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    'wrong',
    [
        lambda o: o.update([np.nan, 1.0]),
        lambda o: o.update([1.0]),
        lambda o: o.update([1.0, 1.0], [0.1]),
        lambda o: o.move([np.inf, 0, 0]),
        lambda o: o.move([0, 0, 0], np.diag([1.0, 1.0, -1.0])),
        lambda o: o.reset([0, 0, np.nan]),
        lambda o: o.reset([0, 0, 0], [[1, 2, 0], [0, 1, 0], [0, 0, 1]]),
        lambda o: WheelNoise(-1.0),
        lambda o: WheelNoise(0.0, -1e-9),
        lambda o: WheelNoise(np.nan),
        lambda o: o.twist_covariance([0, 1, 0], 0.0),
        lambda o: o.twist_covariance([0, 1], 0.1),
    ],
)
def test_refusals_leave_the_pose_as_it_was(wrong):
    odometry = Odometry(BASE)
    odometry.update([3.0, 2.0])
    pose, covariance = odometry.pose.copy(), odometry.covariance.copy()
    with pytest.raises(ArgumentError):
        wrong(odometry)
    np.testing.assert_array_equal(odometry.pose, pose)
    np.testing.assert_array_equal(odometry.covariance, covariance)
