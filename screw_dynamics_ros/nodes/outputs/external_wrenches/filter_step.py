# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Low-pass filters of external torques and wrenches at each joint state."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.estimation.low_pass import LowPassSteps, advance_low_pass
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverState
from screw_dynamics_ros.core.estimation.observers.steps import adopt, are_positive
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import EFFORT, VELOCITY


class ActiveFilter(Record):
    """A filter and its memory.

    Attributes
    ----------
    steps : LowPassSteps
    state, result : (2 n,) arrays
        Its state, and the next one from the kernel.
    pivots : array or None
        Numbers that must be positive, None if its input is never valid.
    """

    steps: LowPassSteps
    state: Floats
    result: Floats
    pivots: Floats | None


class Filters(Record):
    """The filters of `OutputFilters`.

    Attributes
    ----------
    is_pending : bool
        Whether the states after the last step have not been adopted.
    observer : ObserverState
        Of the torques.
    active : tuple of ActiveFilter
    """

    is_pending: bool
    observer: ObserverState
    active: tuple[ActiveFilter, ...]


@typed
def is_valid(each: ActiveFilter, is_settled: bool) -> bool:
    """Return whether the input of a filter is valid."""
    if not is_settled or each.pivots is None:
        return False
    return are_positive(each.pivots, len(each.pivots))


@compiled_step
def advance_filters(filters: Filters, loop: LoopRecord) -> int:
    """Advance the active filters to a joint state, before the kernel is evaluated."""
    elapsed = 0 if filters.is_pending else loop.state_clock.elapsed
    for k in range(len(filters.active)):
        advance_low_pass(filters.active[k].steps, elapsed)
    filters.is_pending = True
    return TAKEN


@compiled_step
def keep_filters(filters: Filters, loop: LoopRecord) -> int:
    """Adopt the next states; filters without a valid input restart."""
    filters.is_pending = False
    is_complete = loop.has == VELOCITY | EFFORT
    for k in range(len(filters.active)):
        each = filters.active[k]
        is_input = is_complete and is_valid(each, filters.observer.is_settled)
        if not (is_input and adopt(each.state, each.result, len(each.result))):
            each.steps.is_running = False
    return TAKEN
