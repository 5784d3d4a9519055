# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse position kinematics with weighted coordinates, for mobile manipulators."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import check_count, check_number, float_array, vector
from screw_dynamics_ros.core.arms.inverse.position import (
    InverseKinematicsResult,
    check_positions,
    check_targets,
    rigid_defect,
)
from screw_dynamics_ros.core.arms.inverse.weighted_inverse import WeightedInverse
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.kinematics.pose_error import pose_error
from screw_dynamics_ros.core.robot.robot import Robot
from screw_dynamics_ros.core.tree.joint_limits import of_coordinates
from screw_dynamics_ros.core.types import Array

MAX_STEP = 0.5  # rad, m; largest pose error used in one step


def weighted_inverse_kinematics(
    robot: Robot,
    target: ArrayLike,
    link: str,
    q0: ArrayLike,
    weights: Array,
    *,
    max_iterations: int = 200,
    tolerance: float = 1e-9,
    damping: float = 0.03,
) -> InverseKinematicsResult:
    """Return a configuration near q0 that moves a link to a pose, with weighted coordinates.

    Damped Newton steps of least weighted norm, dq = W^-1 J^T (J W^-1 J^T + lambda^2)^-1 e, with
    lambda proportional to the error. Joints stop at their limits, and the other joints continue
    (Bruyninckx 2010, 5.9, 5.10; C-026, C-043). There is no restart, so the result is near q0.

    Parameters
    ----------
    robot : Robot
        Without floating joints.
    target : (4, 4)
    link : str
    q0 : (nq,)
    weights : (nv,)
        Positive.
    max_iterations : int
    tolerance : float
        Largest accepted pose error, (rotation [rad], displacement [m]) in one norm.
    damping : float
        Ratio of lambda and the norm of the error.

    Raises
    ------
    ArgumentError
        Wrong shapes, numbers that are not finite, a target that is not a pose.
    """
    check_count('max_iterations', max_iterations)
    check_number('tolerance', tolerance, positive=True)
    check_number('damping', damping)
    C = _pose(target, link)
    q = vector('q0', robot.nq, q0)
    if not np.isfinite(q).all() or robot.nq != robot.nv:
        raise ArgumentError('q0 must be finite, of a robot without floating joints')
    lower = of_coordinates(robot, robot.limits.lower, -np.inf)
    upper = of_coordinates(robot, robot.limits.upper, np.inf)
    q = np.clip(q, lower, upper)
    for k in range(max_iterations + 1):
        e = pose_error(robot.link_pose(q, link), C)
        residual = float(np.linalg.norm(e))
        if residual <= tolerance:
            return InverseKinematicsResult(q, True, residual, k, 'converged')
        if k == max_iterations:
            break
        e = e * min(1.0, MAX_STEP / residual)
        q = _step(q, robot.jacobian(q, link, 'body'), e, weights, (lower, upper), damping)
    return InverseKinematicsResult(
        q,
        False,
        residual,
        max_iterations,
        f'the residual is {residual:.3g} after {max_iterations} iterations; the pose is out of '
        'reach, or another q0 is needed',
    )


def _step(
    q: Array, J: Array, e: Array, weights: Array, bounds: tuple[Array, Array], damping: float
) -> Array:
    """Return q after one step; joints stop at their limits."""
    lower, upper = bounds
    held = np.zeros(len(q), dtype=bool)
    while True:
        free = ~held
        solver = WeightedInverse(J[:, free], domain_metric=weights[free])
        moved = q.copy()
        moved[free] += solver.solve(e, damping * float(np.linalg.norm(e)))
        beyond = free & ((moved < lower) | (moved > upper))
        at_limit = beyond & ((q <= lower) | (q >= upper))
        if not at_limit.any():
            return np.clip(moved, lower, upper)
        held |= at_limit


def _pose(target: ArrayLike, link: str) -> Array:
    C = float_array('target', target)
    if C.shape != (4, 4):
        raise ArgumentError(f'target must have shape (4, 4), got {C.shape}')
    check_positions(C, [link])
    check_targets([float(rigid_defect(C))], [link])
    return C
