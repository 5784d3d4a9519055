# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steps of the sliding-mode observer and their covariance, against their definitions."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from screw_dynamics_ros.core.estimation.observers.sliding_mode import (
    NODES,
    WEIGHTS,
    SlidingMode,
    moments,
    sliding_step,
    solution,
)

H, ZERO, ONE = np.array([0.002]), np.zeros(1), np.ones(1)
L = np.array([300.0, 900.0])  # N m/s
M = np.array([[1.5, 0.4], [0.4, 0.3]])
VELOCITY, EFFORT = np.array([2e-3, 1e-3]), np.array([0.3, 0.2])


def stepped(state, rng, first=False, torque_rate=L):
    p, known = rng.normal(size=2) * 0.003, rng.normal(size=2)
    step = (ZERO, ZERO, ONE) if first else (1.0 / H, H, ZERO)
    return sliding_step(state, p, known, M, VELOCITY, EFFORT, torque_rate, *step), p, known


def test_nodes_and_weights_are_those_of_gauss_and_hermite():
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    np.testing.assert_allclose(NODES, nodes[4:], rtol=1e-14)
    np.testing.assert_allclose(WEIGHTS, 2.0 * weights[4:] / np.sqrt(2.0 * np.pi), rtol=1e-12)


def test_solutions_fulfill_the_implicit_equation():
    """y^2 + h T1 y is what is outside of the zone; nothing within it."""
    b = np.linspace(-3.0, 3.0, 31)
    zone, gain = np.full(31, 0.7), np.full(31, 0.9)
    e, inside = solution(b, zone, gain, ZERO)
    np.testing.assert_allclose(inside, np.clip(b, -0.7, 0.7))
    y = np.sqrt(np.abs(e))
    np.testing.assert_allclose(np.sign(e) * (y * y + 0.9 * y), b - inside, atol=1e-12)
    assert np.isfinite(solution(ZERO, ONE, ZERO, ONE)[0]).all()  # the first sample


@pytest.mark.parametrize('deviation', [0.1, 3.0, 30.0])
def test_moments_of_normal_numbers(deviation):
    """By adaptive quadrature; the kinks at the zone cost 8 points some percent."""
    zone, gain = 0.5, 0.3
    found = np.ravel(moments(np.array([deviation**2]), np.array([zone]), np.array([gain]), ZERO))

    def mean(function):
        def integrand(b):
            e, inside = solution(np.array([b]), np.array([zone]), np.array([gain]), ZERO)
            return function(b, e[0], inside[0]) * norm.pdf(b, scale=deviation)

        return quad(integrand, -9 * deviation, 9 * deviation, points=[-zone, zone], limit=200)[0]

    expected = [
        mean(lambda b, e, i: e * b) / deviation**2,
        mean(lambda b, e, i: i * b) / deviation**2,
        mean(lambda b, e, i: e * e),
        mean(lambda b, e, i: e * i),
        mean(lambda b, e, i: i * i),
    ]
    np.testing.assert_allclose(found, expected, rtol=0.11, atol=2e-6)


def test_the_first_two_samples():
    """The first one only stores; from the second one the torque is the mean of the step."""
    rng, observer = np.random.default_rng(1), SlidingMode()
    state, p, known = stepped(np.zeros(observer.state_size(2)), rng, first=True)
    R = M @ np.diag(VELOCITY**2) @ M.T
    assert state[:4].tolist() == [*p, *known]
    assert state[4:14].tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 0, 0]
    np.testing.assert_allclose(state[14:18], R.ravel())
    assert not state[18:].any()
    after, p_next, known_next = stepped(state, rng)
    np.testing.assert_allclose(after[6:8], (p_next - p) / H - 0.5 * (known + known_next))
    assert after[8:10].tolist() == [0.0, 0.0]
    direct = 2.0 / H**2 * R + 0.5 * np.diag(EFFORT**2)
    np.testing.assert_allclose(observer.covariance(2, after), direct.ravel(), rtol=1e-9)


def test_the_covariance_of_differences_if_any_rate_is_allowed():
    """All samples are within the zone: torques are differences, and errors those of two samples."""
    rng, observer = np.random.default_rng(2), SlidingMode()
    state = stepped(np.zeros(observer.state_size(2)), rng, first=True)[0]
    for _ in range(5):
        state = stepped(state, rng, torque_rate=np.full(2, 1e9))[0]
    direct = 2.0 / H**2 * M @ np.diag(VELOCITY**2) @ M.T + 0.5 * np.diag(EFFORT**2)
    np.testing.assert_allclose(observer.covariance(2, state), direct.ravel(), rtol=1e-9)


def joint_covariance(state):
    """Return the covariance of (u, w, e, sigma), (8, 8), and the estimates."""
    _, _, e, sigma, _, we, ws = state[:14].reshape(7, 2)
    R, UE, US, EE, ES, SS = state[14:].reshape(6, 2, 2)
    zero, WE, WS = np.zeros((2, 2)), np.diag(we), np.diag(ws)
    q = np.diag(EFFORT**2)
    rows = [[R, zero, UE, US], [zero, q, WE, WS], [UE.T, WE, EE, ES], [US.T, WS, ES.T, SS]]
    return np.block(rows), e, sigma


def test_covariances_are_propagated_through_the_linearized_step():
    """As one dense matrix of all errors; remainders are independent between joints."""
    rng, observer = np.random.default_rng(3), SlidingMode()
    state = stepped(np.zeros(observer.state_size(2)), rng, first=True)[0]
    one, h = np.eye(2), H[0]
    is_outside = False
    for k in range(12):
        before, known_before = state[:2], state[2:4]
        C, e, sigma = joint_covariance(state)
        state, p, known = stepped(state, rng)
        if k == 0:
            continue  # the unbounded zone of the second sample
        # errors of (u, w, e, sigma, u_next, w_next); b as of (2), whose errors are T times these
        R = M @ np.diag(VELOCITY**2) @ M.T
        every = np.zeros((12, 12))
        every[:8, :8], every[8:10, 8:10], every[10:, 10:] = C, R, np.diag(EFFORT**2)
        T = np.hstack([one, 0.5 * h * one, one, h * one, -one, 0.5 * h * one])
        zone, gain = 1.1 * h * h * L, 1.5 * h * np.sqrt(L)
        B = T @ every @ T.T
        eb, ib, ee, ei, ii = moments(np.diag(B).copy(), zone, gain, ZERO)
        next_rows = np.zeros((8, 12))
        next_rows[:2, 8:10] = next_rows[2:4, 10:] = one
        next_rows[4:6] = np.diag(eb) @ T
        next_rows[6:, 6:8] = one
        next_rows[6:] -= np.diag(ib) @ T / h
        expected = next_rows @ every @ next_rows.T
        variance = np.diag(B)
        expected[4:6, 4:6] += np.diag(ee - eb**2 * variance)
        mixed = np.diag(ei - eb * ib * variance) / h
        expected[4:6, 6:] -= mixed
        expected[6:, 4:6] -= mixed
        expected[6:, 6:] += np.diag(ii - ib**2 * variance) / h**2
        found = joint_covariance(state)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
        b = e + h * 0.5 * (known + known_before) - (p - before) + h * sigma
        e_next, inside = solution(b, zone, gain, ZERO)
        np.testing.assert_allclose(state[4:8], [*e_next, *(sigma - inside / h)])
        is_outside |= bool((np.abs(b) > zone).any())
    assert is_outside
