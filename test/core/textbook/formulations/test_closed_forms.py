# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Projected equations, Lagrange's equations and first-order forms, against recursions and energy.

Spec IDs D-32 to D-37, C-084, errata E-36.
"""

from __future__ import annotations

import numpy as np
import pytest

from oracles.lagrange import CENTRAL, Lagrange, gradient
from screw_dynamics_ros.core import ArgumentError, Drive, InertiaError, Robot
from screw_dynamics_ros.core.dynamics import coriolis, energy_and_momentum, mass_matrix
from screw_dynamics_ros.core.dynamics.forward_dynamics import forward_dynamics
from screw_dynamics_ros.core.dynamics.inverse_dynamics import coriolis_torques, inverse_dynamics
from screw_dynamics_ros.core.dynamics.massless_joints import regrouped
from screw_dynamics_ros.core.dynamics.momentum_dynamics import momentum_dynamics
from screw_dynamics_ros.core.kinematics.robot_geometry import tree_of
from screw_dynamics_ros.core.kinematics.twist_recursions import body_motions
from screw_dynamics_ros.core.lie.se3 import ad
from screw_dynamics_ros.core.textbook.formulations import closed_forms
from screw_dynamics_ros.core.textbook.formulations.christoffel import christoffel_symbols
from screw_dynamics_ros.core.textbook.formulations.closed_forms import (
    kane_torques,
    projected_torques,
)
from screw_dynamics_ros.core.textbook.formulations.factorization import block, factors
from screw_dynamics_ros.core.textbook.formulations.first_order_forms import (
    body_momentum_form,
    momentum_form,
    twist_form,
)
from screw_dynamics_ros.core.tree.multibody_tree import Tree, build_tree
from support.models import (
    random_configuration,
    random_description,
    random_wrenches,
    rcm5_description,
)
from support.poe_models import REPRESENTATIONS, random_geometry, random_inertias

GRAVITY = np.array([0.7, -1.3, -9.6])
WRONG = 1e-2

REPRESENTATION = pytest.mark.parametrize('representation', REPRESENTATIONS)
SEEDS = pytest.mark.parametrize('seed', range(2))


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-11) -> None:
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max())
    )


def helical_tree(seed: int) -> Tree:
    """Return a branching tree of R, P and H joints with frames anywhere."""
    return tree_of(random_geometry(seed, 6), inertias=random_inertias(seed, 6))


def difference(function, q: np.ndarray, v: np.ndarray, h: float = 0.02) -> np.ndarray:
    """Return the derivative of function(q) along v, order 8."""
    return (
        sum(w * (function(q + k * h * v) - function(q - k * h * v)) for k, w in CENTRAL.items()) / h
    )


def driven(seed: int, floating: bool = False, mimic: int = 2):
    """Return a tree with mimic joints, rotors and friction, its robot, and a state."""
    description = random_description(seed, 8, ('revolute', 'prismatic', 'fixed'), mimic=mimic)
    drives = {
        joint.name: Drive(1e-3, 20.0, 0.1, damping=0.3, coulomb=0.5, rotor_axis=(0, 0.6, 0.8))
        for joint in description.joints[::3]
        if joint.type != 'fixed'
    }
    assert drives
    robot = Robot(description, floating_base=floating, drives=drives, backend='reference')
    rng = np.random.default_rng(seed)
    q, (v, a) = random_configuration(robot, rng), rng.uniform(-1, 1, (2, robot.nv))
    tree = build_tree(description, floating_base=floating, drives=drives)
    return tree, robot, q, v, a, random_wrenches(robot, rng)


# --- projection -----------------------------------------------------------------------------------


@REPRESENTATION
@pytest.mark.parametrize('floating', [False, True])
def test_projection_is_the_recursion(floating, representation):
    """D-32: J^T (M V' + B V - W) in all four representations; mimic joints, drives, wrenches."""
    tree, _, q, v, a, W = driven(1, floating)
    expected = inverse_dynamics(tree, q, v, a, GRAVITY, W)
    close(projected_torques(tree, q, v, a, GRAVITY, W, representation), expected, 1e-12)


@pytest.mark.parametrize('floating', [False, True])
def test_kanes_equations(floating):
    """D-32: vectors at the centers of mass."""
    tree, _, q, v, a, W = driven(2, floating)
    expected = inverse_dynamics(tree, q, v, a, GRAVITY, W)
    close(kane_torques(tree, q, v, a, GRAVITY, W), expected, 1e-12)


def test_kanes_equations_need_centers_of_mass():
    """Regrouped masses have none; projection does without."""
    tree = regrouped(build_tree(random_description(2, 5, ('revolute',), chain=True)))
    q, v, a = np.random.default_rng(2).uniform(-1, 1, (3, 5))
    with pytest.raises(InertiaError, match="'link1' has no mass"):
        kane_torques(tree, q, v, a, GRAVITY)
    expected = inverse_dynamics(tree, q, v, a, GRAVITY)
    close(projected_torques(tree, q, v, a, GRAVITY, None, 'hybrid'), expected, 1e-12)


def test_projection_is_lagranges_equations():
    """D-32, C-084: against energies differentiated."""
    description = random_description(3, 7, ('revolute', 'prismatic'), mimic=1)
    robot = Robot(description, backend='reference')
    rng = np.random.default_rng(3)
    q, v, a = rng.uniform(-1, 1, (3, robot.nv))
    W = random_wrenches(robot, rng)
    expected = Lagrange(description, tuple(GRAVITY)).inverse_dynamics(q, v, a, W)
    tree = build_tree(description)
    close(projected_torques(tree, q, v, a, GRAVITY, W, 'mixed'), expected)
    close(kane_torques(tree, q, v, a, GRAVITY, W), expected)


def test_reactions_do_no_work():
    """D-32, D-30: wrenches reciprocal to the joints vanish under J^T; J is no projector."""
    tree = helical_tree(0)
    q, v = np.random.default_rng(0).uniform(-1, 1, (2, 6))
    system = closed_forms.system_matrices(tree, q, v)
    rng = np.random.default_rng(1)
    W = np.zeros(36)
    for i, (body, motion) in enumerate(zip(tree.bodies, body_motions(tree, q, [v], 'body'))):
        X = motion.X[0][:, 0]
        reaction = rng.normal(size=6)
        reaction -= X * (X @ reaction) / (X @ X)
        W[block(i)] += reaction
        if body.parent >= 0:  # on the predecessor, the opposite
            W[block(body.parent)] -= motion.handed_down(reaction)
    assert np.abs(W).max() > 0.1
    close(system.J.T @ W, np.zeros(6), 1e-12)
    square = system.J @ system.J.T
    assert np.abs(square @ square - square).max() > WRONG


# --- Lagrange's equations -------------------------------------------------------------------------


@REPRESENTATION
@SEEDS
def test_mass_matrix(seed, representation):
    """D-35, [D](81): J^T M J is the composite-inertia matrix and T = q'^T M q' / 2."""
    tree, _, q, v, *_ = driven(seed)
    M = closed_forms.mass_matrix(tree, q, representation)
    close(M, mass_matrix.mass_matrix(tree, q), 1e-12)
    assert 0.5 * v @ M @ v == pytest.approx(
        float(energy_and_momentum.kinetic_energy(tree, q, v)), rel=1e-12
    )


@REPRESENTATION
@pytest.mark.parametrize('skew', [False, True])
def test_coriolis_matrix(representation, skew):
    """D-35, D-37: C q' are the Coriolis torques, in every form."""
    for tree, q, v in ((driven(1)[0], *driven(1)[2:4]), (helical_tree(1), *np.eye(6)[:2] + 0.3)):
        C = closed_forms.coriolis_matrix(tree, q, v, representation, skew=skew)
        close(C @ v, coriolis_torques(tree, q, v), 1e-12)


@REPRESENTATION
def test_skew_property(representation):
    """D-37, E-36: dM/dt - 2 C skew in the skew form of all, in the printed form of one."""
    tree = helical_tree(2)
    q, v = np.random.default_rng(2).uniform(-1, 1, (2, 6))
    dM = difference(lambda q: closed_forms.mass_matrix(tree, q), q, v)
    skew = dM - 2 * closed_forms.coriolis_matrix(tree, q, v, representation, skew=True)
    close(skew, -skew.T, 1e-10)
    printed = dM - 2 * closed_forms.coriolis_matrix(tree, q, v, representation)
    defect = np.abs(printed + printed.T).max()
    assert defect < 1e-9 if representation == 'spatial' else defect > WRONG
    # one and the same matrix in all representations
    spatial = closed_forms.coriolis_matrix(tree, q, v, 'spatial')
    close(closed_forms.coriolis_matrix(tree, q, v, representation, skew=True), spatial, 1e-12)


@SEEDS
def test_coriolis_matrix_as_printed(seed):
    """D-35, [D](83) = (84), with A(aJ + bX) = bJ; dT/dq = (M A b X)^T J q'."""
    tree = helical_tree(seed)
    q, v = np.random.default_rng(seed).uniform(-1, 1, (2, 6))
    own = factors(tree, q, 'body')
    system = closed_forms.system_matrices(tree, q, v)
    A, X, J, M = own.A, own.X, own.jacobian, system.M
    a, b = np.zeros_like(M), np.zeros_like(M)
    for i, (body, motion) in enumerate(zip(tree.bodies, body_motions(tree, q, [v], 'body'))):
        a[block(i), block(i)] = v[i] * ad(body.X[:, 0])
        b[block(i), block(i)] = ad(motion.V[0])
    close(A @ (a @ J + b @ X), b @ J, 1e-12)
    of_84 = -J.T @ (M @ A @ a + b.T @ M) @ J
    MAa = M @ A @ a
    of_83 = -J.T @ (MAa.T + MAa) @ J - (M @ A @ b @ X).T @ J
    close(of_83, of_84, 1e-12)
    close(closed_forms.coriolis_matrix(tree, q, v), of_84, 1e-12)
    dT = gradient(lambda q: np.asarray(energy_and_momentum.kinetic_energy(tree, q, v)), q)
    close((M @ A @ b @ X).T @ J @ v, dT, 1e-10)


@SEEDS
def test_closed_forms_as_printed_in_other_representations(seed):
    """D-37: spatial C = J^T (M L b diag(J_j) - b^T M J), hybrid J^T (M J' + diag(ad_w) M P J)."""
    tree = helical_tree(seed)
    q, v = np.random.default_rng(seed).uniform(-1, 1, (2, 6))
    motions = body_motions(tree, q, [v], 'spatial')
    L, b, own = np.zeros((36, 36)), np.zeros((36, 36)), np.zeros((36, 6))
    for i, motion in enumerate(motions):
        b[block(i), block(i)], own[block(i), i] = ad(motion.V[0]), motion.X[0][:, 0]
        for j in tree.path(i):
            L[block(i), block(j)] = np.eye(6)
    system = closed_forms.system_matrices(tree, q, v, 'spatial')
    C = system.J.T @ (system.M @ L @ b @ own - b.T @ system.M @ system.J)
    close(closed_forms.coriolis_matrix(tree, q, v, 'spatial'), C, 1e-12)

    turn, P = np.zeros((36, 36)), np.diag(np.tile([1.0] * 3 + [0.0] * 3, 6))
    for i, motion in enumerate(motions):
        omega = np.concatenate([motion.V[0][:3], np.zeros(3)])
        turn[block(i), block(i)] = ad(omega)
    system = closed_forms.system_matrices(tree, q, v, 'hybrid')
    C = system.J.T @ (system.M @ system.dJ + turn @ system.M @ P @ system.J)
    close(closed_forms.coriolis_matrix(tree, q, v, 'hybrid'), C, 1e-12)


# --- Christoffel symbols --------------------------------------------------------------------------


@pytest.mark.parametrize('seed', range(2))
def test_christoffel_symbols(seed):
    """D-36, C-065: all index orders against differences of M; trees, helical and mimic joints."""
    rng = np.random.default_rng(seed)
    description = random_description(seed, 5, ('revolute', 'prismatic', 'planar'), mimic=1)
    for tree in (helical_tree(seed), build_tree(description)):
        q, v = rng.uniform(-1, 1, (2, tree.nq))
        Gamma = christoffel_symbols(tree, q)
        dM = gradient(lambda q, tree=tree: mass_matrix.mass_matrix(tree, q), q)  # [k, i, j]
        expected = 0.5 * (np.einsum('jik->ijk', dM) + np.einsum('kij->ijk', dM) - dM)
        close(Gamma, expected, 1e-10)
        close(Gamma, Gamma.swapaxes(1, 2), 1e-13)
        close(Gamma @ v @ v, coriolis_torques(tree, q, v), 1e-12)
        close(Gamma @ v, coriolis.coriolis_matrix(tree, q, v), 1e-12)


def test_christoffel_symbols_of_joints_on_different_branches_vanish():
    """D-36: unless i, j, k lie on one path."""
    tree = helical_tree(4)
    Gamma = christoffel_symbols(tree, np.full(6, 0.3))
    apart = [
        (i, j, k)
        for i, j, k in np.ndindex(6, 6, 6)
        if not any({i, j, k} <= set(tree.path(l)) for l in range(6))  # noqa: E741
    ]
    assert len(apart) > 20
    assert all(Gamma[index] == 0.0 for index in apart)


def test_christoffel_symbols_need_coordinates():
    tree = build_tree(rcm5_description(), floating_base=True)
    with pytest.raises(ArgumentError, match="'ground' moves freely"):
        christoffel_symbols(tree, np.zeros(12))


# --- first-order forms ----------------------------------------------------------------------------


@pytest.mark.parametrize('floating', [False, True])
def test_rates_of_the_first_order_forms(floating):
    """D-33, D-34: V' and Pi' go with the accelerations, p' = d(M v)/dt."""
    tree, _, q, v, tau, W = driven(1, floating)
    a = forward_dynamics(tree, q, v, tau, GRAVITY, W)
    body, spatial = (body_motions(tree, q, [v, a], name) for name in ('body', 'spatial'))
    rates, dV = twist_form(tree, q, np.stack([m.V[0] for m in body]), tau, GRAVITY, W)
    close(rates, v, 1e-11)
    close(dV, np.stack([m.V[1] for m in body]), 1e-9)
    M = closed_forms.system_matrices(tree, q, v, 'spatial').M
    Pi = np.reshape(M @ np.concatenate([m.V[0] for m in spatial]), (-1, 6))
    rates, dPi = body_momentum_form(tree, q, Pi, tau, GRAVITY, W)
    close(rates, v, 1e-10)
    for i, motion in enumerate(spatial):
        M_i = M[block(i), block(i)]
        close(dPi[i], M_i @ motion.V[1] - ad(motion.V[0]).T @ M_i @ motion.V[0], 1e-8)
    p = mass_matrix.mass_matrix(tree, q) @ v
    rates, dp = momentum_form(tree, q, p, tau, GRAVITY, W)
    close(rates, v, 1e-11)
    for mine, recursive in zip((rates, dp), momentum_dynamics(tree, q, p, tau, GRAVITY, W)):
        close(mine, recursive, 1e-10)
    C = coriolis.coriolis_matrix(tree, q, v)
    M, bias = mass_matrix.mass_matrix(tree, q), coriolis_torques(tree, q, v)
    if not floating:
        dM = difference(lambda q: mass_matrix.mass_matrix(tree, q), q, v)
        close(dp, M @ a + dM @ v, 1e-9)
        close(dM, C + C.T, 1e-9)
    close(dp, M @ a + (C + C.T) @ v, 1e-9)
    close(C @ v, bias, 1e-11)


def test_the_three_forms_have_the_same_trajectory():
    """D-33, D-34: a swinging robot, integrated in (q, q'), (q, V), (q, Pi) and (q, p)."""
    n = 4
    tree = tree_of(random_geometry(3, n), inertias=random_inertias(3, n))
    q, v, tau = np.random.default_rng(3).uniform(-1, 1, (3, n))
    V = np.stack([m.V[0] for m in body_motions(tree, q, [v], 'body')])
    spatial = closed_forms.system_matrices(tree, q, v, 'spatial')
    Pi = np.reshape(spatial.M @ spatial.J @ v, (n, 6))

    def joint_form(tree: Tree, q: np.ndarray, v: np.ndarray, tau: np.ndarray, g: np.ndarray):
        return v, forward_dynamics(tree, q, v, tau, g)

    ends = []
    forms = {
        joint_form: v,
        twist_form: V,
        body_momentum_form: Pi,
        momentum_form: mass_matrix.mass_matrix(tree, q) @ v,
    }
    for form, start in forms.items():

        def rate(x: np.ndarray, form=form, shape=start.shape) -> np.ndarray:
            dq, dy = form(tree, x[:n], x[n:].reshape(shape), tau, GRAVITY)
            return np.concatenate([dq, np.ravel(dy)])

        x, h = np.concatenate([q, np.ravel(start)]), 0.01
        for _ in range(4):
            k1 = rate(x)
            k2 = rate(x + h / 2 * k1)
            k3 = rate(x + h / 2 * k2)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
        ends.append(x[:n])
    assert np.abs(ends[0] - q).max() > 0.01
    for end in ends[1:]:
        close(end, ends[0], 1e-7)


def test_total_momentum_of_a_free_robot_is_conserved():
    """D-34, D-45: without gravity the spatial momenta of the bodies add up to a constant."""
    description = random_description(4, 6, ('revolute', 'prismatic'), mimic=1)
    tree = build_tree(description, floating_base=True)
    robot = Robot(description, floating_base=True, backend='reference')
    rng = np.random.default_rng(4)
    q, (v, tau) = random_configuration(robot, rng), rng.uniform(-1, 1, (2, robot.nv))
    tau[:6] = 0.0
    system = closed_forms.system_matrices(tree, q, v, 'spatial')
    Pi = np.reshape(system.M @ system.J @ v, (-1, 6))
    _, dPi = body_momentum_form(tree, q, Pi, tau, np.zeros(3))
    assert np.abs(dPi).max() > 0.1
    close(dPi.sum(axis=0), np.zeros(6), 1e-11)
