# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Canonical momenta, and balances over ten simulated seconds.

D-39, C-076; C-055 and C-075: what a floating base keeps when only
inner torques and inner constraints act.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.compile.kernels import KernelSpecification, make_kernel
from screw_dynamics_ros.core.constraints.motion_constraint import fixed_point
from screw_dynamics_ros.core.description import Link, RobotDescription
from screw_dynamics_ros.core.dynamics.momentum_dynamics import momentum_dynamics
from screw_dynamics_ros.core.errors import ArgumentError, InertiaError
from screw_dynamics_ros.core.lie import quaternions, se3
from screw_dynamics_ros.core.motion.control.operational_space import generalised_jacobian
from support.compilation import close, needs_llvmlite
from support.models import random_configuration, random_description, random_wrenches
from support.tangents import displaced

CASES = {
    'tree': (random_description(1, 7), False),
    'planar, floating': (random_description(3, 5, ('planar', 'revolute', 'floating')), True),
    'ball': (random_description(4, 4, ('ball', 'revolute')), True),
    'mimic': (random_description(2, 8, ('revolute', 'prismatic'), mimic=3), True),
}


@pytest.mark.parametrize('case', CASES)
def test_hamiltons_equations(case):
    """D-39: v = M^-1 p, p' = M a + M' v with M' by differences, wrenches and drives included."""
    description, floating = CASES[case]
    drives = {'joint1': Drive(armature=0.3, damping=0.2)}
    drives = drives if case == 'tree' else None
    robot = Robot(description, floating_base=floating, drives=drives, backend='reference')
    rng = np.random.default_rng(0)
    q = random_configuration(robot, rng)
    v, tau = rng.uniform(-2, 2, (2, robot.nv))
    wrenches = random_wrenches(robot, rng)
    p = robot.mass_matrix(q) @ v
    velocity, rate = momentum_dynamics(robot.tree, q, p, tau, robot.gravity, wrenches)
    close(velocity, v, 1e-10)
    h = 0.01
    dM = (
        sum(
            w
            * (
                robot.mass_matrix(displaced(robot, q, k * h * v))
                - robot.mass_matrix(displaced(robot, q, -k * h * v))
            )
            for k, w in {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}.items()
        )
        / h
    )
    a = robot.forward_dynamics(q, v, tau, wrenches)
    close(rate, robot.mass_matrix(q) @ a + dM @ v, 1e-9)


def test_generalised_jacobian():
    """C-076: without momentum the base follows the joints, and a link moves with J* v_m."""
    robot = Robot(random_description(1, 7), floating_base=True, backend='reference')
    rng = np.random.default_rng(0)
    q, v_m = random_configuration(robot, rng), rng.uniform(-1, 1, robot.nv - 6)
    M = robot.mass_matrix(q)
    v = np.concatenate([-np.linalg.solve(M[:6, :6], M[:6, 6:] @ v_m), v_m])
    np.testing.assert_allclose(M[:6] @ v, 0, atol=1e-12)
    close(generalised_jacobian(robot, q, 'link7') @ v_m, robot.velocity(q, v, 'link7'), 1e-11)
    with pytest.raises(ArgumentError, match='no floating base'):
        generalised_jacobian(Robot(random_description(1, 7), backend='reference'), q, 'link7')
    massless = [Link(link.name) for link in robot.description.links]
    nothing = RobotDescription.from_parts('nothing', massless, robot.description.joints)
    with pytest.raises(InertiaError, match='give masses to its links'):
        generalised_jacobian(Robot(nothing, floating_base=True, backend='reference'), q, 'link7')


# --- ten seconds ----------------------------------------------------------------------------------


def configuration_rate(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return dq/dt of a robot on a floating base with joints of one freedom."""
    R = quaternions.to_matrix(q[3:7])
    turn = 0.5 * quaternions.product(q[3:7], np.append(v[:3], 0.0))
    return np.concatenate([R @ v[3:6], turn, v[6:]])


def run(
    robot: Robot,
    acceleration: Callable[[np.ndarray, np.ndarray], np.ndarray],
    q: np.ndarray,
    v: np.ndarray,
    dt: float,
    steps: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return q, v after some steps of the classical Runge-Kutta method, quaternion normalized."""

    def rate(x: np.ndarray) -> np.ndarray:
        q, v = x[: robot.nq], x[robot.nq :]
        return np.concatenate([configuration_rate(robot, q, v), acceleration(q, v)])

    x = np.concatenate([q, v])
    for _ in range(steps):
        k1 = rate(x)
        k2 = rate(x + dt / 2 * k1)
        k3 = rate(x + dt / 2 * k2)
        k4 = rate(x + dt * k3)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        x[3:7] /= np.linalg.norm(x[3:7])
    return x[: robot.nq], x[robot.nq :]


def total_momentum(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return (angular, linear) momentum about the origin of the root frame."""
    C = robot.link_pose(q, robot.link_names[0])
    return np.linalg.inv(se3.Ad(C)).T @ (robot.mass_matrix(q)[:6] @ v)


@needs_llvmlite
@pytest.mark.parametrize('held', [False, True])
def test_floating_base_for_ten_seconds(held):
    """C-075, C-076: momentum drifts by less than 1e-8, also with an inner constraint."""
    robot = Robot(
        random_description(7, 4, ('revolute',), chain=True),
        floating_base=True,
        gravity=(0, 0, 0),
        backend='native',
    )
    rng = np.random.default_rng(0)
    q = random_configuration(robot, rng)
    v = np.concatenate([rng.uniform(-0.3, 0.3, 6), np.zeros(4)])
    tau = np.concatenate([np.zeros(6), [0.02, -0.01, 0.01, 0.02]])
    acceleration = partial(robot.forward_dynamics, tau=tau)
    if held:
        hold = fixed_point('link4', [(1, 0, 0), (0, 1, 0)], other='link1', alpha=2.0)

        def acceleration(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return robot.constrained_dynamics(q, v, tau, hold).a

    start = total_momentum(robot, q, v)
    q_end, v_end = run(robot, acceleration, q, v, 0.01 if held else 0.005, 1000 * (2 - held))
    assert np.abs(total_momentum(robot, q_end, v_end) - start).max() < 1e-8
    assert np.abs(q_end[7:] - q[7:]).max() > 0.05
    assert np.abs(v_end[:6] - v[:6]).max() > 0.01


@needs_llvmlite
def test_canonical_momenta_for_ten_seconds():
    """D-39: the same motion as with velocities for a second; the energy stays for ten."""
    robot = Robot(random_description(3, 3, ('revolute',), chain=True), backend='native')
    tree = robot.regrouped_tree
    kernel = make_kernel(
        KernelSpecification(
            'momentum dynamics',
            (('q', 3), ('p', 3)),
            lambda q, p: momentum_dynamics(tree, q, p, np.zeros(3), robot.gravity),
        ),
        'native',
    )

    def steps(
        rate: Callable[[np.ndarray], np.ndarray], x: np.ndarray, dt: float, count: int
    ) -> np.ndarray:
        for _ in range(count):
            k1 = rate(x)
            k2 = rate(x + dt / 2 * k1)
            k3 = rate(x + dt / 2 * k2)
            k4 = rate(x + dt * k3)
            x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return x

    def of_momenta(x: np.ndarray) -> np.ndarray:
        return np.concatenate(kernel.single([x[:3].copy(), x[3:].copy()]))

    def of_velocities(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[3:], robot.forward_dynamics(x[:3], x[3:], np.zeros(3))])

    def energy(q: np.ndarray, v: np.ndarray) -> float:
        return robot.kinetic_energy(q, v) + robot.potential_energy(q)

    q, v = np.array([0.1, -0.2, 0.3]), np.array([0.2, 0.1, -0.1])
    p = robot.mass_matrix(q) @ v
    x = steps(of_momenta, np.concatenate([q, p]), 0.0025, 400)
    y = steps(of_velocities, np.concatenate([q, v]), 0.0025, 400)
    np.testing.assert_allclose(x[:3], y[:3], atol=1e-7)
    x = steps(of_momenta, x, 0.0025, 3600)
    velocity = np.linalg.solve(robot.mass_matrix(x[:3]), x[3:])
    swing = np.abs(robot.potential_energy(q)) + 1.0
    assert abs(energy(x[:3], velocity) - energy(q, v)) < 1e-6 * swing
