# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Policies for twists near a singularity: slow down, stop, or deviate.

Near a singularity the joint rates for a twist grow without bound. Three policies keep them within
their bounds:

`ScaleSpeed`
    Slower along the path: J v = s V with s = min(1, min_j v_max,j / |v_j|). s = 0 for a twist with
    a component in a lost direction.
`Stop`
    As above, slower below the smallest singular value `slow`, at rest below `stop`. Motion away
    from the singularity is not slowed.
`Deviate`
    Leaves the path: damped least squares within the bounds of all joints (`bounded_velocity`).

The result is a `PolicyStatus`: commanded and executed twist, and the reason of their difference.

Source: Bruyninckx 2010, sections 5.8.1 and 5.14, which have no formulas (C-024, C-037).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number
from ...errors import ArgumentError
from ...types import Array
from .bounded_velocity import joint_limited_velocity
from .link_motion import DifferentiableMotion, stacked_jacobian
from .singularities import smallest_singular_value
from .velocity import inverse_velocity, matrix, rate
from .velocity_bounds import Bounds
from .weighted_inverse import AdaptiveDamping


@dataclass(frozen=True, eq=False)
class SingularityStatus:
    """Input of a policy: the task and its Jacobian.

    Attributes
    ----------
    J : (m, n) array
        Jacobian of the task.
    twist : (m,) array
        Desired J v [rad/s, m/s].
    bounds : Bounds
        Of the joint rates.
    partials : callable, optional
        Returns dJ/dq_k at [..., k], (m, n, n), for policies that need them; without them `Stop`
        also slows motion away from a singularity.
    task_metric, joint_metric : (m,) or (m, m), (n,) or (n, n), optional
        Metrics of the singular values.
    secondary : (n,) array, optional
        Desired rates in the null space of the task, scaled together with the task.
    """

    J: Array
    twist: Array
    bounds: Bounds
    partials: Callable[[], Array] | None = None
    task_metric: ArrayLike | None = None
    joint_metric: ArrayLike | None = None
    secondary: ArrayLike | None = None

    def __post_init__(self) -> None:
        J = matrix('the Jacobian', self.J)
        rate('the twist', len(J), self.twist)
        if self.bounds.lower.shape != J.shape[1:]:
            raise ArgumentError(
                f'the bounds are for {len(self.bounds.lower)} joint rates, J has {J.shape[1]}'
            )

    def smallest_singular_value(self, slopes: bool = False) -> tuple[float, Array]:
        """Return it, and its gradient (n,) if `slopes`, zero if `partials` are unknown."""
        return smallest_singular_value(
            self.J,
            self.partials() if slopes and self.partials else None,
            task_metric=self.task_metric,
            joint_metric=self.joint_metric,
        )

    def leaves_the_singularity(self, v: Array) -> bool:
        """Return whether the smallest singular value grows with rates v, if that is known."""
        return bool(self.smallest_singular_value(slopes=True)[1] @ v > 0.0)


@dataclass(frozen=True, eq=False)
class PolicyStatus:
    """Result of a policy.

    Attributes
    ----------
    v : (n,) array
        Joint rates [rad/s, m/s], within their bounds.
    commanded, executed : (m,) array
        The commanded twist, and J v.
    scale : float
        Speed relative to the commanded one, 0 to 1; always 1 for `Deviate`.
    deviation : (m,) array
        executed - scale * commanded: the deviation from the path, zero if only the speed differs.
    smallest : float
        The smallest singular value, between the metrics.
    limiting : tuple of str
        Joints at the bounds that limit the motion.
    state : str
        'followed', 'slowed', 'stopped' or 'deviated'.
    message : str
        Why.
    """

    v: Array
    commanded: Array
    executed: Array
    scale: float
    deviation: Array
    smallest: float
    limiting: tuple[str, ...]
    state: str
    message: str


def status_of(
    situation: SingularityStatus,
    v: Array,
    scale: float,
    limiting: tuple[str, ...],
    state: str,
    message: str,
) -> PolicyStatus:
    """Return what rates v make of the twist; clipped, where rounding puts them out of bounds."""
    v = np.clip(v, situation.bounds.lower, situation.bounds.upper)
    executed = situation.J @ v
    sigma, _ = situation.smallest_singular_value()
    conflicts = [each for each in situation.bounds.conflicts if each not in message]
    return PolicyStatus(
        v,
        situation.twist,
        executed,
        scale,
        executed - scale * situation.twist,
        sigma,
        limiting,
        state,
        '; '.join([*conflicts, message]),
    )


@runtime_checkable
class SingularityPolicy(Protocol):
    """Interface of the policies."""

    def follow(self, situation: SingularityStatus) -> PolicyStatus:
        """Return joint rates within bounds, and what they make of the twist."""


def check_policy(policy: object) -> None:
    """Raise `ArgumentError` for objects that are not policies."""
    if not isinstance(policy, SingularityPolicy) or isinstance(policy, type):
        raise ArgumentError(
            f'policy must be ScaleSpeed(), Stop(...) or Deviate(...), got {policy!r}'
        )


@dataclass(frozen=True)
class ScaleSpeed:
    """Keep the path, lower the speed until all joints are within their bounds.

    Attributes
    ----------
    slowest : float
        Below this scale the robot stops, and the state is 'stopped'.
    """

    slowest: float = 1e-3

    def __post_init__(self) -> None:
        check_number('the slowest scale', self.slowest)

    def follow(self, situation: SingularityStatus) -> PolicyStatus:
        """Return J^# V, scaled.

        >>> bounds = Bounds(np.array([-1.0]), np.array([1.0]), ('elbow',))
        >>> at_limit = SingularityStatus(np.array([[0.5]]), np.array([2.0]), bounds)
        >>> status = ScaleSpeed().follow(at_limit)
        >>> status.v, status.scale, status.state, status.limiting
        (array([1.]), 0.25, 'slowed', ('elbow',))
        """
        return along_the_path(situation, 1.0, '', self.slowest)


@dataclass(frozen=True)
class Stop:
    """Keep the path, slow down near a singularity, and stop before it.

    Attributes
    ----------
    stop, slow : float
        Smallest singular values for rest and for full speed, 0 < stop < slow; the allowed speed is
        linear between them.
    """

    stop: float
    slow: float

    def __post_init__(self) -> None:
        check_number('the singular value of rest', self.stop, positive=True)
        check_number('the singular value of full speed', self.slow, positive=True)
        if not self.stop < self.slow:
            raise ArgumentError(
                f'the policy Stop needs stop < slow, got stop = {self.stop:g} and slow = '
                f'{self.slow:g}'
            )

    def follow(self, situation: SingularityStatus) -> PolicyStatus:
        """Return J^# V, scaled by the bounds and by the distance from the singularity."""
        sigma, _ = situation.smallest_singular_value()
        allowed = max((sigma - self.stop) / (self.slow - self.stop), 0.0)
        if allowed < 1.0 and situation.leaves_the_singularity(wanted_rates(situation)[0]):
            allowed = 1.0
        reason = f'the smallest singular value {sigma:.3g} is below {self.slow:g}'
        return along_the_path(situation, allowed, reason, 0.0)


@dataclass(frozen=True)
class Deviate:
    """Follow the nearest feasible twist, which may leave the path.

    Attributes
    ----------
    damping : AdaptiveDamping or float
        Damping, in the unit of the singular values.
    """

    damping: AdaptiveDamping | float

    def __post_init__(self) -> None:
        if not isinstance(self.damping, AdaptiveDamping):
            check_number('the damping', self.damping, positive=True)

    def follow(self, situation: SingularityStatus) -> PolicyStatus:
        """Return the rates within bounds of least |J v - V|^2 + damping^2 |v|^2."""
        found = joint_limited_velocity(
            situation.J,
            situation.twist,
            situation.bounds,
            task_metric=situation.task_metric,
            joint_metric=situation.joint_metric,
            damping=self.damping,
            secondary=situation.secondary,
        )
        state = 'followed' if found.success else 'deviated'
        return status_of(situation, found.v, 1.0, found.active, state, found.message)


def wanted_rates(situation: SingularityStatus) -> tuple[Array, Array]:
    """Return J^# V + N v_0 without regard to bounds, and the residual of V, zero if reached."""
    found = inverse_velocity(
        situation.J,
        situation.twist,
        task_metric=situation.task_metric,
        joint_metric=situation.joint_metric,
        secondary=situation.secondary,
    )
    lost = found.residual if not found.success else np.zeros_like(found.residual)
    return found.v, lost


def along_the_path(
    situation: SingularityStatus, allowed: float, reason: str, slowest: float
) -> PolicyStatus:
    """Return the rates of the twist times s <= allowed within the bounds."""
    v, lost = wanted_rates(situation)
    if lost.any():
        why = f'{np.linalg.norm(lost):.3g} of the twist is in a direction that is lost here'
        return at_rest(situation, (), why)
    scale, limiting = within_bounds(v, situation.bounds)
    because = f'at the bounds of {", ".join(limiting)}' if limiting else ''
    if allowed < scale:
        scale, limiting, because = allowed, (), reason
    if scale <= slowest and v.any():
        return at_rest(situation, limiting, because)
    state = 'slowed' if scale < 1.0 else 'followed'
    return status_of(situation, scale * v, scale, limiting, state, because or 'followed')


def within_bounds(v: Array, bounds: Bounds) -> tuple[float, tuple[str, ...]]:
    """Return the largest s <= 1 with s v within bounds, and the joints that limit it.

    Where not even s = 0 is within them, because a joint must brake or return, s is 0.
    """
    room = np.where(v > 0.0, bounds.upper, bounds.lower)
    with np.errstate(divide='ignore', invalid='ignore'):
        ratios = np.where(v != 0.0, np.maximum(room / v, 0.0), np.inf)
    scale = min(1.0, float(ratios.min(initial=np.inf)))
    names = zip(bounds.names, ratios)
    return scale, tuple(name for name, r in names if scale < 1.0 and r <= scale * (1 + 1e-9))


def at_rest(situation: SingularityStatus, limiting: tuple[str, ...], why: str) -> PolicyStatus:
    """Return the status of standing still, or braking where the bounds ask for it."""
    v = np.clip(np.zeros(situation.J.shape[1]), situation.bounds.lower, situation.bounds.upper)
    return status_of(situation, v, 0.0, limiting, 'stopped', why or 'stopped')


def guarded_velocity(
    robot: DifferentiableMotion,
    q: ArrayLike,
    twist: ArrayLike,
    link: str,
    bounds: Bounds,
    policy: SingularityPolicy,
    representation: str = 'hybrid',
    **options: Any,
) -> PolicyStatus:
    """Return what a policy makes of the twist (6,) of a link at q.

    `options`: task_metric, joint_metric, secondary; see `SingularityStatus`.
    Raises `ArgumentError` if `policy` is not a policy.
    """
    check_policy(policy)
    situation = SingularityStatus(
        stacked_jacobian(robot, q, link, representation),
        rate('the twist', 6, twist),
        bounds,
        lambda: robot.jacobian_partials(q, link, representation),
        **options,
    )
    return policy.follow(situation)
