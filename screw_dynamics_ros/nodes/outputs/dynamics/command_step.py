# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torque commands at each joint state."""

from __future__ import annotations

import math

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.motion.control import command_rules as rules
from screw_dynamics_ros.core.motion.control.command_rules import (
    FOLLOWING,
    RESTING,
    CommandRecord,
    activity,
)
from screw_dynamics_ros.core.motion.control.drive_targets import (
    DriveTargets,
    follow_state,
    write_targets,
)
from screw_dynamics_ros.ros.data_path.externals import MONOTONIC
from screw_dynamics_ros.ros.data_path.loop import compiled_step, seconds, time_of
from screw_dynamics_ros.ros.data_path.records import DECLINED, TAKEN, LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID, VALID, VELOCITY


class CommandMessage(Record):
    """Numbers of a command in a message.

    Parameters
    ----------
    values : (m,) array
        The numbers of the message.
    places : (m,) array of int
        Their indices in `CommandState.numbers`.
    """

    values: Floats
    places: Ints

    def __init__(self, values: Floats, places: Ints) -> None:
        self.values, self.places = values, places


class CommandState(Record):
    """The torques of `Commands`, from joint state to joint state.

    Attributes
    ----------
    is_stopped : bool
        Whether a robot description has stopped the torques.
    is_changed : bool
        Whether the wanted torques may make a step with this state, see `Commands.blend`.
    activity : int
        See `command_rules.activity`, after the last command.
    latest : float
        Deadline for sending the command on the monotonic clock [s], -inf without a command.
    valid : (1,) array of int
        Whether the wanted torques can be used.
    stamp_time : float
        Time of the last state [s].
    torque : CommandRecord
    wanted, gravity : (n,) arrays
        Torques from the kernel [N m, N].
    drives : DriveTargets
    numbers : array
        What the messages have: torques first.
    messages : tuple of CommandMessage
        Those with subscribers.
    """

    is_stopped: bool
    is_changed: bool
    activity: int
    latest: float
    valid: Ints
    stamp_time: float
    torque: CommandRecord
    wanted: Floats
    gravity: Floats
    drives: DriveTargets
    numbers: Floats
    messages: tuple[CommandMessage, ...]

    def __init__(self, valid: Ints) -> None:
        self.valid, self.stamp_time, self.latest = valid, -math.inf, -math.inf


@compiled_step
def command(state: CommandState, loop: LoopRecord) -> int:
    """Command the torques; leave a state that cannot be used to `Commands`."""
    torque = state.torque
    state.stamp_time = loop.arrival - loop.delay
    state.latest = -math.inf
    blend_changed(state)
    now = seconds(time_of(loop, MONOTONIC))
    if state.is_stopped or state.valid[0] == 0 or loop.has & VELOCITY == 0:
        return DECLINED
    if state.activity == FOLLOWING and activity(torque, now) == RESTING:
        return DECLINED
    drives = state.drives
    follow_state(drives, torque, state.wanted, state.gravity)
    if rules.step(torque, drives.wanted, drives.gravity, now, state.stamp_time):
        write_command_of_drives(state)
    state.activity = activity(torque, now)
    return TAKEN


@typed
def command_by_stamps(state: CommandState, loop: LoopRecord) -> int:
    """Command the torques in C: the time between states is the clock; a pause has any length."""
    torque = state.torque
    blend_changed(state)
    elapsed = loop.state_clock.elapsed
    state.stamp_time += seconds(elapsed) if elapsed != 0 else 2.0 * torque.age_limit
    if not rules.step(torque, state.wanted, state.gravity, state.stamp_time, state.stamp_time):
        return NOT_VALID
    write_command(state)
    return VALID


@typed
def blend_changed(state: CommandState) -> None:
    """Blend to the wanted torques if they may make a step."""
    if state.is_changed:
        state.is_changed = False
        rules.blend(state.torque)


@typed
def write_command_of_drives(state: CommandState) -> None:
    """Write the command, with the targets of the drives."""
    write_targets(state.drives, state.torque)
    write_command(state)


@typed
def write_command(state: CommandState) -> None:
    """Write the command into the messages, and set its deadline.

    A final zero command never expires, because no command follows it.
    """
    torque = state.torque
    state.latest = state.stamp_time + torque.age_limit
    if rules.is_quiet(torque) and rules.total(torque.command, len(torque.command)) == 0.0:
        state.latest = math.inf
    for k in range(len(state.messages)):
        message = state.messages[k]
        for i in range(len(message.places)):
            message.values[i] = state.numbers[message.places[i]]
