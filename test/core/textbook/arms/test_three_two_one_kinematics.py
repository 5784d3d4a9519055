# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Velocity, force and singularities of the 321 arm in closed form.

Spec IDs: C-012, C-099, C-102, C-105, C-107, C-108, C-110, E-31, E-32, E-33, E-35, E-53, E-54.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.three_two_one import ThreeTwoOne
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import screws, se3, so3
from screw_dynamics_ros.core.textbook.arms.three_two_one_kinematics import ThreeTwoOneKinematics
from support import arm_321
from support.arm_321 import BODY_TWIST, DETERMINANT, FORCE_FIRST, L1, L2, L3, L6, QD, TAU, Q
from support.serial_families import random_321

DIGITS = 1e-9

ARM = ThreeTwoOne(L1, L2, L3, L6)
MODEL = ThreeTwoOneKinematics(ARM)


@pytest.fixture(params=range(6), name='case')
def random_case(request):
    rng = np.random.default_rng(request.param)
    arm = random_321(rng)
    return ThreeTwoOneKinematics(arm), rng.uniform(-3.0, 3.0, 6), rng


# --- velocity -------------------------------------------------------------------------------------


def test_golden_twist_and_determinant():
    """C-098, C-099: body-fixed twist and det J of 8.1."""
    C, twist = ARM.pose(Q), MODEL.forward_velocity(Q, QD)
    np.testing.assert_allclose(
        np.concatenate([C[:3, :3].T @ twist[:3], C[:3, :3].T @ twist[3:]]), BODY_TWIST, atol=DIGITS
    )
    assert MODEL.determinant(Q) == pytest.approx(DETERMINANT, abs=DIGITS)


def test_jacobian_is_that_of_the_screws(case):
    """C-099: the blocks of the midframe, with offsets, signs, base and tool."""
    model, q, _ = case
    to_tool = se3.Ad_r(-model.arm.pose(q)[:3, 3])
    expected = to_tool @ model.chain.jacobian(q)
    np.testing.assert_allclose(model.jacobian(q), expected, atol=1e-12)
    sign = np.prod(model.arm.sign)
    assert model.determinant(q) == pytest.approx(sign * np.linalg.det(expected), abs=1e-12)


def test_inverse_jacobian(case):
    """C-105: J^-1 J = 1."""
    model, q, rng = case
    J = model.jacobian(q)
    np.testing.assert_allclose(model.inverse_jacobian(q) @ J, np.eye(6), atol=1e-9)
    v = rng.normal(size=6)
    np.testing.assert_allclose(
        model.inverse_velocity(q, model.forward_velocity(q, v)), v, atol=1e-9
    )


def test_printed_blocks_are_wrong():
    """E-31, E-32: with axes 2, 3 and 5 along +X det J changes its sign, and J is another one."""
    A, B, C = MODEL.blocks(Q)
    s4, c4 = np.sin(Q[3]), np.cos(Q[3])
    np.testing.assert_allclose(A[0], [0, -1, -1])
    np.testing.assert_allclose(B[:, 1], [-c4, -s4, 0], atol=1e-15)
    assert np.linalg.det(B) == pytest.approx(-np.sin(Q[4]))
    dh, _ = ARM.wrist_in_plane(Q)
    assert np.linalg.det(C) == pytest.approx(dh * L2 * L3 * np.sin(Q[2]))
    printed_A, printed_B = A * [[-1], [1], [1]], B * [1, -1, 1]
    printed = np.block([[printed_A, printed_B], [C, np.zeros((3, 3))]])
    assert np.linalg.det(printed) == pytest.approx(-DETERMINANT, abs=DIGITS)


def test_printed_inverse_blocks_are_wrong():
    """E-33: B^-1 is printed transposed, C^-1 with -1/l3 in its third row."""
    _, B, C = MODEL.blocks(Q)
    inverse_B, inverse_C = MODEL._inverse_wrist(Q), MODEL._inverse_arm(Q)
    np.testing.assert_allclose(inverse_B @ B, np.eye(3), atol=1e-14)
    assert np.abs(inverse_B.T @ B - np.eye(3)).max() > 0.1
    np.testing.assert_allclose(inverse_C @ C, np.eye(3), atol=1e-14)
    assert inverse_C[2, 1] != pytest.approx(-1 / L3)
    s3, c3 = np.sin(Q[2]), np.cos(Q[2])
    dh, _ = ARM.wrist_in_plane(Q)
    right = [[-1 / dh, 0, 0], [0, 0, 1 / (L2 * s3)], [0, 1 / L3, -(L2 * c3 + L3) / (L2 * L3 * s3)]]
    np.testing.assert_allclose(inverse_C, right, atol=1e-12)


# --- force ----------------------------------------------------------------------------------------


def test_golden_torques():
    """C-106, E-54: what the robot exerts; tau = J^T w. From the base to the tool first."""
    at_base = screws.swap(FORCE_FIRST)
    at_tool = se3.Ad_r(ARM.pose(Q)[:3, 3]).T @ at_base
    np.testing.assert_allclose(MODEL.inverse_force(Q, at_tool), TAU, atol=DIGITS)
    np.testing.assert_allclose(MODEL.forward_force(Q, TAU), at_tool, atol=1e-7)


def test_partial_wrenches(case):
    """C-107, E-35: J^T G = 1; J G = 1, as printed, does not hold."""
    model, q, _ = case
    G = model.partial_wrenches(q)
    np.testing.assert_allclose(model.jacobian(q).T @ G, np.eye(6), atol=1e-9)
    assert np.abs(model.jacobian(q) @ G - np.eye(6)).max() > 0.1


def test_lines_of_the_partial_wrenches():
    """C-108: joints 1 to 3 have forces through the wrist center, meeting the axes of the others."""
    G = MODEL.partial_wrenches(Q)
    tool, wrist = ARM.pose(Q)[:3, 3], ARM.midframe(Q)[:3, 3]
    axes = ARM.chain().jacobian(Q)
    moments = G[:3] + np.cross((tool - wrist), G[3:].T).T
    np.testing.assert_allclose(moments[:, :3], 0.0, atol=1e-12)
    assert np.abs(moments[:, 3:]).min(axis=0).max() > 0.0
    force_1 = G[3:, 0] / np.linalg.norm(G[3:, 0])
    np.testing.assert_allclose(abs(force_1 @ axes[:3, 1]), 1.0, atol=1e-12)
    for column, meets in ((1, (0, 2)), (2, (0, 1))):
        spatial = se3.Ad_r(-tool).T @ G[:, column]
        for joint in meets:
            assert spatial @ axes[:, joint] == pytest.approx(0.0, abs=1e-12)
    for column, others in ((3, (4, 5)), (4, (3, 5)), (5, (3, 4))):
        for joint in others:
            assert moments[:, column] @ axes[:3, joint] == pytest.approx(0.0, abs=1e-12)


# --- position -------------------------------------------------------------------------------------


def test_nearest_branch():
    """C-102: each branch is found from a seed beside it, images by multiples of 2 pi included."""
    C = arm_321.POSE_EXACT
    for solution in ARM.branches(C):
        seed = solution + 0.1 * np.array([1, -1, 1, -1, 1, -1])
        np.testing.assert_allclose(MODEL.inverse_position(C, seed), solution, atol=1e-12)
        turned = solution + [0, 0, 0, 2 * np.pi, 0, -2 * np.pi]
        np.testing.assert_allclose(MODEL.inverse_position(C, turned), turned, atol=1e-12)


def test_limits_come_before_nearness():
    """C-102: a solution within limits is preferred to a nearer one outside."""
    chain = replace(ARM.chain(), lower=np.array([-3, -2, -2, -3, -2, -3.0]), upper=np.zeros(6) + 3)
    chain = replace(chain, upper=np.array([3, 2, -0.1, 3, 2, 3.0]))
    q = ThreeTwoOneKinematics(ARM, chain).inverse_position(arm_321.POSE_EXACT, Q)
    np.testing.assert_allclose(q, arm_321.SOLUTIONS[2], atol=DIGITS)


def test_through_a_stretched_wrist():
    """C-102: along a path through s5 = 0 no joint jumps, and q4 stays where it is."""
    q = Q.copy()
    for q5 in np.linspace(0.3, -0.3, 61):
        C = ARM.pose([*Q[:4], q5, Q[5]])
        new = MODEL.inverse_position(C, q)
        np.testing.assert_allclose(ARM.pose(new), C, atol=1e-7)
        assert np.abs(new - q).max() < 0.02 if q5 < 0.3 else True
        q = new
    np.testing.assert_allclose(q, [*Q[:4], -0.3, Q[5]], atol=1e-9)


def test_at_a_stretched_wrist():
    """C-102: q4 is that of the seed, to the last digit; q4 + q6 is what the pose says."""
    C = ARM.pose([*Q[:4], 0.0, Q[5]])
    for q4 in (-0.5, 0.1, 2.0):
        seed = np.array([*Q[:3], q4, 0.01, 0.7 - q4])
        q = MODEL.inverse_position(C, seed)
        assert q[3] == pytest.approx(q4, abs=1e-15)
        assert q[3] + q[5] == pytest.approx(Q[3] + Q[5], abs=1e-9)


def test_above_the_shoulder_joint_1_stays():
    """C-102: where the wrist center is on axis 1, q1 is that of the seed."""
    q2 = 0.4
    q3 = -q2 - np.arcsin(L2 / L3 * np.sin(q2))
    C = ARM.pose([0.3, q2, q3, -0.5, 0.6, 1.1])
    q = MODEL.inverse_position(C, [0.8, q2, q3, -0.5, 0.6, 1.1])
    assert q[0] == pytest.approx(0.8, abs=1e-15)
    np.testing.assert_allclose(ARM.pose(q), C, atol=1e-7)


def test_out_of_reach_is_refused():
    far = se3.pose(np.eye(3), [3.0, 0.0, 0.0])
    with pytest.raises(ArgumentError, match=r'out of reach: .* has an error of 2\.\d+ m or rad'):
        MODEL.inverse_position(far)
    with pytest.raises(ArgumentError, match='finite'):
        MODEL.inverse_position(np.full((4, 4), np.nan))
    with pytest.raises(ArgumentError, match='seed'):
        MODEL.inverse_position(arm_321.POSE_EXACT, np.zeros(5))


# --- singularities --------------------------------------------------------------------------------

Q3_FOLDED = -0.4 - np.arcsin(L2 / L3 * np.sin(0.4))

SINGULAR = {
    'arm extended': [0.3, 0.4, 0.0, -0.5, 0.6, 1.1],
    'wrist extended': [0.3, 0.4, 0.7, -0.5, 0.0, 1.1],
    'wrist above shoulder': [0.3, 0.4, Q3_FOLDED, -0.5, 0.6, 1.1],
}


def unit(wrench):
    return wrench / np.linalg.norm(wrench)


@pytest.mark.parametrize('name', SINGULAR)
def test_named_singularities(name):
    """C-110: one flag each, and the reciprocal wrench that the singular value decomposition has."""
    (found,) = MODEL.singularities(SINGULAR[name])
    assert found.name == name
    J = MODEL.jacobian(SINGULAR[name])
    left, values, _ = np.linalg.svd(J)
    assert values[4] > 1e-3
    assert values[5] < 1e-12
    same = abs(unit(found.reciprocal_wrench) @ left[:, 5])
    assert same == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(J.T @ found.reciprocal_wrench, 0.0, atol=1e-12)


def test_what_the_reciprocal_wrenches_are():
    """C-110: force along the arm; moment about the normal of the wrist; force across the arm."""
    q = SINGULAR['arm extended']
    along = ARM.midframe(np.array(q))[:3, :3][:, 2]
    np.testing.assert_allclose(MODEL.singularities(q)[0].reciprocal_wrench[3:], along, atol=1e-12)
    q = SINGULAR['wrist above shoulder']
    across = [np.cos(0.3), np.sin(0.3), 0.0]
    np.testing.assert_allclose(MODEL.singularities(q)[0].reciprocal_wrench[3:], across, atol=1e-12)


def test_singularities_with_offsets(case):
    """C-110, E-53: with offsets they are where det J is zero, with the wrenches that go with it."""
    model, _, rng = case
    arm = model.arm
    own = rng.uniform(0.3, 1.0, 6)
    extended = own.copy()
    extended[2] = -np.arctan2(arm.elbow_offset, arm.l3)
    stretched = own.copy()
    stretched[4] = np.pi
    for q_model, name in ((extended, 'arm extended'), (stretched, 'wrist extended')):
        q = arm.to_robot(q_model)
        (found,) = model.singularities(q)
        assert found.name == name
        np.testing.assert_allclose(model.jacobian(q).T @ found.reciprocal_wrench, 0.0, atol=1e-9)
    assert model.singularities(arm.to_robot(own)) == ()


def test_two_at_once():
    """With the arm and the wrist extended the arm may feel the moment of the wrist, or not."""
    found = MODEL.singularities([0.3, 0.4, 0.0, -0.5, 0.0, 1.1])
    assert [each.name for each in found] == ['arm extended', 'wrist extended']
    assert found[1].reciprocal_wrench is None
    across = MODEL.singularities([0.3, 0.4, 0.0, 0.0, 0.0, 1.1])
    J = MODEL.jacobian([0.3, 0.4, 0.0, 0.0, 0.0, 1.1])
    wrenches = [each.reciprocal_wrench for each in across if each.reciprocal_wrench is not None]
    np.testing.assert_allclose(J.T @ np.transpose(wrenches), 0.0, atol=1e-12)
    assert len(wrenches) == 6 - np.linalg.matrix_rank(J, tol=1e-9)


@pytest.mark.parametrize('name', SINGULAR)
def test_singular_inverses_are_refused(name):
    with pytest.raises(ArgumentError, match=f'singular .{name}'):
        MODEL.inverse_velocity(SINGULAR[name], np.ones(6))
    with pytest.raises(ArgumentError, match=f'singular .{name}'):
        MODEL.forward_force(SINGULAR[name], np.ones(6))


def test_wrong_sizes_are_refused():
    with pytest.raises(ArgumentError, match='twist'):
        MODEL.inverse_velocity(Q, np.ones(5))
    with pytest.raises(ArgumentError, match='v must have shape'):
        MODEL.forward_velocity(Q, np.ones(7))


def test_of_a_robot():
    """C-012: the same twists, torques and positions as of the robot that it was recognized in."""
    robot = Robot(arm_321.description(0.07), backend='reference')
    chain = SerialChain.of(robot.tree, 'tool')
    model = ThreeTwoOneKinematics(ThreeTwoOne.recognized(chain), chain)
    J = robot.jacobian(Q, 'tool')
    np.testing.assert_allclose(model.jacobian(Q), J, atol=1e-12)
    wrench = np.arange(1.0, 7.0)
    np.testing.assert_allclose(model.inverse_force(Q, wrench), J.T @ wrench, atol=1e-12)
    C = robot.link_pose(Q, 'tool')
    np.testing.assert_allclose(model.forward_position(Q), C, atol=1e-12)
    np.testing.assert_allclose(model.inverse_position(C, Q + 0.05), Q, atol=1e-9)
    turned = C @ se3.pose(so3.exp([0, 0, 1e-3]), np.zeros(3))
    moved = model.inverse_position(turned, Q)
    np.testing.assert_allclose(moved - Q, [0, 0, 0, 0, 0, 1e-3], atol=1e-9)
