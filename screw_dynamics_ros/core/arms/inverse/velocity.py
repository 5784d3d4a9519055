# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Inverse velocity kinematics: joint rates v for a twist V, J v = V, in the least-squares sense.

With a joint metric M and a task metric C (`weighted_inverse`), a damping lambda and secondary
joint rates v_0::

    v = J^# V + (1 - J^+ J) v_0,        J^# = (J^T C J + lambda^2 M)^-1 J^T C

Among the rates whose twist is nearest to V in the task metric, these have the least norm in the
joint metric if v_0 = 0; v_0 acts only in the null space of the task. For a regular square J this is
resolved rate control. For a robot with fewer joints than the task has rows, J J^+ V is the feasible
twist nearest to V in the task metric.

Source: Bruyninckx 2010 (5.45), (5.51), (5.52), (5.54), sections 5.9.4, 5.10 and 7.12 (C-026, C-027,
C-041 to C-043, C-045, C-104).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import vector
from ...errors import ArgumentError
from ...lie.screw_systems import TOLERANCE
from ...types import Array
from .weighted_inverse import AdaptiveDamping, WeightedInverse, finite

#: A task is reached if its residual is smaller than this part of it.
TASK_TOLERANCE = 1e-6

#: Rounding: the residual may also be this part of the terms that cancel in J v.
ROUNDING_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class InverseVelocityResult:
    """Joint rates for a twist, with residual and status.

    Attributes
    ----------
    v : (n,) array
        Joint rates [rad/s, m/s].
    success : bool
        Whether the twist is reached: |residual| at most 1e-6 |V|, in the task metric.
    residual : (m,) array
        V - J v.
    rank : int
        Number of directions of the task that the joints reach.
    singular_values : (min(m, n),) array
        Of the Jacobian between the two metrics, in descending order.
    damping : float
        The lambda that was used.
    message : str
        Why the twist is reached, or why not.
    """

    v: Array
    success: bool
    residual: Array
    rank: int
    singular_values: Array
    damping: float
    message: str


def inverse_velocity(
    J: ArrayLike,
    twist: ArrayLike,
    *,
    joint_metric: ArrayLike | None = None,
    task_metric: ArrayLike | None = None,
    damping: float | AdaptiveDamping = 0.0,
    secondary: ArrayLike | None = None,
    cutoff: float = TOLERANCE,
) -> InverseVelocityResult:
    """Return joint rates v with J v = twist, in the least-squares sense.

    Parameters
    ----------
    J : (m, n) array
        Jacobian: of one or several links in one representation, or selected rows.
    twist : (m,) array
        Desired J v [rad/s, m/s].
    joint_metric, task_metric : (n,) or (n, n), (m,) or (m, m), optional
        Positive definite, or the diagonal. The mass matrix as joint metric gives the rates of least
        kinetic energy.
    damping : float or AdaptiveDamping
        lambda, in the unit of the singular values: rates stay below |V| / (2 lambda).
    secondary : (n,) array, optional
        v_0, projected on the null space; for instance minus the gradient of a cost.
    cutoff : float
        Singular values up to `cutoff` times the largest are treated as zero.

    Raises
    ------
    ArgumentError
        If a shape is wrong, a number is not finite, or a metric is singular.

    Examples
    --------
    >>> inverse_velocity([[1.0, 1.0]], [2.0], joint_metric=[1.0, 3.0]).v
    array([1.5, 0.5])
    >>> inverse_velocity([[1.0], [0.0]], [2.0, 0.5]).message
    'the joints reach 1 of the 2 directions of the task here; 0.5 of 2.06 is left'
    """
    J = matrix('the Jacobian', J)
    m, n = J.shape
    target = rate('the twist', m, twist)
    inverse = WeightedInverse(J, joint_metric, task_metric, cutoff)
    v = inverse.solve(target, damping)
    v_0 = np.zeros(n) if secondary is None else rate('the secondary rates', n, secondary)
    v = v + inverse.null_projector() @ v_0
    residual, used = target - J @ v, inverse.damping(damping)
    reached, message = verdict(inverse, J, np.abs(v) + np.abs(v_0), residual, target, used)
    return InverseVelocityResult(
        v, reached, residual, inverse.rank, inverse.singular_values, used, message
    )


def verdict(
    inverse: WeightedInverse,
    J: Array,
    moved: Array,
    residual: Array,
    target: Array,
    damping: float,
) -> tuple[bool, str]:
    """Return whether a target is reached, in the range metric of `inverse`, and why not.

    `moved` are the sizes of the joint rates in play, of which rounding is no failure.
    """
    left, whole = inverse.range_norm(residual), inverse.range_norm(target)
    if left <= TASK_TOLERANCE * whole + ROUNDING_TOLERANCE * inverse.range_norm(np.abs(J) @ moved):
        return True, 'reached'
    if inverse.rank < len(J):
        reason = f'the joints reach {inverse.rank} of the {len(J)} directions of the task here'
    elif damping > 0.0:
        reason = f'held back by the damping {damping:.3g}'
    else:
        reason = 'the Jacobian is too badly conditioned'
    return False, f'{reason}; {left:.3g} of {whole:.3g} is left'


def matrix(name: str, value: ArrayLike) -> Array:
    """Return a matrix of finite numbers; raises `ArgumentError`."""
    array = finite(name, value)
    if array.ndim != 2:
        raise ArgumentError(f'{name} must have shape (m, n), got {array.shape}')
    return array


def selected_rows(name: str, value: ArrayLike | None) -> Array:
    """Return a selection (m, 6) of twist components, all by default; raises `ArgumentError`."""
    S = np.eye(6) if value is None else matrix(name, value)
    if S.shape[1] != 6:
        raise ArgumentError(f'{name} must have shape (m, 6), got {S.shape}')
    return S


def rate(name: str, size: int, value: ArrayLike) -> Array:
    """Return a vector (size,) of finite numbers; raises `ArgumentError`."""
    return finite(name, vector(name, size, value))
