# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Variances of noise behind observers and filters, against samples and SciPy."""

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

from screw_dynamics_ros.core.measurement.estimation.low_pass import (
    PASS_WEIGHTS,
    low_pass_step,
    weights,
)
from screw_dynamics_ros.core.measurement.estimation.noise_propagation import (
    NoiseVariance,
    TorqueNoise,
    momentum_stage,
    propagated,
    stationary,
    torque_stage,
    transition,
)
from screw_dynamics_ros.core.measurement.estimation.observers.generalized_momentum import (
    momentum_step,
)

DIRECT = np.array(PASS_WEIGHTS)  # a stage that changes nothing
RUNS = 20_000


def test_the_momentum_observer_and_two_filters_at_irregular_steps():
    """Of 20 000 runs with the same steps, noise of efforts and of momenta apart."""
    rng, T = np.random.default_rng(0), 0.02
    steps = rng.uniform(0.001, 0.008, 30)
    zero, one = np.zeros(RUNS), np.ones(RUNS)
    for noisy in ('torque', 'momentum'):
        state, first, second = np.zeros(3 * RUNS), np.zeros(2 * RUNS), np.zeros(2 * RUNS)
        P = np.zeros((4, 4)).tolist()
        for k, h in enumerate(steps):
            decay, rate = (1.0, 0.0) if k == 0 else (np.exp(-h / T), 1.0 / h)
            sample = rng.normal(size=RUNS)
            p, known = (zero, sample) if noisy == 'torque' else (sample, zero)
            state = momentum_step(state, p, known, decay * one, np.array([rate]))
            low = [np.array(PASS_WEIGHTS)] * 2 if k < 5 else [weights(15.0, h), weights(40.0, h)]
            first = low_pass_step(first, state[2 * RUNS :], low[0])
            second = low_pass_step(second, first[RUNS:], low[1])
            stage = torque_stage(decay) if noisy == 'torque' else momentum_stage(decay, rate)
            P = propagated(P, [stage, *low])
            found = [np.var(each) for each in (state[2 * RUNS :], first[RUNS:], second[RUNS:])]
            np.testing.assert_allclose(found, np.diag(P)[1:], rtol=0.06, atol=1e-12)


def test_stationary_is_the_solution_of_the_discrete_lyapunov_equation():
    stages = [torque_stage(0.8), weights(20.0, 0.004), weights(3.0, 0.004)]
    A, b = transition(stages)
    P = stationary(stages)
    np.testing.assert_allclose(P, solve_discrete_lyapunov(A, np.outer(b, b)), rtol=1e-10)
    np.testing.assert_allclose(
        propagated(P.tolist(), stages), A @ P @ A.T + np.outer(b, b), rtol=1e-12
    )
    np.testing.assert_allclose(propagated(P.tolist(), stages), P, rtol=1e-12)
    e, w0, w1 = stages[2]  # the closed form of one stage
    closed = (w0**2 + w1**2 + 2.0 * e * w0 * w1) / (1.0 - e**2)
    assert stationary([DIRECT, stages[2]])[-1, -1] == pytest.approx(closed, rel=1e-12)


def test_what_is_not_followed_starts_stationary():
    fast, slow = [DIRECT, weights(50.0, 0.002)], [DIRECT, weights(1.0, 0.002)]
    variance = NoiseVariance()
    assert variance.take(fast, 7) == stationary(fast)[-1, -1]
    after = propagated(stationary(fast).tolist(), slow)[-1][-1]
    assert variance.take(slow, 8) == after
    assert after > 3.0 * stationary(slow)[-1, -1]
    assert variance.take(slow, 10) == stationary(slow)[-1, -1]  # one was missed
    assert variance.take(slow[1:], 11) == stationary(slow[1:])[-1, -1]  # another row
    assert variance.take([], 12) == 1.0
    assert variance.take(slow[1:], 13) == stationary(slow[1:])[-1, -1]


def test_stages_that_change_nothing_may_be_left_out():
    stage, whole, part = weights(5.0, 0.002), NoiseVariance(), NoiseVariance()
    for number in range(5):
        expected = whole.take([DIRECT, stage, DIRECT], number)
        assert part.take([stage], number) == pytest.approx(expected, rel=1e-14)


def test_the_covariance_of_torques_behind_observer_and_filter():
    """Efforts are independent; velocities enter through the mass matrix."""
    M = np.array([[2.0, 0.5], [0.5, 1.0]])
    effort, velocity = np.array([0.3, 0.2]), np.array([0.1, 0.4])
    first, second, low = torque_stage(0.8), momentum_stage(0.8, 500.0), weights(20.0, 0.002)
    of_efforts = stationary([first, low])[-1, -1] * np.diag(effort**2)
    of_momenta = stationary([second, low])[-1, -1] * M @ np.diag(velocity**2) @ M.T
    for momenta, mass, expected in (
        ([second], M, of_efforts + of_momenta),
        ([second], None, of_efforts),
        ([], M, of_efforts),
    ):
        found = TorqueNoise().covariance(
            ([first], momenta), [low], (effort, velocity), mass, number=1
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12)
