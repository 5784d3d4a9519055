# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Trailers: golden radii, integration, constraints, forces."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mobile import planar
from screw_dynamics_ros.core.textbook.mobile.trailers import Trailer, TrailerChain

CHAIN = TrailerChain([Trailer(0.6), Trailer(0.8, 0.3), Trailer(0.5, -0.1)])
ANGLES = np.array([0.3, -0.2, 0.4])


@pytest.mark.parametrize(
    ('trailer', 'angle', 'radius'),
    [(Trailer(0.6), 0.242366, 2.42693222), (Trailer(0.6, 0.6), 0.471090, 2.5)],
)
def test_golden_circles(trailer, angle, radius):
    """8.7: on the axle asin(L / R); hinge in the middle 2 atan(m / R), the same circle (C-137)."""
    found = trailer.steady(2.5)
    np.testing.assert_allclose(found, [angle, radius], atol=5e-7)
    assert found[1] == pytest.approx(radius, abs=5e-9)
    mirrored = trailer.steady(-2.5)
    np.testing.assert_allclose(mirrored, [-found[0], -found[1]], atol=1e-14)


def test_steady_motion_is_where_the_integration_ends():
    """Behind a platform on a circle all angles come to rest there (C-137)."""
    angles, omega, speed = np.zeros(3), 0.4, 1.0
    for _ in range(600):
        angles = CHAIN.advance(angles, omega, speed, 0.05)
    steady, radii = CHAIN.steady(speed / omega)
    np.testing.assert_allclose(angles, steady, atol=1e-9)
    np.testing.assert_allclose(CHAIN.angle_rates(steady, omega, speed), 0.0, atol=1e-12)
    velocities = CHAIN.transfers(steady) @ [omega, speed]
    np.testing.assert_allclose(velocities[:, 1] / velocities[:, 0], radii, atol=1e-12)
    np.testing.assert_array_equal(CHAIN.steady(np.inf)[0], 0.0)
    assert CHAIN.steady(-np.inf)[1].tolist() == [-np.inf] * 3


def test_steps_are_of_fourth_order():
    """Against scipy: half the step, a sixteenth of the error."""
    exact = solve_ivp(
        lambda _, x: CHAIN.angle_rates(x, 1.5, 1.0), (0, 0.4), ANGLES, rtol=1e-12, atol=1e-12
    ).y[:, -1]
    errors = []
    for steps in (4, 8):
        x = ANGLES
        for _ in range(steps):
            x = CHAIN.advance(x, 1.5, 1.0, 0.4 / steps)
        errors.append(np.abs(x - exact).max())
    assert 12.0 < errors[0] / errors[1] < 22.0
    np.testing.assert_array_equal(CHAIN.advance(ANGLES, 1.5, 1.0, 0.0), ANGLES)


def test_the_tightest_circle():
    """An axle that is as far from its hinge as the hinge from the center turns in place."""
    angle, radius = Trailer(0.5, 0.3).steady(0.4)
    assert angle == pytest.approx(np.arctan2(0.3, 0.4) + np.pi / 2)
    assert radius == pytest.approx(0.0, abs=1e-12)


def test_no_axle_slips():
    """Rates of the poses, by differences, are (omega_k, v_k, 0) in the axes of each trailer."""
    omega, speed, h = 0.7, 1.1, 1e-5
    poses = []
    for dt in (-h, h):
        pose = planar.exp([omega * dt, speed * dt, 0.0])
        angles = ANGLES + dt * CHAIN.angle_rates(ANGLES, omega, speed)
        poses.append(CHAIN.poses(pose, angles))
    now = CHAIN.poses(np.zeros(3), ANGLES)
    np.testing.assert_allclose(now[:, 0], -np.cumsum(ANGLES), atol=1e-15)
    rates = (poses[1] - poses[0]) / (2 * h)
    for x, rate, (turn, forward) in zip(now, rates, CHAIN.transfers(ANGLES) @ [omega, speed]):
        np.testing.assert_allclose(planar.rotated(-x[0], rate[1:]), [forward, 0.0], atol=1e-8)
        assert rate[0] == pytest.approx(turn, abs=1e-8)


def test_power_of_the_loads():
    """(omega, v) . resistance is the power of the loads on all trailers (C-137)."""
    rng = np.random.default_rng(0)
    loads, u = rng.normal(size=(3, 2)), rng.normal(size=2)
    power = np.einsum('ki,ki->', loads, CHAIN.transfers(ANGLES) @ u)
    assert CHAIN.resistance(ANGLES, loads) @ u == pytest.approx(power, abs=1e-12)


def test_refusals():
    with pytest.raises(ArgumentError, match='jackknifes'):
        Trailer(0.6).steady(0.5)
    with pytest.raises(ArgumentError, match='length'):
        Trailer(0.0)
    with pytest.raises(ArgumentError, match='hinge'):
        Trailer(1.0, np.nan)
    with pytest.raises(ArgumentError, match=r'dt \[s\]'):
        CHAIN.advance(ANGLES, 1.0, 1.0, -0.1)
    assert Trailer(1.0).hinge == 0.0
    empty = TrailerChain([])
    assert empty.transfers([]).shape == (0, 2, 2)
    assert empty.poses(np.zeros(3), []).shape == (0, 3)
    assert empty.angle_rates([], 1.0, 1.0).shape == (0,)
    with pytest.raises(ArgumentError, match='shape'):
        CHAIN.angle_rates([0.0], 1.0, 1.0)
