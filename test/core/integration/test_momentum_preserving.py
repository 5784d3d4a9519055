# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steps in spatial momentum: exact conservation, and changes by the applied wrench.

Spec IDs: D-45, with D-18, D-34 and D-39.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.integration import (
    EULER,
    RK4,
    TABLEAUS,
    ConfigurationSpace,
    MomentumPreserving,
    RungeKutta,
)
from screw_dynamics_ros.core.lie import se3
from support.compilation import BACKENDS, NATIVE, build, close
from support.free_body_motion import errors, free_body, orders, run
from support.models import random_configuration, random_description, random_wrenches
from support.tangents import displaced

CASES = {
    'tree': random_description(1, 5, ('revolute', 'prismatic')),
    'mimic': random_description(2, 6, ('revolute', 'prismatic'), mimic=2),
}


def floating(case: str, backend: str, **options: object) -> Robot:
    return Robot(CASES[case], floating_base=True, backend=backend, **options)


def state(robot: Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return random_configuration(robot, rng), rng.uniform(-1.0, 1.0, robot.nv)


# --- the equations --------------------------------------------------------------------------------


@BACKENDS
def test_momenta(backend):
    """D-45: P is the momentum about the origin and M v of the joints; back to v by P alone."""
    robot = build('planar, floating', backend)
    q, v = state(robot)
    P = robot.spatial_momenta(q, v)
    close(P[:6], robot.total_momentum(q, v), 1e-13)
    close(P[6:], (robot.mass_matrix(q) @ v)[6:], 1e-13)
    close(robot.spatial_momentum_dynamics(q, P, np.zeros(robot.nv))[0], v, 1e-11)


@pytest.mark.parametrize('case', [*CASES, 'drives'])
def test_rates(case):
    """D-34, D-39: P' is the rate of P along the motion; wrenches, weight, drives, mimic joints."""
    drives = {'joint1': Drive(armature=0.3, damping=0.2)} if case == 'drives' else None
    robot = floating('tree' if drives else case, 'reference', drives=drives)
    q, v = state(robot)
    rng = np.random.default_rng(1)
    tau, wrenches = rng.uniform(-2, 2, robot.nv), random_wrenches(robot, rng)
    velocity, rate = robot.spatial_momentum_dynamics(q, robot.spatial_momenta(q, v), tau, wrenches)
    close(velocity, v, 1e-11)
    a = robot.forward_dynamics(q, v, tau, wrenches)
    h = 0.01
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    expected = np.zeros(robot.nv)
    for k, w in weights.items():
        for t in (k * h, -k * h):
            # Along constant velocities, and what the acceleration adds.
            expected += np.sign(t) * w / h * robot.spatial_momenta(displaced(robot, q, t * v), v)
    expected += robot.spatial_momenta(q, a)
    close(rate, expected, 1e-9)


# --- what is kept ---------------------------------------------------------------------------------


def springs(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return torques in the joints only, of springs."""
    return np.concatenate([np.zeros(6), 0.3 * np.cos(np.arange(len(v) - 6)) - q[7:]])


def drift(robot: Robot, q: np.ndarray, v: np.ndarray, start: np.ndarray) -> float:
    """Return the relative change of the total momentum: angular and linear part by themselves."""
    change, now = np.abs(robot.total_momentum(q, v) - start), np.abs(start)
    return max(change[:3].max() / now[:3].max(), change[3:].max() / now[3:].max())


@pytest.mark.parametrize('backend', [NATIVE])
@pytest.mark.parametrize('case', ['body', *CASES])
def test_momentum_of_a_free_robot_is_constant(case, backend):
    """D-45: springs in the joints: Pi^s stays to 1e-13; that of Runge-Kutta steps changes."""
    robot = free_body(backend=backend) if case == 'body' else floating(case, backend)
    robot.gravity = (0, 0, 0)
    q, v = state(robot)
    integrator = MomentumPreserving(robot)
    start, P = robot.total_momentum(q, v), robot.spatial_momenta(q, v)
    Pi = P[:6].copy()
    at, worst = q, 0.0
    for k in range(4_000 if case == 'body' else 2_000):
        at, P = integrator.momenta_step(at, P, springs, 0.01)
        if k % 500 == 499:
            worst = max(worst, drift(robot, at, integrator.velocity(at, P), start))
    assert np.array_equal(P[:6], Pi)
    assert worst < 1e-13
    assert np.abs(at - q).max() > 1.0

    other, at_v = RungeKutta(robot), (q, v)
    for _ in range(1000):
        at_v = other.step(*at_v, springs, 0.01)
    assert drift(robot, *at_v, start) > 1e-11
    at_v = q, v
    for _ in range(1000):  # the same contract, with conversions in every step
        at_v = integrator.step(*at_v, springs, 0.01)
    assert drift(robot, *at_v, start) < 1e-12


@pytest.mark.parametrize('backend', [NATIVE])
def test_hundred_thousand_steps(backend):
    """D-45, I-26: a tree in free flight, momentum and rotation, nothing normalized ever."""
    robot = floating('tree', backend, gravity=(0, 0, 0))
    q, v = state(robot)
    integrator, start = MomentumPreserving(robot), robot.total_momentum(q, v)
    P, zero = robot.spatial_momenta(q, v), np.zeros(robot.nv)
    for _ in range(100_000):
        q, P = integrator.momenta_step(q, P, zero, 0.001)
    assert drift(robot, q, integrator.velocity(q, P), start) < 1e-12
    R = robot.link_pose(q, robot.link_names[0])[:3, :3]
    close(R.T @ R, np.eye(3), 1e-12)
    assert abs(np.linalg.norm(q[3:7]) - 1) < 1e-12


def test_weight_changes_it():
    """D-34, D-45: Pi^s' = W^s; the weight adds m g t, whatever the joints do."""
    robot = floating('tree', 'python')
    q, v = state(robot)
    integrator = MomentumPreserving(robot)
    end = run(lambda q, v, dt: integrator.step(q, v, np.zeros(robot.nv), dt), 20, 1.0, q, v)
    change = robot.total_momentum(*end)[3:] - robot.total_momentum(q, v)[3:]
    close(change, robot.total_mass * robot.gravity, 1e-12)


@pytest.mark.parametrize('tableau', [EULER, TABLEAUS[3], RK4], ids=repr)
def test_order_on_a_free_body(tableau):
    """D-45: V^s = (M^s)^-1 Pi^s with increments on the left has the order of the tableau."""
    integrator = MomentumPreserving(free_body(), tableau)
    error = errors(lambda q, v, dt: integrator.step(q, v, np.zeros(6), dt), (50, 100, 200))
    np.testing.assert_allclose(orders(error), tableau.order, atol=0.15)


def test_order_on_a_tree():
    """D-45: the motion is that of forward dynamics, wrenches, weight and torques of t, q, v."""
    robot = floating('tree', 'python')
    q0, v0 = state(robot)
    wrenches = {'link2': np.array([0.3, -0.2, 0.1, 1.0, -2.0, 0.5])}

    def torques(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.cos(2 * t + np.arange(robot.nv)) - 0.1 * v + 0.2 * np.sin(q[-1])

    reference, integrator, error = RungeKutta(robot), MomentumPreserving(robot), []

    def end(integrator: MomentumPreserving | RungeKutta, steps: int) -> np.ndarray:
        q, v, dt = q0, v0, 0.2 / steps
        for k in range(steps):
            q, v = integrator.step(q, v, torques, dt, wrenches, t=k * dt)
        return np.append(q, v)

    exact = end(reference, 400)
    error = [np.abs(end(integrator, steps) - exact).max() for steps in (10, 20, 40)]
    np.testing.assert_allclose(orders(np.array(error)), 4, atol=0.3)
    assert error[-1] < 1e-5


def test_the_twist_has_to_be_the_spatial_one():
    """D-45: with the body-fixed twist as rate of increments on the left, the motion is wrong."""

    class BodyTwist(ConfigurationSpace):
        def increment_rate(self, q, X, v):
            return se3.dexp_inv(X) @ v

    integrator = MomentumPreserving(free_body())
    integrator.space = BodyTwist(integrator.robot, 'spatial')
    error = errors(lambda q, v, dt: integrator.step(q, v, np.zeros(6), dt), (50, 100))
    assert error.min() > 0.1


def test_fixed_bases_are_refused():
    robot = Robot(CASES['tree'], backend='reference')
    with pytest.raises(ArgumentError, match='the ground takes up its momentum; take RungeKutta'):
        MomentumPreserving(robot)
    with pytest.raises(ArgumentError, match='make the robot with floating_base=True'):
        robot.spatial_momenta(np.zeros(robot.nq), np.zeros(robot.nv))


def test_torques_are_those_of_the_times_of_the_stages():
    """From the time 0 on, unless it is said otherwise."""
    robot = floating('tree', 'reference')
    q, v = state(robot)
    integrator, times = MomentumPreserving(robot), []

    def torques(t, q, v):
        times.append(t)
        return np.zeros(robot.nv)

    P = robot.spatial_momenta(q, v)
    for start, options in ((0.0, {}), (2.0, {'t': 2.0})):
        integrator.step(q, v, torques, 0.1, **options)
        integrator.momenta_step(q, P, torques, 0.1, **options)
        np.testing.assert_allclose(times, start + 0.1 * np.tile(RK4.c, 2))
        times.clear()
