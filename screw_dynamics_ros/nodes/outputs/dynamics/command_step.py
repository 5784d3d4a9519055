# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torque commands at each joint state, while nothing limits the wanted torques."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.motion.control.steady_command import SteadyCommand, follow_steadily
from screw_dynamics_ros.ros.data_path.externals import MONOTONIC
from screw_dynamics_ros.ros.data_path.loop import compiled_step, time_of
from screw_dynamics_ros.ros.data_path.records import DECLINED, TAKEN, LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import VALID, VELOCITY

from .command_message import CommandMessage


class CommandState(Record):
    """The torques of `Commands`, from joint state to joint state.

    Attributes
    ----------
    is_steady : bool
        Whether the loop may command at all.
    is_changed : bool
        Whether the wanted torques may make a step with this state, see `Commands.blend`.
    ready : int
        NOT_VALID or VALID: whether there is a command for the current state.
    valid : (1,) array of int
        Whether the wanted torques can be used.
    stamp_time : float
        Time of the last state [s].
    torque : SteadyCommand
    wanted, gravity : (n,) arrays
        Torques from the kernel [N m, N].
    messages : tuple of CommandMessage
        Those with subscribers.
    """

    is_steady: bool
    is_changed: bool
    ready: int
    valid: Ints
    stamp_time: float
    torque: SteadyCommand
    wanted: Floats
    gravity: Floats
    messages: tuple[CommandMessage, ...]


@compiled_step
def command(state: CommandState, loop: LoopRecord) -> int:
    """Command the wanted torques, or leave them to `Commands`."""
    state.stamp_time = loop.arrival - loop.delay
    if not state.is_steady or state.is_changed:
        return DECLINED
    if state.valid[0] == 0 or loop.has & VELOCITY == 0:
        return DECLINED
    now = float(time_of(loop, MONOTONIC)) / 1e9
    if not follow_steadily(state.torque, state.wanted, state.gravity, now, state.stamp_time):
        return DECLINED
    state.ready = VALID
    for k in range(len(state.messages)):
        message = state.messages[k]
        for i in range(len(message.places)):
            message.torques[i] = state.torque.command[message.places[i]]
        message.latest = state.stamp_time + state.torque.age_limit
    return TAKEN
