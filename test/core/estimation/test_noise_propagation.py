# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Variances of noise behind observers and filters, against samples and SciPy."""

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

from screw_dynamics_ros.core.compile.typed.library import calls
from screw_dynamics_ros.core.estimation.low_pass import (
    PASS_WEIGHTS,
    LowPassSteps,
    low_pass_step,
    weights,
)
from screw_dynamics_ros.core.estimation.noise_propagation import (
    NoiseVariance,
    TorqueNoise,
    set_momentum_stage,
    set_noise_covariance,
    set_torque_stage,
)
from screw_dynamics_ros.core.estimation.observers.generalized_momentum import (
    momentum_step,
)
from screw_dynamics_ros.core.estimation.observers.steps import ObserverSteps

DIRECT = np.array(PASS_WEIGHTS)  # a stage that changes nothing
RUNS = 20_000


def torque_stage(decay):
    """Return e, w0 and w1 of the observer for efforts."""
    variance = NoiseVariance(1)
    set_torque_stage(variance, decay)
    return variance.weights[3:]


def momentum_stage(decay, rate):
    variance = NoiseVariance(1)
    set_momentum_stage(variance, decay, rate)
    return variance.weights[3:]


def transition(stages):
    """Return A and b of x+ = A x + b u+ for the noise and the values of all stages."""
    A, b = np.zeros((len(stages) + 1, len(stages) + 1)), np.zeros(len(stages) + 1)
    b[0] = 1.0
    for k, (e, w0, w1) in enumerate(stages, 1):
        A[k], b[k] = w1 * A[k - 1], w1 * b[k - 1]
        A[k, k] += e
        A[k, k - 1] += w0
    return A, b


def stationary(stages):
    """Return the covariance with equal steps, by SciPy."""
    A, b = transition(stages)
    return solve_discrete_lyapunov(A, np.outer(b, b))


def test_the_momentum_observer_and_two_filters_at_irregular_steps():
    """Of 20 000 runs with the same steps, noise of efforts and of momenta apart."""
    rng, T = np.random.default_rng(0), 0.02
    steps = rng.uniform(0.001, 0.008, 30)
    zero, one = np.zeros(RUNS), np.ones(RUNS)
    for noisy in ('torque', 'momentum'):
        state, first, second = np.zeros(3 * RUNS), np.zeros(2 * RUNS), np.zeros(2 * RUNS)
        variance, P = NoiseVariance(3), np.zeros((4, 4))
        variance.last = -1  # from zero, without noise before
        for k, h in enumerate(steps):
            decay, rate = (1.0, 0.0) if k == 0 else (np.exp(-h / T), 1.0 / h)
            sample = rng.normal(size=RUNS)
            p, known = (zero, sample) if noisy == 'torque' else (sample, zero)
            state = momentum_step(state, p, known, decay * one, np.array([rate]))
            low = [np.array(PASS_WEIGHTS)] * 2 if k < 5 else [weights(15.0, h), weights(40.0, h)]
            first = low_pass_step(first, state[2 * RUNS :], low[0])
            second = low_pass_step(second, first[RUNS:], low[1])
            stage = torque_stage(decay) if noisy == 'torque' else momentum_stage(decay, rate)
            A, b = transition([stage, *low])
            P = A @ P @ A.T + np.outer(b, b)
            last = variance.take([stage, *low], k)
            np.testing.assert_allclose(variance.P.reshape(4, 4), P, rtol=1e-12, atol=1e-15)
            assert last == variance.P[-1]
            found = [np.var(each) for each in (state[2 * RUNS :], first[RUNS:], second[RUNS:])]
            np.testing.assert_allclose(found, np.diag(P)[1:], rtol=0.06, atol=1e-12)


@pytest.mark.parametrize('count', [0, 1, 2, 3])
def test_it_starts_with_the_solution_of_the_discrete_lyapunov_equation(count):
    """Which equal steps keep."""
    stages = [torque_stage(0.8), weights(20.0, 0.004), weights(3.0, 0.004)][:count]
    variance = NoiseVariance(count)
    for number in (7, 8, 9):
        assert variance.take(stages, number) == pytest.approx(stationary(stages)[-1, -1], rel=1e-12)
        found = variance.P.reshape(count + 1, count + 1)
        np.testing.assert_allclose(found, stationary(stages), rtol=1e-10)


def test_the_closed_form_of_one_stage():
    e, w0, w1 = weights(3.0, 0.004)
    closed = (w0**2 + w1**2 + 2.0 * e * w0 * w1) / (1.0 - e**2)
    assert NoiseVariance(2).take([DIRECT, (e, w0, w1)], 0) == pytest.approx(closed, rel=1e-12)


def test_what_is_not_followed_starts_stationary():
    fast, slow = weights(50.0, 0.002), weights(1.0, 0.002)
    variance = NoiseVariance(2)
    equal = {name: stationary([DIRECT, each])[-1, -1] for name, each in (('f', fast), ('s', slow))}
    assert variance.take([DIRECT, fast], 7) == pytest.approx(equal['f'], rel=1e-12)
    P, (A, b) = stationary([DIRECT, fast]), transition([DIRECT, slow])
    after = variance.take([DIRECT, slow], 8)
    assert after == pytest.approx((A @ P @ A.T + np.outer(b, b))[-1, -1], rel=1e-12)
    assert after > 3.0 * equal['s']
    assert variance.take([DIRECT, slow], 10) == pytest.approx(equal['s'], rel=1e-12)  # missed one


def test_stages_that_change_nothing_do_not_matter():
    stage, whole, part = weights(5.0, 0.002), NoiseVariance(3), NoiseVariance(1)
    for number in range(5):
        expected = whole.take([DIRECT, stage, DIRECT], number)
        assert part.take([stage], number) == pytest.approx(expected, rel=1e-14)


def test_the_covariance_of_torques_behind_observer_and_filter():
    """Efforts are independent; velocities enter through the mass matrix."""
    M = np.array([[2.0, 0.5], [0.5, 1.0]])
    effort, velocity = np.array([0.3, 0.2]), np.array([0.1, 0.4])
    first, second, low = torque_stage(0.8), momentum_stage(0.8, 500.0), weights(20.0, 0.002)
    of_momenta = stationary([second, low])[-1, -1] * M @ np.diag(velocity**2) @ M.T
    for mass, stages, expected in ((M, [first, low], of_momenta), (None, [low], 0.0)):
        noise = TorqueNoise(ObserverSteps(2), [LowPassSteps(low.copy())])
        noise.steps.numbers[:] = 0.8, 0.8, 500.0, 0.002, 0.0
        noise.filters[0].weights[:] = low
        noise.effort_deviations, noise.velocity_deviations = effort, velocity
        noise.inertia, noise.covariance = mass, np.full(4, np.nan)
        calls(set_noise_covariance)[0](noise, 1)
        efforts = stationary(stages)[-1, -1] * np.diag(effort**2)
        found = noise.covariance.reshape(2, 2)
        np.testing.assert_allclose(found, efforts + expected, rtol=1e-12)
