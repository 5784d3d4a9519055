# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The inputs and the memory of a control law for one joint state, in Python and in the loop.

A law begins, from a memory of zero, when torques begin: until they are enabled, while they are off,
and after they rested for longer than the longest step. Its memory is kept while they rest, as in a
short pause of the joint states. It also begins again where stamps or inputs step, because the time
since the last state is unknown then; if torques follow a law with a memory, that is a loss.
"""

from __future__ import annotations

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes, floats_at, ints_at
from screw_dynamics_ros.core.measurement.estimation.observers.steps import (
    HAS_STAMP,
    MAX_STEP,
    STAMP,
    step_length,
)
from screw_dynamics_ros.nodes.outputs.dynamics.commands import FOLLOWING, OFF, RESTING
from screw_dynamics_ros.nodes.outputs.external_wrenches.observer_step import are_finite
from screw_dynamics_ros.ros.data_path import records as r
from screw_dynamics_ros.ros.data_path.loop import MONOTONIC, compiled_step, time_of
from screw_dynamics_ros.ros.joint_states import stamped_messages as m
from screw_dynamics_ros.ros.topics.channel_record import EFFORT

# Places of the words of a controller, its record; those marked `->` are addresses.
(
    IS_VALID,  # whether the law has all that it reads, and its memory is finite
    ACTIVITY,  # of the torques, see `Commands.activity`
    FOLLOWED,  # monotonic time at which they last followed the law [ns]
    PHASE,  # RUNNING, BEGINNING; WAITING after Python has seen that it begins
    STEPPED,  # whether the memory was lost although torques follow the law
    STEP,  # difference of the stamps of this state and the one before [ns]
    TAU,  # index of the measured torques in the state of the law, -1 if it does not read them
    DT,  # the same of the time step
    WRENCH,  # the same of the wrench of the sensor
    COUNT,  # number of joints
    SIZE,  # of the memory
    WRENCH_TIMEOUT,  # [ns]
    STATE,  # ->
    MEMORY,  # ->
    NEXT,  # -> next memory, from the kernel
    EFFORTS,  # -> of the joints
    PLACES,  # -> of the joints among the velocities
    SENSED,  # -> wrench of the sensor, and the time at which it came [s]
    LENGTH_WORDS,  # -> of `StepLengths`
    LENGTH_REALS,  # ->
) = range(LAW_WORDS := 20)

#: The law has begun with an earlier state, it begins, it has followed no state since it began.
RUNNING, BEGINNING, WAITING = range(3)

FORCE_TIME = 6  # index of the time of the wrench


@typed
def advance_law(
    words: Ints,
    lengths: Ints,
    length_reals: Floats,
    state: Floats,
    memory: Floats,
    efforts: Floats,
    places: Ints,
    sensed: Floats,
    stamp: int,
    restarted: bool,
    has_effort: bool,
    now: int,
) -> None:
    """Write the state of a law for a joint state, before the kernel is evaluated.

    `words` also receives whether the law begins, and whether its memory was lost.

    Parameters
    ----------
    words, lengths, length_reals, state, memory, efforts, places, sensed : arrays
        See the places of the words.
    stamp, now : int
        Of the joint state, and the monotonic time [ns].
    restarted, has_effort : bool
        Whether the joint state is the first after a pause, and whether it has efforts.
    """
    is_first = lengths[HAS_STAMP] == 0
    words[STEP] = stamp - lengths[STAMP]
    elapsed = step_length(lengths, length_reals, stamp, restarted)
    is_step = elapsed == 0 and not is_first
    words[STEPPED] = int(is_step and words[SIZE] > 0)
    if words[ACTIVITY] == FOLLOWING:
        words[FOLLOWED] = now
        if is_step:
            words[PHASE] = BEGINNING
        elif words[PHASE] == WAITING:
            words[PHASE] = RUNNING
    else:
        rest = float(now - words[FOLLOWED]) * 1e-9
        is_long = words[ACTIVITY] == OFF or elapsed == 0 or rest > length_reals[MAX_STEP]
        if is_long and words[PHASE] == RUNNING:
            words[PHASE] = BEGINNING
        words[STEPPED] = 0
    if words[PHASE] != RUNNING or is_first:
        for k in range(words[SIZE]):
            memory[k] = 0.0
    valid = words[STEPPED] == 0
    if words[TAU] >= 0:
        valid = valid and has_effort
        for k in range(words[COUNT]):
            state[words[TAU] + places[k]] = efforts[k]
    if words[DT] >= 0:
        state[words[DT]] = float(elapsed) * 1e-9
    if words[WRENCH] >= 0:
        age = float(now) / 1e9 - sensed[FORCE_TIME]
        valid = valid and age <= float(words[WRENCH_TIMEOUT]) * 1e-9
        for k in range(6):
            state[words[WRENCH] + k] = sensed[k]
    words[IS_VALID] = int(valid)


@typed
def keep_memory(words: Ints, memory: Floats, new: Floats) -> None:
    """Adopt the next memory, if it is finite, of a state that torques can follow."""
    if not are_finite(new, words[SIZE]):
        words[IS_VALID] = 0
    elif words[IS_VALID] != 0 and (words[ACTIVITY] != RESTING or words[PHASE] != RUNNING):
        copy_bytes(memory, new, 8 * words[SIZE])


# --- in the compiled loop -------------------------------------------------------------------------


@compiled_step
def advance_in_loop(record: Ints, t: Ints) -> int:
    """Write the state of the law, see `Controller.stages`."""
    words = ints_at(t[r.MAPPER_WORDS])
    reals = floats_at(record[LENGTH_REALS])
    reals[MAX_STEP] = float(t[r.TIMEOUT]) * 1e-9
    advance_law(
        record,
        ints_at(record[LENGTH_WORDS]),
        reals,
        floats_at(record[STATE]),
        floats_at(record[MEMORY]),
        floats_at(record[EFFORTS]),
        ints_at(record[PLACES]),
        floats_at(record[SENSED]),
        words[m.STAMP],
        words[m.RESTARTED] != 0,
        t[r.HAS] & EFFORT != 0,
        time_of(t, MONOTONIC),
    )
    return r.TAKEN


@compiled_step
def keep_in_loop(record: Ints, t: Ints) -> int:
    """Adopt the next memory of the law."""
    keep_memory(record, floats_at(record[MEMORY]), floats_at(record[NEXT]))
    return r.TAKEN
