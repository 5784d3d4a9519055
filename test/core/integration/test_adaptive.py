# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steps of controlled length: errors and tolerances, rejected steps, and where they end.

Spec IDs: I-10, I-23, I-25.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.errors import ArgumentError, DivergenceError
from screw_dynamics_ros.core.integration import (
    BOGACKI_SHAMPINE,
    DORMAND_PRINCE,
    EMBEDDED,
    HEUN_EULER,
    RK4,
    AdaptiveRungeKutta,
    RungeKutta,
)
from support.compilation import build, close
from support.free_body_motion import Q0, V0, free_body, free_motion, pose
from support.models import random_configuration, random_description

STILL = np.zeros(6)


@pytest.mark.parametrize(
    ('tableau', 'tolerances'),
    [(HEUN_EULER, (1e-3, 1e-5)), (BOGACKI_SHAMPINE, (1e-4, 1e-7)), (DORMAND_PRINCE, (1e-6, 1e-10))],
    ids=str,
)
@pytest.mark.parametrize('increments', ['body', 'hybrid'])
def test_error_follows_the_tolerance(tableau, tolerances, increments):
    """I-23: a free body; the error goes with the tolerance, steps with its root of order p + 1."""
    exact, errors, steps = free_motion(1.0), [], []
    for tolerance in tolerances:
        integrator = AdaptiveRungeKutta(free_body(), tableau, tolerance, tolerance, increments)
        end = integrator.until(Q0, V0, STILL, 0.0, 1.0)
        errors.append(np.abs(pose(end.q) - exact).max())
        steps.append(end.steps)
    # The error of the higher order is less than the one controlled: at least in proportion.
    ratio = tolerances[0] / tolerances[1]
    assert errors[0] / errors[1] == pytest.approx(ratio, rel=0.6)
    assert steps[1] / steps[0] == pytest.approx(ratio ** (1 / tableau.order), rel=0.2)
    assert 0.01 < errors[1] / tolerances[1] < 50


def test_an_arm_against_scipy():
    """I-23: torques of t, q, v; as accurate as scipy's RK45 with the same pair and tolerances."""
    robot = Robot(random_description(4, 3), backend='python')
    q0, v0 = np.array([0.3, -0.5, 0.8]), np.array([1.0, -0.5, 0.2])

    def torques(t, q, v):
        return np.cos(3 * t + np.arange(3)) + 0.3 * np.sin(q[-1]) - 0.1 * v

    def rate(t, x):
        return np.append(x[3:], robot.forward_dynamics(x[:3], x[3:], torques(t, x[:3], x[3:])))

    def solve(method, tolerance):
        start = np.append(q0, v0)
        return solve_ivp(rate, (0.2, 1.2), start, method, rtol=tolerance, atol=tolerance).y[:, -1]

    exact = solve('DOP853', 1e-13)
    end = AdaptiveRungeKutta(robot, rtol=1e-7, atol=1e-7).until(q0, v0, torques, 0.2, 1.2)
    error = np.abs(np.append(end.q, end.v) - exact).max()
    assert error < 2 * np.abs(solve('RK45', 1e-7) - exact).max()
    assert error < 1e-5
    assert end.rejections <= end.steps / 5


def test_rejected_steps_are_counted_and_leave_no_trace():
    """A first step that is too long is repeated; the result is as accurate as without it."""
    robot = free_body()
    integrator = AdaptiveRungeKutta(robot, rtol=1e-8, atol=1e-8)
    start = Q0.copy(), V0.copy()
    eager = integrator.until(*start, STILL, 0.0, 1.0, first_step=1.0)
    assert eager.rejections >= 1
    assert np.array_equal(start[0], Q0)
    assert np.array_equal(start[1], V0)
    assert np.abs(pose(eager.q) - free_motion(1.0)).max() < 1e-7
    careful = integrator.until(Q0, V0, STILL, 0.0, 1.0, first_step=eager.next_step)
    assert careful.rejections == 0
    assert careful.next_step == pytest.approx(eager.next_step, rel=0.5)


@pytest.mark.parametrize('tableau', EMBEDDED, ids=str)
def test_steps_settle_where_the_controller_is_at_rest(tableau):
    """I-23: a force t^m whose error is C h^k in every step, k = p + 1 and p the lower order.

    Steps stay as long as they are where 0.9 e^(-0.7/k) e^(0.4/k) = 1, hence e = 0.9^(k/0.3); a
    controller with another order would settle at another error.
    """
    low = min(tableau.order, tableau.order_hat)
    robot = free_body(np.zeros(3))
    mass = robot.total_mass
    integrator = AdaptiveRungeKutta(robot, tableau, 0.0, 1e-6)

    def force(t, q, v):
        return np.array([0.0, 0.0, 0.0, 1e12 * mass * t**low, 0.0, 0.0])

    # of the defect only the moment of order p is not zero: C = |sum (b - b_hat) c^p|; the factor
    # makes times so short that errors of the position are small beside it
    moment = 1e12 * abs((tableau.b - tableau.b_hat) @ np.array(tableau.c) ** low)
    rest = (0.9 ** ((low + 1) / 0.3) * 1e-6 / moment) ** (1.0 / (low + 1))
    end = integrator.until(Q0, 0.0 * V0, force, 0.0, 40 * rest)
    assert end.next_step == pytest.approx(rest, rel=1e-3)


def test_each_step_meets_the_tolerance():
    """Torques that jump: steps around it are rejected; as in two parts, up to the tolerance."""
    robot, calls = free_body(), []

    def jump(t, q, v):
        calls.append(t)
        return np.array([0, 0, 0, 10.0 * (t > 0.4), 0, 0])

    end = AdaptiveRungeKutta(robot).until(Q0, V0, jump, 0.0, 1.0)
    assert end.rejections > 2
    assert len(calls) == 1 + 7 * (end.steps + end.rejections)
    q, v, exact = Q0, V0, RungeKutta(robot)
    for force, duration in ((0.0, 0.4), (10.0, 0.6)):
        for _ in range(200):
            q, v = exact.step(q, v, np.array([0, 0, 0, force, 0, 0]), duration / 200)
    close(end.q, q, 2e-4)


def test_full_turns_shorten_the_step():
    """I-10: a spin of 160 turns per second from one step; the guard rejects it, none is raised."""
    integrator = AdaptiveRungeKutta(free_body(np.zeros(3)), rtol=1e-3, atol=1e-3)
    spin = np.array([0, 0, 1000.0, 0, 0, 0])
    end = integrator.until(Q0, spin, STILL, 0.0, 0.1, first_step=0.1)
    assert end.rejections >= 1
    assert end.steps >= 100 / (2 * np.pi)
    turned = pose(end.q)[:3, :3] @ pose(Q0)[:3, :3].T
    axis = pose(Q0)[:3, 2]
    assert np.trace(turned) == pytest.approx(1 + 2 * np.cos(100.0), abs=1e-9)
    close(turned @ axis, axis, 1e-9)


def test_backward_and_in_parts():
    integrator = AdaptiveRungeKutta(free_body(), rtol=1e-9, atol=1e-9)
    there = integrator.until(Q0, V0, STILL, 0.0, 1.0)
    back = integrator.until(there.q, there.v, STILL, 1.0, 0.0)
    close(back.q, Q0, 1e-7)
    q, v = integrator.step(Q0, V0, STILL, 0.3)
    q, _ = integrator.step(q, v, STILL, 0.7)
    close(q, there.q, 1e-7)
    nothing = integrator.until(Q0, V0, STILL, 1.0, 1.0)
    assert nothing.steps == nothing.rejections == 0
    assert np.array_equal(nothing.q, Q0)


def test_stacks_step_together():
    """All samples make the steps of the worst one, and each is within its tolerance."""
    robot = build('planar, floating', 'python')
    rng = np.random.default_rng(0)
    q, v = random_configuration(robot, rng, (3,)), rng.uniform(-1, 1, (3, robot.nv))
    integrator, tau = AdaptiveRungeKutta(robot, rtol=1e-6, atol=1e-6), np.zeros(robot.nv)
    together = integrator.until(q, v, tau, 0.0, 0.2)
    apart = [integrator.until(*state, tau, 0.0, 0.2) for state in zip(q, v)]
    assert together.steps >= max(run.steps for run in apart)
    close(together.q, np.stack([run.q for run in apart]), 1e-5)


# --- where it ends --------------------------------------------------------------------------------


def explode(t, q, v):
    return 100 * v**3


def not_finite(t, q, v):
    return v * (np.nan if t > 0.5 else 0.0)


def stiff(t, q, v):
    return -1e7 * v


@pytest.mark.parametrize(
    ('torques', 'options', 'reason'),
    [
        (
            explode,
            {},
            r'steps from t = [\d.e-]+ s would have to be shorter than .* of v, component',
        ),
        (not_finite, {}, r'from t = 0\.5 s .* because of numbers that are not finite'),
        (not_finite, {'shortest_step': 0.01}, r'from t = 0\.\d+ s .* shorter than 0?\.?\d'),
        (stiff, {'most_steps': 50}, r'50 steps only lead to t = .* take GeneralizedAlpha'),
    ],
)
def test_what_cannot_be_followed(torques, options, reason):
    integrator = AdaptiveRungeKutta(free_body(), **options)
    with pytest.raises(DivergenceError, match=reason):
        integrator.until(Q0, V0, torques, 0.0, 1.0)


def test_bad_arguments():
    robot = free_body()
    with pytest.raises(ArgumentError, match='no embedded method that estimates errors'):
        AdaptiveRungeKutta(robot, RK4)
    for options in ({'rtol': -1.0}, {'atol': 0.0}, {'shortest_step': np.nan}, {'most_steps': 1.5}):
        with pytest.raises(ArgumentError, match=next(iter(options))):
            AdaptiveRungeKutta(robot, **options)
    integrator = AdaptiveRungeKutta(robot)
    with pytest.raises(ArgumentError, match='t0 and t1 must be finite'):
        integrator.until(Q0, V0, STILL, 0.0, np.inf)
    with pytest.raises(DivergenceError, match='state at t = 2 s is not finite'):
        integrator.until(Q0, V0 * np.nan, STILL, 2.0, 3.0)
    with pytest.raises(ArgumentError, match='tau must have shape'):
        integrator.until(Q0, V0, np.zeros(5), 0.0, 1.0)
    assert all(tableau.order_hat for tableau in EMBEDDED)
