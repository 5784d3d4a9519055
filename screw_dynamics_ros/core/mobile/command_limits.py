# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commanded twists made feasible: without slip, within bounds of speed, acceleration and jerk.

A twist t with A t = 0 slips nowhere. The kinetostatic filter takes a wanted twist to the admissible
one nearest to it,

    t' = t - W^-1 A^T (A W^-1 A^T)^+ A t,      |t|^2 = length^2 omega^2 + v_x^2 + v_y^2,

where `length` [m] is the speed per angular velocity of equal weight: there is no natural
choice, so there is no default. A large one keeps the rotation and gives up translation.

Smooth commands avoid slip, on which odometry relies. Each axis has its own bounds; a bound that
acts changes that axis only. The order is jerk, acceleration, speed, as in diff_drive_controller,
so that the speed is bounded whatever came before.

Source: Bruyninckx 2010, section 9.4 (C-134).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_number, vector
from ..arms.inverse.weighted_inverse import WeightedInverse
from ..errors import ArgumentError
from ..types import Array
from . import planar
from .wheeled_platform import WheeledPlatform


def admissible_twist(
    platform: WheeledPlatform,
    twist: ArrayLike,
    length: float,
    steering: ArrayLike | None = None,
) -> Array:
    """Return the twist (3,) without slip that is nearest to a wanted one.

    Parameters
    ----------
    platform : WheeledPlatform
    twist : (3,)
        (omega, v_x, v_y) of and in the frame of the platform.
    length : float
        Weight of rotation against translation [m].
    steering : (k,), optional
        Angles of the steered wheels [rad]; if not given they will turn as the twist needs it, and
        only the others count.

    Examples
    --------
    A car that steers by 0.35 rad cannot turn faster; which speed it takes depends on the weight.

    >>> from screw_dynamics_ros.core.mobile.platforms import bicycle
    >>> car = bicycle(1.2, 0.3)
    >>> admissible_twist(car, [0.5, 1.0, 0.2], 0.01, [0.35]).round(3) + 0.0
    array([0.304, 1.   , 0.   ])
    >>> admissible_twist(car, [0.5, 1.0, 0.2], 100.0, [0.35]).round(3) + 0.0
    array([0.5  , 1.643, 0.   ])
    """
    check_number('the characteristic length [m]', length, positive=True)
    t = planar.triple('the twist', twist)
    A = platform.fixed_slip_matrix() if steering is None else platform.slip_matrix(steering)
    if not len(A):
        return np.array(t)
    solver = WeightedInverse(A, domain_metric=[length**2, 1.0, 1.0])
    return solver.null_projector() @ t


@dataclass(frozen=True)
class AxisLimits:
    """Bounds of one axis [m/s or rad/s, and per s and s^2]; infinite for no limit.

    Attributes
    ----------
    most : float
        Largest speed, >= 0.
    least : float, optional
        Largest speed in reverse, as a number <= 0; -most if not given.
    acceleration, deceleration : float
        Bounds of the rate of the speed, > 0: away from zero and towards zero. `deceleration` is
        `acceleration` if not given.
    jerk : float
        Bound of the rate of the acceleration, > 0.
    """

    most: float = math.inf
    least: float | None = None
    acceleration: float = math.inf
    deceleration: float | None = None
    jerk: float = math.inf

    def __post_init__(self) -> None:
        for name in ('acceleration', 'deceleration', 'jerk'):
            value = getattr(self, name)
            if value is not None and not value > 0.0:
                raise ArgumentError(f'{name} must be positive, got {value!r}; infinite for none')
        if not self.most >= 0.0:
            raise ArgumentError(f'the largest speed must be >= 0, got {self.most!r}')
        if not (self.least is None or self.least <= 0.0):
            raise ArgumentError(f'the largest speed in reverse must be <= 0, got {self.least!r}')

    def limit(self, wanted: float, last: float, before: float, dt: float) -> float:
        """Return the speed nearest to `wanted`, dt [s] after `last`, which came dt after `before`.

        >>> AxisLimits(most=1.0, acceleration=2.0).limit(5.0, 0.0, 0.0, 0.1)
        0.2
        """
        change, trend = wanted - last, last - before
        most = self.jerk * dt * dt
        change = min(max(change, trend - most), trend + most)
        toward, away = self._toward_zero(abs(last), dt), self.acceleration * dt
        down, up = (toward, away) if last > 0.0 else (away, toward)
        change = min(max(change, -down), up)
        least = -self.most if self.least is None else self.least
        return min(max(last + change, least), self.most)

    def _toward_zero(self, speed: float, dt: float) -> float:
        """Return the largest change within dt towards zero and beyond."""
        slowing = self.acceleration if self.deceleration is None else self.deceleration
        if speed >= slowing * dt:
            return slowing * dt
        return speed + (dt - speed / slowing) * self.acceleration


class TwistLimiter:
    """Keeps a sequence of twists (omega, v_x, v_y) within the bounds of three axes.

    Parameters
    ----------
    axes : sequence of three AxisLimits
        Of omega, v_x and v_y.

    Attributes
    ----------
    acted : bool
        Whether the last twist was changed.
    """

    def __init__(self, axes: Sequence[AxisLimits]) -> None:
        if len(axes) != 3:
            raise ArgumentError(f'there are three axes (omega, v_x, v_y), got {len(axes)} limits')
        self._axes = tuple(axes)
        self.acted = False
        self._past: deque[Array] = deque(maxlen=2)
        self.restart()

    def restart(self, twist: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Begin with a steady twist, at rest for instance."""
        t = vector('the twist', 3, twist)
        self._past.extend([t, t])

    def with_axes(self, axes: Sequence[AxisLimits]) -> TwistLimiter:
        """Return a limiter with other bounds that continues from the last twists."""
        other = TwistLimiter(axes)
        other._past.extend(self._past)
        return other

    def limit(self, twist: ArrayLike, dt: float) -> Array:
        """Return the twist to command now, dt [s] after the last one."""
        check_number('dt [s]', dt, positive=True)
        wanted = vector('the twist', 3, twist)
        if not np.isfinite(wanted).all():
            raise ArgumentError(f'the twist must be finite, got {wanted.tolist()}')
        before, last = self._past
        given = np.array(
            [axis.limit(wanted[k], last[k], before[k], dt) for k, axis in enumerate(self._axes)]
        )
        self.acted = bool((given != wanted).any())
        self._past.append(given)
        return given
