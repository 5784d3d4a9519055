# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Equations of motion of one rigid body (B-087, B-089, B-096, B-098 to B-100).

Also D-18, D-20, D-21.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.dynamics.inverse_dynamics import hybrid_body_wrench
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.textbook.screw_geometry import accelerations as acc
from support.lie import derivative
from support.rigid_bodies import (
    G11,
    G12_MATERIAL,
    G12_V,
    G12_W,
    close,
    cloud,
    random_body,
    random_pose,
    skew,
)


def particle_wrench(m, r, omega, v, alpha, a):
    """Sum of the forces on particles of a body, from their accelerations alone."""
    force = m[:, None] * (a + np.cross(alpha, r) + np.cross(omega, np.cross(omega, r)))
    return np.concatenate([np.cross(r, force).sum(axis=0), force.sum(axis=0)])


def test_newton_euler_golden_value():
    """G12, B-098, B-099: both forms, order (moment, force)."""
    close(G11.wrench(G12_V, G12_MATERIAL, 'material'), G12_W, 1e-9)
    screw = acc.screw_acceleration(G12_V, G12_MATERIAL, np.zeros(3))
    close(G11.wrench(G12_V, screw), G12_W, 1e-9)


@pytest.mark.parametrize('seed', range(20))
def test_newton_euler_of_particles(seed):
    """B-098, B-099, D-20, D-21: both forms, the particles, and the recursion's Binet form."""
    m, r = cloud(seed)
    body = RigidBody.from_particles(m, r)
    V, material = np.random.default_rng(seed).normal(size=(2, 6))
    omega, v, alpha, a = V[:3], V[3:], material[:3], material[3:]
    screw = acc.screw_acceleration(V, material, np.zeros(3))
    expected = particle_wrench(m, r, omega, v, alpha, a)
    close(body.wrench(V, material, 'material'), expected, 1e-10)
    close(body.wrench(V, screw), expected, 1e-10)
    data = SimpleNamespace(m=body.mass, h=body.first_moment, I=body.inertia)
    close(hybrid_body_wrench(data, skew(alpha) + skew(omega) @ skew(omega), a), expected, 1e-10)
    close(body.acceleration(V, expected), screw, 1e-10)
    # In another frame, an inertial one for instance, everything moves along.
    C = random_pose(seed)
    moved = body.moved(C).wrench(screws.transform_twist(C, V), screws.transform_twist(C, screw))
    close(moved, screws.transform_wrench(C, expected), 1e-9)


def test_rate_of_the_momentum():
    """B-098, D-18: the wrench is the rate of the spatial momentum, by differences of a motion."""
    body = random_body(12)

    def C(t):
        return se3.exp([0.3 * t, 0.5 - t, 0.7 * t * t, t, -t * t, 0.2])

    def V(t):  # body-fixed
        return se3.vee(np.linalg.inv(C(t)) @ derivative(C, t))

    def spatial_momentum(t):
        return screws.transform_wrench(C(t), body.momentum(V(t)))

    W = body.wrench(V(0.4), derivative(V, 0.4))
    rate = derivative(spatial_momentum, 0.4)
    close(screws.transform_wrench(C(0.4), W), rate, 1e-8)


def test_merry_go_round():
    """B-098: constant twist, force m r omega^2 towards the axis."""
    horse = RigidBody(50.0, [3.0, 0, 0], np.eye(3))
    W = horse.wrench([0, 0, 0.8, 0, 0, 0], np.zeros(6))
    close(W, [0, 0, 0, -50 * 3 * 0.8**2, 0, 0])


def test_bias_wrench():
    """B-099: zero for an isotropic body turning about its center of mass, and for no other."""
    omega = np.array([1.0, 2, 3, 0, 0, 0])
    close(RigidBody(2, np.zeros(3), np.eye(3)).wrench(omega, np.zeros(6), 'material'), np.zeros(6))
    for body in (G11, RigidBody(2, np.zeros(3), np.diag([1, 2, 2.5]))):
        assert np.abs(body.wrench(omega, np.zeros(6), 'material')).max() > 0.1


def test_printed_bias_wrench_fails():
    """(4.89): F^b = (w × I w; w × (w × m r)) in the order of the book is moment first, not force.

    And with the screw acceleration of (4.87) instead of the material one it is wrong as well.
    """
    omega = G12_V[:3]
    I, h = G11.inertia, G11.first_moment  # noqa: E741
    moment, force = np.cross(omega, I @ omega), np.cross(omega, np.cross(omega, h))
    inertial = screws.swap(G11.mass_matrix @ G12_MATERIAL)  # book order (f; m)
    right = screws.swap(G12_W)
    close(inertial + np.concatenate([force, moment]), right, 1e-9)
    assert np.abs(inertial + np.concatenate([moment, force]) - right).max() > 1
    V = G12_V + [0, 0, 0, 1, 0, 0]  # G12 itself hides it: its omega and v are parallel
    screw = acc.screw_acceleration(V, G12_MATERIAL, np.zeros(3))
    mixed = screws.swap(G11.mass_matrix @ screw) + np.concatenate([force, moment])
    assert np.abs(mixed - screws.swap(G11.wrench(V, screw))).max() > 1


def test_euler_equation_in_world_and_body_axes():
    """B-096, (4.80), (4.81): m = I alpha + omega × I omega in both, with I turned along."""
    body = RigidBody(2, np.zeros(3), np.diag([0.1, 0.2, 0.25]))
    R = Rotation.from_rotvec([0.3, 0.8, -0.5]).as_matrix()
    omega, alpha = np.random.default_rng(14).normal(size=(2, 3))
    at_rest = np.zeros(3)
    m_b = body.matrix @ alpha + np.cross(omega, body.matrix @ omega)
    close(body.wrench([*omega, *at_rest], [*alpha, *at_rest]), [*m_b, 0, 0, 0])
    world = body.moved(se3.pose(R, at_rest))
    close(world.matrix, R @ body.matrix @ R.T)
    m_w = world.wrench([*(R @ omega), *at_rest], [*(R @ alpha), *at_rest])
    close(m_w, [*(R @ m_b), 0, 0, 0])
    with_R_on_the_wrong_side = R.T @ body.matrix @ R
    assert np.abs(with_R_on_the_wrong_side - world.matrix).max() > 0.01
    principal = [0, 3.0, 0, 0, 0, 0]
    close(body.wrench(principal, np.zeros(6)), np.zeros(6))


def test_torque_free_top():
    """B-087, B-096: for 10 s it keeps its energy, |I omega|, and its spatial momentum."""
    body = RigidBody(1.5, [0.1, -0.2, 0.05], np.diag([0.1, 0.2, 0.25]))

    def rate(_, x):
        C, V = x[:16].reshape(4, 4), x[16:]
        return np.concatenate([(C @ se3.hat(V)).ravel(), body.acceleration(V, np.zeros(6))])

    start = np.concatenate([np.eye(4).ravel(), [0.4, 2, 0.1, 0.3, 0.1, -0.2]])
    end = solve_ivp(
        rate, (0, 10), start, method='DOP853', rtol=1e-10, atol=1e-10, t_eval=np.linspace(0, 10, 11)
    )
    C, V = end.y[:16].T.reshape(-1, 4, 4), end.y[16:].T
    energy = body.kinetic_energy(V)
    close(energy, np.full(11, energy[0]), 1e-7)
    momentum = screws.transform_wrench(C, body.momentum(V))
    close(momentum, np.broadcast_to(momentum[0], momentum.shape), 1e-7)
    about_com = np.linalg.norm(V[:, :3] @ body.matrix, axis=1)
    close(about_com, np.full(11, about_com[0]), 1e-7)
    assert np.ptp(V[:, 1]) > 1  # while it tumbles


def test_force_free_body_keeps_its_momentum():
    """B-087, (4.35), (4.36): f = m r''; without force p stays."""
    body = RigidBody(3, np.zeros(3), np.eye(3))
    close(body.acceleration([0, 0, 0, 1, 2, 3], np.zeros(6)), np.zeros(6))
    close(body.acceleration(np.zeros(6), [0, 0, 0, 6, 0, -3]), [0, 0, 0, 2, 0, -1])
    close(body.momentum([0, 0, 0, 1, 2, 3])[3:], [3, 6, 9])


def test_newton_law_without_the_mass_fails():
    """(4.52): the force is m d2/dt2 (sum m_i r_i / m); printed without the factor m."""
    m, r = cloud(15)
    body = RigidBody.from_particles(m, r)
    a = np.array([0.5, 1.0, -2.0])
    W = body.wrench(np.zeros(6), [0, 0, 0, *a])
    close(W[3:], m.sum() * a)
    assert np.abs(W[3:] - a).max() > 1


def test_moment_of_momentum():
    """B-089, (4.41)-(4.45): m = r × f is the rate of l = r × p; a central force keeps l."""
    particle = RigidBody(2.0, np.zeros(3), np.zeros((3, 3)))

    def rate(_, x):
        return np.concatenate([x[3:], -4.0 * x[:3] / np.linalg.norm(x[:3]) ** 3 / 2.0])

    end = solve_ivp(
        rate, (0, 5), [1, 0, 0.2, 0, 1.2, 0.5], rtol=1e-11, atol=1e-11, t_eval=np.linspace(0, 5, 6)
    )
    l = [  # noqa: E741
        particle.moved(se3.pose(np.eye(3), x[:3])).momentum([0, 0, 0, *x[3:]])[:3] for x in end.y.T
    ]
    close(l, np.broadcast_to(l[0], (6, 3)), 1e-8)
    close(l[0], 2.0 * np.cross([1, 0, 0.2], [0, 1.2, 0.5]))
    force = np.array([0, 0, -10.0])
    W = screws.transform_wrench(se3.pose(np.eye(3), [1, 0, 0]), [0, 0, 0, *force])
    close(W[:3], np.cross([1, 0, 0], force))


def test_moment_of_momentum_about_a_moving_point():
    """(4.64): the last factor is the velocity of c; with that of c relative to p it fails."""
    m, r = cloud(16)
    body = RigidBody.from_particles(m, r)
    omega, v = np.array([0.5, -0.7, 0.2]), np.array([1.0, 0.4, -0.3])
    l = body.momentum([*omega, *v])[:3]  # noqa: E741
    v_c = v + np.cross(omega, body.com)
    close(l, body.matrix @ omega + np.cross(body.mass * body.com, v_c))
    relative = np.cross(omega, body.com)
    assert np.abs(body.matrix @ omega + np.cross(body.mass * body.com, relative) - l).max() > 0.1


def test_columns_of_the_mass_matrix():
    """B-100: wrenches of unit accelerations from rest; M_ii / 2 is a kinetic energy."""
    rest = np.zeros(6)
    for i, e in enumerate(np.eye(6)):
        close(G11.wrench(rest, e, 'material'), G11.mass_matrix[:, i])
        close(G11.kinetic_energy(e), G11.mass_matrix[i, i] / 2)
        assert abs(G11.kinetic_energy(e) - G11.mass_matrix[i, i]) > 0.1  # 4.12.10, item 6, printed
