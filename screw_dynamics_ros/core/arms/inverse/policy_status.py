# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Input and result of the policies in `singularity_policies` (C-024)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array

from .smallest_singular_value import smallest_singular_value
from .velocity import matrix, rate
from .velocity_bounds import Bounds


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
        """Return it, and its gradient (n,) if `slopes`, zero if `partials` are not known."""
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
