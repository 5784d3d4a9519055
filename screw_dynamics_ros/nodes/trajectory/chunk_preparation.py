# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Preparation of chunks for the controller: joined to the motion before, with efforts, limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory

from screw_dynamics_ros.core import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.core.motion.trajectory.feasible_motion import (
    PASS,
    SLOW,
    ExceededLimitError,
    significant,
)
from screw_dynamics_ros.core.motion.trajectory.joining import MAX_TRIES, State, joined
from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath, completed_path, refined
from screw_dynamics_ros.core.motion.trajectory.limits import LimitExcess
from screw_dynamics_ros.core.motion.trajectory.required_efforts import held_at_end
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.messages.conversions import time_message
from screw_dynamics_ros.ros.messages.trajectories import JointTrajectory as GivenTrajectory
from screw_dynamics_ros.ros.messages.trajectories import read_trajectory, stamp_of
from screw_dynamics_ros.ros.names import printable, shorten

from ..model.scalar_joints import coordinates
from ..services.dynamics_services import resting_configuration
from ..services.requests import RequestContext, ServiceModel, service_model
from .contact_watch import HOLD
from .goal_preparation import (
    MAX_POINTS,
    MAX_REASON_LENGTH,
    OldGoalError,
    Settings,
    efforts_of,
    joint_step,
    measured_state,
    motion_of,
    write,
)

MAX_AHEAD_S = 10.0  # of the start of a chunk


@dataclass(frozen=True, eq=False)
class SentMotion:
    """A motion that has been sent, at rest before its start and after its end.

    Attributes
    ----------
    joints : tuple of str
    start : int
        Stamp of its time 0 [ns].
    time : (N,) array
        Of its samples [s].
    rows : (4, N, n) array
        Positions, velocities, accelerations and efforts.
    """

    joints: tuple[str, ...]
    start: int
    time: Array
    rows: Array

    def __reduce__(self) -> tuple[Any, ...]:
        return SentMotion, (self.joints, self.start, self.time, self.rows)

    @cached_property
    def path(self) -> JointPath:
        """Its path, as the controller follows it."""
        return JointPath(self.time, *self.rows[:3])

    @property
    def end(self) -> int:
        """Stamp of its last sample [ns]."""
        return self.start + round(float(self.time[-1]) * NANOSECONDS)

    def at(self, stamp: int, joints: Sequence[str]) -> State:
        """Return q, v, a of some of its joints at a stamp [ns], (n,) each."""
        order = [self.joints.index(name) for name in joints]
        time = (stamp - self.start) / NANOSECONDS
        if self.time[0] <= time < self.time[-1]:
            q, v, a = (rows[0] for rows in self.path.samples(np.array([time])))
        else:
            q, v, a = self.path.state(time)
        return q[order], v[order], a[order]

    def efforts(self, stamp: int) -> list[float]:
        """Return the efforts at a stamp [ns], interpolated linearly (n)."""
        time = (stamp - self.start) / NANOSECONDS
        return [float(np.interp(time, self.time, each)) for each in self.rows[3].T]


@dataclass(frozen=True)
class PreparedChunk:
    """Result of the preparation.

    Attributes
    ----------
    data : bytes
        Serialized trajectory_msgs/JointTrajectory for the controller.
    sent : SentMotion or None
        The same motion; None if the chunk is refused.
    text : str
        Reason for a refusal, or a description of changes; may be empty.
    """

    data: bytes
    sent: SentMotion | None
    text: str


def prepare_chunk(
    situation: RequestContext,
    settings: Settings,
    data: bytes,
    sent: SentMotion | None,
    now: int,
    lead: float,
    reaction: str = '',
) -> PreparedChunk:
    """Return a chunk joined to the motion that has been sent, or the reason for a refusal.

    Parameters
    ----------
    situation : RequestContext
    settings : Settings
    data : bytes
        Serialized trajectory_msgs/JointTrajectory.
    sent : SentMotion or None
    now : int
        Current time, on the clock of the stamps [ns].
    lead : float
        Time from now to the join [s].
    reaction : str
        To a contact: HOLD replaces the points by the measured positions. Any one exceeds limits if
        there is no other way.
    """
    message = deserialize_message(data, JointTrajectory)
    try:
        queried = service_model(situation)
        queried.check_tree('chunks of trajectories', 'send them to the controller itself')
        try:
            found, text = join_chunk(message, queried, settings, sent, now, lead, reaction)
        except ExceededLimitError:
            if not reaction:
                raise
            settings = replace(settings, on_excess=PASS)
            found, text = join_chunk(message, queried, settings, sent, now, lead, reaction)
    except ScrewDynamicsError as error:
        return PreparedChunk(b'', None, printable(str(error), MAX_REASON_LENGTH))
    return PreparedChunk(serialize_message(message), found, text)


def join_chunk(
    message: Any,
    queried: ServiceModel,
    settings: Settings,
    sent: SentMotion | None,
    now: int,
    lead: float,
    reaction: str,
) -> tuple[SentMotion, str]:
    """Change a chunk in place; return its motion and a description of the changes.

    Raises
    ------
    ScrewDynamicsError
        If it cannot be executed.
    """
    known = {joint.name for joint in queried.robot.description.joints} - set(queried.held)
    given = read_trajectory(message, queried.joints, known)
    start, time = times_of(message, given, now, lead)
    before, note = motion_before(queried, given.joints, sent, now, settings.start_tolerance)
    join = now + round(start * NANOSECONDS)
    state = before.at(join, given.joints) if before else measured_state(queried, given.joints)
    if reaction == HOLD:
        given.q[:] = state[0]
    rest = resting_configuration(queried, given)
    whole = partial(motion_of, queried.robot, given.joints, rest)
    limits = settings.limits(queried.robot)

    def exceeded(times: Array, rows: State) -> list[LimitExcess]:
        if settings.on_excess == PASS:
            return []
        motion = whole(times, *rows)
        return significant(queried.robot, motion, queried.payloads, True, *limits)

    motion = joined(
        state,
        completed_path(time, given.q, given.v, given.a),
        start,
        exceeded,
        shortest=settings.join_time,
        resolution=settings.resolution,
        tries=MAX_TRIES if settings.on_excess == SLOW else 1,
    )
    times, rows = motion.samples(settings.resolution)
    if before:
        earlier = refined(np.array([0.0, start]), settings.resolution, MAX_POINTS)[:-1]
        moving = [before.at(now + round(t * NANOSECONDS), given.joints) for t in earlier]
        times = np.append(earlier, times)
        q, v, a = (np.vstack([*each, row]) for each, row in zip(zip(*moving), rows))
        rows = q, v, a
    moved = held_at_end(whole(times, *rows))
    efforts = efforts_of(queried, settings, moved)
    message.header.stamp = time_message(now)
    write(message, queried, given, moved, settings, efforts)
    places = coordinates(queried.robot, given.joints)[1]
    if motion.slowness > 1.0:
        note = '; '.join(filter(None, (note, f'slowed down {motion.slowness:.3g} times')))
    return SentMotion(given.joints, now, times, np.stack([*rows, efforts[:, places]])), note


def times_of(message: Any, given: GivenTrajectory, now: int, lead: float) -> tuple[float, Array]:
    """Return the time of the join and those of the points, after now [s].

    Raises `OldGoalError` for a chunk that ends before the join, `ArgumentError` for one that begins
    too late.
    """
    stamp = stamp_of(message)
    begin = (stamp - now) / NANOSECONDS if stamp else lead
    if given.stamps[0] < 0:
        raise ArgumentError(f'time_from_start begins at {given.stamps[0] / NANOSECONDS:g} s')
    if begin > MAX_AHEAD_S:
        raise ArgumentError(
            f'the chunk begins in {begin:.3f} s, at most {MAX_AHEAD_S:g} s are accepted; correct '
            'header.stamp or the clock of its sender'
        )
    start, time = max(begin, lead), begin + given.stamps / NANOSECONDS
    if time[-1] < start:
        raise OldGoalError(
            f'the chunk ends {start - time[-1]:.3f} s before it can be followed; send it earlier, '
            'correct header.stamp, or leave it zero'
        )
    return start, time


def motion_before(
    queried: ServiceModel,
    joints: tuple[str, ...],
    sent: SentMotion | None,
    now: int,
    tolerance: float,
) -> tuple[SentMotion | None, str]:
    """Return the motion that a chunk continues, None to begin where the robot is, and why.

    Raises `ArgumentError` if it moves other joints than those of the chunk.
    """
    if sent is None or now < sent.start:
        return None, ''
    if set(joints) != set(sent.joints):
        if now < sent.end:
            raise ArgumentError(
                f'the chunk names {shorten(joints)}, the motion before {shorten(sent.joints)}; '
                'name the same joints while they move'
            )
        return None, ''
    for name, wanted in zip(sent.joints, sent.at(now, sent.joints)[0]):
        step = joint_step(queried, name, wanted)
        if tolerance and abs(step) > tolerance:
            return None, (
                f'joint {name!r} is {abs(step):.4g} from the motion that was sent, more than '
                f'start_tolerance {tolerance:g}: joined at the measured state'
            )
    return sent, ''
