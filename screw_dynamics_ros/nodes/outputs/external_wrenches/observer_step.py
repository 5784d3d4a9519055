# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The observer of external torques for one joint state, in Python and in the compiled loop."""

from __future__ import annotations

import math

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes, floats_at, ints_at
from screw_dynamics_ros.core.measurement.estimation.observers.observer import is_settled
from screw_dynamics_ros.core.measurement.estimation.observers.steps import (
    AGE,
    MAX_STEP,
    advance_steps,
    restart_steps,
)
from screw_dynamics_ros.ros.data_path import records as r
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.joint_states import stamped_messages as m
from screw_dynamics_ros.ros.topics.channel_record import EFFORT, VELOCITY

# Places of the words of a `TorqueObserver`, its record; those marked `->` are addresses.
(
    IS_PENDING,  # whether the state after the last step has not been adopted
    IS_SETTLED,  # whether the torques are valid
    IS_READY,  # whether the observer exists, and the delayed torques of the model are known
    SETTLING_TIME,  # [ns]
    REQUIRES_FINITE_STATE,
    TORQUES,  # number of torques
    SIZE,  # of the state
    STEP_WORDS,  # -> of `ObserverSteps`
    STEP_REALS,  # ->
    NUMBERS,  # ->
    STATE,  # ->
    RESULT,  # -> next state, from the kernel
) = range(OBSERVER_WORDS := 12)


@typed
def advance_observer(
    words: Ints,
    step_words: Ints,
    step_reals: Floats,
    numbers: Floats,
    state: Floats,
    stamp: int,
    restarted: bool,
    is_complete: bool,
) -> None:
    """Advance to a joint state, before the kernel is evaluated.

    Parameters
    ----------
    words : array
        Of a `TorqueObserver`.
    step_words, step_reals, numbers : arrays
        Of its `ObserverSteps`.
    state : (size,) array
    stamp : int
        [ns].
    restarted : bool
        Whether the joint state is the first after a pause.
    is_complete : bool
        Whether it has all that the observer reads.
    """
    n = words[TORQUES]
    if words[IS_PENDING] != 0 or not is_complete:
        restart_steps(step_words, numbers, n)
    if advance_steps(step_words, step_reals, numbers, n, stamp, restarted):
        for k in range(words[SIZE]):
            state[k] = 0.0
    if not is_complete:
        restart_steps(step_words, numbers, n)
    words[IS_PENDING] = int(is_complete)
    settle(words, step_words)


@typed
def keep_state(
    words: Ints, step_words: Ints, state: Floats, result: Floats, is_finite: bool
) -> None:
    """Adopt the state that the kernel has computed, if it is finite."""
    if words[IS_PENDING] != 0 and is_finite:
        copy_bytes(state, result, 8 * words[SIZE])
        words[IS_PENDING] = 0
    settle(words, step_words)


@typed
def settle(words: Ints, step_words: Ints) -> None:
    """Determine whether the torques are valid."""
    is_kept = words[IS_PENDING] == 0
    requires = words[REQUIRES_FINITE_STATE] != 0
    is_valid = is_settled(step_words[AGE], words[SETTLING_TIME], requires, is_kept)
    words[IS_SETTLED] = int(is_valid and words[IS_READY] != 0)


@typed
def are_finite(numbers: Floats, count: int) -> bool:
    """Return whether the sum of numbers is finite."""
    total = 0.0
    for k in range(count):
        total += numbers[k]
    return math.isfinite(total)


# --- in the compiled loop -------------------------------------------------------------------------


@compiled_step
def advance_in_loop(record: Ints, t: Ints) -> int:
    """Advance the observer, see `TorqueObserver.stages`."""
    words = ints_at(t[r.MAPPER_WORDS])
    reals = floats_at(record[STEP_REALS])
    reals[MAX_STEP] = float(t[r.TIMEOUT]) * 1e-9
    advance_observer(
        record,
        ints_at(record[STEP_WORDS]),
        reals,
        floats_at(record[NUMBERS]),
        floats_at(record[STATE]),
        words[m.STAMP],
        words[m.RESTARTED] != 0,
        t[r.HAS] == VELOCITY | EFFORT,
    )
    return r.TAKEN


@compiled_step
def keep_in_loop(record: Ints, t: Ints) -> int:
    """Adopt the next state of the observer."""
    result = floats_at(record[RESULT])
    is_finite = are_finite(result, record[SIZE])
    keep_state(record, ints_at(record[STEP_WORDS]), floats_at(record[STATE]), result, is_finite)
    return r.TAKEN
