# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""A path that replaces the motion of a robot, without a step of position, velocity, acceleration.

A polynomial of degree five leads from the state at the start of the join to the path. The path is
followed with a constant speed factor, and its end is reached at rest. With its own time tau::

    q(t) = path(tau(t)),   v = path' tau',   a = path'' tau'^2 + path' tau''

tau' falls to 0 over the last part of the path. Where limits are exceeded, the way to the path takes
longer, the path is slowed down, or braking begins earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...types import Array
from .feasible_motion import ExceededLimitError
from .joint_path import JointPath, refined
from .limits import LimitExcess

#: Positions, velocities and accelerations of some joints, (n,) or (N, n) each.
State = tuple[Array, Array, Array]

GROWTH = 1.25  # of a time or a factor that is too small
MAX_TRIES = 60
MAX_SAMPLES = 2000
MIN_PART_S = 1e-9  # s, of a part of the motion
REST_VELOCITY = 1e-9  # rad/s, m/s; at the end of paths that need no braking


@dataclass(frozen=True, eq=False)
class JoinedPath:
    """A motion from a state to a path, and along it to its end.

    Attributes
    ----------
    state : three (n,) arrays
        q, v and a at the start.
    path : JointPath
    start, entry : float
        When the motion begins, and when it reaches the path; on the time of the path [s].
    slowness : float
        Factor of the time on the path.
    braking : float
        Length of the last part of the path, over which the motion comes to rest; in the time of the
        path [s].
    """

    state: State
    path: JointPath
    start: float
    entry: float
    slowness: float
    braking: float

    @property
    def clock(self) -> JointPath:
        """The time tau of the path over time, from the entry on: followed, then braked to rest."""
        left, rate = max(self.path.end - self.entry, 0.0), 1.0 / self.slowness
        left = left if left > MIN_PART_S else 0.0
        braking = left if self.braking and left - self.braking < MIN_PART_S else self.braking
        rows = [(self.entry, self.entry, rate if left else 0.0)]
        if left > braking:
            time = self.entry + self.slowness * (left - braking)
            rows.append((time, self.path.end - braking, rate))
        if braking:
            rows.append((rows[-1][0] + 2.0 * self.slowness * braking, self.path.end, 0.0))
        time, tau, speed = np.array(rows).T[:, :, None]
        return JointPath(time[:, 0], tau, speed, np.zeros_like(tau))

    @property
    def braking_start(self) -> float:
        """When braking begins [s]; the end of the motion without braking."""
        times = self.clock.times
        return float(times[-2 if self.braking and len(times) > 1 else -1])

    def samples(self, resolution: float) -> tuple[Array, State]:
        """Return times (N,), at most `resolution` [s] apart, and q, v, a at them, (N, n) each."""
        clock = self.clock
        knots = self.entry + (self.path.times - self.entry) * self.slowness
        margin = self.entry + MIN_PART_S, self.braking_start - MIN_PART_S
        knots = knots[(knots > margin[0]) & (knots < margin[1])]
        ends = np.concatenate([[self.start], clock.times])
        times = refined(np.union1d(ends, knots), resolution, MAX_SAMPLES)
        first = int(np.searchsorted(times, self.entry))
        tau, speed, change = clock.samples(times[first:])
        if self.entry < self.path.end:
            q, dq, ddq = self.path.samples(np.minimum(tau[:, 0], self.path.end))
        else:
            q, dq, ddq = (row[None] for row in self.path.state(self.entry))
        on_path = q, dq * speed, ddq * speed**2 + dq * change
        way = JointPath(
            [self.start, self.entry],
            *(np.stack([begin, rows[0]]) for begin, rows in zip(self.state, on_path)),
        )
        before = way.samples(times[:first])
        q, v, a = (np.concatenate(rows) for rows in zip(before, on_path))
        return times, (q, v, a)

    def slower(self, times: Sequence[float]) -> JoinedPath:
        """Return the motion with more time where limits are exceeded, at some times [s]."""
        begin = self.braking_start
        on_way = any(time <= self.entry for time in times)
        at_end = any(time > begin for time in times) and self.entry + self.braking < self.path.end
        on_path = any(time > self.entry for time in times) and not at_end
        return replace(
            self,
            entry=self.start + (self.entry - self.start) * (GROWTH if on_way else 1.0),
            slowness=self.slowness * (GROWTH if on_path else 1.0),
            braking=self.braking * (GROWTH if at_end else 1.0),
        )


def joined(
    state: State,
    path: JointPath,
    start: float,
    exceeded: Callable[[Array, State], Sequence[LimitExcess]],
    *,
    shortest: float,
    resolution: float,
    tries: int = MAX_TRIES,
) -> JoinedPath:
    """Return the motion from a state to a path and along it, within limits.

    Position, velocity and acceleration are continuous where those of the path are. A path that
    begins later is reached at its first point or later, one that has begun is entered in between.

    Parameters
    ----------
    state : three (n,) arrays
        q, v and a at the start [rad, m; 1/s; 1/s^2].
    path : JointPath
    start : float
        Time of the state, on the time of the path [s].
    exceeded : callable
        ``exceeded(times, (q, v, a))`` returns where samples (N,), (N, n) exceed limits. The start
        may, and what leads back from there.
    shortest : float
        Shortest duration of the way to the path, and of braking, positive [s].
    resolution : float
        Longest time between samples [s].
    tries : int
        Number of motions that are tried, each slower than the one before.

    Raises
    ------
    ExceededLimitError
        If the path exceeds limits of position, or more time does not help.

    Examples
    --------
    >>> from screw_dynamics_ros.core.motion.trajectory.joint_path import completed_path

    From rest at 1, a path that has begun at 0 is reached after a second, and its end 0.25 s later.

    >>> path = completed_path(np.array([0.0, 2.0]), np.array([[0.0], [2.0]]))
    >>> rest = np.ones(1), np.zeros(1), np.zeros(1)
    >>> found = joined(rest, path, 0.75, lambda *_: [], shortest=1.0, resolution=0.25)
    >>> times, (q, v, _) = found.samples(0.25)
    >>> times.tolist(), q[[0, 4, -1], 0].tolist(), v[[0, 4, -1], 0].tolist()
    ([0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25], [1.0, 1.75, 2.0], [0.0, 1.0, 0.0])
    """
    entry = max(start + shortest, path.start)
    is_moving = (np.abs(path.samples(path.times[-1:])[1]) > REST_VELOCITY).any()
    motion = JoinedPath(state, path, start, entry, 1.0, shortest if is_moving else 0.0)
    for _ in range(tries):
        found = [
            each
            for each in exceeded(*motion.samples(resolution))
            if each.time > start or each.quantity == 'jerk'
        ]
        if not found:
            return motion
        out_of_reach = [e for e in found if e.quantity == 'position' and e.time > motion.entry]
        if out_of_reach:
            raise ExceededLimitError(str(out_of_reach[0]))
        motion = motion.slower([each.time for each in found])
    raise ExceededLimitError(f'{found[0]}; the path cannot be joined to the motion')
