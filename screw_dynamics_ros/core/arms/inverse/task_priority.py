# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Task priority: each task is fulfilled in the null space of the previous ones.

With a basis Z of the null space of all earlier tasks, orthonormal in the joint metric, level k adds
the correction of least norm that minimizes its error::

    v <- v + Z (J_k Z)^# (V_k - J_k v),        Z <- Z null(J_k Z)

which are the projector formulas v_k = v_{k-1} + (J_k N_{k-1})^# (V_k - J_k v_{k-1}) and
N_k = N_{k-1} - (J_k N_{k-1})^+ J_k N_{k-1} without rounding errors: no singular values of
J_k Z are nearly zero that should be zero. Each level is optimal, in the least-squares sense, among
the optima of the previous ones.

Source: Bruyninckx 2010, sections 5.9.1 and 5.9.4 (C-027, C-029).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ArgumentError
from ...lie.screw_systems import TOLERANCE
from ...types import Array
from .link_motion import LinkMotion, stacked_bias, stacked_jacobian
from .velocity import matrix, rate, selected_rows, verdict
from .weighted_inverse import AdaptiveDamping, WeightedInverse, metric


@dataclass(frozen=True)
class Task:
    """Desired twist or acceleration of one link.

    Attributes
    ----------
    link : str
    rate : (6,) or (m,) array
        Twist (omega, v) [rad/s, m/s] or acceleration of the link; S times it with a selection.
    representation : {'hybrid', 'body', 'spatial', 'mixed'}
    selection : (m, 6) array, optional
        S: components, or combinations of components, of the task. `rate` then has m elements.
    metric : (m,) or (m, m) array, optional
        Task metric, which weights the error of a task that is not reached.
    damping : float or AdaptiveDamping
    """

    link: str
    rate: ArrayLike
    representation: str = 'hybrid'
    selection: ArrayLike | None = None
    metric: ArrayLike | None = None
    damping: float | AdaptiveDamping = 0.0


@dataclass(frozen=True, eq=False)
class TaskLevel:
    """One level of priority as equations J v = rate; other fields as in `Task`."""

    J: Array
    rate: Array
    metric: ArrayLike | None = None
    damping: float | AdaptiveDamping = 0.0


@dataclass(frozen=True, eq=False)
class LevelResult:
    """Result of one level.

    Attributes
    ----------
    success : bool
        Whether it is reached: |residual| at most 1e-6 of |rate|, in its metric.
    residual : (m,) array
        rate - J v.
    rank : int
        Rank of the level in the null space of the earlier levels.
    message : str
    """

    success: bool
    residual: Array
    rank: int
    message: str


@dataclass(frozen=True, eq=False)
class TaskPriorityResult:
    """Joint rates for tasks in order of priority.

    Attributes
    ----------
    v : (n,) array
        Joint rates, or accelerations.
    levels : tuple of LevelResult
        One for each task, in descending order of priority.
    success : bool
        Whether every level is reached.
    freedom : int
        Dimension of the null space of all tasks.
    null_space : (n, freedom) array
        Basis of this null space, orthonormal in the joint metric.
    message : str
        The first level that is not reached, and why.
    """

    v: Array
    levels: tuple[LevelResult, ...]
    success: bool
    freedom: int
    null_space: Array
    message: str


def checked(tasks: object) -> Sequence[Task]:
    """Return a sequence of tasks as it is; raises `ArgumentError` if it is not one."""
    if not isinstance(tasks, Sequence) or not all(isinstance(task, Task) for task in tasks):
        raise ArgumentError(
            'tasks must be a sequence of Task(link, rate), the most important one first, '
            f'got {tasks!r}'
        )
    return tasks


def level(robot: LinkMotion, q: ArrayLike, v: ArrayLike | None, task: Task) -> TaskLevel:
    """Return the equations of one task of a robot, for accelerations if v is given."""
    J = stacked_jacobian(robot, q, task.link, task.representation)
    S = selected_rows(f'the selection of the task of {task.link!r}', task.selection)
    target = rate(f'the rate of the task of {task.link!r}', len(S), task.rate)
    if v is not None:
        target = target - S @ stacked_bias(robot, q, v, task.link, task.representation)
    return TaskLevel(S @ J, target, task.metric, task.damping)


def task_priority(
    levels: Sequence[TaskLevel],
    *,
    joint_metric: ArrayLike | None = None,
    secondary: ArrayLike | None = None,
    cutoff: float = TOLERANCE,
) -> TaskPriorityResult:
    """Return joint rates that fulfill the levels, the first one first.

    Parameters
    ----------
    levels : sequence of TaskLevel
        Their Jacobians have the same number n of columns.
    joint_metric : (n,) or (n, n) array, optional
        Metric of the joint rates; selects one of the optimal solutions.
    secondary : (n,) array, optional
        Desired rates in the null space of all tasks.
    cutoff : float
        Singular values of J_k Z up to `cutoff` times the norm of J_k are treated as zero.

    Raises
    ------
    ArgumentError
        If there is no level, a shape is wrong, a number not finite, or a metric singular.

    Examples
    --------
    The second task may only use the second joint.

    >>> found = task_priority([TaskLevel(np.array([[1.0, 0.0]]), np.array([1.0])),
    ...                        TaskLevel(np.array([[1.0, 1.0]]), np.array([0.0]))])
    >>> found.v, found.freedom
    (array([ 1., -1.]), 0)
    """
    if not levels:
        raise ArgumentError('task priority needs at least one task')
    n = matrix('the Jacobian of level 0', levels[0].J).shape[1]
    M = metric('joint metric', n, joint_metric)
    Z = Z_all = np.linalg.inv(np.linalg.cholesky(M)).T  # all rates, orthonormal in M
    v = np.zeros(n)
    inverses = []
    for k, level in enumerate(levels):
        J = matrix(f'the Jacobian of level {k}', level.J)
        if J.shape[1] != n:
            raise ArgumentError(f'the Jacobian of level {k} must have {n} columns, got {J.shape}')
        target = rate(f'the rate of level {k}', len(J), level.rate)
        threshold = cutoff * np.linalg.norm(J @ Z_all) + np.finfo(float).tiny
        free = J @ Z
        relative = threshold / max(float(np.linalg.norm(free)), threshold)
        inverse = WeightedInverse(free, None, level.metric, relative)
        v = v + Z @ inverse.solve(target - J @ v, level.damping)
        Z = Z @ inverse.null_space
        inverses.append(inverse)
    v_0 = np.zeros(n) if secondary is None else rate('the secondary rates', n, secondary)
    v = v + Z @ (Z.T @ (M @ v_0))

    moved = np.abs(v) + np.abs(v_0)
    results = tuple(
        level_result(level, v, moved, inverse) for level, inverse in zip(levels, inverses)
    )
    failed = [k for k, result in enumerate(results) if not result.success]
    message = f'level {failed[0]}: {results[failed[0]].message}' if failed else 'reached'
    return TaskPriorityResult(v, results, not failed, Z.shape[1], Z, message)


def level_result(level: TaskLevel, v: Array, moved: Array, inverse: WeightedInverse) -> LevelResult:
    """Return what the joint rates v do for one level."""
    target = np.asarray(level.rate)
    J = np.asarray(level.J)
    residual, damping = target - J @ v, inverse.damping(level.damping)
    success, message = verdict(inverse, J, moved, residual, target, damping)
    return LevelResult(success, residual, inverse.rank, message)
