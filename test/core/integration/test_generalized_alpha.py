# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Generalized-alpha: order, constraints of index 3, damping of high frequencies.

Spec IDs: I-47, I-19, I-10.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.integration import AlphaState, GeneralizedAlpha
from support import driven_arm, heavy_top
from support.compilation import close
from support.free_body_motion import Q0, V0, errors, free_body, orders
from support.heavy_top import GROUPS, HeavyTop

ALL_GROUPS = pytest.mark.parametrize('group', GROUPS)
RHO = pytest.mark.parametrize('rho', [0.0, 0.5, 0.9, 1.0])


def carried(
    integrator: GeneralizedAlpha, state: AlphaState, dt: float, steps: int
) -> list[AlphaState]:
    """Return the states of so many steps with constant zero torques."""
    states = []
    for _ in range(steps):
        state = integrator.advance(state, np.zeros(integrator.system.nv), dt)
        states.append(state)
    return states


# --- constraints ----------------------------------------------------------------------------------


@ALL_GROUPS
@pytest.mark.parametrize('start', ['at once', 'delayed'])
def test_heavy_top(group, start):
    """I-47: index 3 on both groups, rho = 0.9: order 2, |g| <= 1e-14, the errors of the spec."""
    top, ends = HeavyTop(group), []
    integrator, v = GeneralizedAlpha(top, 0.9), top.initial_velocity()
    for steps in (50, 100, 200):
        dt = 0.1 / steps
        options = {'dt': dt} if start == 'delayed' else {}
        state = integrator.initial_state(heavy_top.Q0, v, np.zeros(6), **options)
        states = carried(integrator, state, dt, steps)
        violations = [np.linalg.norm(top.constraint_residuals(state.q)) for state in states]
        assert max(violations) < 1e-14
        ends.append(states[-1])
    error = np.array([np.linalg.norm(end.q[:3] - heavy_top.COM_AT_100_MS) for end in ends])
    np.testing.assert_allclose(orders(error), 2, atol=0.05)
    assert np.abs(ends[-1].v[:3] - heavy_top.OMEGA_AT_100_MS).max() < 0.1
    assert error[1] == pytest.approx({'SE(3)': 3.6e-4, 'SO(3) x R^3': 1.3e-3}[group], rel=0.05)


@ALL_GROUPS
def test_residuals_and_reactions(group):
    """I-19: M v' + J^T lambda = Q and g = 0 at the end; the velocity violates J v = 0 a little."""
    top = HeavyTop(group, gravity=9.81)
    integrator, zero = GeneralizedAlpha(top), np.zeros(6)
    state = integrator.initial_state(heavy_top.Q0, top.initial_velocity(), zero)
    violations = []
    for dt in (2e-3, 1e-3):
        end = integrator.advance(state, zero, dt)
        J = top.constraint_jacobian(end.q)
        Q = top.generalized_forces(end.q, end.v, zero)
        missing = top.mass_matrix(end.q) @ end.acceleration + J.T @ end.multipliers - Q
        assert np.abs(missing).max() < 1e-11 * np.abs(J.T @ end.multipliers).max()
        violations.append(np.abs(J @ end.v).max())
    assert violations[1] < violations[0] / 3 or violations[0] < 1e-10


@ALL_GROUPS
def test_steps_without_memory(group):
    """I-47: `step`, which restarts each time, has order 2 and keeps to the constraint."""
    runs = [heavy_top.run(GeneralizedAlpha(HeavyTop(group), 0.5), steps) for steps in (100, 200)]
    errors = np.array([np.abs(q[:3] - heavy_top.COM_AT_100_MS).max() for q, _, _ in runs])
    np.testing.assert_allclose(orders(errors), 2, atol=0.25)
    assert max(violation for _, _, violation in runs) < 1e-14


# --- robots ---------------------------------------------------------------------------------------


@RHO
def test_order_on_a_free_body(rho):
    """I-47: a `Robot` is a system without constraints."""
    integrator = GeneralizedAlpha(free_body(), rho)
    error = errors(lambda q, v, dt: integrator.step(q, v, np.zeros(6), dt))
    np.testing.assert_allclose(orders(error), 2, atol=0.1)


@pytest.mark.parametrize('floating', [False, True])
def test_order_on_an_arm(floating):
    """I-47: torques of t, q, v and a wrench on a link; the motion of Runge-Kutta steps."""
    error = driven_arm.errors(GeneralizedAlpha, floating)
    np.testing.assert_allclose(orders(error), 2, atol=0.15)


def amplification(integrator: GeneralizedAlpha, w2: float) -> np.ndarray:
    """Return the matrix (4, 4) of a step of length 1 on x'' = -w2 x, in (x, v, x'', a)."""
    alpha_m, alpha_f = integrator.alpha_m, integrator.alpha_f
    beta, gamma = integrator.beta, integrator.gamma
    new = np.array([  # rows of the equations in the new (x, v, x'', a), as printed
        [1, 0, 0, -beta],
        [0, 1, 0, -gamma],
        [w2, 0, 1, 0],
        [0, 0, -(1 - alpha_f), 1 - alpha_m],
    ])  # fmt: skip
    old = np.array(
        [[1, 1, 0, 0.5 - beta], [0, 1, 0, 1 - gamma], [0] * 4, [0, 0, alpha_f, -alpha_m]]
    )
    return np.linalg.solve(new, old)


@RHO
def test_an_oscillator_far_faster_than_the_steps(rho):
    """I-47: one step is that of the amplification matrix, whose spectral radius tends to rho."""
    integrator = GeneralizedAlpha(free_body(np.zeros(3)), rho)
    w2 = 500.0  # 4 radians per step

    def spring(t, q, v):
        return np.array([0, 0, 0, 0, 0, -2.0 * w2 * q[2]])

    q = np.array([0, 0, 1.0, 0, 0, 0, 1.0])
    state, x = integrator.initial_state(q, np.zeros(6), spring), np.array([1.0, 0, -w2, -w2])
    for _ in range(30):
        state = integrator.advance(state, spring, 1.0)
        x = amplification(integrator, w2) @ x
        close(np.array([state.q[2], state.v[5]]), x[:2], 1e-7)
    radius = np.abs(np.linalg.eigvals(amplification(integrator, 1e12))).max()
    assert radius == pytest.approx(rho, abs=2e-3)


def test_energy_of_slow_motion_is_left():
    """I-47: rho = 1 damps nothing; rho = 0.8 only a little at 100 steps per period."""

    def spring(t, q, v):
        return np.array([0, 0, 0, 0, 0, -2.0 * (2 * np.pi) ** 2 * q[2]])

    q = np.array([0, 0, 1.0, 0, 0, 0, 1.0])
    amplitudes = {}
    for rho in (0.0, 0.8, 1.0):
        integrator = GeneralizedAlpha(free_body(np.zeros(3)), rho)
        state = integrator.initial_state(q, np.zeros(6), spring, dt=0.01)
        for _ in range(500):
            state = integrator.advance(state, spring, 0.01)
        amplitudes[rho] = np.hypot(state.q[2], state.v[5] / (2 * np.pi))
    assert amplitudes[1.0] == pytest.approx(1.0, abs=1e-3)
    assert 0.98 < amplitudes[0.8] < 1.0
    assert amplitudes[0.0] < amplitudes[0.8]


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize('rho', [-0.1, 1.1, np.nan])
def test_rho(rho):
    with pytest.raises(ArgumentError, match='rho, the decay of high frequencies, is 0 to 1'):
        GeneralizedAlpha(free_body(), rho)


def test_stiff_friction_needs_no_short_steps():
    """A damper of 0.1 ms on steps of 10 ms: explicit steps would explode."""

    def damper(t, q, v):
        return -1e3 * v

    robot = free_body(np.zeros(3))
    integrator = GeneralizedAlpha(robot, 0.5)
    state = integrator.initial_state(Q0, V0, damper)
    for _ in range(60):
        state = integrator.advance(state, damper, 0.01)
    assert np.abs(state.v).max() < 1e-6
    close(state.q[:3], Q0[:3], 0.1)
