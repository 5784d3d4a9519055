# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The observer of external torques at each joint state."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.measurement.estimation.delay_line import (
    DelayLine,
    advance_line,
    keep_row,
    restart_line,
)
from screw_dynamics_ros.core.measurement.estimation.observers.observer import is_settled
from screw_dynamics_ros.core.measurement.estimation.observers.steps import (
    ObserverSteps,
    advance_steps,
    are_finite,
    restart_steps,
)
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import EFFORT, VELOCITY


class ObserverState(Record):
    """The state of a `TorqueObserver`.

    Attributes
    ----------
    is_pending : bool
        Whether the state after the last step has not been adopted.
    is_settled : bool
        Whether the torques are valid.
    is_refused : bool
        Whether the observer does not exist for this robot.
    settling_time : int
        [ns].
    requires_finite_state : bool
    steps : ObserverSteps
    state, result : (size,) arrays
        The state, and the next one, from the kernel.
    line : DelayLine
        Of the torques of the model.
    model : array or None
        Those of the current state, from the kernel.
    """

    is_pending: bool
    is_settled: bool
    is_refused: bool
    settling_time: int
    requires_finite_state: bool
    steps: ObserverSteps
    state: Floats
    result: Floats
    line: DelayLine
    model: Floats | None


@compiled_step
def advance_delay(o: ObserverState, loop: LoopRecord) -> int:
    """Advance the delayed torques of the model to a joint state."""
    if loop.has & VELOCITY == 0:
        restart_line(o.line)
    advance_line(o.line, loop.state_clock)
    settle(o)
    return TAKEN


@compiled_step
def keep_delay(o: ObserverState, loop: LoopRecord) -> int:
    """Store the torques of the model for later states, if they are finite."""
    if o.model is not None and loop.has & VELOCITY != 0:
        keep_row(o.line, o.model)
    settle(o)
    return TAKEN


@compiled_step
def advance_observer(o: ObserverState, loop: LoopRecord) -> int:
    """Advance to a joint state, before the kernel is evaluated."""
    is_known = loop.has == VELOCITY | EFFORT and o.line.is_ready
    if o.is_pending or not is_known:
        restart_steps(o.steps)
    if advance_steps(o.steps, loop.state_clock.elapsed):
        for k in range(len(o.state)):
            o.state[k] = 0.0
    if not is_known:
        restart_steps(o.steps)
    o.is_pending = is_known
    settle(o)
    return TAKEN


@compiled_step
def keep_state(o: ObserverState, loop: LoopRecord) -> int:
    """Adopt the state that the kernel has computed, if it is finite."""
    if o.is_pending and are_finite(o.result, len(o.result)):
        copy_bytes(o.state, o.result, 8 * len(o.result))
        o.is_pending = False
    settle(o)
    return TAKEN


@typed
def settle(o: ObserverState) -> None:
    """Determine whether the torques are valid."""
    is_kept = not o.is_pending
    is_valid = is_settled(o.steps.age, o.settling_time, o.requires_finite_state, is_kept)
    o.is_settled = is_valid and not o.is_refused and o.line.is_ready
