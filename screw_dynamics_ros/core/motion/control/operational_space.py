# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Operational space: the dynamics of a robot in task coordinates.

A task is a `MotionConstraint` that is fulfilled by torques instead of by constraint forces; its
Jacobian J maps joint velocities to A^T V. With M a + h = tau,

    inertia Lambda = (J M^-1 J^T)^-1,     consistent inverse J_bar = M^-1 J^T Lambda,
    null space N = 1 - J_bar J,           mu = J_bar^T C v - Lambda J' v,     p = J_bar^T g,

and the force F = Lambda x'' + mu + p moves the task with x''. Torques N^T tau do not. Tasks of
lower priority act in what the higher ones leave: with J_k|p = J_k N_k-1 each adds

    tau_k = tau_k-1 + J_k|p^T Lambda_k (x''_k - J_k' v - J_k M^-1 (tau_k-1 - h)).

Lambda comes from the recursion of `constraint_equations`, O(n), or from M.

Source: Bruyninckx 2010, sections 6.7.2 and 6.8 (C-078, C-082, C-083).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import vector
from ...constraints.constrained_dynamics import wanted_rates
from ...constraints.forces import least_norm, unit_scale
from ...constraints.motion_constraint import MotionConstraint, checked
from ...errors import ArgumentError, InertiaError
from ...types import Array

if TYPE_CHECKING:
    from ...robot.robot import Robot


@dataclass(frozen=True, eq=False)
class OperationalSpace:
    """The dynamics along the directions of some tasks, (m,) in total.

    Attributes
    ----------
    J : (m, nv) array
        Jacobian.
    bias : (m,) array
        J' v [rad/s^2, m/s^2].
    inertia : (m, m) array
        Lambda [kg m^2, kg m, kg]; a pseudo-inverse where `rank` is below m.
    consistent_inverse : (nv, m) array
        J_bar.
    null_space : (nv, nv) array
        N: accelerations N a do not touch the tasks, nor do torques N^T tau.
    mu, p : (m,) arrays
        Centrifugal and Coriolis forces, and weight [N m, N].
    rank : int
        Independent directions; less than m in a singular configuration.
    """

    J: Array
    bias: Array
    inertia: Array
    consistent_inverse: Array
    null_space: Array
    mu: Array
    p: Array
    rank: int


def operational_space(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    tasks: MotionConstraint | Sequence[MotionConstraint],
) -> OperationalSpace:
    """Return the dynamics of tasks in the state q, v, (nq,) and (nv,)."""
    q, v = vector('q', robot.nq, q), vector('v', robot.nv, v)
    terms = robot.constraint_terms(q, v, np.zeros(robot.nv), checked(tasks))
    J = (robot.mass_matrix(q) @ terms.K).T
    bias = terms.drift - J @ terms.a_free
    inertia, rank = scaled_inverse(terms.inverse_inertia, terms.inverse_inertia, terms.mobility)
    J_bar = terms.K @ inertia
    return OperationalSpace(
        J,
        bias,
        inertia,
        J_bar,
        np.eye(robot.nv) - J_bar @ J,
        J_bar.T @ robot.coriolis_torques(q, v) - inertia @ bias,
        J_bar.T @ robot.gravity_torques(q),
        rank,
    )


def generalised_jacobian(
    robot: Robot, q: ArrayLike, link: str, representation: str = 'hybrid'
) -> Array:
    """Return J* = J_m - J_b M_bb^-1 M_bm, (6, nv - 6), of a link of a robot that floats freely.

    With no momentum the base follows the joints, v_b = -M_bb^-1 M_bm v_m, and the link's twist is
    J* v_m (C-076). M_bb is the inertia of the whole robot.
    """
    if not robot._floating_base:
        raise ArgumentError(f'{robot!r} has no floating base; take its jacobian')
    J, M = robot.jacobian(q, link, representation), robot.mass_matrix(q)
    try:
        follow = np.linalg.solve(M[..., :6, :6], M[..., :6, 6:])
    except np.linalg.LinAlgError:
        raise InertiaError(
            f'{robot!r} has no inertia to turn or move freely with; give masses to its links'
        ) from None
    result: Array = J[..., 6:] - J[..., :6] @ follow
    return result


def scaled_inverse(inverse_inertia: Array, whole: Array, mobility: Array) -> tuple[Array, int]:
    """Return the (pseudo-)inverse and the rank, rows scaled by the diagonal of `whole`."""
    scale = unit_scale(whole, mobility)
    N = scale[:, None] * inverse_inertia * scale
    one = np.eye(len(N))
    inverse, rank = least_norm(np.where(np.isfinite(N), N, one), one)
    result = scale[:, None] * inverse * scale
    return np.where(np.isfinite(N).all(), result, np.nan), int(rank)


@dataclass(frozen=True, eq=False)
class TaskTorques:
    """Torques that fulfill tasks in the order of their priority.

    Attributes
    ----------
    tau : (nv,) array
        [N m, N], with the forces on a floating base.
    errors : list of (m,) arrays
        Residual of each task [rad/s^2, m/s^2]: the part that the tasks before it do not allow.
    ranks : list of int
        Independent directions left for each task.
    """

    tau: Array
    errors: list[Array]
    ranks: list[int]

    @property
    def feasible(self) -> bool:
        """Whether every task is fulfilled."""
        return all(np.abs(e).max() <= 1e-8 * (1.0 + np.abs(self.tau).max()) for e in self.errors)


def task_torques(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    tasks: Sequence[MotionConstraint],
    posture: ArrayLike | None = None,
) -> TaskTorques:
    """Return the torques for tasks in strict order of priority, the first one first.

    Parameters
    ----------
    robot : Robot
    q : (nq,), v : (nv,)
    tasks : sequence of MotionConstraint
        With `acceleration` x'' and, if wanted, gains and target. Tasks of equal priority are one
        constraint; inequalities are not tasks.
    posture : (nv,), optional
        Torques to add in the null space of all tasks.

    Returns
    -------
    TaskTorques
        Bias torques h included: without tasks and posture the robot is not accelerated.
    """
    tasks = checked(tasks)
    for task in tasks:
        if task.unilateral or task.compliance:
            raise ArgumentError(f'{task}: a task is neither unilateral nor compliant')
    q, v = vector('q', robot.nq, q), vector('v', robot.nv, v)
    M = robot.mass_matrix(q)
    h = robot.inverse_dynamics(q, v, np.zeros(robot.nv))
    terms = robot.constraint_terms(q, v, h, tasks)  # at tau = h nothing is accelerated
    gains = [(task.alpha, task.beta) for task in tasks for _ in range(task.size)]
    alpha, beta = np.array(gains).T
    wanted = wanted_rates(tasks, ()) - 2.0 * alpha * terms.rate - beta**2 * terms.displacement
    J = (M @ terms.K).T

    N, a = np.eye(robot.nv), np.zeros(robot.nv)
    tau, errors, ranks, start = h, [], [], 0
    for task in tasks:
        rows = slice(start, start + task.size)
        start = rows.stop
        J_left = J[rows] @ N
        K_left = N @ terms.K[:, rows]  # M^-1 N^T = N M^-1
        whole = terms.inverse_inertia[rows, rows]
        inertia, rank = scaled_inverse(J_left @ K_left, whole, terms.mobility[rows])
        F = inertia @ (wanted[rows] - terms.drift[rows] - J[rows] @ a)
        tau, a = tau + J_left.T @ F, a + K_left @ F
        N = N - K_left @ inertia @ J_left
        errors.append(J[rows] @ a + terms.drift[rows] - wanted[rows])
        ranks.append(rank)
    if posture is not None:
        tau = tau + N.T @ vector('posture', robot.nv, posture)
    return TaskTorques(tau, errors, ranks)
