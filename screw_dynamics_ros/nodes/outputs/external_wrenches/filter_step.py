# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Low-pass filters of external torques and wrenches in the compiled loop."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes, floats_at, ints_at
from screw_dynamics_ros.core.measurement.estimation.low_pass import advance_low_pass
from screw_dynamics_ros.core.measurement.estimation.observers.steps import HAS_STAMP, MAX_STEP
from screw_dynamics_ros.nodes.outputs.external_wrenches.observer_step import are_finite
from screw_dynamics_ros.ros.data_path import records as r
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.joint_states import stamped_messages as m
from screw_dynamics_ros.ros.topics.channel_record import EFFORT, VELOCITY

# Places of the record of `OutputFilters`; those marked `->` are addresses.
(
    IS_PENDING,  # whether the states after the last step have not been adopted
    SETTLED,  # -> whether the torques are valid
    COUNT,  # number of active filters
    FILTERS,  # the first of FILTER_WORDS for each of them
) = range(4)
(
    STEP_WORDS,  # -> of `LowPassSteps`
    STEP_REALS,  # ->
    WEIGHTS,  # ->
    STATE,  # ->
    RESULT,  # -> next state, from the kernel
    SIZE,  # of the state
    PIVOTS,  # -> pivots that must be positive
    PIVOT_COUNT,  # NEVER_VALID for a signal that never is
) = range(FILTER_WORDS := 8)
NEVER_VALID = -1


@typed
def is_valid(settled: Ints, pivots: Floats, count: int) -> bool:
    """Return whether the input of a filter is valid; `count` is the number of pivots."""
    if settled[0] == 0 or count == NEVER_VALID:
        return False
    for k in range(count):  # noqa: SIM110 - `all` is not compiled
        if not pivots[k] > 0.0:
            return False
    return True


@typed
def keep_filter(words: Ints, state: Floats, result: Floats, size: int, is_kept: bool) -> None:
    """Adopt the next state of a filter with these words of `LowPassSteps`, or restart it."""
    if is_kept:
        copy_bytes(state, result, 8 * size)
    else:
        words[HAS_STAMP] = 0


@compiled_step
def advance_in_loop(record: Ints, t: Ints) -> int:
    """Advance the active filters, see `OutputFilters.stage`."""
    words = ints_at(t[r.MAPPER_WORDS])
    restarted = words[m.RESTARTED] != 0 or record[IS_PENDING] != 0
    for k in range(record[COUNT]):
        each = record[FILTERS + FILTER_WORDS * k :]
        reals = floats_at(each[STEP_REALS])
        reals[MAX_STEP] = float(t[r.TIMEOUT]) * 1e-9
        weight = floats_at(each[WEIGHTS])
        advance_low_pass(ints_at(each[STEP_WORDS]), reals, weight, words[m.STAMP], restarted)
    record[IS_PENDING] = 1
    return r.TAKEN


@compiled_step
def keep_in_loop(record: Ints, t: Ints) -> int:
    """Adopt the next states of the active filters."""
    record[IS_PENDING] = 0
    is_complete = t[r.HAS] == VELOCITY | EFFORT
    settled = ints_at(record[SETTLED])
    for k in range(record[COUNT]):
        each = record[FILTERS + FILTER_WORDS * k :]
        result = floats_at(each[RESULT])
        is_kept = (
            is_complete
            and is_valid(settled, floats_at(each[PIVOTS]), each[PIVOT_COUNT])
            and are_finite(result, each[SIZE])
        )
        words = ints_at(each[STEP_WORDS])
        keep_filter(words, floats_at(each[STATE]), result, each[SIZE], is_kept)
    return r.TAKEN
