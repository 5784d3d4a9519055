# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reference from `~/reference`: single points and trajectories."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from screw_dynamics_ros.core import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.motion.trajectory.joint_path import (
    JointPath,
    PathSequence,
    TimedPath,
    begin_waiting,
    clear,
    path_functions,
    write_motion_at,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages.reference import REFERENCE, read_reference
from screw_dynamics_ros.ros.messages.trajectories import read_trajectory, stamp_of
from screw_dynamics_ros.ros.names import printable

from .reference_joints import ReferenceJoints

MAX_POINTS = 2000  # of a message, which take up to 20 ms


class TrajectoryReference(Record):
    """Reference from the messages on `~/reference`.

    A message with one point is followed immediately, until the next message or its timeout. A
    message with several points is a trajectory: it is followed from its stamp on, at the stamps of
    the joint states, and its last point until a timeout after its end.

    Parameters
    ----------
    refusal : callable
        Returns why references are refused now, '' if they are not.
    afterwards : str
        What happens after the end of a reference.

    Attributes
    ----------
    paths : PathSequence
    paths_begun : int
        Each may start with a step.
    is_given, is_refused : bool
        Whether a message has been accepted for this robot, and whether the last one was refused.
    has_point, is_late : bool
        Whether a point is active, and whether the last one has timed out.
    point : (4 n,) array
        See `reference_torques.GIVEN`.
    arrival, timeout : float
        Of the point, on the monotonic clock; of references [s].
    stamp : int
        Of the latest joint state [ns].
    is_followed : bool
        Whether a reference is followed, or waits for its start.
    """

    paths: PathSequence
    paths_begun: int
    is_given: bool
    is_refused: bool
    has_point: bool
    is_late: bool
    point: Floats
    arrival: float
    timeout: float
    stamp: int
    is_followed: bool

    name = 'reference'

    def __init__(
        self,
        refusal: Callable[[], str] = lambda: '',
        afterwards: str = 'feedforward follows the measured state',
    ) -> None:
        self._refusal, self._afterwards = refusal, afterwards
        self._joints: ReferenceJoints | None = None
        self._mapper: JointStateMapper | None = None
        self._accepted = JointTrajectory(), -np.inf  # message and arrival time
        self.paths, self.timeout, self._refused = PathSequence(), np.inf, ''
        path_functions()  # compiled now, not while joint states wait for the first path

    def receive(self, message: JointTrajectory) -> None:
        """Follow a message, or refuse it and keep the previous reference."""
        arrival, reason = time.monotonic(), self._refusal()
        if not reason and len(message.points) > MAX_POINTS:
            reason = (
                f'{len(message.points)} points, at most {MAX_POINTS} are read; omit points, which '
                'velocities and accelerations interpolate, or send several messages'
            )
        self.refuse(reason)
        if reason:
            return
        if self._joints is not None:  # otherwise it is followed as soon as a robot is adopted
            try:
                self._follow(self._made(message, arrival), arrival)
            except ScrewDynamicsError as error:
                self.refuse(printable(str(error)))
                return
        self._accepted, self.is_given = (message, arrival), True

    def bind(self, joints: ReferenceJoints, mapper: JointStateMapper) -> None:
        """Adopt a new robot; a reference for the previous one is followed if it fits."""
        before, self._joints, self._mapper = self._joints, joints, mapper
        self.refuse('')
        self.is_late = False
        if not self.is_given:
            return
        message, arrival = self._accepted
        if len(message.points) == 1 and time.monotonic() - arrival > self.timeout:
            forget_trajectory(self)
            self.is_late = True
            return
        try:
            made = self._made(message, arrival)
        except ScrewDynamicsError as error:
            forget_trajectory(self)
            self.refuse(printable(str(error)) if before is None else '')
            return
        if before is None or before.names != joints.names:
            forget_trajectory(self)
            self.is_given = True
            self._follow(made, arrival)

    def refuse(self, reason: str) -> None:
        """Report why the last message is refused, '' if it is not."""
        self._refused, self.is_refused = reason, bool(reason)

    def _made(self, message: JointTrajectory, arrival: float) -> Array | TimedPath:
        """Return a message as a point or a path; raises `ScrewDynamicsError`."""
        return self._path(message, arrival) if len(message.points) > 1 else self._single(message)

    def _follow(self, made: Array | TimedPath, arrival: float) -> None:
        """Follow a point immediately, a path from its start."""
        self.is_late = False
        if isinstance(made, TimedPath):
            assert self._mapper is not None
            self.stamp = self._mapper.stamp
            self.paths.add(made)
        else:
            self.point, self.arrival, self.has_point = made, arrival, True
            clear(self.paths)

    def _single(self, message: JointTrajectory) -> Array:
        """Return the reference of a message with one point."""
        assert self._joints is not None
        point = read_reference(message, self._joints.names, self._joints.known)
        self._joints.check_reference(REFERENCE, point, self._measured)
        return point

    def _path(self, message: JointTrajectory, arrival: float) -> TimedPath:
        """Return the path of a message with several points."""
        joints = self._joints
        assert joints is not None
        read = read_trajectory(message, joints.names, joints.known)
        joints.check(REFERENCE, read.joints, (read.q, read.v, read.a), self._measured)
        a = None if read.v is None else read.a
        path = JointPath(read.stamps / NANOSECONDS, read.q, read.v, a)
        if path.start < 0.0:
            raise ArgumentError(f'time_from_start of the reference begins at {path.start:g} s')
        now = self._stamp_at(arrival)
        start = stamp_of(message) or now
        timed = TimedPath([joints.names.index(name) for name in read.joints], path, start)
        if timed.end < now:
            raise ArgumentError(
                f'the reference ended {(now - timed.end) / NANOSECONDS:g} s before its arrival; '
                'correct its header.stamp (0: now)'
            )
        return timed

    @property
    def _measured(self) -> Array | None:
        """Measured positions of the joints (n,), None before the first joint state."""
        mapper = self._mapper
        return mapper.q if mapper is not None and mapper.accepted else None

    def _stamp_at(self, moment: float) -> int:
        """Return the stamp [ns] for a time on the monotonic clock [s]."""
        mapper = self._mapper
        assert mapper is not None
        known = (
            (mapper.stamp, mapper.last_accepted)
            if mapper.accepted and np.isfinite(mapper.last_accepted)
            else (mapper.clock(), time.monotonic())
        )
        return known[0] + round((moment - known[1]) * NANOSECONDS)

    def report(self, status: Status) -> None:
        """Report refused and outdated references, and the progress of a trajectory."""
        if self.is_refused:
            status.warn(f'reference refused: {self._refused}')
        if self.is_late:
            status.warn(f'the reference is older than reference_timeout: {self._afterwards}')
        for path, text in ((self.paths.current, 'followed'), (self.paths.waiting, 'waits')):
            if path is not None:
                elapsed = (self.stamp - path.start) / NANOSECONDS
                status.values[f'trajectory {text}'] = f'{elapsed:.2f} s of {path.path.end:g} s'


@typed
def forget_trajectory(t: TrajectoryReference) -> None:
    """Follow nothing that has been received."""
    clear(t.paths)
    t.is_given = False
    t.is_refused = False
    t.has_point = False
    t.is_late = False


@typed
def write_trajectory(
    t: TrajectoryReference, stamp: int, now: float, measured: Floats, n: int, rows: Floats
) -> bool:
    """Write the reference at a joint state into rows of zeros, (4 n,); return whether there is one.

    Parameters
    ----------
    t : TrajectoryReference
    stamp : int
        Of the joint state [ns].
    now : float
        On the monotonic clock [s].
    measured : (3 n,) array
        The joint state, of which positions and velocities are read.
    n : int
        Number of joints.
    rows : (4 n,) array
    """
    paths = t.paths
    if stamp < t.stamp:  # a trajectory would begin again
        clear(paths)
    t.stamp = stamp
    if begin_waiting(paths, stamp, measured, measured[n:]):
        t.has_point = False
        t.paths_begun += 1
    is_followed = write_point(t, now, n, rows) if t.has_point else write_path(t, n, rows)
    t.is_followed = is_followed or paths.begun < len(paths.paths)
    return is_followed


@typed
def write_point(t: TrajectoryReference, now: float, n: int, rows: Floats) -> bool:
    """Write the latest point, unless it has timed out."""
    t.has_point = now - t.arrival <= t.timeout
    t.is_late = not t.has_point
    if t.has_point:
        copy_bytes(rows, t.point, 8 * 4 * n)
    return t.has_point


@typed
def write_path(t: TrajectoryReference, n: int, rows: Floats) -> bool:
    """Write the current path at the current stamp, up to the timeout after its end."""
    paths = t.paths
    if not paths.follows:
        return False
    path = paths.paths[paths.begun - 1]
    paths.follows = float(t.stamp - path.end) / 1e9 <= t.timeout
    if not paths.follows:
        return False
    write_motion_at(paths, t.stamp)
    k = len(path.joints)
    for i in range(k):
        joint = path.joints[i]
        rows[joint] = 1.0
        for row in range(3):
            rows[(row + 1) * n + joint] = paths.motion[row * k + i]
    return True
