# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint motion between the points of a trajectory, as joint_trajectory_controller has it.

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
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from screw_dynamics_ros.core.arguments import float_array
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS


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


def completed_path(
    time: Array, q: Array, v: Array | None, a: Array | None, start_velocity: Array
) -> JointPath:
    """Return the path through some points, which ends at rest where no velocities are given.

    Missing velocities are those of the cubic spline through the positions that has the velocity at
    the start and ends at rest. Without accelerations the path is cubic between its points, as
    joint_trajectory_controller moves; accelerations without velocities do not count there.

    Parameters
    ----------
    time : (N,) array
        Increasing [s].
    q : (N, n) array
        [rad, m].
    v, a : (N, n) arrays or None
    start_velocity : (n,) array

    Examples
    --------
    >>> time, q = np.array([0.0, 1.0, 2.0]), np.array([[0.0], [1.0], [0.0]])
    >>> path = completed_path(time, q, None, None, np.zeros(1))
    >>> [round(float(values[0]), 6) for values in path.state(1.0)]
    [1.0, 0.0, -6.0]
    """
    if v is None:
        if len(time) == 1:
            return JointPath(time, q, np.zeros_like(q))
        from scipy.interpolate import CubicSpline  # slow to import

        ends = (1, start_velocity), (1, np.zeros(q.shape[1]))
        v, a = CubicSpline(time, q, bc_type=ends)(time, 1), None
    return JointPath(time, q, v, a)


def refined(time: Array, longest: float, most: int) -> Array:
    """Return times (M,) that contain all of `time` (N,), not further apart than `longest` [s].

    They are further apart if there would be more than `most` of them otherwise.

    Examples
    --------
    >>> refined(np.array([0.0, 1.0, 1.1]), 0.5, 1000).tolist()
    [0.0, 0.5, 1.0, 1.1]
    """
    if len(time) == 1:
        return time
    h = np.diff(time)
    longest = max(longest, float(h.sum()) / most)
    counts = np.maximum(np.ceil(h / longest - 1e-9), 1).astype(int)
    fractions = np.concatenate([np.arange(count) / count for count in counts])
    return np.append(np.repeat(time[:-1], counts) + fractions * np.repeat(h, counts), time[-1])


@dataclass(frozen=True, eq=False)
class TimedPath:
    """A path of some joints of a robot from a stamp on.

    Attributes
    ----------
    joints : (k,) array of int
        Places of its joints among the n of the robot.
    path : JointPath
        Of k joints, over the time from its start [s].
    start : int
        Stamp of its time 0 [ns].
    """

    joints: NDArray[np.intp]
    path: JointPath
    start: int

    @property
    def end(self) -> int:
        """Stamp of its last point [ns]."""
        return self.start + round(self.path.end * NANOSECONDS)

    def state(self, stamp: int) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations at a stamp [ns], (k,) each."""
        return self.path.state((stamp - self.start) / NANOSECONDS)


class PathSequence:
    """What to follow of several paths that come one after the other.

    A path counts from its start on. Until then the one before it is followed, then its way to its
    first point: from where the joints are at its start, by the path before for joints that it
    moves, by measurement for others, as joint_trajectory_controller does. After its end the joints
    stand still at its last point. Of paths that have not started yet, the newest one counts.

    Attributes
    ----------
    current : TimedPath or None
        The path that is followed.
    waiting : TimedPath or None
        The one that follows it.

    Examples
    --------
    From 0 to 1 within 2 s; after 1 s a path comes that asks for 0 again, 1 s later.

    >>> arm, measured = PathSequence(), (np.zeros(1), np.zeros(1))
    >>> arm.add(TimedPath(np.array([0]), JointPath([0.0, 2.0], [[0.0], [1.0]]), start=0))
    >>> arm.advance(10**9, *measured), arm.state(10**9)[1]
    (True, array([0.5]))
    >>> arm.add(TimedPath(np.array([0]), JointPath([1.0], [[0.0]]), start=10**9))
    >>> arm.advance(15 * 10**8, *measured), arm.state(15 * 10**8)[1]
    (True, array([0.25]))
    """

    def __init__(self) -> None:
        self.current: TimedPath | None = None
        self.waiting: TimedPath | None = None

    def add(self, path: TimedPath) -> None:
        """Follow a path as soon as it starts."""
        self.waiting = path

    def clear(self) -> None:
        """Follow nothing any more."""
        self.current = self.waiting = None

    def advance(self, stamp: int, q: Array, v: Array) -> bool:
        """Begin with the waiting path if it has started at a stamp [ns]; return whether it has.

        `q` and `v` are the measured positions and velocities (n,) then.
        """
        path = self.waiting
        if path is None or stamp < path.start:
            return False
        if path.path.start > 0.0:
            begin = self._state_of_all(path.start, q, v)
            first = path.path.after(0.0, *(values[path.joints] for values in begin))
            path = TimedPath(path.joints, first, path.start)
        self.current, self.waiting = path, None
        return True

    def _state_of_all(self, stamp: int, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Return where all n joints are: on the path that is followed, else as measured."""
        of_all = q.copy(), v.copy(), np.zeros_like(v)
        if self.current is not None:
            for values, followed in zip(of_all, self.current.state(stamp)):
                values[self.current.joints] = followed
        return of_all

    def state(self, stamp: int) -> tuple[NDArray[np.intp], Array, Array, Array] | None:
        """Return joints, positions, velocities and accelerations at a stamp [ns]; None if none.

        To be called after `advance` with the same stamp.
        """
        if self.current is None:
            return None
        return self.current.joints, *self.current.state(stamp)
