# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Samples of a joint motion, with the rates that were not given derived from those that were."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number, float_array
from ...errors import ArgumentError, NotFiniteError
from ...types import Array

if TYPE_CHECKING:
    from ...robot.robot import Robot


@dataclass(frozen=True, eq=False)
class Motion:
    """Samples of a joint motion; `sampled_motion` makes and checks them.

    Attributes
    ----------
    time : (N,) array
        Increasing [s].
    q, v, a : (N, nq), (N, nv), (N, nv) arrays
        Configurations, velocities and accelerations [rad, m; 1/s; 1/s^2].
    derived : tuple of str
        Which of 'v' and 'a' were not given but come from a spline.
    """

    time: Array
    q: Array
    v: Array
    a: Array
    derived: tuple[str, ...] = ()

    def faster(self, factor: float) -> Motion:
        """Return the same path run `factor` times as fast: v and a grow with s and s^2 (C-069)."""
        check_number('factor', factor, positive=True)
        return replace(
            self,
            time=self.time[0] + (self.time - self.time[0]) / factor,
            v=self.v * factor,
            a=self.a * factor**2,
        )


def sampled_motion(
    robot: Robot,
    time: ArrayLike,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
) -> Motion:
    """Return a motion of a robot from samples.

    Missing velocities are the first derivatives of the cubic spline through the positions, missing
    accelerations the first derivatives of that through the velocities, or the second of that
    through the positions if there are no velocities either. The splines are
    `scipy.interpolate.CubicSpline` with its 'not-a-knot' ends, which assume nothing about the
    motion before and after: their errors fall with h^3 for first and h^2 for second derivatives.
    A single sample is one at rest.

    Parameters
    ----------
    robot : Robot
    time : (N,)
        Increasing [s].
    q : (N, nq)
    v, a : (N, nv), optional
        Must be given if the robot has floating or ball joints or a floating base, whose velocities
        are not the derivatives of their coordinates.

    Raises
    ------
    ArgumentError
        If shapes do not fit, numbers are not finite, or times do not increase.
    """
    t = float_array('time', time)
    if t.ndim != 1 or not len(t):
        raise ArgumentError(f'time must have shape (N,) with at least one sample, got {t.shape}')
    check_finite('time', t)
    late = np.flatnonzero(np.diff(t) <= 0.0)
    if late.size:
        k = int(late[0])
        raise ArgumentError(
            f'time must increase: sample {k + 1} is at {t[k + 1]} s, the previous one at {t[k]} s'
        )
    positions = samples('q', q, len(t), robot.nq)
    velocities = None if v is None else samples('v', v, len(t), robot.nv)
    accelerations = None if a is None else samples('a', a, len(t), robot.nv)
    if robot.nq != robot.nv and (v is None or a is None):
        missing = ' and '.join(name for name, values in (('v', v), ('a', a)) if values is None)
        raise ArgumentError(
            f'{missing} must be given: robot {robot.description.name!r} has floating or ball '
            'joints, whose velocities are not derivatives of their coordinates'
        )
    return Motion(t, positions, *with_rates(t, positions, velocities, accelerations))


def with_rates(
    time: Array, q: Array, v: Array | None, a: Array | None
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return v and a, (N, n) each, and which of them had to be derived; see `sampled_motion`."""
    missing = tuple(name for name, values in (('v', v), ('a', a)) if values is None)
    if a is None:
        a = derivative(time, q, 2) if v is None else derivative(time, v, 1)
    return derivative(time, q, 1) if v is None else v, a, missing


def derivative(time: Array, values: Array, order: int) -> Array:
    """Return a derivative of the cubic spline through some values (N, n) at their times (N,)."""
    if len(time) == 1 or not values.shape[1]:
        return np.zeros_like(values)
    from scipy.interpolate import CubicSpline  # slow to import, and most motions have their rates

    return np.asarray(CubicSpline(time, values)(time, order))


def samples(name: str, values: ArrayLike, count: int, size: int) -> Array:
    """Return `values` as a finite array (count, size)."""
    array = float_array(name, values)
    if array.shape != (count, size):
        raise ArgumentError(
            f'{name} must have shape ({count}, {size}), one row for each time, got {array.shape}'
        )
    check_finite(name, array)
    return array


def check_finite(name: str, array: Array) -> None:
    """Raise a `NotFiniteError` that names the first element that is not finite."""
    if not np.isfinite(array.sum()):  # a sum, because it costs less than a look at each
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[:1].ravel())
        if where:
            raise NotFiniteError(f'{name}{list(where)} is {array[where]}; it must be finite')
