# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The sliding-mode observer: ramps, steps and noise, beside the momentum observer (E-54)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation.observers.generalized_momentum import (
    momentum_step,
)
from screw_dynamics_ros.core.estimation.observers.sliding_mode import (
    SlidingMode,
    sliding_step,
)
from screw_dynamics_ros.core.estimation.observers.steps import ObserverSteps
from screw_dynamics_ros.core.state_clock import StateClock
from support.paths import URDF

T = 0.02  # time constant of the momentum observer [s]
RATE = np.array([40.0, -25.0])  # of the external torques [N m/s]


def start(n):
    return np.zeros(SlidingMode().state_size(n))


def advanced(state, steps, p, known, M, torque_rate, velocity=1e-6, effort=1e-6):
    n = len(p)
    rate, step, first = np.split(steps.numbers[n:], 3)
    deviations = np.full(n, velocity), np.full(n, effort)
    return sliding_step(state, p, known, M, *deviations, np.full(n, torque_rate), rate, step, first)


def test_a_ramp_on_a_moving_arm_is_followed_without_lag():
    """Half a step late, at irregular steps; the momentum observer is late by T."""
    arm = Robot.from_urdf(str(URDF / 'planar_2r.urdf'), backend='python')

    def motor(t):
        return np.array([9.0 + 2.0 * np.sin(3.0 * t), 3.0 - np.cos(5.0 * t)])

    def f(t, y):
        tau = motor(t) + 2.0 + RATE * t
        return np.concatenate([y[2:], arm.forward_dynamics(y[:2], y[2:], tau)])

    times = np.cumsum(np.random.default_rng(3).uniform(0.0005, 0.002, 250))
    y = solve_ivp(f, (0.0, times[-1]), [0.3, 0.5, 0.0, 0.0], t_eval=times, rtol=1e-10, atol=1e-10).y
    steps, state, linear = ObserverSteps(2), start(2), np.zeros(6)
    clock = StateClock()
    steps.time_constants[:] = T
    for k, t in enumerate(times):
        q, v = y[:2, k], y[2:, k]
        steps.advance(clock.advance(round(t * 1e9)))
        p, rates = arm.momenta_and_rates(q, v)
        known = rates + motor(t)
        state = advanced(state, steps, p, known, arm.mass_matrix(q), 1000.0)
        linear = momentum_step(linear, p, known, steps.numbers[:2], steps.numbers[2:3])
        if k:
            middle = 2.0 + RATE * (t - 0.5 * steps.numbers[3])
            np.testing.assert_allclose(state[6:8], middle, atol=2e-2)  # n is not linear in a step
    lag = 2.0 + RATE * t - linear[4:]
    np.testing.assert_allclose(lag, RATE * T, rtol=0.1)
    assert (np.abs(lag) > 10.0 * np.abs(2.0 + RATE * t - state[6:8])).all()


@pytest.mark.parametrize('seed', range(4))
def test_a_step_is_reached_in_finite_time_and_nothing_chatters(seed):
    """At random gains and steps: exact to rounding, and it stays so."""
    rng = np.random.default_rng(seed)
    gain, h, torque = 10.0 ** rng.uniform(2.0, 4.0), rng.uniform(5e-4, 4e-3), rng.uniform(1.0, 9.0)
    steps, state, p, found = ObserverSteps(1), start(1), np.zeros(1), []
    clock = StateClock()
    push = rng.normal(size=1)  # from the start
    for k in range(400):
        steps.advance(clock.advance(round(k * h * 1e9)))
        p = p + (steps.numbers[2] * (push + torque * (k > 100)) if k else 0.0)
        state = advanced(state, steps, p, np.zeros(1), np.eye(1), gain)
        found.append(state[3])
    error = np.abs(np.array(found) - push - torque * (np.arange(400) > 100))
    assert error[1:100].max() < 1e-9
    assert error[101] > 0.1 or gain * h > torque  # the rate is bounded
    reached = 101 + round(4.0 * torque / (gain * h)) + 3
    assert error[reached:].max() < 1e-9


def test_random_samples_stay_finite():
    """Torques, lengths of steps and gains at random, over many orders of magnitude."""
    rng, n = np.random.default_rng(0), 3
    for _ in range(20):
        steps, state, stamp = ObserverSteps(n), start(n), 0
        clock = StateClock()
        gain, scale = 10.0 ** rng.uniform(-3.0, 6.0), 10.0 ** rng.uniform(-6.0, 6.0)
        A = rng.normal(size=(n, n))
        for _ in range(60):
            stamp += int(10.0 ** rng.uniform(3.0, 8.6))
            steps.advance(clock.advance(stamp))
            p, known = scale * rng.normal(size=(2, n))
            state = advanced(state, steps, p, known, A @ A.T, gain, 1e-3, 0.0)
        assert np.isfinite(state).all()
        D = state[-n * n :].reshape(n, n)
        assert np.linalg.eigvalsh(D / np.abs(D).max()).min() > -1e-12


@pytest.mark.parametrize(
    ('gain', 'h', 'velocity', 'effort'),
    [(1e4, 0.004, 2e-4, 0.5), (2e2, 0.002, 4e-3, 0.1)],
)
def test_the_covariance_is_that_of_samples(gain, h, velocity, effort):
    """Standard deviations within 30 %, correlations within 0.2; far less than of differences."""
    rng, M = np.random.default_rng(7), np.array([[1.5, 0.4], [0.4, 0.3]])
    steps, state, found, claimed = ObserverSteps(2), start(2), [], []
    clock = StateClock()
    for k in range(3000):
        steps.advance(clock.advance(round(k * h * 1e9)))
        p = M @ (velocity * rng.normal(size=2))
        state = advanced(state, steps, p, effort * rng.normal(size=2), M, gain, velocity, effort)
        if k > 1000:
            found.append(state[6:8].copy())
            claimed.append(state[-4:].reshape(2, 2))
    sample, D = np.cov(np.array(found).T), np.mean(claimed, axis=0)
    np.testing.assert_allclose(np.sqrt(np.diag(D)), np.sqrt(np.diag(sample)), rtol=0.3)

    def correlation(C):
        return C[0, 1] / np.sqrt(C[0, 0] * C[1, 1])

    assert correlation(D) == pytest.approx(correlation(sample), abs=0.2)
    direct = 2.0 / h**2 * velocity**2 * (M @ M.T) + 0.5 * effort**2 * np.eye(2)
    assert (np.diag(D) < 1.01 * np.diag(direct)).all()
