# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torque commands in the compiled loop, while nothing limits the wanted torques."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.compile.typed.functions import Ints
from screw_dynamics_ros.core.compile.typed.memory import floats_at, ints_at
from screw_dynamics_ros.core.compile.typed.shared_numbers import SharedRecord
from screw_dynamics_ros.core.motion.control import TorqueCommand
from screw_dynamics_ros.core.motion.control.steady_command import AGE_LIMIT, follow_steadily
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.outputs.dynamics.command_message import CommandMessage
from screw_dynamics_ros.ros.data_path import records as r
from screw_dynamics_ros.ros.data_path.loop import MONOTONIC, compiled_step, time_of
from screw_dynamics_ros.ros.topics.channel_record import FOR_PYTHON, VALID, VELOCITY

# Places of a record; those marked `->` are addresses.
(
    IS_STEADY,  # whether the loop may command at all
    READY,  # -> NOT_VALID, VALID or FOR_PYTHON: whether there is a command
    IS_VALID,  # -> whether the wanted torques can be used
    STAMP_TIME,  # -> time of the last state [s]
    REALS,  # -> of the `TorqueCommand`
    LIMITS,  # ->
    RATES,  # ->
    COMMAND,  # ->
    KEPT_GRAVITY,  # ->
    WANTED,  # ->
    GRAVITY,  # ->
    SIZE,
    MESSAGE_COUNT,
    MESSAGES,  # the first of MESSAGE_WORDS for each message
) = range(14)
TORQUES, PLACES, COUNT, DEADLINE = range(MESSAGE_WORDS := 4)


@compiled_step
def command(record: Ints, t: Ints) -> int:
    """Command the wanted torques, see `Commands.consume`."""
    ready = ints_at(record[READY])
    ready[0] = FOR_PYTHON
    if record[IS_STEADY] == 0 or ints_at(record[IS_VALID])[0] == 0 or t[r.HAS] & VELOCITY == 0:
        return r.DECLINED
    loop_reals = floats_at(t[r.REALS])
    sent = loop_reals[r.ARRIVAL] - loop_reals[r.DELAY]
    reals = floats_at(record[REALS])
    torques = floats_at(record[COMMAND])
    if not follow_steadily(
        reals,
        floats_at(record[LIMITS]),
        floats_at(record[RATES]),
        torques,
        floats_at(record[KEPT_GRAVITY]),
        floats_at(record[WANTED]),
        floats_at(record[GRAVITY]),
        record[SIZE],
        float(time_of(t, MONOTONIC)) / 1e9,
        sent,
    ):
        return r.DECLINED
    ready[0] = VALID
    floats_at(record[STAMP_TIME])[0] = sent
    for k in range(record[MESSAGE_COUNT]):
        message = record[MESSAGES + MESSAGE_WORDS * k :]
        target = floats_at(message[TORQUES])
        places = ints_at(message[PLACES])
        for i in range(message[COUNT]):
            target[i] = torques[places[i]]
        floats_at(message[DEADLINE])[0] = sent + reals[AGE_LIMIT]
    return r.TAKEN


def command_record(
    torque: TorqueCommand,
    ready: NDArray[np.int64],
    valid: NDArray[np.int64],
    stamp_time: Array,
    wanted: Array,
    gravity: Array,
    messages: Sequence[CommandMessage],
) -> SharedRecord:
    """Return the record of `command`."""
    arrays = ready, valid, stamp_time, torque.reals, *torque.steady_arrays, wanted, gravity
    record = SharedRecord(MESSAGES + MESSAGE_WORDS * len(messages))
    for place, array in enumerate(arrays, READY):
        record.point(place, array)
    record[SIZE], record[MESSAGE_COUNT] = len(wanted), len(messages)
    for k, each in enumerate(messages):
        first = MESSAGES + MESSAGE_WORDS * k
        record.point(first + TORQUES, each.torques)
        record.point(first + PLACES, each.places)
        record.point(first + DEADLINE, each.deadline)
        record[first + COUNT] = len(each.places)
    return record
