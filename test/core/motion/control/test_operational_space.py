# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Operational space and hierarchies of torque tasks (C-078, C-082, C-083)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.constraints.motion_constraint import (
    MotionConstraint,
    fixed_frame,
    fixed_point,
)
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.motion.control.operational_space import operational_space, task_torques
from support.compilation import close
from support.models import random_configuration, random_description
from support.robots import urdf_path


def state(robot: Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return random_configuration(robot, rng), rng.uniform(-2, 2, robot.nv)


def arm(seed: int = 0, joints: int = 9, floating: bool = False) -> Robot:
    return Robot(
        random_description(seed, joints, chain=True), floating_base=floating, backend='reference'
    )


@pytest.mark.parametrize('floating', [False, True])
def test_operational_space(floating):
    """C-082: Lambda is positive definite and what Minv gives; J J_bar = 1; N M^-1 = M^-1 N^T."""
    robot = arm(floating=floating)
    q, v = state(robot)
    space = operational_space(robot, q, v, fixed_frame('link9'))
    J, M = robot.jacobian(q, 'link9'), robot.mass_matrix(q)
    close(space.J, J, 1e-11)
    close(space.bias, robot.acceleration(q, v, np.zeros(robot.nv), 'link9'), 1e-10)
    assert np.linalg.eigvalsh(space.inertia)[0] > 0
    close(np.linalg.inv(space.inertia), J @ np.linalg.solve(M, J.T), 1e-10)
    close(J @ space.consistent_inverse, np.eye(6), 1e-10)
    close(J @ space.null_space, np.zeros_like(J), 1e-10)
    close(space.null_space @ np.linalg.inv(M), np.linalg.inv(M) @ space.null_space.T, 1e-10)
    assert space.rank == 6


def test_force_moves_the_task():
    """C-082: F = Lambda x'' + mu + p gives x'' with any torque N^T tau added; gravity is in p."""
    robot = arm(1)
    rng = np.random.default_rng(0)
    q, v = state(robot)
    wanted, idle = rng.normal(size=6), rng.normal(size=robot.nv)
    space = operational_space(robot, q, v, fixed_frame('link9'))
    F = space.inertia @ wanted + space.mu + space.p
    tau = space.J.T @ F + space.null_space.T @ idle
    h = robot.inverse_dynamics(q, v, np.zeros(robot.nv))
    # what the bias does in the null space does not matter to the task
    a = robot.forward_dynamics(q, v, tau)
    close(robot.acceleration(q, v, a, 'link9'), wanted, 1e-9)
    close(space.mu + space.p, space.consistent_inverse.T @ h - space.inertia @ space.bias, 1e-9)


def test_posture_torques_in_the_constraint_solver():
    """C-078: constraint forces with tau_0 as input = task torques with it in the null space."""
    robot = Robot.from_urdf(urdf_path('panda'), backend='reference')
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    rng = np.random.default_rng(0)
    v, tau_0 = rng.uniform(-1, 1, (2, robot.nv))
    task = fixed_frame('panda_hand', acceleration=rng.normal(size=6))
    a, _ = robot.constrained_dynamics(q, v, tau_0, task)
    space = operational_space(robot, q, v, task)
    h = robot.inverse_dynamics(q, v, np.zeros(robot.nv))
    F = space.inertia @ (task.acceleration - space.bias) + space.consistent_inverse.T @ h
    tau = space.J.T @ F + space.null_space.T @ tau_0
    close(robot.forward_dynamics(q, v, tau), a, 1e-10)


def test_singular_configuration_is_flagged():
    """B-007: a stretched arm in the plane."""
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    tip = robot.link_names[-1]
    space = operational_space(robot, [0.2, 0.0], [0.0, 0.0], fixed_frame(tip))
    assert space.rank == 2  # of six: rotation and one translation
    assert operational_space(robot, [0.2, 0.0], [0, 0], fixed_point(tip)).rank == 1
    assert operational_space(robot, [0.2, 0.5], [0, 0], fixed_point(tip)).rank == 2


# --- hierarchies ----------------------------------------------------------------------------------


def achieved(
    robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, task: MotionConstraint
) -> np.ndarray:
    a = robot.forward_dynamics(q, v, tau)
    return task.wrenches.T @ robot.acceleration(q, v, a, task.link, task.representation)


def test_compatible_tasks_are_all_fulfilled():
    """C-083: two tasks and a posture, seven of nine freedoms."""
    robot = arm(2)
    q, v = state(robot)
    tasks = [
        fixed_frame('link9', acceleration=[1, 2, 3, 4, 5, 6]),
        fixed_point('link4', [(1, 0, 0)], acceleration=[-2.0]),
    ]
    for posture in (None, np.arange(9.0)):
        result = task_torques(robot, q, v, tasks, posture)
        assert result.ranks == [6, 1]
        assert result.feasible
        for task in tasks:
            close(achieved(robot, q, v, result.tau, task), task.acceleration, 1e-9)
    moved = robot.forward_dynamics(q, v, result.tau)
    still = robot.forward_dynamics(q, v, task_torques(robot, q, v, tasks).tau)
    assert np.abs(moved - still).max() > 0.1


def test_conflicting_tasks():
    """C-083: the first task is exact to 1e-12, the second as good as can be; and exchanged."""
    robot = arm(3, 6)
    q, v = state(robot)
    first = fixed_point('link6', acceleration=[1.0, -1.0, 2.0])
    second = fixed_point('link6', acceleration=[1.0, 3.0, -2.0])
    for one, two in ((first, second), (second, first)):
        result = task_torques(robot, q, v, [one, two])
        scale = np.abs(robot.forward_dynamics(q, v, result.tau)).max()
        error = achieved(robot, q, v, result.tau, one) - one.acceleration
        assert np.abs(error).max() < 1e-12 * max(scale, 1.0)
        np.testing.assert_allclose(result.errors[0], 0, atol=1e-12 * max(scale, 1.0))
        np.testing.assert_allclose(
            result.errors[1], np.subtract(one.acceleration, two.acceleration), atol=1e-9
        )
        assert result.ranks == [3, 0]
        assert not result.feasible
    # a third task with freedom left is not harmed by the hopeless one
    turn = MotionConstraint('link6', np.eye(6)[:, :2], [0.5, 0.7])
    result = task_torques(robot, q, v, [first, second, turn])
    np.testing.assert_allclose(result.errors[2], 0, atol=1e-8)
    close(achieved(robot, q, v, result.tau, turn), turn.acceleration, 1e-8)


def test_no_task_but_gravity():
    """The bias torques are included: a robot at rest stays where it is, nullspace motion apart."""
    robot = arm(4, 5)
    q = state(robot)[0]
    result = task_torques(robot, q, np.zeros(5), [fixed_point('link5')])
    np.testing.assert_allclose(robot.forward_dynamics(q, np.zeros(5), result.tau), 0, atol=1e-9)


def test_gains_are_a_controller():
    """A task with target and gains: x'' = -2 alpha x' - beta^2 x."""
    robot = arm(5, 7)
    q, v = state(robot)
    target = robot.link_pose(q, 'link7')
    target[:3, 3] += [0.1, -0.2, 0.3]
    task = fixed_point('link7', target=target, alpha=4.0, beta=5.0)
    tau = task_torques(robot, q, v, [task]).tau
    velocity = robot.velocity(q, v, 'link7')[3:]
    expected = -8.0 * velocity + 25.0 * np.array([0.1, -0.2, 0.3])
    close(achieved(robot, q, v, tau, task), expected, 1e-9)


def test_bad_tasks():
    robot = arm(5, 7)
    q, v = state(robot)
    for changed in ({'unilateral': True}, {'compliance': 0.1}):
        with pytest.raises(ArgumentError, match='neither unilateral nor compliant'):
            task_torques(robot, q, v, [replace(fixed_point('link7'), **changed)])
    with pytest.raises(ArgumentError, match='posture must have shape'):
        task_torques(robot, q, v, [fixed_point('link7')], np.zeros(3))
    with pytest.raises(ArgumentError, match='no constraints'):
        task_torques(robot, q, v, [])
