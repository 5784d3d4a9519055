# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Observers of external torques against simulated motion with known ones (C-107, E-54)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.observers.filtered_dynamics import filtered_step
from screw_dynamics_ros.core.estimation.observers.generalized_momentum import (
    momentum_step,
)
from screw_dynamics_ros.core.estimation.observers.kalman import (
    Noise,
    kalman_size,
    kalman_step,
)
from screw_dynamics_ros.core.estimation.observers.steps import ObserverSteps
from screw_dynamics_ros.core.estimation.observers.table import OBSERVERS
from screw_dynamics_ros.core.motion.control.joint_gains import middle_of_range
from screw_dynamics_ros.core.simulation import SimulatedRobot
from screw_dynamics_ros.core.state_clock import StateClock
from support.models import random_description
from support.paths import URDF
from support.robots import urdf_path

T = 0.05  # time constant [s]


def settled(steps):
    """Return whether the error of the start has decayed."""
    return steps.age >= OBSERVERS['momentum'].settling_time(steps.longest_time_constant)


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(str(URDF / 'planar_2r.urdf'), backend='python')


def torques(t):
    """Motor torques, smooth in time."""
    return np.array([9.0 + 2.0 * np.sin(3.0 * t), 3.0 - np.cos(5.0 * t)])


@pytest.fixture(scope='module')
def motion(arm):
    """Times at irregular steps, positions and velocities of an arm that is pushed."""
    pushed = np.array([2.0, -1.0])

    def f(t, y):
        return np.concatenate([y[2:], arm.forward_dynamics(y[:2], y[2:], torques(t) + pushed)])

    t = np.cumsum(np.random.default_rng(3).uniform(0.0005, 0.004, 400))
    y = solve_ivp(f, (0.0, t[-1]), [0.3, 0.5, 0.0, 0.0], t_eval=t, rtol=1e-9, atol=1e-9).y
    return t, y[:2].T, y[2:].T, pushed


def known(arm, t, q, v):
    """Return p and what is known of p'."""
    p, rate = arm.momenta_and_rates(q, v)
    return p, rate + torques(t)


def test_momenta_and_rates():
    """p = M v and C^T v - g, with payloads; p' is their sum with torques by finite differences."""
    robot = Robot(random_description(4, 6, mimic=1), backend='python')
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, robot.nv))
    load = {robot.link_names[-1]: RigidBody(2.0, np.array([0.1, 0.0, 0.2]), 0.1 * np.eye(3))}
    p, rates = robot.momenta_and_rates(q, v)
    carried, carried_rates = robot.payload_momenta_and_rates(q, v, load)
    M = robot.mass_matrix(q)
    np.testing.assert_allclose(p, M @ v, atol=1e-12)
    np.testing.assert_allclose(carried, robot.payload_mass_matrix(q, load) @ v, atol=1e-12)
    np.testing.assert_allclose(
        rates, robot.coriolis_matrix(q, v).T @ v - robot.gravity_torques(q), atol=1e-12
    )
    h = 1e-5
    changes = [
        robot.momenta_and_rates(q + s * v, v + s * a)[0]
        + robot.payload_momenta_and_rates(q + s * v, v + s * a, load)[0]
        for s in (h, -h)
    ]
    tau = robot.inverse_dynamics(q, v, a) + robot.payload_torques(q, v, a, load)
    np.testing.assert_allclose(
        (changes[0] - changes[1]) / (2 * h), tau + rates + carried_rates, atol=1e-7
    )


def test_the_momentum_observer_is_a_filter_of_first_order(arm, motion):
    """A constant torque is followed as 1 - e^(-t / T), whatever the steps, within five T to 1 %."""
    t, q, v, pushed = motion
    steps, state = ObserverSteps(2), np.zeros(6)
    clock = StateClock()
    steps.time_constants[:] = T
    for k, now in enumerate(t):
        steps.advance(clock.advance(round(now * 1e9)))
        decay, rate = steps.numbers[:2], steps.numbers[2:3]
        state = momentum_step(state, *known(arm, now, q[k], v[k]), decay, rate)
        share = 1.0 - np.exp(-(now - t[0]) / T)
        np.testing.assert_allclose(state[4:], share * pushed, atol=2e-4)
    assert settled(steps)


def test_the_momentum_observer_of_a_moving_arm_of_seven_joints():
    """Pushed from the start: within 1 % after five T, no bias of 1e-6 N m, irregular steps."""
    robot = Robot.from_urdf(urdf_path('panda'))
    q0 = middle_of_range(robot)
    simulated, rng = SimulatedRobot(robot, q0), np.random.default_rng(6)
    tau = robot.gravity_torques(q0) + np.array([2.0, -3.0, 1.0, 4.0, 0.5, -0.5, 0.2, 0.0])
    pushed = np.array([1.5, -2.0, 0.7, 1.0, -0.3, 0.4, 0.1, 0.0])
    steps, state, t = ObserverSteps(8), np.zeros(24), 0
    clock = StateClock()
    steps.time_constants[:] = 0.02
    while not settled(steps):
        steps.advance(clock.advance(t))
        p, rates = robot.momenta_and_rates(simulated.q, simulated.v)
        known_torques = tau + rates - robot.friction_torques(simulated.v)
        state = momentum_step(state, p, known_torques, steps.numbers[:8], steps.numbers[8:9])
        expected = (1.0 - np.exp(-t * 1e-9 / 0.02)) * pushed
        np.testing.assert_allclose(state[16:23], expected[:7], atol=1e-6)
        h = int(rng.integers(50_000, 200_000))  # ns
        simulated.step(tau + pushed, h * 1e-9)
        t += h
    assert 0.1 <= (t - h) * 1e-9 < 0.1004  # five time constants
    np.testing.assert_allclose(state[16:23], pushed[:7], rtol=0.01)
    assert np.abs(simulated.v).max() > 0.5  # it does move


def test_at_rest_there_is_no_bias(arm):
    """Held by torques against a push: r is exact after 40 time constants."""
    q, rest, pushed = np.array([0.4, -0.7]), np.zeros(2), np.array([1.0, -2.0])
    tau = arm.gravity_torques(q) - pushed
    p, rates = arm.momenta_and_rates(q, rest)
    steps, state = ObserverSteps(2), np.zeros(6)
    clock = StateClock()
    steps.time_constants[:] = T
    for k in range(2000):
        steps.advance(clock.advance(k * 1_000_000))
        state = momentum_step(state, p, rates + tau, steps.numbers[:2], steps.numbers[2:3])
    np.testing.assert_allclose(state[4:], pushed, atol=1e-12)


def test_filtered_inverse_dynamics(arm, motion):
    """The torque of a push within its time constant, to the change of M in it."""
    t, q, v, pushed = motion
    steps, state = ObserverSteps(2), np.zeros(8)
    clock = StateClock()
    steps.time_constants[:] = 0.005
    for k, now in enumerate(t):
        steps.advance(clock.advance(round(now * 1e9)))
        rest = arm.coriolis_torques(q[k], v[k]) + arm.gravity_torques(q[k]) - torques(now)
        state = filtered_step(state, v[k], rest, steps.numbers[:2], steps.numbers[2:3])
        if settled(steps):
            found = arm.mass_matrix(q[k]) @ state[4:6] + state[6:]
            np.testing.assert_allclose(found, pushed, atol=0.1)


def test_filtered_torques_are_averaged_over_each_step():
    """A ramp c t through 1 / (T s + 1): halved steps have a quarter of the error."""

    def error(count):
        h = 0.2 / count
        decay, rate = np.exp([-h / T]), np.array([1.0 / h])
        state = np.zeros(4)
        for k in range(count + 1):
            state = filtered_step(state, np.zeros(1), np.array([7.0 * k * h]), decay, rate)
        return state[3] - 7.0 * (0.2 - T * (1.0 - np.exp(-0.2 / T)))

    assert abs(error(20)) < 5e-3
    assert error(20) / error(40) == pytest.approx(4.0, rel=0.05)


def test_kalman_step_is_a_textbook_filter():
    """State (p, d) discretized by Van Loan's matrix exponential; update by the standard formulas.

    The stated covariance is that of the errors (e_p, e_d, w), in Joseph form with the same gains.

    Source: C. F. Van Loan, Computing integrals involving the matrix exponential (1978).
    """
    rng, n, h = np.random.default_rng(5), 2, 0.3
    noise = Noise(*rng.uniform(0.5, 2.0, (4, n)))
    root = rng.normal(size=(n, n))
    M, one = root @ root.T + np.eye(n), np.eye(n)
    A = np.block([[0.0 * one, one], [0.0 * one, 0.0 * one]])
    walk = np.diag(np.append(np.zeros(n), noise.change**2))
    both = expm(h * np.block([[-A, walk], [np.zeros((2 * n, 2 * n)), A.T]]))
    F = both[2 * n :, 2 * n :].T
    held = np.diag(np.append((h * noise.torque) ** 2, np.zeros(n)))  # constant over a step
    Q = F @ both[: 2 * n, 2 * n :] + held
    H, R = np.eye(n, 2 * n), M @ np.diag(noise.velocity**2) @ M.T
    move = np.block(
        [[one, h * one, 0.5 * h * one], [0 * one, one, 0 * one], [np.zeros((n, 3 * n))]]
    )
    new = np.vstack([0.5 * h * one, 0 * one, one]) @ np.diag(noise.torque)
    samples = rng.normal(size=(6, 2, n))  # measured momenta, known torques
    state = np.zeros(kalman_size(n))
    x = P = X = before = None
    for k, (p, known_torques) in enumerate(samples):
        first = np.array([float(k == 0)])
        step = h * (1.0 - first)
        state = kalman_step(state, p, known_torques, M, noise, step, first)
        if x is None:
            x = np.append(p, np.zeros(n))
            P = np.diag(np.append(np.zeros(n), noise.start**2))
            P[:n, :n] = R
        else:
            x = F @ x + np.append(h * 0.5 * (known_torques + before), np.zeros(n))
            P = F @ P @ F.T + Q
        before = known_torques
        gain = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        x, P = x + gain @ (p - H @ x), P - gain @ H @ P
        np.testing.assert_allclose(state[n : 3 * n], x, atol=1e-12)
        stated = state[3 * n + 2 * n * n :][: n * n].reshape(n, n)
        np.testing.assert_allclose(stated, P[n:, n:], atol=1e-12)
        if X is None:
            X = np.diag(np.concatenate([np.zeros(n), noise.start**2, noise.torque**2]))
            X[:n, :n] = R
        else:
            gain = np.vstack([gain, np.zeros((n, n))])
            rest = np.eye(3 * n) - gain @ np.eye(n, 3 * n)
            X = rest @ (move @ X @ move.T + new @ new.T) @ rest.T + gain @ R @ gain.T
        stated = state[-n * n :].reshape(n, n)
        np.testing.assert_allclose(stated, X[n : 2 * n, n : 2 * n], atol=1e-12)


@pytest.mark.parametrize(
    ('velocity', 'torque', 'change'),
    [(1e-4, 0.3, 20.0), (2e-3, 0.01, 20.0), (2e-3, 0.3, 1.0), (2e-3, 0.3, 1000.0)],
)
def test_the_kalman_filter_states_the_errors_of_a_constant_torque(velocity, torque, change):
    """Noise of torques or velocities dominates, filtered or hardly: mean squares of 20 000 steps.

    The covariance of the random walk would be up to ten times as large.
    """
    rng, n, count = np.random.default_rng(4), 2, 20_000
    M = np.array([[2.0, 0.4], [0.4, 0.7]])
    noise = Noise(*(np.full(n, each) for each in (velocity, torque, change, 1.0)))
    p = noise.velocity * rng.normal(size=(count, n)) @ M
    known_torques = noise.torque * rng.normal(size=(count, n))
    steps = rng.uniform(0.003, 0.007, (count, 1))
    state, errors, stated = np.zeros(kalman_size(n)), [], []
    for k in range(count):
        first = np.array([float(k == 0)])
        h = steps[k] * (1.0 - first)
        state = kalman_step(state, p[k], known_torques[k], M, noise, h, first)
        errors.append(state[2 * n : 3 * n])
        stated.append(state[-n * n :].reshape(n, n))
    assert stated[0].tolist() == np.eye(n).tolist()  # of the start
    x, P = np.array(errors[2000:]), np.mean(stated[2000:], axis=0)
    size = np.sqrt(np.diag(P))
    found = x.T @ x / len(x) / np.outer(size, size)
    np.testing.assert_allclose(found, P / np.outer(size, size), atol=0.12)


def test_kalman_filter_and_its_covariance(arm, motion):
    """With noise of the stated size the errors are within the stated covariance, and no smaller."""
    t, q, v, pushed = motion
    rng, n = np.random.default_rng(8), 2
    noise = Noise(np.full(n, 2e-3), np.full(n, 0.3), np.full(n, 1.0), np.full(n, 5.0))
    squares = []
    for _ in range(24):
        steps, state = ObserverSteps(n), np.zeros(kalman_size(n))
        clock = StateClock()
        for k, now in enumerate(t[:250]):
            steps.advance(clock.advance(round(now * 1e9)))
            seen = v[k] + noise.velocity * rng.normal(size=n)
            p, rates = known(arm, now, q[k], seen)
            rates = rates + noise.torque * rng.normal(size=n)
            step, first = steps.numbers[3:4], steps.numbers[4:]
            M = arm.mass_matrix(q[k])
            state = kalman_step(state, p, rates, M, noise, step, first)
        error, D = state[4:6] - pushed, state[-4:].reshape(2, 2)
        assert np.linalg.eigvalsh(D).min() > 0.0
        squares.append(error @ np.linalg.solve(D, error))
    assert 0.6 * n < np.mean(squares) < 1.5 * n


def test_kalman_filter_without_noise_has_no_bias(arm, motion):
    t, q, v, pushed = motion
    noise = Noise(*(np.full(2, each) for each in (1e-6, 1e-6, 10.0, 10.0)))
    steps, state = ObserverSteps(2), np.zeros(kalman_size(2))
    clock = StateClock()
    for k, now in enumerate(t):
        steps.advance(clock.advance(round(now * 1e9)))
        p, rates = known(arm, now, q[k], v[k])
        M = arm.mass_matrix(q[k])
        state = kalman_step(state, p, rates, M, noise, steps.numbers[3:4], steps.numbers[4:])
    np.testing.assert_allclose(state[4:6], pushed, atol=1e-3)


def test_steps_start_anew():
    """At first, after pauses, and where stamps do not advance; settled after five constants."""
    steps = ObserverSteps(1)
    clock = StateClock()
    steps.time_constants[:], clock.timeout = 0.01, 500_000_000
    assert steps.advance(clock.advance(10**9))
    assert steps.numbers.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert not steps.advance(clock.advance(10**9 + 20_000_000))
    np.testing.assert_allclose(steps.numbers, [np.exp(-2.0), 50.0, 0.02, 0.0])
    assert not settled(steps)
    assert not steps.advance(clock.advance(10**9 + 49_999_999))
    assert not settled(steps)
    assert not steps.advance(clock.advance(10**9 + 50_000_000))
    assert settled(steps)
    assert steps.age == 50_000_000
    for stamp, restarted in ((10**9 + 50_000_000, False), (10**9, False), (3 * 10**9, False)):
        assert steps.advance(clock.advance(stamp, restarted))
        assert not settled(steps)
        assert steps.age == 0
    assert not steps.advance(clock.advance(3 * 10**9 + 500_000_000))  # no longer than the longest
    assert steps.age == 500_000_000
    assert steps.advance(clock.advance(3 * 10**9 + 501_000_000, True))
    steps.restart()
    assert steps.age == 0
    assert steps.numbers.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert steps.advance(clock.advance(3 * 10**9 + 502_000_000))
    assert steps.starts == 6


def test_the_slowest_torque_determines_settling():
    steps = ObserverSteps(3)
    clock = StateClock()
    assert steps.longest_time_constant == 0.02
    steps.time_constants[:] = 0.01, 0.04, 0.02
    assert steps.longest_time_constant == 0.04
    steps.advance(clock.advance(0))
    steps.advance(clock.advance(199_999_999))
    assert not settled(steps)
    steps.advance(clock.advance(200_000_000))
    assert settled(steps)
    np.testing.assert_allclose(steps.numbers[:3], np.exp(-1e-9 / steps.time_constants))
    assert ObserverSteps(0).longest_time_constant == 0.0
