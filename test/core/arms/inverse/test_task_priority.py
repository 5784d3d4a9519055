# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Task priority against lexicographic least squares by other means (C-027, C-029)."""

import numpy as np
import pytest
from scipy.linalg import null_space

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.arms.inverse.task_priority import Task, TaskLevel, task_priority
from support.robots import urdf_path

TOOL = 'panda_hand_tcp'


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda'), backend='reference')


def lexicographic(levels, M):
    """Minimize |J_1 v - t_1|, then among the optima |J_2 v - t_2|, ..., at last v^T M v.

    Optimality conditions of each level as a linear system with all earlier optima as constraints.
    """
    n = levels[0].J.shape[1]
    fixed, values = np.zeros((0, n)), np.zeros(0)
    for level in levels:
        Z = null_space(fixed) if len(fixed) else np.eye(n)
        v = np.linalg.lstsq(fixed, values, rcond=None)[0] if len(fixed) else np.zeros(n)
        v = v + Z @ np.linalg.lstsq(level.J @ Z, level.rate - level.J @ v, rcond=1e-9)[0]
        fixed, values = np.vstack([fixed, level.J]), np.append(values, level.J @ v)
    Z = null_space(fixed)
    return v - Z @ np.linalg.solve(Z.T @ M @ Z, Z.T @ M @ v) if Z.size else v


def projectors(levels, n):
    """Return the recursion with projectors, as C-029 has it."""
    v, N = np.zeros(n), np.eye(n)
    for level in levels:
        B = np.linalg.pinv(level.J @ N, rcond=1e-9)
        v = v + B @ (level.rate - level.J @ v)
        N = N - B @ level.J @ N
    return v


def test_one_level_is_inverse_velocity(robot, rng):
    q, twist = rng.uniform(robot.limits.lower, robot.limits.upper), rng.normal(size=6)
    M = robot.mass_matrix(q)
    one = robot.prioritized_velocity(q, [Task(TOOL, twist)], joint_metric=M)
    np.testing.assert_allclose(
        one.v, robot.inverse_velocity(q, twist, TOOL, joint_metric=M).v, atol=1e-9
    )
    assert one.success
    assert one.freedom == 2  # the elbow and the finger


@pytest.mark.parametrize('ranks', [(2, 3, 3), (3, 3, 3), (2, 2, 9), (4, 6, 1)])
def test_lexicographic_optimum(rng, ranks):
    """C-029: each level is the best among the optima of the levels before; the norm comes last."""
    n = 8
    A = rng.normal(size=(n, n))
    M = A @ A.T + np.eye(n)
    levels = [TaskLevel(rng.normal(size=(r, n)), rng.normal(size=r)) for r in ranks]
    found = task_priority(levels, joint_metric=M)
    np.testing.assert_allclose(found.v, lexicographic(levels, M), atol=1e-8)
    assert found.freedom == max(0, n - sum(ranks))


def test_projectors_say_the_same_while_there_is_freedom(rng):
    """C-029: the formula with (J_k N)^+; its rounding dominates where no freedom is left."""
    levels = [TaskLevel(rng.normal(size=(r, 8)), rng.normal(size=r)) for r in (2, 3, 2)]
    np.testing.assert_allclose(task_priority(levels).v, projectors(levels, 8), atol=1e-8)
    levels = [TaskLevel(rng.normal(size=(r, 8)), rng.normal(size=r)) for r in (4, 6, 1)]
    expected = lexicographic(levels, np.eye(8))
    np.testing.assert_allclose(task_priority(levels).v, expected, atol=1e-8)
    assert np.abs(projectors(levels, 8) - expected).max() > 1e3


def test_lower_levels_never_disturb_higher_ones(rng):
    """C-029: task 1 is exact under conflict, whatever follows; 1e-10."""
    J = rng.normal(size=(3, 7))
    first = TaskLevel(J, rng.normal(size=3))
    conflict = TaskLevel(J + 1e-3 * rng.normal(size=(3, 7)), 100 * rng.normal(size=3))
    opposite = TaskLevel(J, -first.rate)
    for rest in ([conflict], [opposite], [opposite, conflict], [conflict, opposite, conflict]):
        found = task_priority([first, *rest], secondary=rng.normal(size=7))
        assert np.abs(found.levels[0].residual).max() < 1e-10
        assert found.levels[0].success
    found = task_priority([first, opposite])
    assert found.levels[1].rank == 0
    assert not found.success
    assert found.message.startswith('level 1: the joints reach 0 of the 3 directions')
    np.testing.assert_allclose(found.levels[1].residual, -2 * first.rate, atol=1e-12)


def test_order_decides(rng):
    J = rng.normal(size=(2, 3))
    levels = [TaskLevel(J, np.array([1.0, 0.0])), TaskLevel(J, np.array([0.0, 1.0]))]
    np.testing.assert_allclose(J @ task_priority(levels).v, [1, 0], atol=1e-12)
    np.testing.assert_allclose(J @ task_priority(levels[::-1]).v, [0, 1], atol=1e-12)


def test_selection_and_secondary(robot, rng):
    """The tool's position first, then its axis upright, then a posture as far as that leaves it."""
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    tasks = [
        Task(TOOL, [0.1, 0.0, -0.05], selection=np.eye(6)[3:]),
        Task(TOOL, [0.0, 0.2], selection=np.eye(6)[:2]),
    ]
    posture = rng.normal(size=robot.nv)
    found = robot.prioritized_velocity(q, tasks, secondary=posture)
    twist = robot.velocity(q, found.v, TOOL)
    np.testing.assert_allclose(twist[[3, 4, 5, 0, 1]], [0.1, 0.0, -0.05, 0.0, 0.2], atol=1e-10)
    assert found.success
    assert found.freedom == 3
    J = robot.jacobian(q, TOOL)[[3, 4, 5, 0, 1]]
    np.testing.assert_allclose(null_space(J).T @ (found.v - posture), 0.0, atol=1e-9)


def test_accelerations(robot, rng):
    q, v = rng.uniform(robot.limits.lower, robot.limits.upper), rng.normal(size=robot.nv)
    tasks = [
        Task(TOOL, [0.1, 0.2, 0.3], selection=np.eye(6)[3:]),
        Task('panda_link4', [1.0], 'body', selection=np.eye(6)[[1]]),
    ]
    found = robot.prioritized_acceleration(q, v, tasks)
    assert found.success
    A = robot.acceleration(q, v, found.v, TOOL)
    np.testing.assert_allclose(A[3:], [0.1, 0.2, 0.3], atol=1e-9)
    assert robot.acceleration(q, v, found.v, 'panda_link4', 'body')[1] == pytest.approx(1.0)


def test_damping_of_a_level_leaves_the_others_exact(rng):
    J = rng.normal(size=(2, 6))
    nearly = TaskLevel(np.vstack([J[0] + 1e-6 * rng.normal(size=6)]), np.array([1.0]), damping=0.1)
    found = task_priority([TaskLevel(J, np.array([1.0, 2.0])), nearly])
    assert found.levels[0].success
    assert np.abs(found.v).max() < 10
    bare = task_priority([TaskLevel(J, np.array([1.0, 2.0])), TaskLevel(nearly.J, np.array([2.0]))])
    assert np.abs(bare.v).max() > 1e4


def test_what_is_refused(robot):
    q = np.zeros(robot.nq)
    with pytest.raises(ArgumentError, match='at least one task'):
        robot.prioritized_velocity(q, [])
    for tasks in (
        [3],
        3,
        [TOOL],
        TOOL,
        Task(TOOL, np.zeros(6)),
        [TaskLevel(np.eye(6), np.zeros(6))],
    ):
        with pytest.raises(ArgumentError, match=r'sequence of Task\(link, rate\).* got'):
            robot.prioritized_velocity(q, tasks)
        with pytest.raises(ArgumentError, match=r'sequence of Task\(link, rate\).* got'):
            robot.prioritized_acceleration(q, np.zeros(robot.nv), tasks)
    with pytest.raises(UnknownNameError, match="no link named 'tool'"):
        robot.prioritized_velocity(q, [Task('tool', np.zeros(6))])
    with pytest.raises(ArgumentError, match=r"rate of the task of 'panda_\w+' must have"):
        robot.prioritized_velocity(q, [Task(TOOL, np.zeros(6), selection=np.eye(6)[:2])])
    with pytest.raises(ArgumentError, match=r'selection of the task .* must have shape \(m, 6\)'):
        robot.prioritized_velocity(q, [Task(TOOL, np.zeros(2), selection=np.eye(2))])
    with pytest.raises(ArgumentError, match=r'rate of the task .* holds NaN'):
        robot.prioritized_velocity(q, [Task(TOOL, np.full(6, np.nan))])
    with pytest.raises(ArgumentError, match='task metric is singular'):
        robot.prioritized_velocity(q, [Task(TOOL, np.zeros(6), metric=np.zeros(6))])
    with pytest.raises(ArgumentError, match='joint metric must have shape'):
        robot.prioritized_velocity(q, [Task(TOOL, np.zeros(6))], joint_metric=np.ones(3))
    with pytest.raises(ArgumentError, match='level 1 must have 2 columns'):
        task_priority([TaskLevel(np.eye(2), np.zeros(2)), TaskLevel(np.eye(3), np.zeros(3))])


def test_a_zero_rate_is_reached(robot):
    """What is left of keeping still is rounding of what the other task does, not a failure."""
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    tasks = [
        Task(TOOL, [0.1, 0, 0], selection=np.eye(6)[3:]),
        Task(TOOL, [0, 0], selection=np.eye(6)[:2]),
    ]
    found = robot.prioritized_velocity(q, tasks)
    assert found.success
    assert found.message == 'reached'
    for v_0 in (0.1 * np.ones(8), 0.1 * np.arange(8)):
        assert robot.inverse_velocity(q, np.zeros(6), TOOL, secondary=v_0).success
        assert robot.joint_limited_velocity(q, np.zeros(6), TOOL, 0.01, secondary=v_0).success
        assert robot.prioritized_velocity(q, tasks[1:], secondary=v_0).success
