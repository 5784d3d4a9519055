# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The low-pass filter against integration of its differential equation and SciPy; its starts."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.signal import cont2discrete

from screw_dynamics_ros.core.estimation.low_pass import (
    PASS_WEIGHTS,
    SERIES_LIMIT,
    LowPassSteps,
    low_pass_step,
    weights,
)
from screw_dynamics_ros.core.state_clock import StateClock


def test_irregular_steps_against_integration_of_the_differential_equation():
    rng, cutoff = np.random.default_rng(1), 3.0
    t = np.cumsum(rng.uniform(1e-4, 0.2, 40))
    u = rng.normal(size=(40, 2))
    a = 2.0 * np.pi * cutoff
    state = low_pass_step(np.zeros(4), u[0], np.array(PASS_WEIGHTS))
    y = u[0]
    for k in range(1, 40):

        def f(s, y, k=k):
            share = (s - t[k - 1]) / (t[k] - t[k - 1])
            return a * (u[k - 1] + share * (u[k] - u[k - 1]) - y)

        y = solve_ivp(f, (t[k - 1], t[k]), y, rtol=1e-10, atol=1e-12).y[:, -1]
        state = low_pass_step(state, u[k], weights(cutoff, t[k] - t[k - 1]))
        np.testing.assert_allclose(state[2:], y, atol=1e-8)


@pytest.mark.parametrize('step', [1e-9, 1e-4, 0.01, 10.0, 1e6])
def test_weights_against_triangle_hold_of_scipy(step):
    """y = C x + D u with x of SciPy's form; and they are a mean of inputs at any step."""
    w = weights(5.0, step)
    assert (w >= 0.0).all()
    assert w.sum() == pytest.approx(1.0, abs=1e-15)
    if 1e-4 <= step <= 10.0:
        a = 2.0 * np.pi * 5.0
        A, B, C, D, _ = cont2discrete(
            tuple(np.array([[each]]) for each in (-a, a, 1.0, 0.0)), step, method='foh'
        )
        np.testing.assert_allclose(w[0], A[0, 0], atol=1e-14)
        np.testing.assert_allclose(w[2], D[0, 0], rtol=1e-9)
        np.testing.assert_allclose(w[1], C[0, 0] * B[0, 0] - A[0, 0] * D[0, 0], atol=1e-9)


def test_the_series_for_short_steps_joins():
    a = 2.0 * np.pi
    for factor in (1.0 - 1e-9, 1.0 + 1e-9):
        np.testing.assert_allclose(
            weights(1.0, factor * SERIES_LIMIT / a)[2], SERIES_LIMIT / 2.0, rtol=1e-4
        )


def test_half_the_power_passes_at_the_cutoff():
    cutoff, h = 10.0, 1e-4
    t = np.arange(0.0, 2.0, h)
    u, y, state = np.sin(2.0 * np.pi * cutoff * t), [], np.zeros(2)
    for each in u:
        state = low_pass_step(state, np.array([each]), weights(cutoff, h))
        y.append(state[1])
    assert np.mean(np.square(y[10_000:])) == pytest.approx(0.25, rel=1e-3)


def test_starts():
    """What comes first, after a gap, and where stamps do not advance passes as it is."""
    steps, clock = LowPassSteps(), StateClock()
    steps.set_cutoff(5.0)
    clock.timeout = 500_000_000
    assert steps.advance(clock.advance(10**9))
    assert steps.weights.tolist() == list(PASS_WEIGHTS)
    assert not steps.advance(clock.advance(10**9 + 2_000_000))
    assert steps.weights.tolist() == weights(5.0, 0.002).tolist()
    for stamp in (10**9 + 2_000_000, 10**8, 10**9):  # again, back, and after a gap
        assert steps.advance(clock.advance(stamp))
    assert not steps.advance(clock.advance(10**9 + 1))
    assert steps.advance(clock.advance(10**9 + 2, restarted=True))
    steps.restart()
    assert steps.advance(clock.advance(10**9 + 3))
    assert not steps.advance(clock.advance(10**9 + 4))
    steps.set_cutoff(6.0)  # goes on
    assert not steps.advance(clock.advance(10**9 + 5))
    steps.set_cutoff(0.0)
    assert steps.weights.tolist() == list(PASS_WEIGHTS)
    assert steps.advance(clock.advance(10**9 + 6))
    steps.set_cutoff(5.0)  # restarts
    assert steps.advance(clock.advance(10**9 + 7))
    assert not steps.advance(clock.advance(10**9 + 8))


def test_the_array_of_weights_may_be_given():
    given = np.zeros(3)
    steps, clock = LowPassSteps(given), StateClock()
    assert steps.weights is given
    assert given.tolist() == [0.0, 0.0, 1.0] == list(PASS_WEIGHTS)
    steps.set_cutoff(2.0)
    steps.advance(clock.advance(0))
    assert not steps.advance(clock.advance(10**8))
    e = np.exp(-0.4 * np.pi)  # by integration over a linear input
    w1 = 1.0 - (1.0 - e) / (0.4 * np.pi)
    np.testing.assert_allclose(given, [e, 1.0 - e - w1, w1])


@pytest.mark.parametrize('x', [1e-10, 0.9e-6, 1.1e-6])
def test_weights_of_short_steps_are_exact_to_rounding(x):
    """Of a series with more terms."""
    w1 = x / 2.0 - x**2 / 6.0 + x**3 / 24.0
    found = weights(x / (2.0 * np.pi), 1.0)
    assert found[2] == pytest.approx(w1, rel=1e-9, abs=2e-16)
    assert found[0] + found[1] + found[2] == pytest.approx(1.0, abs=1e-15)
