# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The 321 arm of the book: conventions and numerical inverse.

Spec IDs: C-001 to C-005, C-012, C-102 with the golden numbers 8.1. The book's wrenches have the
force first, so that twists and wrenches transform with the same matrix S; the package has the
moment first and needs no exchange D_.
"""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Link, RobotDescription
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.dynamics.spatial_inertia import (
    inertia_matrix,
    transported,
    transported_matrix,
)
from screw_dynamics_ros.core.lie import screws, se3, so3
from screw_dynamics_ros.core.textbook.screw_geometry import accelerations
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from support import arm_321
from support.models import random_configuration, random_description, random_pose

D_ = np.roll(np.eye(6), 3, axis=0)


@pytest.fixture(scope='module')
def robot():
    return arm_321.arm()


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_one_matrix_transforms_twists_and_force_first_wrenches(rng):
    """C-001: D_ S^T D_ S = 1, det S = 1, and power does not depend on the frame."""
    C = random_pose(rng)
    S, (t, w) = se3.Ad(C), rng.normal(size=(2, 6))
    np.testing.assert_allclose(D_ @ S.T @ D_ @ S, np.eye(6), atol=1e-12)
    assert np.linalg.det(S) == pytest.approx(1.0)
    assert (S @ t) @ D_ @ (S @ w) == pytest.approx(t @ D_ @ w)
    # Moment first: what the package has is D_ w, and its transform of wrenches the same motion.
    np.testing.assert_allclose(screws.transform_wrench(C, D_ @ w), D_ @ S @ w, atol=1e-14)
    np.testing.assert_allclose(screws.motor_product(t, w), se3.ad(t) @ w, atol=1e-14)


def test_screw_pose_and_body_fixed_twist(robot):
    """C-002: the three twists of the book are 'spatial', 'hybrid' and 'body'."""
    C = robot.link_pose(arm_321.Q, 'tool')
    screw, body = arm_321.SPATIAL_TWIST, arm_321.BODY_TWIST
    pose = robot.velocity(arm_321.Q, arm_321.QD, 'tool', 'hybrid')
    np.testing.assert_allclose(screws.convert_twist(body, C, 'body', 'spatial'), screw, atol=2e-9)
    np.testing.assert_allclose(screws.convert_twist(screw, C, 'spatial', 'hybrid'), pose, atol=2e-9)
    np.testing.assert_allclose(screws.convert_twist(pose, C, 'hybrid', 'body'), body, atol=2e-9)


def test_dynamics_in_both_accelerations(robot, rng):
    """C-003: the Newton-Euler equations of a link with its screw and its classical acceleration.

    E-49: the velocity terms (w x Io w; m w x (w x c)) go with the classical one only.
    """
    q, v, a = rng.normal(size=(3, 6))
    V, A = (robot.velocity(q, v, 'link3', 'body'), robot.acceleration(q, v, a, 'link3', 'body'))
    m, c, I_c = 2.0, np.array([0.02, 0.01, 0.1]), 0.02 * np.eye(3)
    hat = np.cross(c, np.eye(3)).T
    M = np.block([[I_c + m * hat @ hat.T, m * hat], [m * hat.T, m * np.eye(3)]])
    by_screw = M @ A - se3.ad(V).T @ M @ V
    classical = accelerations.material_acceleration(V, A, np.zeros(3))
    omega = V[:3]
    velocity_terms = np.concatenate(
        [np.cross(omega, M[:3, :3] @ omega), m * np.cross(omega, np.cross(omega, c))]
    )
    classical = np.concatenate([A[:3], classical[3:]])
    np.testing.assert_allclose(M @ classical + velocity_terms, by_screw, atol=1e-12)
    assert np.abs(M @ A + velocity_terms - by_screw).max() > 1e-2


def test_kinetic_energy_does_not_depend_on_the_frame(rng):
    """C-004: M_f = S^-T M S^-1 and t_f = S t, on mass points, whose momentum needs no M.

    All ways to a mass matrix: of a body, of the links of a robot, moved as parameters, as mass,
    first moment and inertia, and as a matrix.
    """
    masses, points = rng.uniform(0.1, 1.0, 8), rng.normal(size=(8, 3))
    C, t = random_pose(rng), rng.normal(size=6)

    def velocities(points, t):
        return t[3:] + np.cross(t[:3], points)

    def mass_matrix(points):
        """Return the momenta (angular, linear) of unit twists, as columns."""
        p = [masses[:, None] * velocities(points, unit) for unit in np.eye(6)]
        return np.array([[*np.cross(points, x).sum(0), *x.sum(0)] for x in p]).T

    com = masses @ points / masses.sum()
    about_com = mass_matrix(points - com)[:3, :3]
    body = RigidBody(masses.sum(), com, about_com)
    t_f = screws.transform_twist(C, t)
    energy = 0.5 * masses @ np.square(velocities(points, t)).sum(1)
    assert body.kinetic_energy(t) == pytest.approx(energy, rel=1e-12)
    assert body.moved(C).kinetic_energy(t_f) == pytest.approx(energy, rel=1e-12)

    hinge = Joint('hinge', 'revolute', 'base', 'link', np.eye(4), np.array([0.6, 0.0, 0.8]))
    links = [Link('base'), Link('link', Inertia(body.mass, com, about_com))]
    robot = Robot(RobotDescription.from_parts('r', links, [hinge]), backend='reference')
    (of_tree,) = robot.tree.bodies
    in_tree = points @ robot.tree.frame('link').S[:3, :3].T  # the joint turns about the z axis
    for M, at in ((body.mass_matrix, points), (inertia_matrix(of_tree), in_tree)):
        moved = mass_matrix(at @ C[:3, :3].T + C[:3, 3])
        np.testing.assert_allclose(M, mass_matrix(at), atol=1e-12)
        np.testing.assert_allclose(transported_matrix(C, M), moved, atol=1e-12)
    m, h, I = transported(C, (of_tree.m, of_tree.h, of_tree.I))  # noqa: E741
    M_f = np.block([[I, so3.hat(h)], [so3.hat(h).T, m * np.eye(3)]])
    np.testing.assert_allclose(M_f, moved, atol=1e-12)
    turned = np.array([0.6, 0.0, 0.8, 0.0, 0.0, 0.0])  # the hinge at 1 rad/s
    energy = 0.5 * masses @ np.square(velocities(points, turned)).sum(1)
    assert robot.kinetic_energy([0.3], [1.0]) == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize('exchange', [screws.swap, swap_linear_angular])
def test_joint_torques_in_both_orders(robot, exchange):
    """C-005: the same torques, given the force first and exchanged at the border.

    The book's wrench is what the robot exerts, at the origin of the base (E-54). Unexchanged it
    gives other torques, but the recursion and the Jacobian agree on them.
    """
    C, J = (robot.link_pose(arm_321.Q, 'tool'), robot.jacobian(arm_321.Q, 'tool', 'spatial'))

    def torques(exerted):
        W = screws.inverse_transform_wrench(C, -np.asarray(exerted))
        return robot.inverse_force(arm_321.Q, {'tool': W})

    moment_first = exchange(arm_321.FORCE_FIRST)
    np.testing.assert_allclose(torques(moment_first), arm_321.TAU, atol=1e-8)
    np.testing.assert_array_equal(exchange(moment_first), arm_321.FORCE_FIRST)
    np.testing.assert_allclose(J.T @ D_ @ arm_321.FORCE_FIRST, arm_321.TAU, atol=1e-8)
    unexchanged = torques(arm_321.FORCE_FIRST)
    assert np.abs(unexchanged - arm_321.TAU).max() > 0.1
    np.testing.assert_allclose(unexchanged, J.T @ arm_321.FORCE_FIRST, atol=1e-12)


@pytest.mark.parametrize('floating_base', [False, True])
def test_one_interface_for_chains_and_trees(floating_base):
    """C-012, B-003, B-134, B-135: positions, velocities, forces, accelerations, both ways."""
    robot = Robot(random_description(4, 8), floating_base=floating_base, backend='reference')
    rng = np.random.default_rng(0)
    q, v, a = random_configuration(robot, rng), *rng.normal(size=(2, robot.nv))
    link = robot.link_names[-1]
    pose, twist = robot.link_pose(q, link), robot.velocity(q, v, link)
    found = robot.inverse_kinematics(pose, link, q + 0.02, respect_limits=False)
    assert found.success
    np.testing.assert_allclose(robot.link_pose(found.q, link), pose, atol=1e-8)
    np.testing.assert_allclose(
        robot.velocity(q, robot.inverse_velocity(q, twist, link).v, link), twist, atol=1e-9
    )
    acceleration = robot.acceleration(q, v, a, link)
    found = robot.inverse_acceleration(q, v, acceleration, link).a
    np.testing.assert_allclose(robot.acceleration(q, v, found, link), acceleration, atol=1e-9)
    tau = robot.inverse_force(q, {link: np.arange(6.0)})
    held = robot.forward_force(q, tau, link, least_squares=True)
    np.testing.assert_allclose(held.residual, 0.0, atol=1e-9)
    assert robot.singularity(q, link).rank == held.rank


def test_every_solution_found_is_one(robot):
    """B-135: starts anywhere lead to the eight golden solutions, at which rates give the twist."""
    rng, found = np.random.default_rng(0), set()
    for start in rng.uniform(-np.pi, np.pi, (100, 6)):
        result = robot.inverse_kinematics(arm_321.POSE_EXACT, 'tool', start)
        assert result.success
        np.testing.assert_allclose(robot.link_pose(result.q, 'tool'), arm_321.POSE_EXACT, atol=1e-8)
        turns = (result.q - arm_321.SOLUTIONS) / (2 * np.pi)
        apart = np.abs(turns - np.round(turns)).max(axis=1)
        assert apart.min() < 1e-7
        found.add(int(apart.argmin()))
        rates = robot.inverse_velocity(result.q, arm_321.SPATIAL_TWIST, 'tool', 'spatial')
        np.testing.assert_allclose(
            robot.velocity(result.q, rates.v, 'tool', 'spatial'), arm_321.SPATIAL_TWIST, atol=1e-9
        )
    assert found == set(range(8))


def test_stretched_wrist_keeps_its_sum(robot):
    """C-102: at q5 = 0 only q4 + q6 matters; the solver keeps to the branch of its start."""
    q = np.array([0.3, 0.4, 0.7, -0.5, 0.0, 1.1])
    found = robot.inverse_kinematics(
        robot.link_pose(q, 'tool'), 'tool', q + [0, 0, 0, 0.1, 0, 0.2], restarts=0, tolerance=1e-8
    )
    assert found.success
    assert found.q[3] + found.q[5] == pytest.approx(0.6, abs=1e-6)
    assert abs(found.q[3] - q[3]) < 0.2
    np.testing.assert_allclose(found.q[:3], q[:3], atol=1e-6)
