# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""System Jacobians as products, recursions in four representations, axes, several links.

Spec IDs: K-19, K-20, K-22, K-23, K-25 to K-33, D-05, D-06, D-10, D-14 with the erratum
E-25; B-117, B-119, B-120, B-122, B-123, B-126 with golden numbers G15.
References: poses differentiated in extended precision (`poe_models`).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.program.tracing import Recorder, Scalar
from screw_dynamics_ros.core.description import Joint, Link, RobotDescription
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.kinematics.higher_order import twist_derivatives
from screw_dynamics_ros.core.kinematics.jacobians import jacobian
from screw_dynamics_ros.core.kinematics.poe import body_poses
from screw_dynamics_ros.core.kinematics.product_of_exponentials import BodyScrews
from screw_dynamics_ros.core.kinematics.robot_geometry import tree_of
from screw_dynamics_ros.core.kinematics.twist_recursions import (
    body_accelerations,
    body_motions,
    body_twists,
)
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.lie.so3 import hat
from screw_dynamics_ros.core.textbook.formulations.factorization import (
    SCREWS,
    block,
    factor_derivatives,
    factors,
    stacked_jacobian,
    system_jacobian_derivative,
)
from screw_dynamics_ros.core.textbook.formulations.joint_axes import (
    current_axes,
    geometric_jacobian,
)
from screw_dynamics_ros.core.tree.multibody_tree import GROUND, Tree, build_tree
from support.models import random_configuration, random_description, random_pose, random_unit
from support.poe_models import REPRESENTATIONS, Reference, random_geometry, random_trajectory

SEEDS = pytest.mark.parametrize('seed', range(2))
IN_ALL_REPRESENTATIONS = pytest.mark.parametrize('representation', REPRESENTATIONS)
N = 6


def tree_and_state(seed: int) -> tuple[BodyScrews, Tree, np.ndarray]:
    geometry = random_geometry(seed, N)
    return geometry, tree_of(geometry), random_trajectory(seed, N)


@cache
def reference_jacobians(seed: int, body: int) -> dict[str, np.ndarray]:
    """Return the Jacobians of a body of the robot and at the q of `tree_and_state`."""
    return Reference(random_geometry(seed, N), body).jacobians(random_trajectory(seed, N)[0])


def real_tree(seed: int) -> tuple[Tree, np.ndarray, np.ndarray, np.ndarray]:
    """Return a floating tree with planar, floating and mimic joints, and q, v, a."""
    description = random_description(
        seed, 8, ('revolute', 'prismatic', 'planar', 'floating', 'fixed'), mimic=1
    )
    robot = Robot(description, backend='reference', floating_base=True)
    rng = np.random.default_rng(seed)
    q = random_configuration(robot, rng)
    return build_tree(description, floating_base=True), q, *rng.uniform(-1, 1, (2, robot.nv))


# --- recursions -----------------------------------------------------------------------------------


@SEEDS
@IN_ALL_REPRESENTATIONS
def test_recursions_against_differences(seed, representation):
    """K-22, K-26, K-29, K-32, D-05, D-10, D-12, D-14 to D-16, B-117: twist to snap."""
    geometry, tree, trajectory = tree_and_state(seed)
    motions = body_motions(tree, trajectory[0], list(trajectory[1:5]), representation)
    for i, motion in enumerate(motions):
        expected = Reference(geometry, i).twists(trajectory, 3)[representation]
        for V, reference, tolerance in zip(motion.V, expected, (1e-14, 1e-13, 1e-11, 1e-9)):
            np.testing.assert_allclose(V, reference, rtol=0, atol=tolerance)


@SEEDS
@IN_ALL_REPRESENTATIONS
def test_recursions_agree_with_the_spatial_derivation(seed, representation):
    """Two formulations of the same numbers, with free base, planar, floating and mimic joints.

    The recursion in its own representation, and the spatial one converted (`higher_order`).
    """
    tree, q, v, a = real_tree(seed)
    motions = body_motions(tree, q, [v, a, 0.3 * a], representation)
    for link, frame in tree.frames.items():
        if frame.body != GROUND and np.array_equal(frame.S, np.eye(4)):
            others = twist_derivatives(tree, q, [v, a, 0.3 * a], link, representation)
            for V, other in zip(motions[frame.body].V, others):
                np.testing.assert_allclose(V, other, rtol=1e-13, atol=1e-12)


@IN_ALL_REPRESENTATIONS
def test_golden_planar_arm(representation):
    """B-119, B-120, B-122, B-123, G15: velocity, accelerations and Jacobians of a planar 2R arm."""
    arm = BodyScrews(
        [np.eye(4), se3.pose(np.eye(3), [1.0, 0, 0]), se3.pose(np.eye(3), [0.5, 0, 0])],
        [[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0]],
    )
    tree = tree_of(arm)
    q, v, a = np.array([0.3, 0.5, 0]), np.array([0.2, -0.1, 0]), np.array([0.4, 0.6, 0])
    V, dV = body_motions(tree, q, [v, a], representation)[2].V
    assert V[2] == pytest.approx(0.1, abs=1e-14)
    assert dV[2] == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(
        body_poses(tree, q)[2][:3, 3], [1.3036898438, 0.6541982521, 0], atol=1e-9
    )
    if representation in ('hybrid', 'mixed'):
        np.testing.assert_allclose(V[3:], [-0.0949718459, 0.2259026333, 0], atol=1e-9)
        np.testing.assert_allclose(dV[3:], [-0.5185831212, 0.7150803616, 0], atol=1e-9)
        J = jacobian(tree, q, 'body3', representation)
        np.testing.assert_allclose(J[3:, 0], [-0.6541982521, 1.3036898438, 0], atol=1e-9)
        np.testing.assert_allclose(J[3:, 1], [-0.3586780454, 0.3483533547, 0], atol=1e-9)
    elif representation == 'spatial':
        np.testing.assert_allclose(V[3:], [-0.0295520207, 0.0955336489, 0], atol=1e-9)
        np.testing.assert_allclose(dV[3:], [0.1582053942, -0.5791122976, 0], atol=1e-9)
        J = jacobian(tree, q, 'body3', 'spatial')
        np.testing.assert_allclose(J[:, 0], [0, 0, 1, 0, 0, 0], atol=1e-12)
        np.testing.assert_allclose(J[:, 1], [0, 0, 1, 0.2955202067, -0.9553364891, 0], atol=1e-9)


@SEEDS
def test_outward_recursions_of_the_book(seed):
    """B-119, B-120, C-050: material and screw form, bias transported as corrected."""
    geometry = random_geometry(seed, N, 'RP', chain=True)
    tree, (q, v, a) = tree_of(geometry), random_trajectory(seed, N)[:3]
    hybrid = body_motions(tree, q, [v, a], 'hybrid')
    body = body_motions(tree, q, [v, a], 'body')
    for i in range(1, N):
        C, p = hybrid[i].C, hybrid[i - 1]
        axis = C[:3, :3] @ geometry.X[i, :3]
        slide = C[:3, :3] @ geometry.X[i, 3:]
        r = p.C[:3, 3] - C[:3, 3]  # from i + 1 to i, as the book has it
        omega = p.V[0][:3]
        turning = v[i] * axis
        dw = p.V[1][:3] + a[i] * axis + np.cross(omega, turning)
        dv = (
            p.V[1][3:]
            + np.cross(r, p.V[1][:3])
            - np.cross(omega, np.cross(omega, r))
            + a[i] * slide
            + v[i] * np.cross(2 * omega + turning, slide)
        )
        np.testing.assert_allclose(hybrid[i].V[1], np.concatenate([dw, dv]), atol=1e-13)
        transport = se3.Ad(np.linalg.inv(geometry.B[i] @ se3.exp_unit_screw(geometry.X[i], q[i])))
        screw_form = (
            transport @ body[i - 1].V[1]
            + a[i] * geometry.X[i]
            + v[i] * se3.ad(body[i].V[0]) @ geometry.X[i]
        )
        np.testing.assert_allclose(body[i].V[1], screw_form, atol=1e-13)


def test_printed_transport_of_the_bias_acceleration_fails():
    """Erratum of (5.22): transported by S it gets a lever arm that it does not have."""
    geometry = random_geometry(1, N, 'R', chain=True)
    tree, (q, v, a) = tree_of(geometry), random_trajectory(1, N)[:3]
    motions = body_motions(tree, q, [v, a], 'hybrid')
    i = N - 1
    C, p = motions[i].C, motions[i - 1]
    axis, slide = C[:3, :3] @ geometry.X[i, :3], C[:3, :3] @ geometry.X[i, 3:]
    r = p.C[:3, 3] - C[:3, 3]
    omega, turning = p.V[0][:3], v[i] * axis
    bias = np.concatenate([np.cross(omega, turning), -np.cross(omega, np.cross(omega, r))])
    joint = np.concatenate(
        [a[i] * axis, a[i] * slide + v[i] * np.cross(2 * omega + turning, slide)]
    )
    right = se3.Ad_r(r) @ p.V[1] + bias + joint
    printed = se3.Ad_r(r) @ (p.V[1] + bias) + joint
    np.testing.assert_allclose(motions[i].V[1], right, atol=1e-13)
    assert np.abs(motions[i].V[1] - printed).max() > 1e-2


# --- factors --------------------------------------------------------------------------------------


@SEEDS
@IN_ALL_REPRESENTATIONS
def test_factors(seed, representation):
    """K-19, K-23, K-27, K-30, K-33: A (1 - D) = 1, blocks T_i of D, A X the Jacobians."""
    geometry, tree, trajectory = tree_and_state(seed)
    q = trajectory[0]
    own = factors(tree, q, representation)
    np.testing.assert_allclose(own.A @ (np.eye(6 * N) - own.D), np.eye(6 * N), atol=1e-14)
    series = sum(np.linalg.matrix_power(own.D, k) for k in range(N))
    np.testing.assert_allclose(own.A, series, atol=1e-13)
    np.testing.assert_allclose(np.linalg.matrix_power(own.D, N), 0.0, atol=1e-13)
    motions = body_motions(tree, q, [], representation)
    for i, (body, motion) in enumerate(zip(tree.bodies, motions)):
        path = geometry.path(i)
        for j in range(N):
            D_ij, A_ij = own.D[block(i), block(j)], own.A[block(i), block(j)]
            if j == body.parent:
                np.testing.assert_allclose(D_ij, motion.transported(0, np.eye(6)), atol=1e-14)
            else:
                np.testing.assert_allclose(D_ij, 0.0, atol=1e-15)
            assert (j in path) == bool(A_ij.any())
        expected = reference_jacobians(seed, i)[representation]
        np.testing.assert_allclose(own.jacobian[block(i)], expected, rtol=0, atol=1e-13)


@IN_ALL_REPRESENTATIONS
@pytest.mark.parametrize('screws', SCREWS)
def test_factors_with_screws_of_another_kind(representation, screws):
    """K-27: J^s = A^s Y = A^sb X^b = A^sh X^h with their inverses; others alike (A^mh)."""
    _, tree, trajectory = tree_and_state(0)
    mixed = factors(tree, trajectory[0], representation, screws)
    np.testing.assert_allclose(
        mixed.jacobian, factors(tree, trajectory[0], representation).jacobian, atol=1e-13
    )
    np.testing.assert_allclose(mixed.A @ mixed.A_inv, np.eye(6 * N), atol=1e-13)


@SEEDS
def test_blocks_of_the_spatial_factors(seed):
    """K-25, K-27: A^sb = L diag(Ad_C), A^sh = L diag(Ad_r), A^s = L diag(Ad_{C A^-1})."""
    geometry, tree, trajectory = tree_and_state(seed)
    q = trajectory[0]
    C, C_0 = body_poses(tree, q), body_poses(tree, np.zeros(N))
    expected = {
        'body': [se3.Ad(C_j) for C_j in C],
        'hybrid': [se3.Ad_r(C_j[:3, 3]) for C_j in C],
        'reference': [se3.Ad(C_j @ np.linalg.inv(A_j)) for C_j, A_j in zip(C, C_0)],
        'spatial': [np.eye(6)] * N,
    }
    for screws, blocks in expected.items():
        own = factors(tree, q, 'spatial', screws)
        for i in range(N):
            for j in geometry.path(i):
                np.testing.assert_allclose(own.A[block(i), block(j)], blocks[j], atol=1e-13)
    reference = factors(tree, q, 'spatial', 'reference')
    at_zero = factors(tree, np.zeros(N), 'spatial').jacobian
    for j in range(N):  # X is the constant Y, the spatial Jacobian at q = 0
        np.testing.assert_allclose(reference.X[block(j), j], at_zero[block(j), j], atol=1e-14)


@SEEDS
def test_blocks_of_the_other_factors(seed):
    """K-23, K-30, K-33: Ad_{C_i,j}, Ad_{r_i,j}, [[R_i,j, 0], [r_i,j~ R_j, 1]] and A^mh."""
    geometry, tree, trajectory = tree_and_state(seed)
    q = trajectory[0]
    C = body_poses(tree, q)
    A = {name: factors(tree, q, name).A for name in ('body', 'hybrid', 'mixed')}
    A_mh = factors(tree, q, 'mixed', 'hybrid').A
    for i in range(N):
        for j in geometry.path(i):
            at = block(i), block(j)
            R_i, R_j, r = C[i][:3, :3], C[j][:3, :3], C[j][:3, 3] - C[i][:3, 3]
            zero, one = np.zeros((3, 3)), np.eye(3)
            np.testing.assert_allclose(
                A['body'][at], se3.Ad(np.linalg.inv(C[i]) @ C[j]), atol=1e-13
            )
            np.testing.assert_allclose(A['hybrid'][at], se3.Ad_r(r), atol=1e-13)
            np.testing.assert_allclose(
                A['mixed'][at], np.block([[R_i.T @ R_j, zero], [hat(r) @ R_j, one]]), atol=1e-13
            )
            np.testing.assert_allclose(
                A_mh[at], np.block([[R_i.T, zero], [hat(r), one]]), atol=1e-13
            )


@SEEDS
def test_equivalent_forms_of_the_columns(seed):
    """K-21, K-25, K-28, K-31: J^b_ij = Ad_{C_i,j} X_j, J^s_j = Ad_{C_j} X_j, and others."""
    geometry, tree, trajectory = tree_and_state(seed)
    q = trajectory[0]
    C, Y = body_poses(tree, q), factors(tree, np.zeros(N), 'spatial').jacobian
    A = body_poses(tree, np.zeros(N))
    i = max(range(N), key=lambda k: len(geometry.path(k)))
    J = {name: jacobian(tree, q, f'body{i + 1}', name) for name in REPRESENTATIONS}
    R = C[i][:3, :3]
    for j in geometry.path(i):
        X, Y_j, C_ij = geometry.X[j], Y[block(j), j], np.linalg.inv(C[i]) @ C[j]
        np.testing.assert_allclose(J['body'][:, j], se3.Ad(C_ij) @ X, atol=1e-14)
        np.testing.assert_allclose(
            J['body'][:, j], se3.Ad(C_ij @ np.linalg.inv(A[j])) @ Y_j, atol=1e-13
        )
        np.testing.assert_allclose(J['spatial'][:, j], se3.Ad(C[j]) @ X, atol=1e-14)
        np.testing.assert_allclose(
            J['spatial'][:, j], se3.Ad(C[j] @ np.linalg.inv(A[j])) @ Y_j, atol=1e-13
        )
        np.testing.assert_allclose(J['hybrid'][:, j], se3.Ad_R(R) @ J['body'][:, j], atol=1e-14)
        np.testing.assert_allclose(J['mixed'][:3, j], R.T @ J['hybrid'][:3, j], atol=1e-14)
        np.testing.assert_allclose(J['mixed'][3:, j], J['hybrid'][3:, j], atol=1e-15)


@SEEDS
def test_reference_screw_is_not_the_instantaneous_one(seed):
    """E-25: Y_j = Ad_{r_j} 0X_j at q = 0 only; it is Ad_{A_j} Ad_{R_j}^T 0X_j."""
    _, tree, trajectory = tree_and_state(seed)
    q = trajectory[0]
    C, A = body_poses(tree, q), body_poses(tree, np.zeros(N))
    Y, J = (factors(tree, x, 'spatial').X for x in (np.zeros(N), q))
    hybrid = factors(tree, q, 'hybrid').X
    worst = 0.0
    for j in range(N):
        printed = se3.Ad_r(C[j][:3, 3]) @ hybrid[block(j), j]
        np.testing.assert_allclose(printed, J[block(j), j], atol=1e-14)
        corrected = se3.Ad(A[j]) @ se3.Ad_R(C[j][:3, :3]).T @ hybrid[block(j), j]
        np.testing.assert_allclose(corrected, Y[block(j), j], atol=1e-14)
        worst = max(worst, np.abs(printed - Y[block(j), j]).max())
    assert worst > 0.1


@SEEDS
@IN_ALL_REPRESENTATIONS
def test_derivatives_of_the_factors(seed, representation):
    """D-06, D-14: J' = A (X' + D' J), V' = J q'' + J' q', against differences and the recursion."""
    geometry, tree, trajectory = tree_and_state(seed)
    q, v, a = trajectory[:3]
    J, rate = (
        factors(tree, q, representation).jacobian,
        system_jacobian_derivative(tree, q, v, representation),
    )
    dV = (J @ a + rate @ v).reshape(N, 6)
    np.testing.assert_allclose(dV, body_accelerations(tree, q, v, a, representation), atol=1e-13)
    for i in range(N):
        expected = Reference(geometry, i).twists([q, v, a], 1)[representation][1]
        np.testing.assert_allclose(dV[i], expected, rtol=0, atol=1e-12)


@SEEDS
def test_body_fixed_system_form(seed):
    """D-06: J' = -A a J with a = diag(q_i' ad_X_i), and V' = J q'' - A a V."""
    geometry, tree, trajectory = tree_and_state(seed)
    q, v, acceleration = trajectory[:3]
    own = factors(tree, q, 'body')
    a = np.zeros((6 * N, 6 * N))
    for i in range(N):
        a[block(i), block(i)] = v[i] * se3.ad(geometry.X[i])
    np.testing.assert_allclose(
        system_jacobian_derivative(tree, q, v), -own.A @ a @ own.jacobian, atol=1e-13
    )
    V = own.jacobian @ v
    np.testing.assert_allclose(
        body_accelerations(tree, q, v, acceleration).ravel(),
        own.jacobian @ acceleration - own.A @ a @ V,
        atol=1e-13,
    )


@IN_ALL_REPRESENTATIONS
def test_factors_of_real_robots(representation):
    """Free bases, planar, floating and mimic joints: X has their columns in their places."""
    tree, q, v, a = real_tree(1)
    own = factors(tree, q, representation)
    np.testing.assert_allclose(own.A @ own.A_inv, np.eye(len(own.A)), atol=1e-12)
    np.testing.assert_allclose(
        (own.jacobian @ v).reshape(-1, 6), body_twists(tree, q, v, representation), atol=1e-13
    )
    rate = system_jacobian_derivative(tree, q, v, representation)
    np.testing.assert_allclose(
        (own.jacobian @ a + rate @ v).reshape(-1, 6),
        body_accelerations(tree, q, v, a, representation),
        atol=1e-12,
    )
    for screws in SCREWS:
        np.testing.assert_allclose(
            factors(tree, q, representation, screws).jacobian, own.jacobian, atol=1e-12
        )


def test_recorded_scalars():
    tree = tree_of(random_geometry(0, 3, chain=True))
    recorder = Recorder()
    q, v = recorder.inputs('q', 3), recorder.inputs('v', 3)
    for representation in REPRESENTATIONS:
        own = factors(tree, q, representation)
        assert isinstance(own.jacobian[-1, 0], (Scalar, float))
        dD, dX = factor_derivatives(tree, q, v, representation)
        assert any(isinstance(x, Scalar) for x in np.ravel(own.jacobian))
        assert any(isinstance(x, Scalar) for x in [*np.ravel(dD), *np.ravel(dX)])


def test_what_is_refused():
    tree = tree_of(random_geometry(0, 3))
    q = np.zeros(3)
    with pytest.raises(UnknownNameError, match="no representation named 'local'"):
        factors(tree, q, 'local')
    with pytest.raises(UnknownNameError, match="no screws named 'local'"):
        factors(tree, q, 'body', 'local')
    with pytest.raises(UnknownNameError, match='no representation'):
        body_motions(tree, q, [], 'local')
    with pytest.raises(ArgumentError, match='no links'):
        stacked_jacobian(tree, q, [])
    with pytest.raises(UnknownNameError, match="no link named 'nowhere'"):
        stacked_jacobian(tree, q, ['nowhere'])


# --- several links, and axes ----------------------------------------------------------------------


@pytest.fixture(scope='module')
def two_hands() -> Tree:
    """Return the tree of [B] figure 5.1: joint 1 carries a chain 2, 3 and a chain 4, 5."""
    rng = np.random.default_rng(0)
    connections = [('base', 'a1'), ('a1', 'a2'), ('a2', 'hand1'), ('a1', 'a4'), ('a4', 'hand2')]
    made = [
        Joint(f'j{i + 1}', 'continuous', parent, child, random_pose(rng), random_unit(rng))
        for i, (parent, child) in enumerate(connections)
    ]
    links = [Link('base'), *(Link(child) for _, child in connections)]
    return build_tree(RobotDescription.from_parts('two_hands', links, made))


@IN_ALL_REPRESENTATIONS
def test_tree_jacobian(two_hands, representation):
    """B-126: rows (J1 J2 J3 0 0), (J1 0 0 J4 J5); first columns are equal for screw twists only."""
    q, v = np.random.default_rng(1).uniform(-1, 1, (2, 5))
    J = stacked_jacobian(two_hands, q, ['hand1', 'hand2'], representation)
    assert J.shape == (12, 5)
    np.testing.assert_array_equal(J[:6, 3:], 0.0)
    np.testing.assert_array_equal(J[6:, 1:3], 0.0)
    assert (np.abs(J[:6, :3]).max(axis=0) > 0.1).all()
    assert (np.abs(J[6:, [0, 3, 4]]).max(axis=0) > 0.1).all()
    same = np.allclose(J[:6, 0], J[6:, 0], atol=1e-12)
    assert same is (representation == 'spatial')
    V = body_twists(two_hands, q, v, representation)
    hands = [two_hands.frames[name] for name in ('hand1', 'hand2')]
    if representation == 'spatial':  # the frames of links and bodies differ, spatial twists do not
        np.testing.assert_allclose((J @ v).reshape(2, 6), V[[f.body for f in hands]], atol=1e-13)


@SEEDS
@IN_ALL_REPRESENTATIONS
def test_geometric_construction(seed, representation):
    """K-20, B-122: columns (e, b × e + h e) from the current axes equal the analytic Jacobian."""
    _, tree, trajectory = tree_and_state(seed)
    for i in range(N):
        np.testing.assert_allclose(
            geometric_jacobian(tree, trajectory[0], f'body{i + 1}', representation),
            reference_jacobians(seed, i)[representation],
            rtol=0,
            atol=1e-13,
        )


def test_geometric_construction_for_real_robots():
    """K-20 with free, planar and mimic joints."""
    tree, q, _, _ = real_tree(2)
    for link in tree.frames:
        for representation in REPRESENTATIONS:
            np.testing.assert_allclose(
                geometric_jacobian(tree, q, link, representation),
                jacobian(tree, q, link, representation),
                atol=1e-13,
            )


def test_axes_of_a_robot():
    """K-20: direction, point and pitch in the root frame; prismatic joints have no place."""
    geometry = random_geometry(3, N)
    tree, q = tree_of(geometry), random_trajectory(3, N)[0]
    C = geometry.poses(q)
    for i, axis in enumerate(current_axes(tree, q)):
        e = geometry.X[i, :3] if geometry.X[i, :3].any() else geometry.X[i, 3:]
        np.testing.assert_allclose(axis.direction[0], C[i][:3, :3] @ e, atol=1e-14)
        moved = geometry.poses(q + 0.4 * np.eye(N)[i])[i] @ np.linalg.inv(C[i])
        if np.isfinite(axis.pitch[0]):
            travel = moved[:3, :3] @ axis.point[0] + moved[:3, 3] - axis.point[0]
            np.testing.assert_allclose(travel, 0.4 * axis.pitch[0] * axis.direction[0], atol=1e-13)
        else:
            np.testing.assert_allclose(moved[:3, 3], 0.4 * axis.direction[0], atol=1e-13)
