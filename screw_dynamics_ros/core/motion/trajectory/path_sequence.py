# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Paths that replace one another while a robot follows them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.units import NANOSECONDS

from .joint_path import JointPath, write_piece, write_state


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
    """What to follow of several paths that come one after the other.

    A path counts from its start on. Until then the one before it is followed, then its way to its
    first point: from where the joints are at its start, by the path before for joints that it
    moves, by measurement for others, as joint_trajectory_controller does. After its end the joints
    stand still at its last point. Of paths that have not started yet, the newest one counts.

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
    """Follow nothing any more."""
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
