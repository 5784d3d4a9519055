# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Equations of motion against a closed form, Lagrange's equations, energy and momentum balances.

Independent of other libraries. Spec IDs: D-17, D-20, D-21, D-27, D-29, D-35 to D-38, K-11.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from oracles.lagrange import CENTRAL, Lagrange
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Link, RobotDescription
from support.models import (
    random_configuration,
    random_description,
    random_inertia,
    random_pose,
    random_wrenches,
)
from support.robots import urdf_path

GRAVITY = (0.7, -1.3, -9.6)

SEEDS = pytest.mark.parametrize('seed', range(2))
BACKENDS = pytest.mark.parametrize('backend', ['native', 'python', 'reference'])


@pytest.fixture(autouse=True)
def _backend_exists(request: pytest.FixtureRequest) -> None:
    if 'backend' in request.fixturenames and request.getfixturevalue('backend') == 'native':
        pytest.importorskip('llvmlite')


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Compare with an error relative to the largest element."""
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max(initial=0))
    )


def state(robot: Robot, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed + 100)
    return (random_configuration(robot, rng), *rng.uniform(-2, 2, (2, robot.nv)))


@BACKENDS
def test_planar_2r_in_closed_form(backend):
    """Point masses at the tips; gravity in the plane."""
    robot = Robot.from_urdf(urdf_path('planar_2r'), gravity=(0, -9.81, 0), backend=backend)
    l1, l2, m1, m2, g = 1.0, 0.5, 2.0, 1.0, 9.81
    for seed in range(5):
        q, v, a = state(robot, seed)
        (c1, c2), s2, c12 = np.cos(q), np.sin(q[1]), np.cos(q.sum())
        M12 = m2 * l2**2 + m2 * l1 * l2 * c2
        M = np.array(
            [[(m1 + m2) * l1**2 + m2 * l2**2 + 2 * m2 * l1 * l2 * c2, M12], [M12, m2 * l2**2]]
        )
        Cv = m2 * l1 * l2 * s2 * np.array([-2 * v[0] * v[1] - v[1] ** 2, v[0] ** 2])
        torque = g * np.array([(m1 + m2) * l1 * c1 + m2 * l2 * c12, m2 * l2 * c12])
        close(robot.mass_matrix(q), M, 1e-13)
        close(robot.coriolis_torques(q, v), Cv, 1e-13)
        close(robot.gravity_torques(q), torque, 1e-13)
        close(robot.inverse_dynamics(q, v, a), M @ a + Cv + torque, 1e-13)
        close(robot.forward_dynamics(q, v, a), np.linalg.solve(M, a - Cv - torque), 1e-12)


# --- Lagrange's equations by differentiation ------------------------------------------------------


@pytest.mark.parametrize(
    ('backend', 'mimic', 'seed'),
    [
        *(('reference', mimic, seed) for mimic in (0, 3) for seed in range(2)),
        *((backend, 3, 3) for backend in ('python', 'native')),
    ],
)
def test_equations_of_motion_are_lagranges(backend, mimic, seed):
    """Joints of all scalar kinds in a tree, wrenches, gravity in any direction (D-35, D-36)."""
    kinds = ('revolute', 'prismatic', 'continuous', 'fixed')
    description = random_description(seed, 6 + mimic, kinds, mimic=mimic)
    robot, oracle = (
        Robot(description, gravity=GRAVITY, backend=backend),
        Lagrange(description, GRAVITY),
    )
    q, v, a = state(robot, seed)
    wrenches = random_wrenches(robot, np.random.default_rng(seed))
    M, C, g = oracle.mass_matrix(q), oracle.coriolis_matrix(q, v), oracle.gravity_torques(q)
    close(robot.mass_matrix(q), M, 1e-12)
    close(robot.gravity_torques(q), g, 1e-12)
    close(robot.coriolis_torques(q, v), C @ v, 1e-11)
    close(robot.coriolis_matrix(q, v), C, 1e-11)
    close(robot.inverse_dynamics(q, v, a), M @ a + C @ v + g, 1e-11)
    tau = oracle.inverse_dynamics(q, v, a, wrenches)
    close(robot.inverse_dynamics(q, v, a, wrenches), tau, 1e-11)
    close(robot.forward_dynamics(q, v, tau, wrenches), a, 1e-9)
    close(robot.kinetic_energy(q, v), 0.5 * v @ M @ v, 1e-12)
    close(robot.potential_energy(q), oracle.potential_energy(q), 1e-12)
    close(robot.center_of_mass(q) * robot.total_mass, oracle.first_moment(q), 1e-12)


# --- identities -----------------------------------------------------------------------------------


@SEEDS
def test_gravity_torques_are_the_gradient_of_the_potential_energy(seed):
    robot = Robot(random_description(seed, 8, mimic=2), gravity=GRAVITY, backend='reference')
    q, _, _ = state(robot, seed)
    h = 0.02
    gradient = [
        sum(
            w * (robot.potential_energy(q + k * h * e) - robot.potential_energy(q - k * h * e))
            for k, w in CENTRAL.items()
        )
        / h
        for e in np.eye(robot.nq)
    ]
    close(robot.gravity_torques(q), gradient, 1e-11)


# --- balances over time ---------------------------------------------------------------------------


def simulate(robot: Robot, q: np.ndarray, v: np.ndarray, torque, wrench, seconds: float, h: float):
    """Integrate forward dynamics by RK4; return final q, v and the work of torques and wrenches.

    `torque(t)` is (nv,), `wrench` {link: (6,)} acts in the link's own frame.
    """
    floating = robot.nq > robot.nv

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        q, v = x[: robot.nq], x[robot.nq : -1]
        tau = torque(t)
        a = robot.forward_dynamics(q, v, tau, wrench)
        power = tau @ v + sum(W @ robot.velocity(q, v, link, 'body') for link, W in wrench.items())
        dq = v
        if floating:
            R = Rotation.from_quat(q[3:7])
            x, y, z, w = q[3:7]
            turn = 0.5 * np.array([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]]) @ v[:3]
            dq = np.concatenate([R.apply(v[3:6]), turn, v[6:]])
        return np.concatenate([dq, a, [power]])

    x = np.concatenate([q, v, [0.0]])
    for k in range(round(seconds / h)):
        t = k * h
        k1 = rate(t, x)
        k2 = rate(t + h / 2, x + h / 2 * k1)
        k3 = rate(t + h / 2, x + h / 2 * k2)
        k4 = rate(t + h, x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x[: robot.nq], x[robot.nq : -1], x[-1]


def momentum(robot: Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return linear momentum and angular momentum about the center of mass, link by link."""
    P, L, com = np.zeros(3), np.zeros(3), robot.center_of_mass(q)
    for link in robot.description.links:
        C, V = robot.link_pose(q, link.name), robot.velocity(q, v, link.name, 'hybrid')
        R, d = C[:3, :3], C[:3, :3] @ link.inertia.com
        p = link.inertia.mass * (V[3:] + np.cross(V[:3], d))
        P = P + p
        L = L + np.cross(C[:3, 3] + d - com, p) + R @ link.inertia.matrix @ R.T @ V[:3]
    return P, L


def test_a_free_robot_falls_on_a_parabola():
    """Whatever the joints do: the center of mass falls freely, angular momentum stays (D-18)."""
    robot = Robot(
        random_description(5, 5, mimic=2), floating_base=True, gravity=GRAVITY, backend='python'
    )
    q, v, amplitude = state(robot, 9)
    amplitude[:6] = 0.0
    (P0, L0), com0 = momentum(robot, q, v), robot.center_of_mass(q)
    T = 0.5
    q1, v1, _ = simulate(robot, q, v, lambda t: amplitude * np.cos(5 * t), {}, T, 1.0 / 1000)
    P1, L1 = momentum(robot, q1, v1)
    g, m = np.array(GRAVITY), robot.total_mass
    assert np.linalg.norm(v1 - v) > 0.5
    close(robot.center_of_mass(q1), com0 + P0 / m * T + g * T**2 / 2, 1e-8)
    close(P1, P0 + m * g * T, 1e-7)
    close(L1, L0, 1e-7)


# --- single bodies --------------------------------------------------------------------------------


def test_a_body_alone():
    """Newton's and Euler's equations about the center of mass (D-20)."""
    rng = np.random.default_rng(0)
    inertia = random_inertia(rng)
    robot = Robot(
        RobotDescription.from_parts('stone', [Link('stone', inertia)], []),
        floating_base=True,
        gravity=GRAVITY,
        backend='reference',
    )
    q, V, A = state(robot, 1)
    R, (omega, u), (domega, du) = (
        Rotation.from_quat(q[3:7]).as_matrix(),
        np.split(V, 2),
        np.split(A, 2),
    )
    m, d, I = inertia.mass, inertia.com, inertia.matrix  # noqa: E741
    acceleration = (
        du + np.cross(omega, u) + np.cross(domega, d) + np.cross(omega, np.cross(omega, d))
    )
    force = m * (acceleration - R.T @ GRAVITY)
    moment = I @ domega + np.cross(omega, I @ omega) + np.cross(d, force)
    close(robot.inverse_dynamics(q, V, A), np.concatenate([moment, force]), 1e-13)
    close(robot.forward_dynamics(q, V, np.concatenate([moment, force])), A, 1e-12)


@SEEDS
def test_a_fixed_link_weighs_the_same_as_one_body(seed):
    """Inertias folded over fixed joints: one body of the same masses moves the same (D-17)."""
    rng = np.random.default_rng(seed)
    arm, tool, mount, origin = (
        random_inertia(rng),
        random_inertia(rng),
        random_pose(rng),
        random_pose(rng),
    )
    swing = Joint('swing', 'revolute', 'base', 'arm', origin, np.array([0.0, 0.6, 0.8]))
    two = RobotDescription.from_parts(
        'two',
        [Link('base'), Link('arm', arm), Link('tool', tool)],
        [swing, Joint('mount', 'fixed', 'arm', 'tool', mount, np.array([1.0, 0, 0]))],
    )
    R, com = mount[:3, :3], mount[:3, :3] @ tool.com + mount[:3, 3]
    m = arm.mass + tool.mass
    c = (arm.mass * arm.com + tool.mass * com) / m

    def about(d: np.ndarray) -> np.ndarray:
        return d @ d * np.eye(3) - np.outer(d, d)

    one = RobotDescription.from_parts(
        'one',
        [
            Link('base'),
            Link(
                'arm',
                Inertia(
                    m,
                    c,
                    arm.matrix
                    + arm.mass * about(arm.com - c)
                    + R @ tool.matrix @ R.T
                    + tool.mass * about(com - c),
                ),
            ),
        ],
        [swing],
    )
    a, b = Robot(two, backend='reference'), Robot(one, backend='reference')
    q, v, tau = state(a, seed)
    for name in ('mass_matrix', 'gravity_torques', 'center_of_mass', 'potential_energy'):
        close(getattr(a, name)(q), getattr(b, name)(q), 1e-13)
    close(a.inverse_dynamics(q, v, tau), b.inverse_dynamics(q, v, tau), 1e-13)
    close(a.forward_dynamics(q, v, tau), b.forward_dynamics(q, v, tau), 1e-12)
    W = {'tool': rng.uniform(-1, 1, 6)}
    at_arm = {
        'arm': np.concatenate(
            [R @ W['tool'][:3] + np.cross(mount[:3, 3], R @ W['tool'][3:]), R @ W['tool'][3:]]
        )
    }
    close(a.inverse_dynamics(q, v, tau, W), b.inverse_dynamics(q, v, tau, at_arm), 1e-13)
