# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse velocity kinematics against Penrose's conditions, KKT systems and scipy.

Spec IDs: C-020, C-021, C-026 to C-028, C-041 to C-043, C-045, C-104 with the
errata E-03 to E-09, of which the printed forms fail here.
"""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.optimize import minimize

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.arms.inverse.bounded_velocity import joint_limited_velocity
from screw_dynamics_ros.core.arms.inverse.velocity import inverse_velocity
from screw_dynamics_ros.core.arms.inverse.velocity_bounds import Bounds
from screw_dynamics_ros.core.arms.inverse.weighted_inverse import (
    AdaptiveDamping,
    WeightedInverse,
    length_metric,
    marquardt_metric,
)
from screw_dynamics_ros.core.textbook.redundancy.cyclicity import extended_inverse
from support import arm_321
from support.models import random_configuration
from support.robots import urdf_path


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def positive(rng, n):
    A = rng.normal(size=(n, n))
    return A @ A.T + 0.1 * np.eye(n)


def of_rank(rng, m, n, rank):
    return rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))


# --- pseudo-inverse -------------------------------------------------------------------------------


SHAPES = [(6, 6, 6), (6, 7, 6), (6, 9, 4), (6, 3, 3), (6, 3, 2), (6, 4, 0)]


@pytest.mark.parametrize('shape', SHAPES)
def test_penrose_conditions(rng, shape):
    """C-021: the four conditions, and scipy's pseudo-inverse; E-03: U S^-1 V^T is not one."""
    A = of_rank(rng, *shape)
    inverse = WeightedInverse(A)
    B = inverse.inverse()
    assert inverse.rank == shape[2]
    for left, right in ((A @ B @ A, A), (B @ A @ B, B), ((A @ B).T, A @ B), ((B @ A).T, B @ A)):
        np.testing.assert_allclose(left, right, atol=1e-10)
    np.testing.assert_allclose(B, np.linalg.pinv(A, rcond=1e-9), atol=1e-10)
    if shape[0] == shape[1]:
        U, s, V_T = np.linalg.svd(A)
        assert not np.allclose(U @ np.diag(1 / s) @ V_T, B)  # as printed


def test_penrose_conditions_in_metrics(rng):
    """C-021, C-026: with metrics, A^# A is symmetric in M and A A^# in C."""
    A, M, C = of_rank(rng, 6, 8, 5), positive(rng, 8), positive(rng, 6)
    B = WeightedInverse(A, M, C).inverse()
    np.testing.assert_allclose(A @ B @ A, A, atol=1e-10)
    np.testing.assert_allclose(B @ A @ B, B, atol=1e-10)
    np.testing.assert_allclose(M @ B @ A, (M @ B @ A).T, atol=1e-9)
    np.testing.assert_allclose(C @ A @ B, (C @ A @ B).T, atol=1e-9)


def test_cutoff_decides_the_rank():
    A = np.diag([1.0, 1e-3, 1e-12])
    assert [WeightedInverse(A, cutoff=c).rank for c in (1e-13, 1e-9, 1e-2)] == [3, 2, 1]
    assert np.abs(WeightedInverse(A).inverse()).max() == pytest.approx(1e3)


# --- weights and null space -----------------------------------------------------------------------


def test_least_kinetic_energy():
    """C-026: the mass matrix as metric; no null motion added makes the energy smaller."""
    robot = Robot.from_urdf(urdf_path('panda'), backend='reference')
    rng = np.random.default_rng(0)
    q, twist = rng.uniform(robot.limits.lower, robot.limits.upper), rng.normal(size=6)
    M, J = robot.mass_matrix(q), robot.jacobian(q, 'panda_hand_tcp')
    v = robot.inverse_velocity(q, twist, 'panda_hand_tcp', joint_metric=M).v
    # (5.45) as written, and the Lagrange conditions: M v is in the row space of J
    M_inv = np.linalg.inv(M)
    np.testing.assert_allclose(v, M_inv @ J.T @ np.linalg.solve(J @ M_inv @ J.T, twist), atol=1e-8)
    N = WeightedInverse(J, M).null_projector()
    for _ in range(20):
        other = v + N @ rng.normal(size=robot.nv)
        np.testing.assert_allclose(J @ other, twist, atol=1e-9)
        assert other @ M @ other >= v @ M @ v - 1e-12
    # E-05: J_w^+ = M^-1/2 (J M^-1/2)^+; with sqrt(M) J, as printed, the shapes do not fit
    root = np.linalg.inv(np.real(sqrtm(M)))
    expected = root @ np.linalg.pinv(J @ root) @ twist
    np.testing.assert_allclose(v, expected, atol=1e-6)
    with pytest.raises(ValueError, match='matmul'):
        np.real(sqrtm(M)) @ J


def test_multiplier_is_a_momentum(rng):
    """C-026: the multiplier (J M^-1 J^T)^-1 t is M v seen from the link: J^T lambda = M v."""
    J, M, t = rng.normal(size=(6, 8)), positive(rng, 8), rng.normal(size=6)
    v = inverse_velocity(J, t, joint_metric=M).v
    np.testing.assert_allclose(J.T @ np.linalg.solve(J @ np.linalg.inv(M) @ J.T, t), M @ v)


@pytest.mark.parametrize('rank', [6, 4])
def test_null_space(rng, rank):
    """C-027: J N = 0, N N = N, rank N = n - r, N = 1 - J^# J = Z Z^T M, M-orthonormal basis."""
    J, M = of_rank(rng, 6, 9, rank), positive(rng, 9)
    inverse = WeightedInverse(J, M)
    N, Z = inverse.null_projector(), inverse.null_space
    assert np.abs(J @ N).max() < 1e-12 * np.abs(J).max() * 100
    np.testing.assert_allclose(N @ N, N, atol=1e-10)
    assert np.linalg.matrix_rank(N, tol=1e-9) == 9 - rank == Z.shape[1]
    np.testing.assert_allclose(N, np.eye(9) - inverse.inverse() @ J, atol=1e-10)
    np.testing.assert_allclose(Z.T @ M @ Z, np.eye(9 - rank), atol=1e-10)
    v_0, t = rng.normal(size=9), J @ rng.normal(size=9)
    found = inverse_velocity(J, t, joint_metric=M, secondary=v_0)
    assert found.success
    # of all solutions the one nearest to v_0: M (v - v_0) has no part in the null space
    np.testing.assert_allclose(Z.T @ M @ (found.v - v_0), 0.0, atol=1e-9)


def test_resolved_rate(rng):
    """C-104: a square regular J is solved as numpy does; golden rates of the 321 arm."""
    robot = arm_321.arm(backend='reference')
    for representation, twist in (('spatial', arm_321.SPATIAL_TWIST), ('body', arm_321.BODY_TWIST)):
        found = robot.inverse_velocity(arm_321.Q, twist, 'tool', representation)
        assert found.success
        np.testing.assert_allclose(found.v, arm_321.QD, atol=1e-8)
    J, t = rng.normal(size=(6, 6)), rng.normal(size=6)
    M, C = positive(rng, 6), positive(rng, 6)
    for metrics in ({}, {'joint_metric': M, 'task_metric': C}):
        np.testing.assert_allclose(
            inverse_velocity(J, t, **metrics).v, np.linalg.solve(J, t), rtol=1e-7
        )


# --- extended Jacobian ----------------------------------------------------------------------------


def test_extended_jacobian(rng):
    """C-028: J B = 1, A B = 0, and A = Z^T M is the weighted pseudo-inverse.

    E-04: B J is a projector of rank 6, not the identity as printed.
    """
    J, M, A = rng.normal(size=(6, 8)), positive(rng, 8), rng.normal(size=(2, 8))
    B, E = extended_inverse(J, A)
    np.testing.assert_allclose(J @ B, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(A @ B, 0.0, atol=1e-10)
    np.testing.assert_allclose(B @ J + E @ A, np.eye(8), atol=1e-10)
    np.testing.assert_allclose(B @ J @ B @ J, B @ J, atol=1e-9)
    assert np.linalg.matrix_rank(B @ J) == 6
    assert not np.allclose(B @ J, np.eye(8))
    inverse = WeightedInverse(J, M)
    B, _ = extended_inverse(J, inverse.null_space.T @ M)
    np.testing.assert_allclose(B, inverse.inverse(), atol=1e-9)


def test_extended_jacobian_says_what_is_wrong(rng):
    J = rng.normal(size=(6, 7))
    with pytest.raises(ArgumentError, match=r'must have shape \(1, 7\)'):
        extended_inverse(J, np.ones((2, 7)))
    with pytest.raises(ArgumentError, match=r'not transversal.*algorithmic'):
        extended_inverse(J, rng.normal(size=(1, 6)) @ J)
    with pytest.raises(ArgumentError, match='Jacobian has dependent rows'):
        extended_inverse(of_rank(rng, 6, 7, 5), np.ones((1, 7)))
    with pytest.raises(ArgumentError, match='rows A has dependent rows'):
        extended_inverse(J, np.zeros((1, 7)))


# --- damping --------------------------------------------------------------------------------------


def test_damped_least_squares(rng):
    """C-041: the gradient of |t - J v|_C^2 + |v|_L^2 vanishes, |v| <= |t| / (2 lambda).

    E-07: with C^-1 instead of C, as printed, it does not; E-06: |Y|^2 = Y^T X Y.
    """
    J, C, M, t, damping = (
        rng.normal(size=(6, 7)),
        positive(rng, 6),
        positive(rng, 7),
        rng.normal(size=6),
        0.7,
    )
    v = inverse_velocity(J, t, joint_metric=M, task_metric=C, damping=damping).v
    L = damping**2 * M
    np.testing.assert_allclose(J.T @ C @ (t - J @ v), L @ v, atol=1e-10)
    best = minimize(lambda x: (t - J @ x) @ C @ (t - J @ x) + x @ L @ x, np.zeros(7), tol=1e-12).x
    np.testing.assert_allclose(v, best, atol=1e-5)
    C_inv = np.linalg.inv(C)
    printed = np.linalg.solve(J.T @ C_inv @ J + L, J.T @ C_inv @ t)
    assert np.abs(J.T @ C @ (t - J @ printed) - L @ printed).max() > 1e-2
    for damping in (0.01, 0.1, 1.0):
        v = inverse_velocity(J, t, damping=damping).v
        assert np.linalg.norm(v) <= np.linalg.norm(t) / (2 * damping) + 1e-12


def test_largest_gain_is_reached():
    """C-041: 1 / (2 lambda), at s = lambda."""
    assert inverse_velocity([[0.3]], [1.0], damping=0.3).v[0] == pytest.approx(1 / 0.6)


def test_damping_by_singular_values(rng):
    """C-042: (J^T J + l^2)^-1 J^T = J^T (J J^T + l^2)^-1 = V diag(s / (s^2 + l^2)) U^T.

    E-03 and E-08: with U and V exchanged, and with lambda instead of its square, as printed,
    it is something else.
    """
    J, l = rng.normal(size=(6, 6)), 0.4  # noqa: E741
    U, s, V_T = np.linalg.svd(J)
    B = WeightedInverse(J).inverse(l)
    np.testing.assert_allclose(B, np.linalg.solve(J.T @ J + l**2 * np.eye(6), J.T), atol=1e-12)
    np.testing.assert_allclose(B, J.T @ np.linalg.inv(J @ J.T + l**2 * np.eye(6)), atol=1e-12)
    np.testing.assert_allclose(B, V_T.T @ np.diag(s / (s**2 + l**2)) @ U.T, atol=1e-12)
    assert not np.allclose(B, U @ np.diag(s / (s**2 + l**2)) @ V_T, atol=1e-3)
    assert not np.allclose(B, np.linalg.solve(J.T @ J + l * np.eye(6), J.T), atol=1e-3)


def test_marquardt_and_damping_of_single_joints(rng):
    """C-043: damping to 0 is the pseudo-inverse; more weight on a joint slows down that joint."""
    J, t = rng.normal(size=(6, 7)), rng.normal(size=6)
    metric = marquardt_metric(J)
    np.testing.assert_allclose(metric, np.diag(J.T @ J))
    np.testing.assert_allclose(
        inverse_velocity(J, t, joint_metric=metric, damping=0.3).v,
        np.linalg.solve(J.T @ J + 0.09 * np.diag(np.diag(J.T @ J)), J.T @ t),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        inverse_velocity(J, t, damping=1e-7).v, np.linalg.pinv(J) @ t, atol=1e-10
    )
    speeds = []
    for weight in (0.1, 1.0, 10.0, 100.0):
        weights = np.ones(7)
        weights[2] = weight
        speeds.append(abs(inverse_velocity(J, t, joint_metric=weights, damping=0.5).v[2]))
    assert (np.diff(speeds) < 0).all()


def test_a_joint_that_does_nothing_rests():
    found = inverse_velocity([[2.0, 0.0]], [1.0], joint_metric=marquardt_metric([[2.0, 0.0]]))
    np.testing.assert_allclose(found.v, [0.5, 0.0])


def test_adaptive_damping():
    """C-043: none far from a singularity, bounded rates through it, continuous in between."""
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    damping = AdaptiveDamping(0.1, 0.2)
    select = np.eye(6)[[3, 4]]
    previous = None
    for elbow in np.linspace(1.5, 0.0, 400):  # to the stretched arm
        J = select @ robot.jacobian([0.2, elbow], 'tip')
        found = inverse_velocity(J, [1.0, 0.3], damping=damping)
        smallest = found.singular_values[-1]
        assert found.damping == pytest.approx(
            0.1 * np.sqrt(max(0.0, 1 - (smallest / 0.2) ** 2)), abs=1e-12
        )
        assert found.success == (smallest >= 0.2)
        assert np.linalg.norm(found.v) <= np.linalg.norm([1.0, 0.3]) / 0.1
        if previous is not None:
            assert np.linalg.norm(found.v - previous) < 0.5
        previous = found.v
    found = inverse_velocity(np.eye(2), [1.0, 0.0], damping=0.1)
    assert 'held back by the damping' in found.message


def test_joints_that_do_not_move_the_link_are_no_singularity(rng):
    """C-043: five joints and a finger are regular: no adaptive damping, in either solver."""
    J, damping = rng.normal(size=(6, 6)), AdaptiveDamping(1.0, 1e-2)
    J[:, 5] = 0.0
    twist = J @ rng.normal(size=6)
    found = inverse_velocity(J, twist, damping=damping)
    assert found.damping == 0.0
    assert found.success
    free = Bounds(np.full(6, -np.inf), np.full(6, np.inf), tuple('abcdef'))
    assert joint_limited_velocity(J, twist, free, damping=damping).success


# --- fewer joints than the task has rows ----------------------------------------------------------


def test_projection_on_what_the_joints_can_do(rng):
    """C-045: P = J J_M^+ is idempotent, its residual M-orthogonal to the span of J.

    E-09: M t = M J v does not hold, only J^T M t = J^T M J v.
    """
    J, M, t = rng.normal(size=(6, 4)), positive(rng, 6), rng.normal(size=6)
    found = inverse_velocity(J, t, task_metric=M)
    P = WeightedInverse(J, None, M).range_projector()
    np.testing.assert_allclose(P @ P, P, atol=1e-10)
    np.testing.assert_allclose(P @ t, J @ found.v, atol=1e-10)
    np.testing.assert_allclose(found.v, np.linalg.solve(J.T @ M @ J, J.T @ M @ t), atol=1e-10)
    np.testing.assert_allclose(J.T @ M @ found.residual, 0.0, atol=1e-10)
    assert np.abs(M @ (t - J @ found.v)).max() > 1e-2
    assert not found.success
    assert '4 of the 6 directions' in found.message


def test_metrics_do_not_change_what_is_reachable(rng):
    """C-020: a length changes the singular values, not the rank nor an exact solution."""
    J, t = rng.normal(size=(6, 6)), rng.normal(size=6)
    solutions = [inverse_velocity(J, t, task_metric=length_metric(x)) for x in (0.01, 1.0, 10.0)]
    for found in solutions:
        np.testing.assert_allclose(found.v, np.linalg.solve(J, t), atol=1e-7)
        assert found.rank == 6
    assert not np.allclose(solutions[0].singular_values, solutions[1].singular_values)


def test_several_links(rng):
    robot = Robot.from_urdf(urdf_path('gripper_tree'), backend='reference')
    tips = robot.link_names[-1], robot.link_names[-2]
    q, v = rng.uniform(-0.1, 0.1, robot.nq), rng.normal(size=robot.nv)
    twists = np.stack([robot.velocity(q, v, tip, 'body') for tip in tips])
    found = robot.inverse_velocity(q, twists, tips, 'body')
    assert found.success
    for tip, twist in zip(tips, twists):
        np.testing.assert_allclose(robot.velocity(q, found.v, tip, 'body'), twist, atol=1e-9)


@pytest.mark.parametrize('representation', ['body', 'hybrid', 'spatial'])
@pytest.mark.parametrize(
    ('name', 'floating_base'),
    [
        ('panda', False),
        ('ur_description/urdf/ur5_robot', False),
        ('talos_reduced', True),
        ('anymal_c_simple_description/urdf/anymal', True),
    ],
)
def test_real_robots_against_pinocchio(name, floating_base, representation):
    """C-021, C-104: numpy's pseudo-inverse of Pinocchio's Jacobian of two links gives the same."""
    pytest.importorskip('pinocchio')
    from oracles.pinocchio_model import Pinocchio

    path = urdf_path(name)
    robot = Robot.from_urdf(path, floating_base=floating_base, backend='reference')
    oracle, rng = Pinocchio(path.read_text(), robot), np.random.default_rng(1)
    q, links = random_configuration(robot, rng), (robot.link_names[-1], robot.link_names[-4])
    J, twists = np.concatenate(oracle.jacobians(q, links, representation)), rng.normal(size=(2, 6))
    found = robot.inverse_velocity(q, twists, links, representation)
    expected = np.linalg.pinv(J, rcond=1e-9) @ twists.ravel()
    np.testing.assert_allclose(
        found.v, expected, atol=1e-9 * np.abs(expected).max() + 1e-12, rtol=1e-6
    )
    assert found.rank == np.linalg.matrix_rank(J, tol=1e-9 * np.linalg.norm(J, 2))
    np.testing.assert_allclose(found.residual, twists.ravel() - J @ found.v, atol=1e-8)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'joint_metric': [1.0, 0.0]}, 'joint metric is singular or indefinite: weight 1 is 0'),
        ({'joint_metric': [1.0, -1.0]}, 'joint metric is singular or indefinite'),
        ({'joint_metric': np.ones((2, 2))}, 'joint metric is singular.*smallest eigenvalue'),
        ({'joint_metric': [[1.0, 0.5], [0.0, 1.0]]}, 'joint metric must be symmetric'),
        (
            {'joint_metric': np.ones(3)},
            r'joint metric must have shape \(2,\) or \(2, 2\), got \(3,\)',
        ),
        ({'joint_metric': [1.0, np.nan]}, 'joint metric holds NaN or infinity: nan at index'),
        ({'task_metric': [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]}, 'task metric is singular.*weight 5 is 0'),
        ({'damping': -1.0}, 'damping must be a finite number >= 0'),
        ({'damping': np.nan}, 'damping must be a finite number'),
        ({'secondary': [1.0]}, r'secondary rates must have shape \(2,\)'),
        ({'secondary': [1.0, np.inf]}, 'secondary rates holds NaN or infinity'),
    ],
)
def test_wrong_options(options, message):
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    with pytest.raises(ArgumentError, match=message):
        robot.inverse_velocity([0.1, 0.2], np.zeros(6), 'tip', **options)


def test_wrong_arguments():
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    with pytest.raises(UnknownNameError, match="no link named 'elbow'"):
        robot.inverse_velocity([0.1, 0.2], np.zeros(6), 'elbow')
    with pytest.raises(UnknownNameError, match="no representation named 'local'"):
        robot.inverse_velocity([0.1, 0.2], np.zeros(6), 'tip', 'local')
    with pytest.raises(ArgumentError, match='q holds NaN'):
        robot.inverse_velocity([0.1, np.nan], np.zeros(6), 'tip')
    with pytest.raises(ArgumentError, match=r'q must have shape \(2,\)'):
        robot.inverse_velocity(np.zeros((5, 2)), np.zeros(6), 'tip')
    with pytest.raises(ArgumentError, match='twist holds NaN'):
        robot.inverse_velocity([0.1, 0.2], np.full(6, np.nan), 'tip')
    with pytest.raises(ArgumentError, match=r'twist must have shape \(6,\)'):
        robot.inverse_velocity([0.1, 0.2], np.zeros(3), 'tip')
    with pytest.raises(ArgumentError, match=r'twist must have shape \(2, 6\)'):
        robot.inverse_velocity([0.1, 0.2], np.zeros(6), ('tip', 'tip'))
    with pytest.raises(UnknownNameError, match='no link named 5'):
        robot.inverse_velocity([0.1, 0.2], np.zeros(6), 5)
    with pytest.raises(ArgumentError, match='at least one link'):
        robot.inverse_velocity([0.1, 0.2], np.zeros(6), ())
    with pytest.raises(ArgumentError, match='largest of the adaptive damping must be'):
        AdaptiveDamping(-1.0, 0.1)
    with pytest.raises(ArgumentError, match='characteristic length must be'):
        length_metric(0.0)
    with pytest.raises(ArgumentError, match='Jacobian must have shape'):
        inverse_velocity([1.0, 2.0], [1.0])
