# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One rigid body: masses, momenta, energies (B-090 to B-101; D-17, D-43).

`test_rigid_body_motion.py` has its equations of motion.
"""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.body_inertia import (
    Inertia,
    equivalent_ellipsoid,
    sphere_radius,
)
from screw_dynamics_ros.core.description.rigid_body import PARAMETERS, RigidBody, regressor
from screw_dynamics_ros.core.dynamics import spatial_inertia as recursion
from screw_dynamics_ros.core.errors import ArgumentError, InertiaError, UnknownNameError
from screw_dynamics_ros.core.lie import screws, se3, so3
from screw_dynamics_ros.core.textbook.screw_geometry import impedances
from support.lie import derivative
from support.models import random_configuration, random_description
from support.rigid_bodies import (
    G11,
    G12_MATERIAL,
    G12_V,
    G12_W,
    N,
    close,
    cloud,
    random_body,
    random_pose,
    skew,
)

# --- mass distribution -----------------------------------------------------------------------


def test_two_masses():
    """B-090: mass and center of mass of a dumb-bell, and its three kinds of moments."""
    body = RigidBody.from_particles([1, 3], [[0, 0, 1], [0.4, 0, 1]])
    close(body.mass, 4)
    close(body.com, [0.3, 0, 1])
    close(body.first_moment, [1.2, 0, 4])
    close(np.diag(body.matrix), [0, 0.12, 0.12])  # reduced mass 3/4 times 0.4^2


def test_center_of_mass_of_a_chain():
    """B-090: the mass-weighted mean of those of the links, in any configuration."""
    for seed in range(3):
        robot = Robot(random_description(seed, joints=6), backend='reference')
        q = random_configuration(robot, np.random.default_rng(seed))
        links = [
            RigidBody(x.inertia.mass, x.inertia.com, x.inertia.matrix).moved(C)
            for x, C in zip(robot.description.links, robot.link_poses(q), strict=True)
        ]
        total = sum(links[1:], links[0])
        close(total.com, robot.center_of_mass(q))
        close(total.com, sum(x.first_moment for x in links) / sum(x.mass for x in links))
        close(total.mass, robot.total_mass)


def test_the_ellipsoid_with_an_inertia():
    """A homogeneous ellipsoid of 2 kg: m / 5 (b^2 + c^2), by hand; in turned axes, too."""
    R = so3.exp([0.3, -0.2, 0.5])
    semi_axes, axes = equivalent_ellipsoid(
        Inertia(2.0, np.zeros(3), R @ np.diag([0.02, 0.04, 0.052]) @ R.T)
    )
    close(semi_axes, [0.3, 0.2, 0.1])
    close(axes * semi_axes**2 @ axes.T, R * [0.09, 0.04, 0.01] @ R.T)
    close(np.linalg.det(axes), 1.0)
    thin, _ = equivalent_ellipsoid(Inertia(2.0, np.zeros(3), np.diag([0.01, 0.02, 0.5])))
    assert thin[-1] == 0.0  # no body has it
    close(sphere_radius(7850.0 * 4.0 / 3.0 * np.pi * 0.1**3), 0.1)


def test_inertia_of_a_box():
    """B-091: m/12 (b^2 + c^2), by Gauss' quadrature over the volume."""
    size, mass = np.array([0.4, 0.6, 1.0]), 3.0
    nodes, weights = np.polynomial.legendre.leggauss(2)
    grid = np.stack(np.meshgrid(*(nodes * s / 2 for s in size), indexing='ij'), -1).reshape(-1, 3)
    w = np.einsum('i,j,k->ijk', weights, weights, weights).ravel() / 8
    box = RigidBody.from_particles(mass * w, grid)
    a, b, c = size**2
    close(box.matrix, np.diag(mass / 12 * np.array([b + c, a + c, a + b])))


def test_inertia_of_a_cloud():
    """B-091, (4.66): I omega is the angular momentum about the center of mass."""
    m, r = cloud(1)
    body = RigidBody.from_particles(m, r)
    omega = np.array([0.3, -1.0, 0.7])
    d = r - body.com
    close(body.matrix @ omega, np.sum(m[:, None] * np.cross(d, np.cross(omega, d)), axis=0), 1e-11)
    close(body.inertia @ omega, np.sum(m[:, None] * np.cross(r, np.cross(omega, r)), axis=0), 1e-11)


def test_parallel_axes_and_rotation():
    """B-091, (4.71): the cloud seen from another frame, I_o = R I R^T - m r~ r~."""
    m, r = cloud(2)
    C = random_pose(3)
    R, p = C[:3, :3], C[:3, 3]
    there = RigidBody.from_particles(m, r @ R.T + p)
    moved = RigidBody.from_particles(m, r).moved(C)
    close(moved.matrix, there.matrix, 1e-11)
    close(moved.inertia, there.inertia, 1e-11)
    close(moved.com, there.com)
    com = skew(there.com)
    formula = R @ RigidBody.from_particles(m, r).matrix @ R.T - m.sum() * com @ com
    close(moved.inertia, formula, 1e-11)


def test_parallel_axes_without_the_rotation_fail():
    """(4.71): printed I_f = I_c - m r~ r~, with I_c in its own axes."""
    I_c, r, m = np.diag([0.1, 0.2, 0.3]), np.array([0.1, -0.2, 0.3]), 2.0
    printed = I_c - m * skew(r) @ skew(r)
    assert np.abs(G11.inertia - printed).max() > 0.02
    R = so3.exp([0, 0, np.pi / 6])
    close(G11.inertia, R @ I_c @ R.T - m * skew(r) @ skew(r))


@pytest.mark.parametrize('scale', [1e-9, 1e9])
def test_small_and_large_bodies(scale):
    """B-091, B-096: what is rounding, and what is a body, is relative."""
    m, r = cloud(22)
    body = RigidBody.from_particles(scale * m, r)
    close(body.com, RigidBody.from_particles(m, r).com)
    V, A = np.random.default_rng(23).normal(size=(2, 6))
    close(body.acceleration(V, body.wrench(V, A)), A, 1e-11)
    skewed = body.matrix.copy()
    skewed[0, 1] += 1e-6 * scale
    with pytest.raises(InertiaError, match='differs from its transpose'):
        RigidBody(body.mass, body.com, skewed)
    skewed[0, 1] += (1e-12 - 1e-6) * scale
    RigidBody(body.mass, body.com, skewed)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ((-1, np.zeros(3), np.eye(3)), 'mass is -1 kg'),
        ((1, np.zeros(3), np.diag([1, 1, 3])), 'break the triangle inequality'),
        ((1, np.zeros(3), np.diag([1, 1, -1])), 'not positive semidefinite'),
        ((1, np.zeros(3), [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), r'transpose by 0\.1'),
        ((1, [np.nan, 0, 0], np.eye(3)), 'must be finite'),
        ((np.inf, np.zeros(3), np.eye(3)), 'must be finite'),
    ],
)
def test_what_no_body_has_is_refused(arguments, message):
    """B-091: on import and anywhere else."""
    with pytest.raises(InertiaError, match=message):
        RigidBody(*arguments)


def test_principal_frame():
    """B-092: right-handed, at the center of mass, diagonal there."""
    for seed in range(20):
        body = random_body(seed)
        frame, moments = body.principal_frame()
        R = frame[:3, :3]
        close(R.T @ R, np.eye(3))
        close(np.linalg.det(R), 1)
        close(R.T @ body.matrix @ R, np.diag(moments))
        close(frame[:3, 3], body.com, 0)
        M = body.moved(se3.inverse(frame)).mass_matrix
        close(M, np.diag([*moments, *[body.mass] * 3]))


# --- mass matrix, energy, momentum -----------------------------------------------------------


def test_mass_matrix_golden_value():
    """G11, B-095."""
    close(
        G11.mass_matrix,
        [
            [0.385, -0.0033012702, -0.06, 0, -0.6, -0.4],
            [-0.0033012702, 0.375, 0.12, 0.6, 0, -0.2],
            [-0.06, 0.12, 0.4, 0.4, 0.2, 0],
            [0, 0.6, 0.4, 2, 0, 0],
            [-0.6, 0, 0.2, 0, 2, 0],
            [-0.4, -0.2, 0, 0, 0, 2],
        ],
        1e-10,
    )
    close(G11.principal_frame().moments, [0.1, 0.2, 0.3])


def test_change_of_frame_of_the_mass_matrix():
    """B-095, (4.79): M_f = S_cf^T M_c S_cf, positive definite; the recursions' transport agrees."""
    for seed in range(20):
        body, C = random_body(seed), random_pose(seed)
        moved = body.moved(C)
        S = np.linalg.inv(se3.Ad(C))  # from the new frame's coordinates to the old one's
        close(moved.mass_matrix, S.T @ body.mass_matrix @ S, 1e-11)
        close(moved.mass_matrix, impedances.transform_impedance(C, body.mass_matrix), 1e-11)
        assert np.linalg.eigvalsh(moved.mass_matrix)[0] > 0
        m, h, I = recursion.transported(C, (body.mass, body.first_moment, body.inertia))  # noqa: E741
        close(np.block([[I, skew(h)], [-skew(h), m * np.eye(3)]]), moved.mass_matrix, 1e-11)


def test_change_of_frame_with_lost_scripts_fails():
    """(4.79): S_cf maps f to c; the other direction gives another body."""
    C = se3.pose(so3.exp([0, 0, np.pi / 6]), [0.1, -0.2, 0.3])
    M_c, S_fc = np.diag([0.1, 0.2, 0.3, 2, 2, 2]), se3.Ad(C)
    S_cf = np.linalg.inv(S_fc)
    close(S_cf.T @ M_c @ S_cf, G11.mass_matrix)
    for wrong in (S_fc.T @ M_c @ S_fc, S_fc @ M_c @ S_fc.T):
        assert np.abs(wrong - G11.mass_matrix).max() > 0.1


def test_kinetic_energy():
    """G12, B-093: 1/2 m v_c^2 + 1/2 omega I omega; of the particles; in every frame."""
    close(G11.kinetic_energy(G12_V), 3.4158974596, 1e-10)
    m, r = cloud(4)
    body, C = RigidBody.from_particles(m, r), random_pose(5)
    V = np.random.default_rng(6).normal(size=(N, 6))
    omega, v = V[:, :3], V[:, 3:]
    velocities = v[:, None] + np.cross(omega[:, None], r)
    close(body.kinetic_energy(V), 0.5 * np.einsum('k,nki,nki->n', m, velocities, velocities), 1e-9)
    v_c = v + np.cross(omega, body.com)
    split = 0.5 * body.mass * np.sum(v_c**2, axis=1)
    split += 0.5 * np.einsum('ni,ij,nj->n', omega, body.matrix, omega)
    close(body.kinetic_energy(V), split, 1e-10)
    close(body.moved(C).kinetic_energy(screws.transform_twist(C, V)), split, 1e-9)


def test_potential_energy():
    """B-094, (4.75): raising 2 kg by 1 m adds 19.62 J; the gravity torque is dV/dq."""
    body = RigidBody(2, [0.1, 0.2, 0.3], np.eye(3))
    low, high = (se3.pose(so3.exp([0.3, 0, 0]), [0, 0, z]) for z in (0, 1))
    close(body.potential_energy(high) - body.potential_energy(low), 19.62)
    assert body.potential_energy(np.stack([low, high])).shape == (2,)
    robot = Robot(random_description(5, joints=4), backend='reference')
    q = random_configuration(robot, np.random.default_rng(7))

    def total(q):
        return sum(
            RigidBody(x.inertia.mass, x.inertia.com, x.inertia.matrix).potential_energy(C)
            for x, C in zip(robot.description.links, robot.link_poses(q), strict=True)
        )

    close(total(q), robot.potential_energy(q))
    slope = [derivative(lambda t, e=e: total(q + t * e), 0.0) for e in np.eye(4)]
    close(robot.gravity_torques(q), slope, 1e-9)


def test_potential_energy_as_printed_fails():
    """(4.74), (4.75): V = m g . r_c with g the acceleration of gravity falls on the way up."""
    g, r = np.array([0, 0, -9.81]), np.array([0, 0, 1.0])
    body = RigidBody(2, np.zeros(3), np.eye(3))
    close(body.potential_energy(se3.pose(np.eye(3), r), g), 19.62)
    printed = 2 * g @ r
    assert printed < 0


def test_momentum():
    """G12, B-097: of the particles; moved like a wrench; its sum over links is M(q) v."""
    close(G11.momentum(G12_V), [-0.0416025404, 1.1066987298, 1.46, 2.6, 0.4, -0.2], 1e-10)
    m, r = cloud(8)
    body, C = RigidBody.from_particles(m, r), random_pose(9)
    V = np.random.default_rng(10).normal(size=(N, 6))
    p = m[:, None] * (V[:, None, 3:] + np.cross(V[:, None, :3], r))
    expected = np.concatenate([np.cross(r, p).sum(axis=1), p.sum(axis=1)], axis=1)
    close(body.momentum(V), expected, 1e-10)
    moved = body.moved(C).momentum(screws.transform_twist(C, V))
    close(moved, screws.transform_wrench(C, body.momentum(V)), 1e-10)
    data = body.mass, body.first_moment, body.inertia
    close(body.momentum(V[0]), recursion.momentum(data, V[0]))


def test_momentum_of_a_chain():
    """B-097: the generalized momenta are the joints' shares of the links' momenta."""
    robot = Robot(random_description(6, joints=5), backend='reference')
    rng = np.random.default_rng(11)
    q, v = random_configuration(robot, rng), rng.normal(size=5)
    shares = np.zeros(5)
    for link in robot.description.links[1:]:
        body = RigidBody(link.inertia.mass, link.inertia.com, link.inertia.matrix)
        J = robot.jacobian(q, link.name, 'body')
        shares += J.T @ body.momentum(J @ v)
    close(shares, robot.mass_matrix(q) @ v, 1e-11)


# --- ten parameters --------------------------------------------------------------------------


@pytest.mark.parametrize('kind', ['screw', 'material'])
def test_regressor(kind):
    """B-101, D-43: linear in m, m c and the six entries of I about the origin."""
    V, A = np.random.default_rng(17).normal(size=(2, N, 6))
    Y = regressor(V, A, kind)
    for seed in range(10):
        body = random_body(seed)
        close(Y @ body.parameters, body.wrench(V, A, kind), 1e-11)


def test_parameters_round_trip():
    """B-101: names, order, and what no body has."""
    body = random_body(18)
    again = RigidBody.from_parameters(body.parameters)
    close(again.com, body.com)
    close(again.matrix, body.matrix)
    named = dict(zip(PARAMETERS, body.parameters, strict=True))
    close([named['m'], named['my']], [body.mass, body.mass * body.com[1]])
    close([named['Ixz'], named['Iyy']], [body.inertia[0, 2], body.inertia[1, 1]])
    for bad in (-body.parameters, np.concatenate([body.parameters[:4], np.zeros(6)])):
        with pytest.raises(InertiaError, match=r'mass is|not positive semidefinite'):
            RigidBody.from_parameters(bad)


def test_two_bodies_as_one():
    """B-090, B-101: added parameters; the wrench of both is the sum."""
    a, b = random_body(19), random_body(20)
    V, A = np.random.default_rng(21).normal(size=(2, 6))
    close((a + b).wrench(V, A), a.wrench(V, A) + b.wrench(V, A), 1e-11)
    close((a + b).mass_matrix, a.mass_matrix + b.mass_matrix)
    m, h, I = recursion.added(*((x.mass, x.first_moment, x.inertia) for x in (a, b)))  # noqa: E741
    close([m, *h, *I.ravel()], [(a + b).mass, *(a + b).first_moment, *(a + b).inertia.ravel()])


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('call', 'error', 'message'),
    [
        (
            lambda: RigidBody(1, np.zeros(2), np.eye(3)),
            ArgumentError,
            r'com must have shape \(3,\)',
        ),
        (
            lambda: G11.wrench(G12_V, G12_V, 'spatial'),
            UnknownNameError,
            "'material', got 'spatial'",
        ),
        (lambda: regressor(G12_V, G12_V, 'body'), UnknownNameError, "'material', got 'body'"),
        (lambda: G11.wrench(G12_V[:3], G12_V), ArgumentError, r'V .* got \(3,\)'),
        (lambda: G11.moved(np.diag([1, 1, -1, 1])), ArgumentError, 'not a rotation'),
        (lambda: RigidBody.from_particles([1, 2], np.zeros((3, 3))), ArgumentError, r'positions'),
        (lambda: RigidBody.from_particles([1, -2], np.zeros((2, 3))), InertiaError, 'positive'),
        (lambda: RigidBody.from_parameters(np.ones(9)), ArgumentError, r'parameters .* got \(9,\)'),
        (
            lambda: RigidBody(1, np.zeros(3), np.zeros((3, 3))).acceleration(G12_V, G12_V),
            InertiaError,
            'smallest principal moment 0',
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    """Bad input: what is at fault, its value, the remedy."""
    with pytest.raises(error, match=message):
        call()


def test_nan_in_gives_nan_out():
    """In motions; a body's own data must be numbers."""
    V = np.stack([G12_V, np.full(6, np.nan)])
    W = G11.wrench(V, G12_MATERIAL, 'material')
    close(W[0], G12_W, 1e-9)
    assert np.isnan(W[1]).all()
    assert np.isnan(G11.acceleration(V, np.zeros(6))[1]).all()
    assert np.isnan(regressor(V, V)[1]).any()
