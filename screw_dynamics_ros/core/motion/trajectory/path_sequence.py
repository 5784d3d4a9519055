# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Paths that replace one another while a robot follows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

from .joint_path import JointPath


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
