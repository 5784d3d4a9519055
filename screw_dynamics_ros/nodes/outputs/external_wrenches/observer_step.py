# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The observer of external torques at each joint state."""

from __future__ import annotations

from screw_dynamics_ros.core.estimation.observers import observer_state
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverState
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import EFFORT, VELOCITY


@compiled_step
def advance_delay(o: ObserverState, loop: LoopRecord) -> int:
    """Advance the delayed torques of the model to a joint state."""
    observer_state.advance_delay(o, loop.state_clock, loop.has & VELOCITY != 0)
    return TAKEN


@compiled_step
def keep_delay(o: ObserverState, loop: LoopRecord) -> int:
    """Store the torques of the model for later states."""
    observer_state.keep_delay(o, loop.has & VELOCITY != 0)
    return TAKEN


@compiled_step
def advance_observer(o: ObserverState, loop: LoopRecord) -> int:
    """Advance to a joint state, before the kernel is evaluated."""
    is_complete = loop.has == VELOCITY | EFFORT
    observer_state.advance_observer(o, loop.state_clock.elapsed, is_complete)
    return TAKEN


@compiled_step
def keep_state(o: ObserverState, loop: LoopRecord) -> int:
    """Adopt the state that the kernel has computed."""
    observer_state.keep_state(o)
    return TAKEN
