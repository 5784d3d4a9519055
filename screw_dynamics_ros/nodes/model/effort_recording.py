# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states with efforts, recorded at rest and in motion to identify a payload."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError, MissingStateError, NotAtRestError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper, ObservedState

MAX_REST_STATES, MIN_REST_STATES = 100, 10  # number of states of a pose
AT_REST = 0.05  # rad/s, m/s: largest velocity in a pose
MAX_POSES = 200
MAX_MOTION_S = 60.0
MAX_STATES = 60_000  # in motion


@dataclass(frozen=True, eq=False)
class RecordedMotion:
    """Consecutive states without a pause: stamps (N,) [ns], (q, v, tau) (N, 3, n)."""

    stamps: Array
    states: Array
    at_rest: bool


class EffortRecording:
    """Records poses and motions of the current robot; a new robot clears the recording.

    `observe` runs in the thread of the joint states; all other methods may be called from any
    thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mapper: JointStateMapper | None = None
        self._latest: deque[tuple[int, Array]] = deque(maxlen=MAX_REST_STATES)
        self._poses: list[RecordedMotion] = []
        self._motions: list[list[tuple[int, Array]]] = []
        self._count = 0
        self._until = -math.inf

    def observe(self, observed: ObservedState) -> None:
        """Add a state if it has velocities and efforts."""
        mapper = observed.mapper
        if mapper is not self._mapper:
            self._begin(mapper)
        if not (observed.has_velocity and observed.has_effort):
            return
        latest, stamp = self._latest, observed.stamp
        follows = bool(latest) and 0 < stamp - latest[-1][0] <= mapper.policies.timeout
        if observed.restarted or not follows:
            latest.clear()
        latest.append((stamp, observed.state.copy()))
        if self._until > -math.inf:
            self._record(follows and not observed.restarted)

    def _begin(self, mapper: JointStateMapper) -> None:
        with self._lock:
            self._latest.clear()
            if self._mapper is not None:  # a motion may begin before the first state
                self._forget()
            self._mapper = mapper

    def _record(self, follows: bool) -> None:
        """Add the latest state to the current motion."""
        with self._lock:
            if time.monotonic() > self._until or self._count >= MAX_STATES:
                self._until = -math.inf
                return
            if not (follows and self._motions[-1]):
                self._motions.append([])
            self._motions[-1].append(self._latest[-1])
            self._count += 1

    # --- requests -------------------------------------------------------------------------------

    def add_pose(self) -> tuple[int, Array]:
        """Record the latest states as a pose; return stamp [ns] and positions of the last one.

        Raises
        ------
        MissingStateError
            There are no current states with velocity and effort, or too few.
        NotAtRestError
            A joint moves.
        ArgumentError
            The maximum number of poses has been recorded.
        """
        mapper, latest = self._mapper, list(self._latest)
        if mapper is None or not latest:
            raise MissingStateError(
                'no joint states with velocity and effort so far; see /diagnostics'
            )
        age, timeout = time.monotonic() - mapper.last_accepted, mapper.policies.state_timeout
        if age > (timeout or math.inf):
            raise MissingStateError(
                f'no joint states for {age:.1f} s, longer than state_timeout ({timeout:g} s): '
                'check that the driver is running'
            )
        if len(latest) < MIN_REST_STATES:
            raise MissingStateError(
                f'{len(latest)} joint states with velocity and effort since the start or a pause, '
                f'at least {MIN_REST_STATES} are needed: try again later'
            )
        states = np.array([state for _, state in latest])
        self._check_rest(mapper, states, 1e-9 * (latest[-1][0] - latest[0][0]))
        with self._lock:
            if len(self._poses) >= MAX_POSES:
                raise ArgumentError(f'already {MAX_POSES} poses, the maximum: CLEAR them first')
            stamps = np.array([stamp for stamp, _ in latest])
            self._poses.append(RecordedMotion(stamps, states, True))
        return latest[-1][0], states[-1, 0]

    @staticmethod
    def _check_rest(mapper: JointStateMapper, states: Array, seconds: float) -> None:
        q, v = states[:, 0] - states[0, 0], states[:, 1]
        turns = mapper.continuous
        q[:, turns] = (q[:, turns] + np.pi) % (2.0 * np.pi) - np.pi
        moved = q.max(axis=0) - q.min(axis=0)
        for joint, speed, distance in zip(mapper.joints, np.abs(v).max(axis=0), moved):
            if not (speed <= AT_REST and distance <= AT_REST * seconds):
                raise NotAtRestError(
                    f'{joint} moved, at up to {speed:.3g} rad/s (m/s) and by {distance:.3g} rad (m)'
                    f' within {seconds:.3g} s; the limit for rest is {AT_REST} rad/s (m/s): wait '
                    'until the robot is at rest'
                )

    def begin_motion(self, duration: float) -> None:
        """Record all states for a duration [s] from now.

        Raises `ArgumentError` for a duration out of range or a full recording, `NotAtRestError`
        while a motion is being recorded.
        """
        if not 0.0 < duration <= MAX_MOTION_S:
            raise ArgumentError(
                f'duration must be more than 0 and at most {MAX_MOTION_S:g} s, got {duration:g}'
            )
        if self.remaining:
            raise NotAtRestError(
                f'a motion is being recorded, for another {self.remaining:.1f} s: wait, or CLEAR'
            )
        with self._lock:
            if self._count >= MAX_STATES:
                raise ArgumentError(f'already {MAX_STATES} states, the maximum: CLEAR them first')
            self._motions.append([])
            self._until = time.monotonic() + duration

    def clear(self) -> None:
        """Discard all recorded states, and stop recording."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        self._poses, self._motions, self._count, self._until = [], [], 0, -math.inf

    @property
    def remaining(self) -> float:
        """Remaining time of the motion being recorded [s]."""
        return max(0.0, self._until - time.monotonic())

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of poses and of states in motion."""
        return len(self._poses), self._count

    def recorded(self) -> list[RecordedMotion]:
        """Return all recorded poses and motions."""
        with self._lock:
            motions = [
                RecordedMotion(
                    np.array([stamp for stamp, _ in each]),
                    np.array([state for _, state in each]),
                    False,
                )
                for each in self._motions
                if len(each) > 1
            ]
            return [*self._poses, *motions]
