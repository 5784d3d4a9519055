# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Poses, Jacobians and twists, against matrix exponentials and finite differences.

Spec IDs: K-05, K-09, K-10, K-12 to K-19, K-21, K-25, K-28, K-31, K-34, K-35.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from oracles.lagrange import CENTRAL, Lagrange
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Joint, Link, RobotDescription
from support.models import (
    random_configuration,
    random_description,
    random_pose,
    random_unit,
)

REPRESENTATIONS = ('body', 'spatial', 'hybrid', 'mixed')

SEEDS = pytest.mark.parametrize('seed', range(2))
IN_ALL_REPRESENTATIONS = pytest.mark.parametrize('representation', REPRESENTATIONS)


def reference(description: RobotDescription, **options: object) -> Robot:
    return Robot(description, backend='reference', **options)


def random_robot(seed: int, **options: object) -> Robot:
    return reference(random_description(seed, 8, mimic=2), **options)


def state(robot: Robot, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed + 100)
    return random_configuration(robot, rng), rng.uniform(-1, 1, robot.nv)


def skew(x: np.ndarray) -> np.ndarray:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def twist_matrix(X: np.ndarray) -> np.ndarray:
    return np.block([[skew(X[:3]), X[3:, None]], [np.zeros((1, 4))]])


def adjoint(C: np.ndarray) -> np.ndarray:
    R, r = C[:3, :3], C[:3, 3]
    return np.block([[R, np.zeros((3, 3))], [skew(r) @ R, R]])


# --- poses against other formulations -------------------------------------------------------------


@SEEDS
def test_poses_equal_the_product_of_matrix_exponentials(seed):
    """Body-fixed POE B_1 exp(X_1 q_1) ..., spatial POE exp(Y_1 q_1) ... A_i (K-12, K-13, K-15)."""
    description = random_description(seed, 6, chain=True)
    robot = reference(description)
    q, _ = state(robot, seed)
    body_fixed, spatial, A = np.eye(4), np.eye(4), np.eye(4)
    for joint, q_i in zip(description.joints, q):
        X = np.zeros(6)
        X[3 * (joint.type == 'prismatic') :][:3] = joint.axis
        A = A @ joint.origin
        body_fixed = body_fixed @ joint.origin @ expm(twist_matrix(X) * q_i)
        spatial = spatial @ expm(twist_matrix(adjoint(A) @ X) * q_i)
        np.testing.assert_allclose(robot.link_pose(q, joint.child), body_fixed, atol=1e-13)
        np.testing.assert_allclose(robot.link_pose(q, joint.child), spatial @ A, atol=1e-13)


@SEEDS
def test_poses_of_trees_with_mimic_joints(seed):
    """K-19, against poses composed from the description with Rodrigues' formula."""
    description = random_description(
        seed, 12, ('revolute', 'prismatic', 'continuous', 'fixed'), mimic=3
    )
    robot = reference(description)
    q, _ = state(robot, seed)
    expected = Lagrange(description, (0, 0, 0)).poses(q)
    poses = robot.link_poses(q)
    assert list(robot.link_names) == list(expected)
    for k, link in enumerate(robot.link_names):
        np.testing.assert_allclose(poses[k], expected[link], rtol=0, atol=1e-14)
        np.testing.assert_array_equal(robot.link_pose(q, link), poses[k])


@SEEDS
def test_another_root_frame_and_another_link_frame(seed):
    """K-34: new link frame C' = C S, new root frame C' = S C."""
    description = random_description(seed, 5, chain=True)
    S = random_pose(np.random.default_rng(seed))
    tip = description.links[-1].name
    link_moved = RobotDescription.from_parts(
        'integrate',
        [*description.links, Link('tool')],
        [*description.joints, Joint('mount', 'fixed', tip, 'tool', S, np.array([1.0, 0, 0]))],
    )
    first = description.joints[0]
    root_moved = RobotDescription.from_parts(
        'integrate',
        description.links,
        [replace(first, origin=S @ first.origin), *description.joints[1:]],
    )
    robot, tool, shifted = reference(description), reference(link_moved), reference(root_moved)
    q, v = state(robot, seed)
    C = robot.link_pose(q, tip)
    np.testing.assert_allclose(tool.link_pose(q, 'tool'), C @ S, atol=1e-14)
    np.testing.assert_allclose(shifted.link_pose(q, tip), S @ C, atol=1e-14)
    V = {r: robot.velocity(q, v, tip, r) for r in REPRESENTATIONS}
    np.testing.assert_allclose(tool.velocity(q, v, 'tool', 'spatial'), V['spatial'], atol=1e-13)
    np.testing.assert_allclose(
        tool.velocity(q, v, 'tool', 'body'), np.linalg.solve(adjoint(S), V['body']), atol=1e-13
    )
    np.testing.assert_allclose(shifted.velocity(q, v, tip, 'body'), V['body'], atol=1e-13)
    np.testing.assert_allclose(
        shifted.velocity(q, v, tip, 'spatial'), adjoint(S) @ V['spatial'], atol=1e-13
    )


# --- Jacobians ------------------------------------------------------------------------------------


def difference(C: np.ndarray, D: np.ndarray, representation: str) -> np.ndarray:
    """Return the small motion from C to D: the rotation by its vector, the point by its shift."""
    in_body = Rotation.from_matrix(C[:3, :3].T @ D[:3, :3]).as_rotvec()
    in_root = Rotation.from_matrix(D[:3, :3] @ C[:3, :3].T).as_rotvec()
    shift = D[:3, 3] - C[:3, 3]
    if representation == 'spatial':  # point of the body at the root's origin: v = dr/dt + r x omega
        return np.concatenate([in_root, shift + np.cross(C[:3, 3], in_root)])
    return np.concatenate(
        [
            in_root if representation == 'hybrid' else in_body,
            C[:3, :3].T @ shift if representation == 'body' else shift,
        ]
    )


@SEEDS
@IN_ALL_REPRESENTATIONS
def test_jacobians_are_derivatives_of_the_poses(seed, representation):
    """K-21, K-25, K-28, K-31 by central differences of order 8 of link_pose, with mimic joints."""
    robot = random_robot(seed)
    q, v = state(robot, seed)
    h = 0.02
    for link in robot.link_names:
        C = robot.link_pose(q, link)
        J = robot.jacobian(q, link, representation)
        expected = np.zeros((6, robot.nv))
        for k, e in enumerate(np.eye(robot.nq)):
            expected[:, k] = (
                sum(
                    w
                    * (
                        difference(C, robot.link_pose(q + n * h * e, link), representation)
                        - difference(C, robot.link_pose(q - n * h * e, link), representation)
                    )
                    for n, w in CENTRAL.items()
                )
                / h
            )
        np.testing.assert_allclose(J, expected, rtol=0, atol=1e-11)
        np.testing.assert_allclose(
            robot.velocity(q, v, link, representation), J @ v, rtol=0, atol=1e-13
        )


@SEEDS
def test_representations_convert_into_each_other(seed):
    """K-09: J^s = Ad_C J^b, J^h = Ad_R J^b = Ad_{-r} J^s, J^m = diag(1, R) J^b."""
    robot = random_robot(seed, floating_base=True)
    q, _ = state(robot, seed)
    for link in robot.link_names:
        C = robot.link_pose(q, link)
        R, r, zero, one = C[:3, :3], C[:3, 3], np.zeros((3, 3)), np.eye(3)
        b, s, h, m = (robot.jacobian(q, link, representation) for representation in REPRESENTATIONS)
        np.testing.assert_allclose(s, adjoint(C) @ b, atol=1e-13)
        np.testing.assert_allclose(h, np.block([[R, zero], [zero, R]]) @ b, atol=1e-13)
        np.testing.assert_allclose(h, np.block([[one, zero], [-skew(r), one]]) @ s, atol=1e-13)
        np.testing.assert_allclose(m, np.block([[one, zero], [zero, R]]) @ b, atol=1e-13)


def test_columns_depend_on_the_joints_they_should():
    """K-35, B-124: J^b not on q_1, column j of J^s not on q_j and after, J^h on all but one."""
    robot = reference(random_description(5, 6, chain=True))
    q, _ = state(robot, 5)
    tip = robot.link_names[-1]
    J_b, J_s = robot.jacobian(q, tip, 'body'), robot.jacobian(q, tip, 'spatial')
    for k, e in enumerate(np.eye(6)):
        changed = robot.jacobian(q + 0.7 * e, tip, 'spatial')
        np.testing.assert_allclose(changed[:, : k + 1], J_s[:, : k + 1], atol=1e-13)
        assert k == 5 or np.abs(changed[:, k + 1 :] - J_s[:, k + 1 :]).max() > 1e-2
        moved = np.abs(robot.jacobian(q + 0.7 * e, tip, 'body') - J_b).max()
        assert moved < 1e-13 if k == 0 else moved > 1e-2
        hybrid = robot.jacobian(q + 0.7 * e, tip, 'hybrid') - robot.jacobian(q, tip, 'hybrid')
        moved = np.abs(hybrid).max()
        assert moved < 1e-13 if k == 5 else moved > 1e-2
        assert k == 5 or np.abs(hybrid[3:, 0]).max() > 1e-2  # the first column among them


# --- joints of several degrees of freedom ---------------------------------------------------------


def one_joint(kind: str, axis: np.ndarray, origin: np.ndarray) -> Robot:
    return reference(
        RobotDescription.from_parts(
            'one',
            [Link('base'), Link('body')],
            [Joint('joint', kind, 'base', 'body', origin, axis)],
        )
    )


@SEEDS
def test_planar_joint(seed):
    """Coordinates (x, y, angle): a shift in the plane normal to the axis, then a turn (K-10)."""
    rng = np.random.default_rng(seed)
    axis = random_unit(rng) if seed else np.array([0.0, 0.0, 1.0])
    origin = random_pose(rng)
    robot = one_joint('planar', axis, origin)
    assert robot.nq == robot.nv == 3
    motion = [
        np.linalg.inv(origin) @ robot.link_pose(q, 'body')
        for q in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.3, -0.7, 2.0])
    ]
    x, y = motion[0][:3, 3], motion[1][:3, 3]
    np.testing.assert_allclose(np.linalg.det([x, y, axis]), 1.0, atol=1e-14)
    np.testing.assert_allclose(
        np.array([x, y]) @ np.array([x, y, axis]).T, np.eye(2, 3), atol=1e-14
    )
    np.testing.assert_allclose(motion[2][:3, 3], 0.3 * x - 0.7 * y, atol=1e-14)
    np.testing.assert_allclose(
        motion[2][:3, :3], Rotation.from_rotvec(2.0 * axis).as_matrix(), atol=1e-14
    )
    if seed == 0:  # as everybody else has it
        np.testing.assert_allclose([x, y], np.eye(3)[:2], atol=1e-14)


def test_a_quaternion_of_any_length_is_a_rotation():
    robot = one_joint('floating', np.array([1.0, 0, 0]), np.eye(4))
    q, _ = state(robot, 0)
    longer = q * np.array([1, 1, 1, 3, 3, 3, 3])
    np.testing.assert_allclose(
        robot.link_pose(longer, 'body'), robot.link_pose(q, 'body'), atol=1e-14
    )
    np.testing.assert_allclose(
        robot.fuse('joint_transforms')(longer)[0], robot.fuse('joint_transforms')(q)[0], atol=1e-14
    )
    assert np.isnan(robot.link_pose(np.zeros(7), 'body')[:3, :3]).all()


# --- transforms for tf ----------------------------------------------------------------------------


@pytest.mark.parametrize('floating', [False, True])
@SEEDS
def test_joint_transforms_are_child_poses_in_their_parents(seed, floating):
    kinds = ('revolute', 'continuous', 'prismatic', 'fixed', 'planar', 'floating', 'ball')
    description = random_description(seed, 14, kinds, mimic=3)
    robot = reference(description, floating_base=floating)
    q, _ = state(robot, seed)
    moving = [joint for joint in description.joints if joint.type != 'fixed']
    assert robot.transform_joints == tuple(joint.name for joint in moving)
    (rows,) = robot.fuse('joint_transforms')(q)
    assert rows.shape == (len(moving), 7)
    for joint, row in zip(moving, rows):
        expected = np.linalg.inv(robot.link_pose(q, joint.parent)) @ robot.link_pose(q, joint.child)
        np.testing.assert_allclose(np.linalg.norm(row[3:]), 1.0, atol=1e-14)
        np.testing.assert_allclose(row[:3], expected[:3, 3], atol=1e-13)
        np.testing.assert_allclose(
            Rotation.from_quat(row[3:]).as_matrix(), expected[:3, :3], atol=1e-13
        )
