# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Singularity reports against numpy, scipy, the determinant of the 321 arm and differences.

Spec IDs: C-020, C-022, C-033, C-110 with the errata E-31, E-32, E-53;
B-007.
"""

import numpy as np
import pytest
from scipy.linalg import null_space

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.arms.inverse.singularities import (
    manipulability_gradient,
    singularity_report,
)
from screw_dynamics_ros.core.arms.inverse.velocity import inverse_velocity
from screw_dynamics_ros.core.lie import screw_systems
from support import arm_321
from support.arm_321 import L1, L2, L3
from support.robots import urdf_path

Q = arm_321.Q
#: Elbow that brings the wrist center above the shoulder: l2 s2 + l3 s23 = 0 with q2 = 0.4.
ABOVE = -0.4 - np.arcsin(L2 * np.sin(0.4) / L3)
SINGULAR = {
    'elbow': Q * [1, 1, 0, 1, 1, 1],
    'wrist': Q * [1, 1, 1, 1, 0, 1],
    'shoulder': np.array([0.3, 0.4, ABOVE, -0.5, 0.6, 1.1]),
}


@pytest.fixture(scope='module')
def arm():
    return arm_321.arm(backend='reference')


@pytest.fixture
def rng():
    return np.random.default_rng(4)


@pytest.mark.parametrize('representation', ['body', 'spatial', 'hybrid'])
@pytest.mark.parametrize('kind', SINGULAR)
def test_the_three_singularities_of_321(arm, kind, representation):
    """C-020, C-110: rank 5 and the right name, whatever frame and length."""
    for length in (0.1, 1.0, 5.0):
        report = arm.singularity(SINGULAR[kind], 'tool', representation, length=length)
        assert report.singular
        assert report.rank == 5
        assert report.kinds == (kind,)
        assert report.condition == np.inf
        assert report.message == f'singular: 5 of 6 freedoms left ({kind})'
        assert report.length == length


def test_two_at_once(arm):
    """Two factors of the determinant vanish, and still only one freedom is lost: [[A, B], [C, 0]].

    Rank is not 6 minus the number of names.
    """
    q = Q * [1, 1, 0, 1, 0, 1]
    report = arm.singularity(q, 'tool')
    assert report.kinds == ('wrist', 'elbow')
    assert report.rank == np.linalg.matrix_rank(arm.jacobian(q, 'tool'), tol=1e-9) == 5
    upright = arm.singularity(np.zeros(6), 'tool')
    assert upright.rank == np.linalg.matrix_rank(arm.jacobian(np.zeros(6), 'tool'), tol=1e-9) == 3
    assert set(upright.kinds) >= {'wrist', 'elbow'}


def test_a_regular_configuration(arm):
    """C-020: singular values of D J as numpy has them, smallest one and condition number."""
    for length in (0.2, 1.0):
        report = arm.singularity(Q, 'tool', length=length)
        J = arm.jacobian(Q, 'tool') * np.array([[length]] * 3 + [[1.0]] * 3)
        s = np.linalg.svd(J, compute_uv=False)
        np.testing.assert_allclose(report.singular_values, s, atol=1e-12)
        assert report.smallest == pytest.approx(s[-1])
        assert report.condition == pytest.approx(np.linalg.cond(J))
        assert report.manipulability == pytest.approx(abs(np.linalg.det(J)))
        assert not report.singular
        assert report.kinds == ()
        assert report.lost_twists.shape == report.reciprocal_wrenches.shape == (6, 0)
        assert 'regular: smallest singular value' in report.message


def test_factors_of_the_determinant(arm, rng):
    """C-110: det J = wrist * elbow * shoulder = dh l2 l3 s3 s5 in size.

    E-31, E-32: with axes 2, 3 and 5 along +X, as printed, the sign of the product changes.
    """
    for q in [Q, *rng.uniform(-3, 3, (20, 6))]:
        found = arm.singularity(q, 'tool').decoupled
        s2, s3, s5, s23 = np.sin([q[1], q[2], q[4], q[1] + q[2]])
        height = L2 * s2 + L3 * s23
        assert abs(found.wrist) == pytest.approx(abs(s5), abs=1e-12)
        assert found.elbow == pytest.approx(L2 * L3 * abs(s3), abs=1e-12)
        assert abs(found.shoulder) == pytest.approx(abs(height), abs=1e-9)
        determinant = height * L2 * L3 * s3 * s5
        assert np.linalg.det(arm.jacobian(q, 'tool')) == pytest.approx(determinant, abs=1e-12)
        product = found.wrist * found.elbow * found.shoulder
        assert abs(product) == pytest.approx(abs(determinant), abs=1e-12)
        if abs(determinant) > 1e-3:
            assert not np.isclose(-determinant, np.linalg.det(arm.jacobian(q, 'tool')))
    assert np.linalg.det(arm.jacobian(Q, 'tool')) == pytest.approx(arm_321.DETERMINANT, abs=1e-9)


def wrist_center(q):
    height = L2 * np.sin(q[1]) + L3 * np.sin(q[1] + q[2])
    return np.array(
        [
            -np.sin(q[0]) * height,
            np.cos(q[0]) * height,
            L1 + L2 * np.cos(q[1]) + L3 * np.cos(q[1] + q[2]),
        ]
    )


@pytest.mark.parametrize('kind', SINGULAR)
def test_rates_at_a_singularity_are_finite_and_flagged(arm, kind):
    """B-007: the lost twist takes no infinite rates and is not called reached."""
    q = SINGULAR[kind]
    lost = arm.singularity(q, 'tool', 'body').lost_twists[:, 0]
    for damping in (0.0, 0.1):
        found = arm.inverse_velocity(q, lost, 'tool', 'body', damping=damping)
        assert not found.success
        assert found.rank == 5
        assert np.linalg.norm(found.v) < 1e-6
        assert '5 of the 6 directions' in found.message


def test_the_stretched_arm_in_the_plane():
    """B-007: 2R with q2 = 0: along the arm nothing moves, across it all is well; beyond it, no."""
    arm = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    q = np.array([0.3, 0.0])
    outward = np.array([np.cos(0.3), np.sin(0.3)])
    J = arm.jacobian(q, 'tip')[3:5]
    for twist, reached in ((outward, False), ([-outward[1], outward[0]], True)):
        found = inverse_velocity(J, twist)
        assert found.success == reached
        assert found.rank == 1
        assert np.linalg.norm(found.v) < 1.0
    target = arm.link_pose(q, 'tip')
    found = arm.inverse_kinematics(target, 'tip', q + 0.2)
    assert found.success
    np.testing.assert_allclose(found.q, q, atol=1e-8)
    target[:2, 3] += 0.01 * outward
    found = arm.inverse_kinematics(target, 'tip', q, restarts=3)
    assert not found.success
    assert found.residual == pytest.approx(0.01, rel=0.5)
    assert np.isfinite(found.q).all()


def test_reciprocal_wrenches_of_321(arm):
    """C-022: a force along the stretched arm; one through the wrist center normal to the arm."""
    q = SINGULAR['elbow']
    W = arm.singularity(q, 'tool', 'spatial').reciprocal_wrenches[:, 0]
    center, shoulder = wrist_center(q), np.array([0, 0, L1])
    along = (center - shoulder) / np.linalg.norm(center - shoulder)
    force = W[3:] / np.linalg.norm(W[3:])
    np.testing.assert_allclose(np.abs(force @ along), 1.0, atol=1e-9)
    np.testing.assert_allclose(np.cross(center, W[3:]), W[:3], atol=1e-9)

    q = SINGULAR['shoulder']
    W = arm.singularity(q, 'tool', 'spatial').reciprocal_wrenches[:, 0]
    center, normal = wrist_center(q), np.array([np.cos(q[0]), np.sin(q[0]), 0.0])
    assert abs(W[3:] @ normal) == pytest.approx(np.linalg.norm(W[3:]))
    np.testing.assert_allclose(np.cross(center, W[3:]), W[:3], atol=1e-9)


def test_lost_twist_of_the_stretched_wrist(arm):
    """C-022: at q5 = 0, seen from the wrist center, the rotation about the common normal is lost.

    No twist turns the tool about the normal of axes 4 and 5 without moving the wrist center, though
    five independent twists remain.
    """
    q = SINGULAR['wrist']
    J = arm.jacobian(q, 'link6', 'hybrid')  # its origin is the wrist center
    report = singularity_report(J)
    normal = np.cross(J[:3, 3], J[:3, 4])
    assert abs(np.dot(J[:3, 5], normal)) < 1e-12  # axis 6 lies in their plane
    pure = np.append(normal, np.zeros(3))
    assert not arm.inverse_velocity(q, pure, 'link6').success
    W = report.reciprocal_wrenches[:, 0]
    assert abs(W @ pure) > 0.1
    # the joint motion that does nothing: axes 4 and 6 against each other
    motion = report.null_motions[:, 0] / report.null_motions[3, 0]
    np.testing.assert_allclose(motion, [0, 0, 0, 1, 0, -1], atol=1e-9)


@pytest.mark.parametrize('kind', SINGULAR)
def test_lost_twists_and_reciprocal_wrenches_are_what_they_say(arm, kind):
    """C-022: null(J^T), null(J), and orthogonality in the metric of the length."""
    q, length = SINGULAR[kind], 0.3
    J, report = arm.jacobian(q, 'tool'), arm.singularity(q, 'tool', length=length)
    W, V, N = report.reciprocal_wrenches, report.lost_twists, report.null_motions
    np.testing.assert_allclose(J.T @ W, 0.0, atol=1e-12)
    np.testing.assert_allclose(J @ N, 0.0, atol=1e-12)
    metric = np.diag([length**2] * 3 + [1.0] * 3)
    np.testing.assert_allclose(J.T @ metric @ V, 0.0, atol=1e-12)
    np.testing.assert_allclose(V.T @ metric @ V, [[1.0]], atol=1e-12)
    np.testing.assert_allclose(W.T @ np.linalg.inv(metric) @ W, [[1.0]], atol=1e-12)
    # the same system as by the screw systems of the Lie layer and by scipy
    assert screw_systems.same_system(W, screw_systems.reciprocal_wrenches(J))
    assert screw_systems.same_system(W, null_space(J.T, rcond=1e-9))
    np.testing.assert_allclose(np.abs(V[:, 0]), np.abs(report.weakest_twist), atol=1e-9)


def test_weakest_twist_takes_the_largest_rates(arm, rng):
    report = arm.singularity(Q, 'tool', length=0.3)
    rates = np.linalg.norm(arm.inverse_velocity(Q, report.weakest_twist, 'tool').v)
    assert rates == pytest.approx(1.0 / report.smallest)
    for V in rng.normal(size=(30, 6)):
        V = V / np.sqrt(V @ np.diag([0.09] * 3 + [1.0] * 3) @ V)
        assert np.linalg.norm(arm.inverse_velocity(Q, V, 'tool').v) <= rates + 1e-9


def test_shoulder_offset_moves_the_singularity(rng):
    """E-53: an offset does not remove wrist-above-shoulder, as printed; it moves it to rho = 0."""
    offset = 0.15
    arm = arm_321.arm(shoulder=offset, backend='reference')
    for q in rng.uniform(-1, 1, (5, 6)):
        q[2] = -q[1] - np.arcsin(L2 * np.sin(q[1]) / L3)  # rho = 0
        report = arm.singularity(q, 'tool')
        assert report.singular
        assert report.kinds == ('shoulder',)
        center = arm.link_pose(q, 'link6')[:3, 3]
        assert np.hypot(*center[:2]) == pytest.approx(offset)
        assert abs(np.linalg.det(arm.jacobian(q, 'tool'))) < 1e-12


def test_arms_of_other_kinds():
    """No spherical wrist, redundant, or few joints: reported without names."""
    ur5 = Robot.from_urdf(urdf_path('ur_description/urdf/ur5_robot'), backend='reference')
    report = ur5.singularity(np.array([0.3, -1.0, 1.2, 0.4, 0.0, 0.2]), 'tool0')
    assert report.singular
    assert report.decoupled is None
    assert report.message == 'singular: 5 of 6 freedoms left'
    panda = Robot.from_urdf(urdf_path('panda'), backend='reference')
    q = 0.5 * (panda.limits.lower + panda.limits.upper) + 0.1
    report = panda.singularity(q, 'panda_hand_tcp')
    assert (report.rank, report.null_motions.shape) == (6, (8, 2))
    planar = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    report = planar.singularity([0.2, 0.7], 'tip')
    assert not report.singular  # with two joints rank 2 is all there can be
    assert report.lost_twists.shape == (6, 4)
    stretched = planar.singularity([0.2, 0.0], 'tip')
    assert not stretched.singular  # it still turns and moves: rank 2 of the 6-row Jacobian
    fixed = planar.singularity([0.2, 0.0], planar.link_names[0])
    assert (fixed.rank, fixed.manipulability, fixed.singular) == (0, 1.0, False)


def test_manipulability_with_a_joint_metric(rng):
    """C-033: sqrt(det(J M^-1 J^T)) in the metric of the length; what units change is documented."""
    robot = Robot.from_urdf(urdf_path('panda'), backend='reference')
    q, length = rng.uniform(robot.limits.lower, robot.limits.upper), 0.4
    M, J = robot.mass_matrix(q), robot.jacobian(q, 'panda_hand_tcp')
    scaled = J * np.array([[length]] * 3 + [[1.0]] * 3)
    report = robot.singularity(q, 'panda_hand_tcp', length=length, joint_metric=M)
    expected = np.sqrt(np.linalg.det(scaled @ np.linalg.inv(M) @ scaled.T))
    assert report.manipulability == pytest.approx(expected, rel=1e-8)
    plain = robot.singularity(q, 'panda_hand_tcp').manipulability
    assert robot.singularity(q, 'panda_hand_tcp', length=0.01).manipulability == pytest.approx(
        1e-6 * plain
    )


def test_gradient_of_manipulability(rng):
    """C-033: against central differences, and along it the singularity recedes."""
    robot, tool = Robot.from_urdf(urdf_path('panda'), backend='reference'), 'panda_hand_tcp'
    q, length, h = rng.uniform(robot.limits.lower, robot.limits.upper), 0.4, 1e-6

    def gradient(q):
        dJ = robot.jacobian_partials(q, tool)
        return manipulability_gradient(robot.jacobian(q, tool), dJ, length=length)

    def value(q):
        return robot.singularity(q, tool, length=length).manipulability

    differences = [(value(q + e) - value(q - e)) / (2 * h) for e in h * np.eye(robot.nv)]
    np.testing.assert_allclose(gradient(q), differences, atol=1e-8)
    start = value(q)
    for _ in range(5):
        v = robot.inverse_velocity(q, np.zeros(6), tool, secondary=gradient(q)).v
        q = q + 0.01 * v / np.linalg.norm(v)
    assert value(q) > 1.001 * start
    with pytest.raises(ArgumentError, match='has no gradient here: the Jacobian has rank'):
        manipulability_gradient(np.zeros((6, 7)), np.zeros((6, 7, 7)))
    with pytest.raises(ArgumentError, match=r'dJ must have shape \(6, 6, 6\), got \(6, 6\)'):
        manipulability_gradient(np.eye(6), np.eye(6))


def test_tolerance_decides_what_counts_as_singular(arm):
    q = Q * [1, 1, 1, 1, 1e-5, 1]
    assert not arm.singularity(q, 'tool').singular
    assert arm.singularity(q, 'tool', tolerance=1e-4).kinds == ('wrist',)


def test_what_is_refused(arm):
    with pytest.raises(UnknownNameError, match="no link named 'hand'"):
        arm.singularity(Q, 'hand')
    with pytest.raises(ArgumentError, match='q holds NaN'):
        arm.singularity(np.full(6, np.nan), 'tool')
    with pytest.raises(ArgumentError, match='characteristic length must be'):
        arm.singularity(Q, 'tool', length=np.nan)
    with pytest.raises(ArgumentError, match='joint metric is singular'):
        arm.singularity(Q, 'tool', joint_metric=np.zeros(6))
    with pytest.raises(ArgumentError, match=r'must have shape \(6, n\)'):
        singularity_report(np.eye(5))


def test_a_row_of_zeros_is_a_lost_freedom():
    """C-020: all axes of the upright Panda lie in one plane; the finger's column does not count."""
    robot = Robot.from_urdf(urdf_path('panda'), backend='reference')
    report = robot.singularity(np.zeros(8), 'panda_hand_tcp')
    assert not robot.jacobian(np.zeros(8), 'panda_hand_tcp')[0].any()
    assert report.singular
    assert (report.rank, report.smallest < 1e-12) == (5, True)
