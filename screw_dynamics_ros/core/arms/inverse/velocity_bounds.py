# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Joint limits as bounds of the next joint velocity, which is constant for one sampling time.

A joint at distance d from its limit, moving towards it with v while q grows by v dt in each sample
and v changes by at most a dt, stops in time if and only if v is at most

    v(d) = (d + a dt^2 m (m + 1) / 2) / ((m + 1) dt),    m (m + 1) / 2 <= d / (a dt^2) of largest m

where m is the number of braking samples. v(d) is d / dt for m = 0 and without an acceleration
limit, and close to sqrt(2 a d) for large d; with sqrt(2 a d) itself, which is correct in continuous
time, the bounds of the next sample can contradict each other. From a velocity within the bounds
those of the next sample are never empty.

Source: Bruyninckx 2010, section 5.11, which has no formula; this one is derived (C-044).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number, float_array
from ...errors import ArgumentError
from ...tree.multibody_tree import JointLimits, Tree
from ...types import Array
from .velocity import rate


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of the joint velocities over the next sample, (nv,) each [rad/s, m/s].

    Attributes
    ----------
    lower, upper : (nv,) array
        Finite or infinite, lower <= upper.
    names : tuple of str
        Of the joint velocities, for messages.
    conflicts : tuple of str
        Joints that cannot satisfy all their limits, with the reason: they brake with the largest
        deceleration, or return into their range.
    """

    lower: Array
    upper: Array
    names: tuple[str, ...]
    conflicts: tuple[str, ...] = ()


class JointBounds:
    """The bounds of the velocity v that moves a robot to q + v dt.

    Parameters
    ----------
    tree : Tree
    dt : float
        Sampling time [s].
    acceleration_limit : float or (nv,) array, optional
        Largest acceleration of each joint [rad/s^2, m/s^2]; infinite where not known.
    limits : JointLimits, optional
        Instead of those of the description. A free body has no limits.

    Raises
    ------
    ArgumentError
        If dt or a limit of acceleration is not positive, or the limits exclude each other.
    """

    def __init__(
        self,
        tree: Tree,
        dt: float,
        acceleration_limit: ArrayLike | None = None,
        limits: JointLimits | None = None,
    ) -> None:
        check_number('the sampling time dt', dt, positive=True)
        limits = limits or tree.limits
        self._dt, self._nv = dt, tree.nv
        self._acceleration = acceleration_limits(tree.nv, acceleration_limit)
        self._index, names = np.zeros(tree.nv, dtype=int), ['base'] * tree.nv
        self._lower, self._upper = np.full(tree.nv, -np.inf), np.full(tree.nv, np.inf)
        self._fastest = np.full(tree.nv, np.inf)
        for k, name in enumerate(tree.joint_names):
            place, velocity = tree.coordinates[name]
            names[velocity] = [name] * (velocity.stop - velocity.start)
            if place.stop - place.start == velocity.stop - velocity.start:
                self._index[velocity] = range(place.start, place.stop)
                self._lower[velocity], self._upper[velocity] = limits.lower[k], limits.upper[k]
                self._fastest[velocity] = limits.velocity[k]
        self._names = tuple(names)
        if not (self._fastest >= 0.0).all() or not (self._lower <= self._upper).all():
            raise ArgumentError('joint limits need lower <= upper and a velocity of at least 0')

    def at(self, q: Array, v: ArrayLike | None = None) -> Bounds:
        """Return the bounds at q (nq,) with the velocity v (nv,) of the last sample, 0 if None."""
        v = rate('the previous velocity', self._nv, np.zeros(self._nv) if v is None else v)
        position, lower, upper, fastest = q[self._index], self._lower, self._upper, self._fastest
        a, dt = self._acceleration, self._dt
        high = np.minimum(fastest, stopping_velocity(upper - position, a, dt))
        low = -np.minimum(fastest, stopping_velocity(position - lower, a, dt))
        below, above = position < lower, position > upper
        # A joint out of its range returns as fast as it may, and not so fast that it leaves again.
        high = np.where(above, np.maximum(high, low), high)
        low = np.where(below, np.minimum(low, high), low)
        # What can be had within dt; the nearest of it where the limits ask for more.
        slowest, quickest = v - a * dt, v + a * dt
        conflicts = self._outside(position) + self._too_fast(v, low - quickest, slowest - high)
        return Bounds(
            np.clip(low, slowest, quickest),
            np.clip(high, slowest, quickest),
            self._names,
            conflicts,
        )

    def _outside(self, position: Array) -> tuple[str, ...]:
        """Return a reason for each joint that is out of its range by more than rounding."""
        rounding = 1e-9 * (1.0 + np.abs(position))
        out = (position < self._lower - rounding) | (position > self._upper + rounding)
        return tuple(
            f'{self._names[k]} is outside of its range '
            f'[{self._lower[k]:.6g}, {self._upper[k]:.6g}] at {position[k]:.6g}'
            for k in np.flatnonzero(out)
        )

    def _too_fast(self, v: Array, *missing: Array) -> tuple[str, ...]:
        """Return a reason for each joint that misses a bound by more than rounding."""
        most = np.maximum(*missing)
        return tuple(
            f'{self._names[k]} cannot change its velocity {v[k]:.6g} fast enough to respect its '
            'limits'
            for k in np.flatnonzero(most > 1e-9 * (1.0 + np.abs(v)))
        )


def stopping_velocity(distance: Array, acceleration: Array, dt: float) -> Array:
    """Return the largest velocity from which a joint stops within `distance`; see above.

    Negative for a negative distance: the rate that returns the joint in one sample.

    >>> stopping_velocity(np.array([0.5, 0.5, -0.1]), np.array([np.inf, 1.0, 1.0]), 0.1).round(3)
    array([ 5.  ,  0.95, -1.  ])
    """
    step = acceleration * dt * dt
    with np.errstate(invalid='ignore'):
        ratio = np.where(np.isfinite(distance), np.maximum(distance, 0.0) / step, 0.0)
        m = np.floor(0.5 * (np.sqrt(1.0 + 8.0 * ratio) - 1.0))
        braking = np.where(m > 0.0, step * m * (m + 1.0) / 2.0, 0.0)
    return (distance + braking) / ((m + 1.0) * dt)


def acceleration_limits(nv: int, value: ArrayLike | None) -> Array:
    """Return the limits of acceleration, (nv,), positive or infinite."""
    limits = float_array('the limit of acceleration', np.inf if value is None else value)
    if limits.size not in (1, nv) or not (limits > 0.0).all():
        raise ArgumentError(
            'limits of acceleration must be positive (infinite for no limit), one number or '
            f'{nv}, got {value!r}'
        )
    return np.broadcast_to(limits.reshape(-1), (nv,))
