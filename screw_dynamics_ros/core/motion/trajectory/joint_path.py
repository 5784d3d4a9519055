# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Joint motion between the points of a trajectory, as joint_trajectory_controller has it.

With h the duration of an interval, d = q_1 - q_0 the way in it and t the time since its start::

    linear   q_0 + d t / h
    cubic    q_0 + v_0 t + (3 d - h (2 v_0 + v_1)) t^2 / h^2 + (-2 d + h (v_0 + v_1)) t^3 / h^3
    quintic  q_0 + v_0 t + a_0 t^2 / 2 + ...

Source: "Trajectory representation" of the manual of joint_trajectory_controller (ros2_controllers);
the polynomials of least degree with the positions, velocities and accelerations of both ends.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import float_array
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array


class JointPath:
    """Positions of some joints over time: linear, cubic or quintic between given points.

    Linear between positions alone, cubic with velocities, quintic with accelerations too. Before
    its first point and after its last one the joints stand still.

    Parameters
    ----------
    time : (N,) array
        Increasing [s].
    q : (N, n) array
        Positions [rad, m].
    v, a : (N, n) arrays, optional
        Velocities and accelerations; no `a` without `v`.

    Attributes
    ----------
    start, end : float
        Times of the first and the last point [s].

    Raises
    ------
    ArgumentError
        For other shapes, numbers that are not finite, or times that do not increase.

    Examples
    --------
    From rest to rest in 2 s: half way in half the time, with 3/2 of the mean velocity.

    >>> path = JointPath([0.0, 2.0], [[0.0], [1.0]], [[0.0], [0.0]])
    >>> path.at(1.0)
    (array([0.5]), array([0.75]))
    """

    def __init__(
        self,
        time: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
    ) -> None:
        t = float_array('time', time)
        if v is None and a is not None:
            raise ArgumentError('accelerations without velocities do not make a path')
        rows = [
            float_array(name, values)
            for name, values in (('q', q), ('v', v), ('a', a))
            if values is not None
        ]
        for name, values in zip('qva', rows):
            if values.ndim != 2 or values.shape != rows[0].shape or len(values) != len(t):
                raise ArgumentError(
                    f'{name} has shape {values.shape} for {len(t)} points of time; give (N, n)'
                )
        if not len(t) or not all(np.isfinite(values).all() for values in (t, *rows)):
            raise ArgumentError('a path needs at least one point, and finite numbers')
        if not (np.diff(t) > 0.0).all():
            raise ArgumentError('the times of a path must increase')
        self.start, self.end = float(t[0]), float(t[-1])
        self._time, self._rows = t, rows
        self._times: list[float] = t.tolist()  # searched faster than an array
        self._ends = rows[0][0], rows[0][-1]
        self._pieces = coefficients(np.diff(t)[:, None], rows)

    @property
    def times(self) -> Array:
        """The times of its points, (N,) [s]."""
        return self._time

    def of(self, joints: Sequence[int]) -> JointPath:
        """Return the path of some of the joints, by their places among the n."""
        return JointPath(self._time, *(values[:, joints] for values in self._rows))

    def after(self, t: float, q: Array, v: Array, a: Array) -> JointPath:
        """Return the path with a point in front of it at a time [s], (n,) each."""
        return JointPath(
            np.append(t, self._time),
            *(np.vstack([first, values]) for first, values in zip((q, v, a), self._rows)),
        )

    def at(self, t: float) -> tuple[Array, Array]:
        """Return positions and velocities at a time [s], (n,) each [rad, rad/s; m, m/s]."""
        return self.state(t)[:2]

    def state(self, t: float) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations at a time [s], (n,) each."""
        if len(self._times) == 1 or t <= self.start or t >= self.end:
            end = self._ends[t >= self.end]
            return end.copy(), np.zeros_like(end), np.zeros_like(end)
        k = bisect_right(self._times, t) - 1
        return evaluated(self._pieces[:, k], t - self._times[k])

    def samples(self, times: Array) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations at some times (N,) on the path, (N, n).

        Unlike `state`, with the velocities and accelerations that the path has at its ends.
        """
        if len(self._times) == 1:
            rest = np.zeros((len(times), self._rows[0].shape[1]))
            return rest + self._rows[0], rest, rest
        k = np.clip(np.searchsorted(self._time, times, side='right') - 1, 0, len(self._times) - 2)
        return evaluated(self._pieces[:, k], (times - self._time[k])[:, None])


def evaluated(c: Array, t: float | Array) -> tuple[Array, Array, Array]:
    """Return the polynomial with coefficients c[0], c[1], ..., and two derivatives (Horner)."""
    q, v, a = c[-1], np.zeros_like(c[-1]), np.zeros_like(c[-1])
    for coefficient in c[-2::-1]:
        a = a * t + 2.0 * v
        v = v * t + q
        q = q * t + coefficient
    return q, v, a


def coefficients(h: Array, rows: Sequence[Array]) -> Array:
    """Return the coefficients of 1, t, t^2, ... in each interval, (1 + degree, N - 1, n).

    Parameters
    ----------
    h : (N - 1, 1) array
        Durations [s].
    rows : sequence of (N, n) arrays
        Positions, and then velocities, and then accelerations at the ends of the intervals.

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0]]), np.zeros((2, 1))
    >>> coefficients(np.array([[2.0]]), rows).ravel().tolist()
    [0.0, 0.0, 0.75, -0.25]
    """
    (q0, q1), *rates = ((values[:-1], values[1:]) for values in rows)
    d = q1 - q0
    if not rates:
        return np.stack([q0, d / h])
    v0, v1 = rates[0]
    if len(rates) == 1:
        return np.stack(
            [q0, v0, (3.0 * d - h * (2.0 * v0 + v1)) / h**2, (h * (v0 + v1) - 2.0 * d) / h**3]
        )
    a0, a1 = rates[1]
    cubic = 20.0 * d - h * (12.0 * v0 + 8.0 * v1) - h**2 * (3.0 * a0 - a1)
    quartic = -30.0 * d + h * (16.0 * v0 + 14.0 * v1) + h**2 * (3.0 * a0 - 2.0 * a1)
    quintic = 12.0 * d - h * 6.0 * (v0 + v1) - h**2 * (a0 - a1)
    return np.stack(
        [
            q0,
            v0,
            a0 / 2.0,
            cubic / (2.0 * h**3),
            quartic / (2.0 * h**4),
            quintic / (2.0 * h**5),
        ]
    )
