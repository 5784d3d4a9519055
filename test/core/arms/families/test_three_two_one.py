# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The 321 arm: golden numbers 8.1, offsets, and the printed formulas that are wrong.

Spec IDs: C-089, C-091, C-097, C-101, E-29, E-30, E-34, E-36, E-53.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.subproblems import rotation_x, rotation_z
from screw_dynamics_ros.core.arms.families.three_two_one import ThreeTwoOne
from screw_dynamics_ros.core.lie import se3
from support import arm_321
from support.arm_321 import L1, L2, L3, L6, POSE, POSE_EXACT, SOLUTIONS, Q

#: The golden numbers have nine digits.
DIGITS = 1e-9

ARM = ThreeTwoOne(L1, L2, L3, L6)


def with_offsets(base=0.12, shoulder=0.07, elbow=-0.05) -> ThreeTwoOne:
    return ThreeTwoOne(
        L1, L2, L3, L6, base_offset=base, shoulder_offset=shoulder, elbow_offset=elbow
    )


def test_zero_pose():
    """C-089: upright, frames parallel, at the height l1 + l2 + l3 + l6."""
    np.testing.assert_allclose(ARM.pose(np.zeros(6)), se3.pose(np.eye(3), [0, 0, 1.45]), atol=1e-15)


def test_golden_pose():
    """C-097: closed form of the forward position kinematics, and where the wrist center is."""
    np.testing.assert_allclose(ARM.pose(Q), POSE, atol=DIGITS)
    wrist = ARM.midframe(Q)[:3, 3]
    np.testing.assert_allclose(wrist, [-0.176056897, 0.569144086, 1.064648752], atol=DIGITS)
    np.testing.assert_allclose(ARM.wrist_in_plane(Q), [0.595752483, L1 + 0.664648752], atol=DIGITS)


def test_golden_solutions():
    """C-101: all eight, in order, to their digits."""
    solutions = ARM.branches(POSE_EXACT)
    np.testing.assert_allclose(solutions, SOLUTIONS, atol=DIGITS)
    for q in solutions:
        np.testing.assert_allclose(ARM.pose(q), POSE_EXACT, atol=1e-13)
    assert ARM.labels[0] == 'forward, up, no flip'
    assert ARM.labels[7] == 'backward, up, flip'
    assert [ARM.branch_of(q) for q in solutions] == list(range(8))


def test_elbow_is_up_where_it_is_said_to_be():
    """The label says where the elbow is: higher than in the other branch on the same side."""
    solutions = dict(zip(ARM.labels, ARM.branches(POSE_EXACT)))
    for side in ('forward', 'backward'):
        heights = [np.cos(solutions[f'{side}, {elbow}, no flip'][1]) for elbow in ('up', 'down')]
        assert heights[0] > heights[1]


def test_recognized_from_its_description():
    """C-087: lengths and identity maps from the robot description of the golden arm."""
    robot = arm_321.arm(backend='reference')
    found = ThreeTwoOne.recognized(SerialChain.of(robot.tree, 'tool'))
    np.testing.assert_allclose(
        [found.l1, found.l2, found.l3, found.l6], [L1, L2, L3, L6], atol=1e-12
    )
    np.testing.assert_allclose(found.branches(POSE_EXACT), SOLUTIONS, atol=DIGITS)


def test_offsets():
    """C-091: round trip to 1e-12 with all offsets; four branches of the arm, two of the wrist."""
    arm = with_offsets()
    rng = np.random.default_rng(0)
    complete = 0
    for q in rng.uniform(-3.0, 3.0, (30, 6)):
        C = arm.chain().pose(q)
        np.testing.assert_allclose(arm.pose(q), C, atol=1e-14)
        solutions = arm.branches(C)
        own = (solutions[arm.branch_of(q)] - q + np.pi) % (2 * np.pi) - np.pi
        np.testing.assert_allclose(own, 0.0, atol=1e-9)
        errors = [np.abs(arm.pose(each) - C).max() for each in solutions]
        reached = np.array(errors) < 1e-12
        assert reached[arm.branch_of(q)]
        complete += reached.all()
    assert complete > 5


def test_closed_form_of_the_wrist_center_with_offsets():
    """3.17: wrist at (dx, a1 + l2 s2 + l3 s23 + b c23, l1 + l2 c2 + l3 c23 - b s23), turned."""
    a1, dx, b = 0.12, 0.07, -0.05
    arm = with_offsets(a1, dx, b)
    s2, s23, c2, c23 = np.sin(Q[1]), np.sin(Q[1:3].sum()), np.cos(Q[1]), np.cos(Q[1:3].sum())
    in_plane = [dx, a1 + L2 * s2 + L3 * s23 + b * c23, L1 + L2 * c2 + L3 * c23 - b * s23]
    wrist = arm.pose(Q) @ [0, 0, -L6, 1]
    np.testing.assert_allclose(wrist[:3], rotation_z(Q[0]) @ in_plane, atol=1e-14)


def test_stretched_wrist_keeps_its_sum():
    """C-102: at s5 = 0 each branch still reaches the pose."""
    C = ARM.pose([0.3, 0.4, 0.7, -0.5, 0.0, 1.1])
    for q in ARM.branches(C):
        np.testing.assert_allclose(ARM.pose(q), C, atol=1e-12)


def test_wrist_above_shoulder():
    """Joint 1 is free there; the branches are solutions with one of its angles."""
    q2 = 0.4
    q3 = -q2 - np.arcsin(L2 / L3 * np.sin(q2))
    C = ARM.pose([0.3, q2, q3, -0.5, 0.6, 1.1])
    errors = [np.abs(ARM.pose(q) - C).max() for q in ARM.branches(C)]
    np.testing.assert_allclose(errors, 0.0, atol=1e-7)


# --- errata ---------------------------------------------------------------------------------------


def test_printed_rotation_of_the_arm_is_wrong():
    """E-29: R4 = R(Z, q1) R(X, -q23); with +q23, as printed, the golden pose is missed."""
    wrist = rotation_z(Q[3]) @ rotation_x(-Q[4]) @ rotation_z(Q[5])
    q23 = Q[1] + Q[2]
    right = rotation_z(Q[0]) @ rotation_x(-q23) @ wrist
    printed = rotation_z(Q[0]) @ rotation_x(q23) @ wrist
    np.testing.assert_allclose(right, POSE[:3, :3], atol=DIGITS)
    assert np.abs(printed - POSE[:3, :3]).max() > 0.1


def test_printed_wrist_center_is_wrong():
    """E-30: (-s1 dh, c1 dh, l1 + dv), not (c1 dh, s1 dh, l1 + dv): the arm is in the YZ plane."""
    dh, height = ARM.wrist_in_plane(Q)
    wrist = ARM.chain().pose(Q) @ [0, 0, -L6, 1]
    s1, c1 = np.sin(Q[0]), np.cos(Q[0])
    np.testing.assert_allclose([-s1 * dh, c1 * dh, height], wrist[:3], atol=1e-14)
    assert np.abs([c1 * dh - wrist[0], s1 * dh - wrist[1]]).max() > 0.1


def test_printed_first_angle_is_wrong():
    """E-34: q1 = atan2(-s px, s py) with dh = s hypot(px, py), s = 1 forward, -1 backward.

    As printed, atan2(px, +-py) with dh > 0 in both, the wrist center is missed by both.
    """
    px, py, _ = ARM.midframe(Q)[:3, 3]
    distance = np.hypot(px, py)
    for s, solution in ((1.0, SOLUTIONS[0]), (-1.0, SOLUTIONS[4])):
        right = np.arctan2(-s * px, s * py)
        assert right == pytest.approx(solution[0], abs=DIGITS)
        reached = s * distance * np.array([-np.sin(right), np.cos(right)])
        np.testing.assert_allclose(reached, [px, py], atol=1e-14)
        printed = np.arctan2(px, s * py)
        missed = distance * np.array([-np.sin(printed), np.cos(printed)])
        assert np.abs(missed - [px, py]).max() > 0.1


def test_the_correction_of_newton_raphson_is_a_body_twist():
    """E-36: log(That^-1 T_d) = J dq to second order for the body Jacobian, not for others."""
    chain, dq = ARM.chain(), 1e-5 * np.arange(1.0, 7.0)
    C = chain.pose(Q)
    correction = se3.log(se3.inverse(C) @ chain.pose(Q + dq))
    spatial = chain.jacobian(Q)
    body = se3.Ad(se3.inverse(C)) @ spatial
    np.testing.assert_allclose(body @ dq, correction, atol=1e-8)
    assert np.abs(spatial @ dq - correction).max() > 1e-5


@pytest.mark.parametrize('dx', [0.0, 0.07])
def test_a_shoulder_offset_does_not_avoid_the_singularity(dx):
    """E-53: wrist above shoulder moves to rho = 0, at the distance dx of axis 1; it is reached."""
    arm = with_offsets(0.0, dx, 0.0)
    q2 = 0.4
    q = [0.3, q2, -q2 - np.arcsin(L2 / L3 * np.sin(q2)), -0.5, 0.6, 1.1]
    wrist = arm.pose(q) @ [0, 0, -L6, 1]
    assert np.hypot(*wrist[:2]) == pytest.approx(dx, abs=1e-12)
    assert np.linalg.matrix_rank(arm.chain().jacobian(q), tol=1e-9) == 5


def test_an_elbow_offset_moves_the_arm_extended():
    """3.17: q3 = -atan2(b, l3) is singular; q3 = 0 is regular."""
    b = 0.08
    arm = with_offsets(0.0, 0.0, b)
    for q3, rank in ((-np.arctan2(b, L3), 5), (0.0, 6)):
        J = arm.chain().jacobian([0.3, 0.4, q3, -0.5, 0.6, 1.1])
        assert np.linalg.matrix_rank(J, tol=1e-9) == rank


def test_a_base_offset_moves_no_singularity():
    """3.17: rank is lost where the wrist is on axis 1, wherever axis 2 is."""
    arm = with_offsets(0.12, 0.0, 0.0)
    det = [
        np.linalg.det(arm.chain().jacobian([0.3, q2, 0.7, -0.5, 0.6, 1.1]))
        / arm.wrist_in_plane(np.array([0.3, q2, 0.7, -0.5, 0.6, 1.1]))[0]
        for q2 in (-1.0, 0.2, 0.9)
    ]
    np.testing.assert_allclose(det, det[0], rtol=1e-12)


def test_small_offsets_keep_their_signs():
    """C-091: offsets of the size of the tolerance are measured, not taken for rounding."""
    rng = np.random.default_rng(5)
    for offsets in ((2e-4, 3e-4, -3e-4), (1e-4, -3e-4, -2e-4), (0.0, 2e-4, 2e-4)):
        arm = with_offsets(*offsets)
        found = ThreeTwoOne.recognized(arm.chain())
        for q in rng.uniform(-2.0, 2.0, (3, 6)):
            C = arm.pose(q)
            own = found.branches(C)[found.branch_of(q)]
            np.testing.assert_allclose(arm.pose(own), C, atol=1e-9)
