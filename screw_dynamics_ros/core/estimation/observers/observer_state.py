# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""An observer of external torques from state to state, for nodes and for recorded motions.

Each state takes the steps `advance_delay` and `advance_observer` before its program is evaluated,
then `keep_delay` and `keep_state`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compile.typed.functions import Floats, typed
from ...compile.typed.records import Record
from ...state_clock import StateClock
from ...types import Array
from ..delay_line import DelayLine, advance_line, keep_row, restart_line
from .observer import is_settled
from .parameters import values_of_joints
from .quantities import Observation, late_names
from .steps import ObserverSteps, adopt, advance_steps, restart_steps

NO_STATE = np.zeros(0)


class ObserverState(Record):
    """The state of an observer.

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


@typed
def advance_delay(o: ObserverState, clock: StateClock, has_velocity: bool) -> None:
    """Advance the delayed torques of the model to the state of a clock."""
    if not has_velocity:
        restart_line(o.line)
    advance_line(o.line, clock)
    settle(o)


@typed
def keep_delay(o: ObserverState, has_velocity: bool) -> None:
    """Store the torques of the model for later states, if they are finite."""
    if o.model is not None and has_velocity:
        keep_row(o.line, o.model)
    settle(o)


@typed
def advance_observer(o: ObserverState, elapsed: int, is_complete: bool) -> None:
    """Advance to a state, with velocities and efforts if it is complete.

    `elapsed` is the time since the last state [ns], see `StateClock`.
    """
    is_known = is_complete and o.line.is_ready
    if o.is_pending or not is_known:
        restart_steps(o.steps)
    if advance_steps(o.steps, elapsed):
        for k in range(len(o.state)):
            o.state[k] = 0.0
    if not is_known:
        restart_steps(o.steps)
    o.is_pending = is_known
    settle(o)


@typed
def keep_state(o: ObserverState) -> None:
    """Adopt the state that the kernel has computed, if it is finite."""
    if o.is_pending and adopt(o.state, o.result, len(o.result)):
        o.is_pending = False
    settle(o)


@typed
def settle(o: ObserverState) -> None:
    """Determine whether the torques are valid."""
    is_kept = not o.is_pending
    is_valid = is_settled(o.steps.age, o.settling_time, o.requires_finite_state, is_kept)
    o.is_settled = is_valid and not o.is_refused and o.line.is_ready


@dataclass(frozen=True, eq=False)
class ObserverPlan:
    """Formulas and input arrays of an observer for one robot.

    Attributes
    ----------
    observation : Observation
    refusal : str
        Reason why `observation` is not the configured observer; empty if it is.
    steps : ObserverSteps
    line : DelayLine
        Model torques of past states, for delayed efforts.
    state, values : arrays
        State of the observer, and values of its parameters, a row (n,) each.
    """

    observation: Observation
    refusal: str
    steps: ObserverSteps
    line: DelayLine
    state: Array
    values: Array

    @classmethod
    def of(cls, observation: Observation, n: int, refusal: str = '') -> ObserverPlan:
        """Return new arrays for n joints."""
        return cls(
            observation,
            refusal,
            ObserverSteps(n),
            DelayLine(n * len(late_names(observation.name))),
            np.zeros(max(1, observation.size)),
            np.zeros(max(1, len(observation.observer.parameters) * n)),
        )

    @property
    def parameters(self) -> dict[str, Array]:
        """The inputs of the program that `observation` reads."""
        return {
            'observer': self.state,
            'observer_step': self.steps.numbers,
            'observer_parameters': self.values,
            'effort_delay': self.line.numbers,
        }

    def bind(self, record: ObserverState, results: Mapping[Any, Array]) -> None:
        """Let a record be the state of this observer, with the results of a program."""
        state, model = self.observation.state, self.observation.model
        record.steps, record.state, record.line = self.steps, self.state, self.line
        record.result = results.get(state, NO_STATE) if state is not None else NO_STATE
        record.model = results.get(model) if model is not None else None
        record.is_refused, record.is_pending = bool(self.refusal), False
        record.requires_finite_state = self.observation.observer.requires_finite_state

    def set_values(
        self, record: ObserverState, values: Mapping[str, Any], joints: Sequence[str]
    ) -> None:
        """Set the values of `ObserverParameters`, by name."""
        self.steps.time_constants[:] = values['observer_time_constant']
        self.line.delay = round(1e9 * values['effort_delay'])
        if not self.line.delay:
            self.line.restart()
        observer = self.observation.observer
        record.settling_time = observer.settling_time(self.steps.longest_time_constant)
        chosen = [values_of_joints(values, name, joints) for name in observer.parameters]
        if chosen:
            self.values[:] = np.concatenate(chosen)
        settle(record)
