# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Inverse velocity kinematics within joint limits: bounded least squares.

Of all joint rates within their bounds (`joint_bounds`)::

    minimize |J v - V|_C^2 + lambda^2 |v - v_0|_M^2    with    lower <= v <= upper

a convex problem with one solution, found as in `inequalities`, whose rows may be added; the
Karush-Kuhn-Tucker conditions of the result are checked. Without active bounds the solution is that
of damped least squares. The default lambda, 1e-6 of the Jacobian's norm, only makes the solution
unique.

Source: Bruyninckx 2010, sections 5.10 and 5.11 (C-044).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number
from ...errors import ArgumentError
from ...types import Array
from .inequalities import Inequalities, least_squares_within
from .velocity import ROUNDING_TOLERANCE, TASK_TOLERANCE, matrix, rate
from .velocity_bounds import Bounds
from .weighted_inverse import AdaptiveDamping, metric, structural_rank

#: Damping that makes the answer unique, relative to the norm of the Jacobian.
UNIQUENESS_DAMPING = 1e-6

#: Largest violation of the optimality conditions that is accepted, relative to the problem.
OPTIMALITY_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class JointLimitedResult:
    """Joint rates within limits.

    Attributes
    ----------
    v : (n,) array
        Joint rates [rad/s, m/s]; accelerations from `joint_limited_acceleration`.
    success : bool
        Whether the task is reached (|residual| at most 1e-6 of it) and no limit is in conflict.
    residual : (m,) array
        V - J v.
    active : tuple of str
        Joints with an active bound, and active inequalities.
    conflicts : tuple of str
        Joints that cannot satisfy all their limits, inequalities that contradict them, and reasons.
    optimality : float
        Largest violation of the optimality conditions, relative to the problem.
    message : str
    """

    v: Array
    success: bool
    residual: Array
    active: tuple[str, ...]
    conflicts: tuple[str, ...]
    optimality: float
    message: str


def joint_limited_velocity(
    J: ArrayLike,
    twist: ArrayLike,
    bounds: Bounds,
    *,
    joint_metric: ArrayLike | None = None,
    task_metric: ArrayLike | None = None,
    damping: float | AdaptiveDamping | None = None,
    secondary: ArrayLike | None = None,
    inequalities: Inequalities | None = None,
) -> JointLimitedResult:
    """Return the joint rates within bounds that minimize the task error.

    Parameters
    ----------
    J : (m, n) array
    twist : (m,) array
        Desired J v [rad/s, m/s].
    bounds : Bounds
    joint_metric, task_metric : (n,) or (n, n), (m,) or (m, m), optional
        Positive definite, or the diagonal; M and C.
    damping : float or AdaptiveDamping, optional
        lambda > 0; by default the value that makes the solution unique.
    secondary : (n,) array, optional
        v_0, zero by default.
    inequalities : Inequalities, optional
        Additional rows A v <= b; violated if they contradict the bounds, see `conflicts`.

    Raises
    ------
    ArgumentError
        If a shape is wrong, a number not finite, a metric singular, or the damping not positive.

    Examples
    --------
    The first joint is at its bound, and the second one compensates.

    >>> bounds = Bounds(np.array([-1.0, -9.0]), np.array([1.0, 9.0]), ('shoulder', 'elbow'))
    >>> found = joint_limited_velocity([[1.0, 1.0]], [5.0], bounds)
    >>> found.v.round(6), found.active, found.success
    (array([1., 4.]), ('shoulder',), True)
    """
    J = matrix('the Jacobian', J)
    m, n = J.shape
    target = rate('the twist', m, twist)
    v_0 = rate('the secondary rates', n, np.zeros(n) if secondary is None else secondary)
    if bounds.lower.shape != (n,):
        raise ArgumentError(f'the bounds are for {len(bounds.lower)} joint rates, J has {n}')
    K = np.linalg.cholesky(metric('task metric', m, task_metric))
    L = np.linalg.cholesky(metric('joint metric', n, joint_metric))
    used = damping_for(J, K.T @ np.linalg.solve(L, J.T).T, damping)

    A = np.vstack([K.T @ J, used * L.T])
    b = np.concatenate([K.T @ target, used * (L.T @ v_0)])
    rows = Inequalities.none(n) if inequalities is None else inequalities.checked(n)
    v, optimality, active, conflicts = least_squares_within(A, b, bounds, rows)
    conflicts = (*bounds.conflicts, *conflicts)
    are_joints = set(active) <= set(bounds.names)
    residual = target - J @ v
    left, whole = float(np.linalg.norm(K.T @ residual)), float(np.linalg.norm(K.T @ target))
    terms = float(np.linalg.norm(np.abs(K.T) @ np.abs(J) @ (np.abs(v) + np.abs(v_0))))
    message = 'reached'
    if left > TASK_TOLERANCE * whole + ROUNDING_TOLERANCE * terms:
        message = f'{left:.3g} of {whole:.3g} is left' + (
            f' because these {"joints are at their bounds" if are_joints else "limits act"}: '
            + ', '.join(active)
            if active
            else f': beyond what the joints reach here, or held back by the damping {used:.3g}'
        )
    if optimality > OPTIMALITY_TOLERANCE:
        message = f'the solver stopped {optimality:.3g} away from the optimum; {message}'
    message = '; '.join([*conflicts, message])
    return JointLimitedResult(
        v, message == 'reached', residual, active, conflicts, optimality, message
    )


def joint_limited_acceleration(
    J: ArrayLike,
    bias: ArrayLike,
    acceleration: ArrayLike,
    bounds: Bounds,
    v: Array,
    dt: float,
    **options: Any,
) -> JointLimitedResult:
    """Return joint accelerations a (field `v`) with J a + bias = acceleration, within limits.

    `bounds` are those of the next velocity v + a dt, with which the joints then move; `options` are
    those of `joint_limited_velocity`, `bias` is J' v.
    """
    J = matrix('the Jacobian', J)
    target = rate('the acceleration', len(J), acceleration) - rate('the bias', len(J), bias)
    own = Bounds((bounds.lower - v) / dt, (bounds.upper - v) / dt, bounds.names, bounds.conflicts)
    return joint_limited_velocity(J, target, own, **options)


def damping_for(J: Array, scaled: Array, damping: float | AdaptiveDamping | None) -> float:
    """Return lambda > 0 for the Jacobian J, `scaled` between its metrics."""
    if damping is not None and not isinstance(damping, AdaptiveDamping):
        check_number('the damping', damping, positive=True)
        return float(damping)
    least = max(UNIQUENESS_DAMPING * float(np.linalg.norm(scaled)), float(np.finfo(float).tiny))
    if damping is None:
        return least
    s, full = np.linalg.svd(scaled, compute_uv=False), structural_rank(J)
    return max(damping.at(float(s[full - 1]) if full else 0.0), least)
