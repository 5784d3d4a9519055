# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Low-pass filters and dead bands of external torques and wrenches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.estimation.dead_band import dead_band_of_size
from screw_dynamics_ros.core.estimation.low_pass import (
    LowPassSteps,
    advance_low_pass,
    low_pass_step,
)
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverState
from screw_dynamics_ros.core.estimation.observers.steps import adopt, are_positive
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.model.parts import Stage, StateStep
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters, Specification
from screw_dynamics_ros.ros.topics.channel_record import EFFORT, VELOCITY

TABLE = (
    Specification(
        'torque_cutoff',
        0.0,
        'Cut-off frequency of the low-pass filter on external torques [Hz]; wrenches and flags '
        'use the filtered torques. 0: no filter.',
        minimum=0.0,
    ),
    Specification(
        'wrench_cutoff',
        0.0,
        'Cut-off frequency of the low-pass filter on wrenches in their frames [Hz], after the '
        'filter on torques. 0: no filter.',
        minimum=0.0,
    ),
    Specification(
        'torque_dead_band',
        0.0,
        'Dead band of published external torques [N m, N]: it is subtracted from their magnitude. '
        'Wrenches and flags are not affected. 0: no dead band.',
        minimum=0.0,
    ),
    Specification(
        'force_dead_band',
        0.0,
        'Dead band of the forces of published wrenches [N]: it is subtracted from their '
        'magnitude. 0: no dead band.',
        minimum=0.0,
    ),
    Specification(
        'moment_dead_band',
        0.0,
        'Dead band of the moments of published wrenches [N m]: it is subtracted from their '
        'magnitude. 0: no dead band.',
        minimum=0.0,
    ),
)

#: Inputs of the program: states and weights of all filters, and dead bands.
STATE, WEIGHTS, BANDS = 'filter_state', 'filter_weights', 'dead_bands'


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


@dataclass(frozen=True)
class Signal:
    """A filtered signal in the program.

    Attributes
    ----------
    state : Formula
        State of the filter.
    value : Formula
        Filtered signal (n,).
    size : int
        n.
    """

    state: Formula
    value: Formula
    size: int


@dataclass(frozen=True, eq=False)
class FilterPlan:
    """The filters of one robot, and the arrays they read.

    Attributes
    ----------
    signals : sequence of Signal
        The external torques, then the wrench of each contact.
    steps : sequence of LowPassSteps
        Steps of the filter of each signal.
    parameters : dict
        The inputs of the program.
    """

    signals: Sequence[Signal]
    steps: Sequence[LowPassSteps]
    parameters: dict[str, Array]

    @classmethod
    def of(cls, signals: Sequence[Signal], bands: Array) -> FilterPlan:
        """Return the filters of signals made by `filtered`, in order."""
        weights = np.zeros(3 * len(signals))
        state = np.zeros(2 * sum(signal.size for signal in signals))
        steps = [LowPassSteps(each) for each in weights.reshape(-1, 3)]
        return cls(signals, steps, {STATE: state, WEIGHTS: weights, BANDS: bands})


def filtered(name: str, value: Formula, size: int, before: Sequence[Signal]) -> Signal:
    """Return a low-pass filtered signal (size,); `before` are the previous signals."""
    place = 2 * sum(signal.size for signal in before)
    state = Formula(
        f'{name} filter', (STATE, WEIGHTS, value), step_of, (place, 2 * size, len(before))
    )
    return Signal(state, Formula(f'{name} filtered', (state,), second_half), size)


def step_of(states: Array, weights: Array, u: Array, place: int, length: int, number: int) -> Array:
    """Return the next state of one of the filters."""
    return low_pass_step(states[place : place + length], u, weights[3 * number : 3 * number + 3])


def second_half(state: Array) -> Array:
    """Return the filtered signal of a state."""
    return state[len(state) // 2 :]


def wrench_outside_bands(wrench: Array, bands: Array) -> Array:
    """Return force and moment (6,) after their dead bands."""
    return np.concatenate(
        [dead_band_of_size(wrench[:3], bands[1]), dead_band_of_size(wrench[3:], bands[2])]
    )


class OutputFilters:
    """Advances the filters with the joint states.

    A filter restarts at its next input after a pause, a stamp that does not advance, or an input
    that is invalid or not finite.

    Parameters
    ----------
    parameters : Parameters
        With the rows of `TABLE`.

    Attributes
    ----------
    bands : (3,) array
        Dead bands of torques, forces and moments; always the same array.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self.bands = np.zeros(3)
        self._plan: FilterPlan | None = None
        self._record = Filters()
        self._record.active = ()

    def bind(
        self,
        model: RunningModel,
        mapper: JointStateMapper,
        plan: FilterPlan,
        observer: ObserverState,
        pivots: Sequence[Array | None],
    ) -> None:
        """Adopt a new model.

        Parameters
        ----------
        model : RunningModel
        mapper : JointStateMapper
        plan : FilterPlan
        observer : ObserverState
            Of the torques.
        pivots : sequence of arrays or None
            For each signal the numbers that must be positive, None if it is never valid.
        """
        self._mapper, self._plan = mapper, plan
        sizes = [2 * signal.size for signal in plan.signals]
        states = np.split(plan.parameters[STATE], np.cumsum(sizes)[:-1])
        self._filters = []
        for signal, steps, state, each in zip(plan.signals, plan.steps, states, pivots):
            if signal.state in model.results:
                found = ActiveFilter()
                found.steps, found.state = steps, state
                found.result, found.pivots = model.results[signal.state], each
                self._filters.append(found)
        self._record.is_pending, self._record.observer = False, observer
        self.update_parameters()

    def update_parameters(self) -> None:
        """Apply the current values of the parameters."""
        value = self._parameters
        self.bands[:] = [value[f'{name}_dead_band'] for name in ('torque', 'force', 'moment')]
        plan = self._plan
        if plan is None:
            return
        for number, steps in enumerate(plan.steps):
            steps.set_cutoff(value['wrench_cutoff' if number else 'torque_cutoff'])
        self._record.active = tuple(each for each in self._filters if each.steps.cutoff)

    def stage(self) -> Stage:
        """Return the stage that processes each joint state."""
        return Stage(
            prepare=StateStep(advance_filters, lambda: self._record),
            consume=StateStep(keep_filters, lambda: self._record),
            is_needed=lambda: bool(self._record.active),
        )
