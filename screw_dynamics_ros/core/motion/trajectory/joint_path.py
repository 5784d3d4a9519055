# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Joint motion between the points of a trajectory, as joint_trajectory_controller has it.

With h the duration of an interval, d = q_1 - q_0 the way in it and t the time since its start::

    linear   q_0 + d t / h
    cubic    q_0 + v_0 t + (3 d - h (2 v_0 + v_1)) t^2 / h^2 + (-2 d + h (v_0 + v_1)) t^3 / h^3
    quintic  q_0 + v_0 t + a_0 t^2 / 2 + ...

Source: "Trajectory representation" of the manual of joint_trajectory_controller (ros2_controllers);
the polynomials of least degree with the positions, velocities and accelerations of both ends.

Paths that replace one another while a robot follows them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import float_array
from ...compile.typed.functions import Floats, Ints, typed
from ...compile.typed.library import calls
from ...compile.typed.records import Record
from ...errors import ArgumentError
from ...types import Array
from ...units import NANOSECONDS
from .motion import derivative


class JointPath(Record):
    """Positions of some joints over time: linear, cubic or quintic between given points.

    Linear between positions alone, cubic with velocities, quintic with accelerations too. Before
    its first point and after its last one the joints are at rest.

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
    times : (N,) array
        The times of its points [s].
    points : (m N n,) array
        q, v and a, as far as given: (m, N, n).
    pieces : (2 m (N - 1) n,) array
        Coefficients of 1, t, t^2, ... in each interval, (N - 1, 2 m, n).
    size, orders : int
        n and m.
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
    >>> path.pieces.tolist()
    [0.0, 0.0, 0.75, -0.25]
    """

    times: Floats
    points: Floats
    pieces: Floats
    size: int
    orders: int
    start: float
    end: float

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
        self._rows = np.stack(rows)
        self.orders, _, self.size = self._rows.shape
        self.times, self.points, self.start, self.end = t, self._rows, t[0], t[-1]
        self.pieces = np.zeros(2 * self.orders * (len(t) - 1) * self.size)
        path_functions()[0](self)

    def of(self, joints: Sequence[int]) -> JointPath:
        """Return the path of some of the joints, by their places among the n."""
        return JointPath(self.times, *self._rows[:, :, joints])

    def after(self, t: float, q: Array, v: Array, a: Array) -> JointPath:
        """Return the path with a point in front of it at a time [s], (n,) each."""
        first = np.stack([q, v, a])[: self.orders, None]
        return JointPath(np.append(t, self.times), *np.concatenate([first, self._rows], axis=1))

    def at(self, t: float) -> tuple[Array, Array]:
        """Return positions and velocities at a time [s], (n,) each [rad, rad/s; m, m/s]."""
        return self.state(t)[:2]

    def state(self, t: float) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations at a time [s], (n,) each."""
        q, v, a = np.empty((3, self.size))
        write_state(self, t, q, v, a)
        return q, v, a

    def samples(self, times: Array) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations at some times (N,) on the path, (N, n).

        Unlike `state`, with the velocities and accelerations that the path has at its ends.
        """
        times = float_array('times', times)
        q, v, a = found = np.empty((3, len(times), self.size))
        path_functions()[1](self, times, len(times), found.reshape(-1))
        return q, v, a


@cache
def path_functions() -> tuple[Callable[..., Any], ...]:
    """Return `write_pieces` and `write_samples`, compiled if possible."""
    return calls(write_pieces, write_samples)


@typed
def write_pieces(path: JointPath) -> None:
    """Write the coefficients of all intervals."""
    for piece in range(len(path.times) - 1):
        write_piece(path, piece)


@typed
def write_piece(path: JointPath, piece: int) -> None:
    """Write the coefficients of an interval, from the points at both ends."""
    n = path.size
    h = path.times[piece + 1] - path.times[piece]
    order = len(path.times) * n  # from q to v, and from v to a
    points = path.points[piece * n :]
    c = path.pieces[2 * path.orders * n * piece :]
    for k in range(n):
        d = points[n + k] - points[k]
        c[k] = points[k]
        if path.orders == 1:
            c[n + k] = d / h
            continue
        v0 = points[order + k]
        v1 = points[order + n + k]
        c[n + k] = v0
        if path.orders == 2:
            c[2 * n + k] = (3.0 * d - h * (2.0 * v0 + v1)) / (h * h)
            c[3 * n + k] = (h * (v0 + v1) - 2.0 * d) / (h * h * h)
            continue
        a0 = points[2 * order + k]
        a1 = points[2 * order + n + k]
        cubic = 20.0 * d - h * (12.0 * v0 + 8.0 * v1) - h * h * (3.0 * a0 - a1)
        quartic = -30.0 * d + h * (16.0 * v0 + 14.0 * v1) + h * h * (3.0 * a0 - 2.0 * a1)
        quintic = 12.0 * d - h * 6.0 * (v0 + v1) - h * h * (a0 - a1)
        c[2 * n + k] = a0 / 2.0
        c[3 * n + k] = cubic / (2.0 * h * h * h)
        c[4 * n + k] = quartic / (2.0 * h * h * h * h)
        c[5 * n + k] = quintic / (2.0 * h * h * h * h * h)


@typed
def write_state(path: JointPath, t: float, q: Floats, v: Floats, a: Floats) -> None:
    """Write positions, velocities and accelerations at a time [s], (n,) each."""
    last = len(path.times) - 1
    if path.times[0] < t < path.times[last]:
        write_motion(path, t, q, v, a)
        return
    first = last * path.size if t >= path.times[last] else 0
    for k in range(path.size):
        q[k] = path.points[first + k]
        v[k] = 0.0
        a[k] = 0.0


@typed
def write_motion(path: JointPath, t: float, q: Floats, v: Floats, a: Floats) -> None:
    """Write the polynomial of the interval nearest to a time, and two derivatives (Horner)."""
    low = 0
    high = len(path.times) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if t < path.times[middle]:
            high = middle
        else:
            low = middle
    s = t - path.times[low]
    n = path.size
    highest = 2 * path.orders - 1
    c = path.pieces[(highest + 1) * n * low :]
    for k in range(n):
        x = c[highest * n + k]
        dx = 0.0
        ddx = 0.0
        for power in range(highest - 1, -1, -1):
            ddx = ddx * s + 2.0 * dx
            dx = dx * s + x
            x = x * s + c[power * n + k]
        q[k] = x
        v[k] = dx
        a[k] = ddx


@typed
def write_samples(path: JointPath, times: Floats, count: int, rows: Floats) -> None:
    """Write positions, velocities and accelerations at some times, (3, N, n)."""
    n = path.size
    for k in range(count):
        q = rows[k * n :]
        v = rows[(count + k) * n :]
        a = rows[(2 * count + k) * n :]
        if len(path.times) > 1:
            write_motion(path, times[k], q, v, a)
        else:
            write_state(path, times[k], q, v, a)


def completed_path(
    time: Array,
    q: Array,
    v: Array | None = None,
    a: Array | None = None,
    start_velocity: Array | None = None,
) -> JointPath:
    """Return the path through some points.

    Missing velocities are those of the cubic spline through the positions: one that has the
    velocity at the start and ends at rest, or for points of a longer motion, which have no such
    velocity, one with 'not-a-knot' ends (see `sampled_motion`). Without accelerations the path is
    cubic between its points, as joint_trajectory_controller moves; accelerations without velocities
    are ignored there.

    Parameters
    ----------
    time : (N,) array
        Increasing [s].
    q : (N, n) array
        [rad, m].
    v, a : (N, n) arrays, optional
    start_velocity : (n,) array, optional

    Examples
    --------
    >>> time, q = np.array([0.0, 1.0, 2.0]), np.array([[0.0], [1.0], [0.0]])
    >>> path = completed_path(time, q, None, None, np.zeros(1))
    >>> [round(float(values[0]), 6) for values in path.state(1.0)]
    [1.0, 0.0, -6.0]
    """
    if v is None and start_velocity is None:
        v, a = derivative(time, q, 1), None
    elif v is None:
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


class TimedPath(Record):
    """A path of some joints of a robot from a stamp on.

    Parameters
    ----------
    joints : (k,) array of int
        Places of its joints among the n of the robot.
    path : JointPath
        Of k joints, over the time from its start [s].
    start : int
        Stamp of its time 0 [ns].

    Attributes
    ----------
    joints, start
        As given.
    path : JointPath
        With a point at time 0 in front, if it begins later.
    is_joined : bool
        Whether it has that point, which is where the joints are then.
    end : int
        Stamp of its last point [ns].
    """

    joints: Ints
    path: JointPath
    start: int
    end: int
    is_joined: bool

    def __init__(self, joints: ArrayLike, path: JointPath, start: int) -> None:
        self.joints = np.array(joints, dtype=np.int64)
        self.is_joined = path.start > 0.0
        self.path = path.after(0.0, *np.zeros((3, path.size))) if self.is_joined else path
        self.start, self.end = start, start + round(path.end * NANOSECONDS)


class PathSequence(Record):
    """The path to follow of several consecutive ones.

    A path counts from its start on. Until then the one before it is followed, then its way to its
    first point: from where the joints are at its start, by the path before for joints that it
    moves, by measurement for others, as joint_trajectory_controller does. After its end the joints
    are at rest at its last point. Of paths that have not started yet, the newest one is followed.

    Attributes
    ----------
    paths : tuple of TimedPath
        The path that is followed, if there is one, and the one that waits.
    begun : int
        Number of those that have begun.
    follows : bool
        Whether the last of them is followed.
    motion : (3 k,) array
        Its positions, velocities and accelerations.

    Examples
    --------
    From 0 to 1 within 2 s; after 1 s a path comes that asks for 0 again, 1 s later.

    >>> arm, measured = PathSequence(), (np.zeros(1), np.zeros(1))
    >>> arm.add(TimedPath([0], JointPath([0.0, 2.0], [[0.0], [1.0]]), start=0))
    >>> begin_waiting(arm, 10**9, *measured)
    True
    >>> write_motion_at(arm, 10**9)
    >>> arm.motion
    array([0.5, 0.5, 0. ])
    >>> arm.add(TimedPath([0], JointPath([1.0], [[0.0]]), start=10**9))
    >>> begin_waiting(arm, 15 * 10**8, *measured)
    True
    >>> write_motion_at(arm, 15 * 10**8)
    >>> arm.motion
    array([ 0.25, -0.5 ,  0.  ])
    """

    paths: tuple[TimedPath, ...]
    begun: int
    follows: bool
    motion: Floats

    def __init__(self) -> None:
        self.paths = ()

    @property
    def current(self) -> TimedPath | None:
        """The path that is followed."""
        return self.paths[self.begun - 1] if self.follows else None

    @property
    def waiting(self) -> TimedPath | None:
        """The one that follows it."""
        return self.paths[self.begun] if self.begun < len(self.paths) else None

    def add(self, path: TimedPath) -> None:
        """Follow a path as soon as it starts."""
        before = () if self.current is None else (self.current,)
        self.motion = np.zeros(3 * max(len(each.joints) for each in (*before, path)))
        self.paths, self.begun = (*before, path), len(before)


@typed
def clear(sequence: PathSequence) -> None:
    """Stop following."""
    sequence.begun = len(sequence.paths)
    sequence.follows = False


@typed
def begin_waiting(sequence: PathSequence, stamp: int, q: Floats, v: Floats) -> bool:
    """Begin with the waiting path if it has started at a stamp [ns]; return whether it has.

    `q` and `v` are the measured positions and velocities (n,) then.
    """
    if sequence.begun == len(sequence.paths) or stamp < sequence.paths[sequence.begun].start:
        return False
    path = sequence.paths[sequence.begun]
    if path.is_joined:
        join(sequence, path, q, v)
    sequence.begun += 1
    sequence.follows = True
    return True


@typed
def join(sequence: PathSequence, path: TimedPath, q: Floats, v: Floats) -> None:
    """Let a path begin where the joints are: on the one before, else as measured."""
    n = len(path.joints)
    points = path.path.points
    order = len(path.path.times) * n
    for k in range(n):
        points[k] = q[path.joints[k]]
        if path.path.orders > 1:
            points[order + k] = v[path.joints[k]]
        if path.path.orders > 2:
            points[2 * order + k] = 0.0
    if sequence.follows:
        before = sequence.paths[sequence.begun - 1]
        write_motion_at(sequence, path.start)
        size = len(before.joints)
        for k in range(n):
            for i in range(size):
                if path.joints[k] == before.joints[i]:
                    for row in range(path.path.orders):
                        points[row * order + k] = sequence.motion[row * size + i]
    write_piece(path.path, 0)


@typed
def write_motion_at(sequence: PathSequence, stamp: int) -> None:
    """Write `motion` of the path that is followed, at a stamp [ns]."""
    path = sequence.paths[sequence.begun - 1]
    n = len(path.joints)
    motion = sequence.motion
    write_state(path.path, float(stamp - path.start) / 1e9, motion, motion[n:], motion[2 * n :])
