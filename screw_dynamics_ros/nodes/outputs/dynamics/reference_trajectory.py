# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reference from `~/reference`: single points and trajectories."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from screw_dynamics_ros.core import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath, PathSequence, TimedPath
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.messages.reference import REFERENCE, Reference, read_reference
from screw_dynamics_ros.ros.messages.trajectories import read_trajectory, stamp_of
from screw_dynamics_ros.ros.names import printable
from screw_dynamics_ros.ros.parameters import Parameters

from .reference_joints import ReferenceJoints

MAX_POINTS = 2000  # of a message, which take up to 20 ms


class TrajectoryReference:
    """Reference from the messages on `~/reference`.

    A message with one point is followed immediately, until the next message or its timeout. A
    message with several points is a trajectory: it is followed from its stamp on, at the stamps of
    the joint states, and its last point until a timeout after its end.

    Parameters
    ----------
    parameters : Parameters
        With `reference_timeout`.
    refusal : callable
        Returns why references are refused now, '' if they are not.
    afterwards : str
        What happens after the end of a reference.

    Attributes
    ----------
    is_followed : bool
        Whether a reference is followed, or waits for its start.
    """

    name = 'reference'

    def __init__(
        self,
        parameters: Parameters,
        refusal: Callable[[], str] = lambda: '',
        afterwards: str = 'feedforward follows the measured state',
    ) -> None:
        self._parameters, self._refusal, self._afterwards = parameters, refusal, afterwards
        self._joints: ReferenceJoints | None = None
        self._mapper: JointStateMapper | None = None
        self._accepted: tuple[JointTrajectory, float] | None = None  # with its arrival time
        self._point: tuple[Reference, float] | None = None  # active point with its arrival time
        self._paths = PathSequence()
        self._given = np.zeros(0, dtype=bool)  # joints of the current path
        self._is_late, self._refused = False, ''
        self.is_followed = False
        self._stamp = 0  # of the latest joint state [ns]
        self.paths_begun = 0  # each may start with a step

    @property
    def timeout(self) -> float:
        """Timeout of references [s]."""
        return self._parameters['reference_timeout'] or np.inf

    @property
    def is_given(self) -> bool:
        """Whether there has been a reference for this robot."""
        return self._accepted is not None or self._point is not None

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
                self._refused = printable(str(error))
                return
        self._accepted = message, arrival

    def bind(self, joints: ReferenceJoints, mapper: JointStateMapper) -> None:
        """Adopt a new robot; a reference for the previous one is followed if it fits."""
        before, self._joints, self._mapper = self._joints, joints, mapper
        self._is_late, self._refused = False, ''
        if self._accepted is None:
            return
        message, arrival = self._accepted
        if len(message.points) == 1 and time.monotonic() - arrival > self.timeout:
            self._accepted, self._is_late = None, True
            return
        try:
            made = self._made(message, arrival)
        except ScrewDynamicsError as error:
            self._refused = printable(str(error)) if before is None else ''
            self._accepted = self._point = None
            self._paths.clear()
            return
        if before is None or before.names != joints.names:
            self._paths.clear()
            self._point = None
            self._follow(made, arrival)

    def refuse(self, reason: str) -> None:
        """Report why the last message is refused, '' if it is not."""
        self._refused = reason

    def forget(self) -> None:
        """Follow nothing that has been received."""
        self._accepted = self._point = None
        self._is_late, self._refused = False, ''
        self._paths.clear()

    def _made(self, message: JointTrajectory, arrival: float) -> Reference | TimedPath:
        """Return a message as a point or a path; raises `ScrewDynamicsError`."""
        return self._path(message, arrival) if len(message.points) > 1 else self._single(message)

    def _follow(self, made: Reference | TimedPath, arrival: float) -> None:
        """Follow a point immediately, a path from its start."""
        self._is_late = False
        if isinstance(made, TimedPath):
            assert self._mapper is not None
            self._stamp = self._mapper.stamp
            self._paths.add(made)
        else:
            self._point = made, arrival
            self._paths.clear()

    def _single(self, message: JointTrajectory) -> Reference:
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
        timed = TimedPath(np.array([joints.names.index(name) for name in read.joints]), path, start)
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

    def at(self, stamp: int, q: Array, v: Array) -> Reference | None:
        """Return the reference at the stamp [ns] of a state, or None.

        `q` and `v`, (n,) each, are the measured state.
        """
        reference = self._at(stamp, q, v)
        self.is_followed = reference is not None or self._paths.waiting is not None
        return reference

    def _at(self, stamp: int, q: Array, v: Array) -> Reference | None:
        if stamp < self._stamp:  # a trajectory would begin again
            self._paths.clear()
        self._stamp = stamp
        if self._paths.advance(stamp, q, v):
            assert self._paths.current is not None
            self._point = None
            self._given = np.zeros(len(q), dtype=bool)
            self._given[self._paths.current.joints] = True
            self.paths_begun += 1
        if self._point is not None:
            return self._recent_point()
        current = self._paths.current
        if current is None or (stamp - current.end) / NANOSECONDS > self.timeout:
            self._paths.current = None
            return None
        rows = np.zeros((3, len(q)))
        rows[:, current.joints] = current.state(stamp)
        return Reference(self._given, *rows)

    def _recent_point(self) -> Reference | None:
        """Return the latest point, unless it has timed out."""
        assert self._point is not None
        point, arrival = self._point
        if time.monotonic() - arrival <= self.timeout:
            return point
        self._point, self._is_late = None, True
        return None

    def report(self, status: Status) -> None:
        """Report refused and outdated references, and the progress of a trajectory."""
        if self._refused:
            status.report(Level.WARN, f'reference refused: {self._refused}')
        if self._is_late:
            status.report(
                Level.WARN,
                f'the reference is older than reference_timeout: {self._afterwards}',
            )
        for path, text in ((self._paths.current, 'followed'), (self._paths.waiting, 'waits')):
            if path is not None:
                elapsed = (self._stamp - path.start) / NANOSECONDS
                status.values[f'trajectory {text}'] = f'{elapsed:.2f} s of {path.path.end:g} s'
