# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Variational steps: order, energy over long times, momenta, constraints, symmetry.

Spec IDs: I-47, D-45, I-24, I-10.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.errors import ArgumentError, DivergenceError
from screw_dynamics_ros.core.integration import GeneralizedAlpha, RungeKutta, Variational
from support import driven_arm, heavy_top
from support.compilation import NATIVE, close
from support.free_body_motion import COM, Q0, V0, errors, free_body, orders
from support.heavy_top import GROUPS, HeavyTop
from support.models import random_configuration, random_description
from support.tangents import partial

ALL_GROUPS = pytest.mark.parametrize('group', GROUPS)


# --- order ----------------------------------------------------------------------------------------


def test_order_on_a_free_body():
    """I-47: momenta are carried by dexp^-T with the right signs, COM off the origin."""
    integrator = Variational(free_body())
    error = errors(lambda q, v, dt: integrator.step(q, v, np.zeros(6), dt))
    np.testing.assert_allclose(orders(error), 2, atol=0.1)


@pytest.mark.parametrize('floating', [False, True])
def test_order_on_an_arm(floating):
    """I-47: a mass matrix that varies; torques of t, q, v and a wrench on a link."""
    error = driven_arm.errors(Variational, floating)
    np.testing.assert_allclose(orders(error), 2, atol=0.15)


@ALL_GROUPS
def test_heavy_top(group):
    """I-47: constraints in positions and velocities to rounding, order 2 on both groups."""
    runs = [heavy_top.run(Variational(HeavyTop(group)), steps) for steps in (50, 100)]
    error = np.array([np.abs(q[:3] - heavy_top.COM_AT_100_MS).max() for q, _, _ in runs])
    np.testing.assert_allclose(orders(error), 2, atol=0.1)
    assert max(violation for _, _, violation in runs) < 1e-14
    for q, v, _ in runs:
        assert np.abs(HeavyTop(group).constraint_jacobian(q) @ v).max() < 1e-12


# --- structure ------------------------------------------------------------------------------------


def springs(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return torques of springs in the joints of a robot on a floating base."""
    return np.concatenate([np.zeros(6), -3.0 * q[7:]])


@pytest.mark.parametrize('backend', [NATIVE])
def test_momentum_of_a_free_tree(backend):
    """D-45, I-47: the total momentum is that of before to rounding, springs in the joints."""
    robot = Robot(
        random_description(1, 2),
        floating_base=True,
        gravity=(0, 0, 0),
        backend=backend,
    )
    rng = np.random.default_rng(0)
    start = random_configuration(robot, rng), rng.uniform(-1, 1, robot.nv)
    momentum = robot.total_momentum(*start)
    for integrator, kept in ((Variational(robot), True), (RungeKutta(robot), False)):
        q, v = start
        for _ in range(150):
            q, v = integrator.step(q, v, springs, 0.01)
        change = np.abs(robot.total_momentum(q, v) - momentum).max() / np.abs(momentum).max()
        assert (change < 1e-12) == kept


@pytest.mark.parametrize('backend', [NATIVE])
@pytest.mark.parametrize('com', [np.zeros(3), COM], ids=['com', 'off com'])
def test_energy_and_momentum_of_a_free_body(backend, com):
    """D-45, I-47: the energy error of 300 steps is bounded, the momentum constant."""
    robot = free_body(com, backend)
    q, v, integrator = Q0, V0, Variational(robot)
    momentum, energy = robot.total_momentum(q, v), robot.kinetic_energy(q, v)
    deviations = []
    for _ in range(300):
        q, v = integrator.step(q, v, np.zeros(6), 0.02)
        deviations.append(abs(robot.kinetic_energy(q, v) / energy - 1))
    assert max(deviations[-100:]) < 1.3 * max(deviations[:100]) < 1e-4
    close(robot.total_momentum(q, v), momentum, 1e-12)


def test_energy_over_long_times():
    """I-47: 1500 steps of an arm with two joints, 20 steps per swing; Runge-Kutta drifts off."""
    robot = Robot.from_urdf('urdf/planar_2r.urdf', gravity=(0, -9.81, 0))
    zero, dt = np.zeros(2), 0.05

    def deviations(integrator, steps):
        q, v, errors = np.array([-1.2, 0.3]), np.zeros(2), []
        start = robot.potential_energy(q)
        for _ in range(steps):
            q, v = integrator.step(q, v, zero, dt)
            errors.append(robot.kinetic_energy(q, v) + robot.potential_energy(q) - start)
        return np.array(errors)

    error = deviations(Variational(robot), 1500)
    assert np.abs(error[-500:]).max() < 1.1 * np.abs(error[:500]).max()
    assert abs(error[-500:].mean() - error[:500].mean()) < 0.05 * np.abs(error).max()
    explicit = deviations(RungeKutta(robot), 1500)
    assert abs(explicit[-250:].mean()) > 5 * abs(explicit[:250].mean())


def test_energy_of_the_top():
    """I-47: under gravity and the constraint; no drift."""
    top = HeavyTop('SE(3)', gravity=9.81)
    q, v, integrator = heavy_top.Q0, top.initial_velocity(), Variational(top)
    energy, deviations = top.energy(q, v), []
    for _ in range(150):
        q, v = integrator.step(q, v, np.zeros(6), 2e-3)
        deviations.append(abs(top.energy(q, v) / energy - 1))
    assert max(deviations[-50:]) < 1.5 * max(deviations[:50])
    assert max(deviations) < 1e-3


@pytest.mark.parametrize('case', ['arm', 'top'])
def test_symmetry(case):
    """A step back leads where the step came from: even order, no preferred direction of time."""
    if case == 'top':
        system = HeavyTop('SE(3)', gravity=9.81)
        q, v, dt = heavy_top.Q0, system.initial_velocity(), 1e-3
    else:
        system = Robot(random_description(1, 3), floating_base=True, backend='python')
        rng = np.random.default_rng(0)
        q, v, dt = random_configuration(system, rng), rng.uniform(-1, 1, system.nv), 0.02
    integrator, tau = Variational(system), np.zeros(system.nv)
    at, speed = integrator.step(q, v, tau, dt)
    assert np.abs(at - q).max() > 1e-3
    back, before = integrator.step(at, speed, tau, -dt)
    close(back, q, 1e-13)
    close(before, v, 1e-11)


def test_symplectic():
    """The derivative S of a step in (q, p) of an arm satisfies S^T J S = J; of RK4 it does not."""
    robot = Robot(random_description(4, 3), backend='python')
    q0, v0, n = np.array([0.3, -0.5, 0.8]), np.array([1.0, -0.5, 0.2]), 3
    p0 = robot.mass_matrix(q0) @ v0

    def defect(integrator):
        def step(d):
            q = q0 + d[:n]
            v = np.linalg.solve(robot.mass_matrix(q), p0 + d[n:])
            q, v = integrator.step(q, v, np.zeros(n), 0.1)
            return np.append(q, robot.mass_matrix(q) @ v)

        S = partial(step, 2 * n)
        J = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
        return np.abs(S.T @ J @ S - J).max()

    assert defect(Variational(robot)) < 1e-9
    assert defect(RungeKutta(robot)) > 1e-7


@pytest.mark.parametrize('wrong', ['sign', 'no dexp', None])
def test_dexp_matters(wrong):
    """I-24: without dexp^-T of the right sign, the momentum is not conserved."""
    robot = Robot(random_description(1, 3), floating_base=True, gravity=(0, 0, 0), backend='python')
    rng = np.random.default_rng(0)
    q, v = random_configuration(robot, rng), rng.uniform(-1, 1, robot.nv)
    momentum, integrator = robot.total_momentum(q, v), Variational(robot)
    pulled_back = integrator.space.pulled_back
    if wrong:
        integrator.space.pulled_back = {
            'sign': lambda q, X, p: pulled_back(q, -X, p),
            'no dexp': lambda q, X, p: p,
        }[wrong]
    for _ in range(10):
        q, v = integrator.step(q, v, np.zeros(robot.nv), 0.02)
    change = np.abs(robot.total_momentum(q, v) - momentum).max()
    assert (change < 1e-12) == (wrong is None)
    assert (change > 1e-6) == (wrong is not None)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize('kind', [Variational, GeneralizedAlpha])
def test_what_cannot_be_stepped(kind):
    """I-10, and NaN; states are not changed."""
    integrator = kind(free_body(np.zeros(3)))
    with pytest.raises(ArgumentError, match=r"'body' turns by 6\.4 rad in one step"):
        integrator.step(Q0, np.array([0, 0, 40.0, 0, 0, 0]), np.zeros(6), 0.16)
    q = Q0.copy()
    with pytest.raises(DivergenceError, match='no finite solution'):
        integrator.step(q, V0 * [1, np.nan, 1, 1, 1, 1], np.zeros(6), 0.01)
    assert np.array_equal(q, Q0)
    for dt in (0.0, np.nan, np.inf):
        with pytest.raises(ArgumentError, match='dt must be a finite number of seconds other than'):
            integrator.step(Q0, V0, np.zeros(6), dt)
    with pytest.raises(ArgumentError, match=r'q must have shape \(7,\), got \(2, 7\)'):
        integrator.step(np.stack([Q0, Q0]), np.stack([V0, V0]), np.zeros(6), 0.01)


def test_a_mass_matrix_that_varies_must_have_a_rate():
    """Wrong results are refused; a robot has `mass_matrix_rate`."""

    class Growing(HeavyTop):
        def mass_matrix(self, q):
            return self._M * (1 + q[2] ** 2)

    top = Growing('SE(3)')
    with pytest.raises(ArgumentError, match=r'Growing: .* mass_matrix_rate, without which'):
        Variational(top).step(heavy_top.Q0, top.initial_velocity(), np.zeros(6), 1e-3)
