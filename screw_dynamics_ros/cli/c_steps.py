# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs that typed steps of the nodes compute, as a second function of C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from ..core import ArgumentError, Robot
from ..core.annotation.singularities import freedoms_of
from ..core.compile.text.c_source import CSource, identifier
from ..core.compile.text.record_image import RecordImage
from ..core.compile.text.typed_c import typed_c
from ..core.compile.typed.records import WORD, Record
from ..core.estimation.link_measures import LinkMeasures
from ..core.estimation.low_pass import LowPassSteps
from ..core.estimation.observers.observer_state import ObserverPlan
from ..core.estimation.observers.quantities import Observation
from ..core.estimation.residual_model import ResidualModel
from ..core.motion.control import TorqueCommand
from ..core.outputs import OUTPUTS, VALIDITY_LABELS
from ..core.robot.actuated_robot import Source
from ..core.robot.fused_kernel import Formula
from ..core.state_clock import StateClock
from ..core.types import Array
from ..nodes.model.actuated import actuated
from ..nodes.model.running_model import of_joints
from ..nodes.model.scalar_joints import coordinates, scalar_joints
from ..nodes.model.torque_terms import torque_terms
from ..nodes.outputs.dynamics import command_parameters
from ..nodes.outputs.dynamics.command_step import CommandMessage, CommandState, command_by_stamps
from ..nodes.outputs.dynamics.commands import ALWAYS, settings_of
from ..nodes.outputs.external_wrenches import flag_parameters, observable_step, wrench_outputs
from ..nodes.outputs.external_wrenches.flag_step import MonitoredFlag, take_flag
from ..nodes.outputs.external_wrenches.observable_wrenches import ObservableWrench
from ..nodes.outputs.external_wrenches.residual_step import TorqueOffset, follow_state
from ..nodes.outputs.external_wrenches.support_contacts import SupportContacts
from ..nodes.outputs.external_wrenches.support_step import fill_support
from ..nodes.outputs.external_wrenches.torque_covariance import (
    TorqueCovariance,
    fill_torque_covariance,
)
from ..nodes.outputs.external_wrenches.torque_observer import TorqueObserver
from ..nodes.outputs.kinematics.singularity_measures import fill_measures
from ..ros.data_path.records import LoopRecord
from ..ros.joint_states.stamped_messages import StampedMessages
from ..ros.topics.channel_record import VALID

TYPES = """\
#include <stdint.h>

/* Memory of {memories}, with its own addresses: do not copy it. {name}_start sets parameters to
 * the defaults of the nodes; they can be changed then. */
{type}

"""

HEADER = """\
void {name}_start({name}_memory *memory);

"""

RESIDUAL_HEADER = """\
/* Compute the input offset of {name} for a state (positions, velocities and measured efforts of the
 * joints), before {name}. elapsed is the time since the last call [ns], 0 in the first call and
 * after a pause.
 */
{residual_prototype};

"""

STEPS_HEADER = """\
/* Compute outputs of a state, after {name}. NaN where the nodes would publish nothing.
 *
 * If it reads external torques, call it for states in which they are valid only, thus after the
 * observer has settled. Commands are enabled by commands_torque_is_enabled = 1 in the memory; while
 * there are no states, what the robot does is up to the caller.
 * elapsed is the time since the last call [ns], 0 in the first call and after a pause. The other
 * arrays are inputs and results of {name}, then outputs; forces precede moments in them, as in
 * messages. The covariance of a wrench is valid while its pivots are positive. Units:{units}
 */
{prototype};

"""

SOURCE = """
#include <math.h>
#include <stdint.h>
#include <string.h>
{functions}
{start}"""

RESIDUAL_SOURCE = """
{residual_prototype}
{{
  const int64_t at = (int64_t)(intptr_t)memory;
  memory->loop_state_clock[{elapsed}] = elapsed;
{residual_calls}
}}
"""

STEPS_SOURCE = """
static void {name}_clear(double *numbers, int count)
{{
  while (count-- > 0) numbers[count] = NAN;
}}

{prototype}
{{
  const int64_t at = (int64_t)(intptr_t)memory;
  memory->loop_state_clock[{elapsed}] = elapsed;
  memory->loop_mapper[{accepted}] += elapsed ? 1 : 2;
{calls}
}}
"""

#: Records of the loop in a node, of which steps read little, and their mapper, for reports only.
OF_LOOP, NO_MAPPER = (LoopRecord, StampedMessages, StateClock), cast(Any, None)


class Defaults:
    """Parameters of the node, `values` by name, with their defaults."""

    def __init__(self, **others: Any) -> None:
        tables = *wrench_outputs.TABLE, *command_parameters.TABLE
        self.values = {each.name: each.default for each in tables} | others

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


class StepOutput(NamedTuple):
    """An output: the name of its array, its unit, the array, and the step that fills it."""

    name: str
    unit: str
    numbers: Array
    function: Callable[..., int]
    record: Record


class CSteps:
    """The outputs, with the results of the first function that they read.

    Parameters
    ----------
    robot : Robot
    observed : Observation
    torque : callable
        Returns the formula of the filtered external torques (n,).
    outputs : sequence of pairs
        Name and link of outputs in `BUILDERS`, empty for others.
    residual : ResidualModel, optional
        Of which another function computes the offset.

    Attributes
    ----------
    results : dict of str to Source
    memory : dict of str to Source
        See `COutputs`.
    """

    def __init__(
        self,
        robot: Robot,
        observed: Observation,
        torque: Callable[[], Formula],
        outputs: Sequence[tuple[str, str]],
        residual: ResidualModel | None = None,
    ) -> None:
        self._robot, self._observed, self._torque = robot, observed, torque
        self._n = n = len(scalar_joints(robot))
        self.results: dict[str, Source] = {}
        self.memory: dict[str, Source] = {}
        self._arrays: dict[str, Array] = {}
        self._model = cast(Any, SimpleNamespace)(
            results={}, joints=scalar_joints(robot), robot=robot
        )
        frames = [link for name, link in outputs if name in SUPPORT and link]
        self._parameters = cast(Any, Defaults)(
            observer=observed.name, support_frames=list(dict.fromkeys(frames))
        )
        self._records: dict[str, Any] = {}
        self._outputs: list[StepOutput] = []
        self._offset = TorqueOffset()
        self._offset.constant = np.zeros(n)
        if residual is not None:
            self._offset.model = residual
            self._offset.offset = self._offset.copy = self._input('offset', n)
            self._input('state', 3 * n)
        self._plan = ObserverPlan.of(observed, n)
        self._torques = TorqueObserver(self._parameters)
        self._torques.bind(self._model, NO_MAPPER, self._plan)
        for name, link in outputs:
            BUILDERS[name](self, name, link)

    # --- arrays and records ---------------------------------------------------------------------

    def _input(self, name: str, size: int) -> Array:
        """Return an array that the caller passes."""
        return self._arrays.setdefault(name, np.zeros(size))

    def _result(self, name: str, source: Source, size: int) -> Array:
        """Return the array of a result of the first function."""
        self.results[name] = source
        return self._model.results.setdefault(source, self._input(name, size))

    def _external_torque(self) -> Formula:
        """Return the filtered external torques, a result of the first function."""
        torque = self._torque()
        self._result('filtered_torque', torque, self._n)
        return torque

    def _jacobian(self, link: str) -> Source:
        """Return the body Jacobian of a link, a result of the first function."""
        source = ('jacobian', link, 'body')
        jacobian = actuated(self._robot).columns_of_motors(of_joints(self._robot, source))
        self._result(f'body_jacobian_{identifier(link)}', jacobian, 6 * self._n)
        return jacobian

    def _freedoms(self, link: str) -> int:
        """Return the rank of this Jacobian in regular configurations."""
        return freedoms_of(self._robot, link, coordinates(self._robot, self._model.joints)[1])

    def _covariance(self, *filters: str) -> TorqueCovariance:
        """Return the covariance of torques behind filters, by the names of their weights."""
        name = 'covariance_' + '_'.join(filters)
        if name not in self._records:
            observed, n = self._observed, self._n
            for what in ('covariance', 'inertia'):
                source = getattr(observed, what)
                if source is not None:
                    self._result(f'observer_{what}', source, n * n)
            self._arrays['observer_step'] = self._plan.steps.numbers
            steps = [LowPassSteps(self._input(each, 3)) for each in filters]
            self._records[name] = TorqueCovariance(
                self._model, NO_MAPPER, self._torques, self._plan, steps, self._offset
            )
        return self._records[name]

    def _add(self, name: str, link: str, numbers: Array, step: Any, record: Record) -> None:
        """Add an output."""
        array = identifier(OUTPUTS[name].part(link))
        self._arrays[array] = numbers
        self._outputs.append(StepOutput(array, OUTPUTS[name].unit, numbers, step, record))

    # --- outputs --------------------------------------------------------------------------------

    def _add_flag(self, name: str, link: str) -> None:
        flag = MonitoredFlag(self._n)
        flag.offset = self._offset
        flag_parameters.configure_flag(flag, name, self._parameters.values, self._robot)
        flag.torques = self._model.results[self._external_torque()]
        self._add(name, link, flag.number, take_flag, flag)

    def _add_commands(self, name: str, link: str) -> None:
        robot, terms, n = self._robot, torque_terms(self._robot), self._n
        efforts = dict(zip(robot.joint_names, robot.limits.effort.tolist()))
        settings = settings_of(self._model.joints, efforts, self._parameters.values)
        state, numbers = CommandState(ALWAYS), np.zeros(n)
        state.torque, state.stamp_time = TorqueCommand(settings), 0.0
        state.wanted = self._result('wanted_torque', terms.feedforward, n)
        state.gravity = self._result('weight', terms.weight, n)
        state.numbers = state.torque.command
        state.messages = (CommandMessage(numbers, np.arange(n)),)
        self._add(name, link, numbers, command_by_stamps, state)

    def _add_singularity(self, name: str, link: str) -> None:
        jacobian = self._model.results[self._jacobian(link)]
        count, numbers = self._freedoms(link), np.zeros(4)
        measures = LinkMeasures(self._n, count, jacobian, None, numbers)
        measures.set_length(self._parameters['characteristic_length'])
        self._add(name, link, numbers, fill_measures, measures)

    def _add_torque_covariance(self, name: str, link: str) -> None:
        record = self._covariance('torque_weights')
        record.covariance = np.zeros(self._n**2)
        self._add(name, link, record.covariance, fill_torque_covariance, record)

    def _add_observable(self, name: str, link: str) -> None:
        """Add one of the outputs of `ObservableWrench`."""
        key = f'wrench_{identifier(link)}'
        if key not in self._records:
            record = self._records[key] = ObservableWrench(
                self._model,
                NO_MAPPER,
                cast(Any, SimpleNamespace)(jacobian=self._jacobian(link)),
                self._external_torque(),
                (self._covariance('torque_weights', 'wrench_weights'),) * 2,
                self._parameters,
                self._input('dead_bands', 3),
                self._freedoms(link),
            )
            record.write_into(*map(np.zeros, (len(VALIDITY_LABELS), 6, 36)))
        record = self._records[key]
        step, numbers = {
            'wrench_validity': (observable_step.fill_validity, record.validity_numbers),
            'reduced_wrench': (observable_step.fill_reduced, record.reduced_numbers),
            'wrench_covariance': (observable_step.fill_covariance, record.covariance_numbers),
        }[name]
        self._add(name, link, numbers, step, record)

    def _add_support(self, name: str, link: str) -> None:
        """Add one of the outputs of `SupportContacts`."""
        if 'support' not in self._records:
            contacts = SupportContacts(self._parameters)
            plan = contacts.plan(self._robot)
            if plan.base is None:
                raise ArgumentError(f'{name} requires links: add contact_wrench/LINK for each')
            for frame, source in zip(plan.tokens, plan.jacobians):
                self._result(f'support_jacobian_{identifier(frame)}', source, 6 * (6 + self._n))
            self._result('base_force', plan.base, 6)
            if plan.state is not None:
                self.memory['next_base_observer'] = plan.state
            self._links = list(plan.tokens)
            covariance = self._covariance('torque_weights')
            plan = replace(plan, state=None)  # whether it has settled is for the caller
            self._records['support'] = contacts.start(
                self._model, plan, self._external_torque(), covariance
            )
        record = self._records['support']
        numbers = record.numbers
        if link:
            contact = record.found.contacts[self._links.index(link)]
            numbers = contact.wrench if name == 'contact_wrench' else contact.covariance
        self._add(name, link, numbers, fill_support, record)

    @property
    def inputs(self) -> set[str]:
        """The inputs of the steps that are not results of the first function."""
        return self._arrays.keys() - self.results.keys() - {each.name for each in self._outputs}

    # --- C --------------------------------------------------------------------------------------

    def added_to(self, code: CSource, name: str) -> CSource:
        """Return the C of the function `name` with that of the steps."""
        image, loop = RecordImage(name, OF_LOOP), LoopRecord()
        for array, numbers in self._arrays.items():
            image.leave_out(array, numbers)
        loop.mapper, loop.state_clock = StampedMessages.__new__(StampedMessages), StateClock()
        first = []
        if self._offset.model is not None:
            loop.state, offset = self._arrays['state'], self._arrays['offset']
            first = [StepOutput('offset', 'N m | N', offset, follow_state, self._offset)]
        at = image.add('loop', loop)
        names, functions = typed_c([each.function for each in (*first, *self._outputs)], name)
        records = [image.add(each.name, each.record) for each in (*first, *self._outputs)]
        called = [
            f'{function}(at + {WORD * record}, at + {WORD * at})'
            for function, record in zip(names, records)
        ]
        calls = [
            f'  if ({call} != {VALID}) {name}_clear({each.name}, {each.numbers.size});'
            for each, call in zip(self._outputs, called[len(first) :])
        ]
        ours = [pair for pair in image.pointers if first and pair[1] in ('state', 'offset')]
        others = [pair for pair in image.pointers if pair not in ours]
        steps, step_calls = self._function(f'{name}_steps', self._outputs, others)
        residual, residual_calls = self._function(f'{name}_residual', first, ours)
        kinds = ['residual'] * bool(first) + ['steps'] * bool(self._outputs)
        texts = {
            'name': name,
            'type': image.type,
            'start': image.start,
            'functions': '\n'.join(functions),
            'calls': '\n'.join([*step_calls, *calls]),
            'units': ''.join(f'\n *   {each.name} [{each.unit}]' for each in self._outputs),
            'prototype': steps,
            'residual_prototype': residual,
            'residual_calls': '\n'.join([*residual_calls, f'  {called[0]};']),
            'memories': ' and '.join(f'{name}_{each}' for each in kinds),
            'elapsed': StateClock.fields['elapsed'].place,
            'accepted': StampedMessages.fields['accepted'].place,
        }
        header, source = HEADER, SOURCE
        if first:
            header, source = header + RESIDUAL_HEADER, source + RESIDUAL_SOURCE
        if self._outputs:
            header, source = header + STEPS_HEADER, source + STEPS_SOURCE
        before, end, after = code.header.rpartition('#ifdef __cplusplus')
        before = before.replace(end, TYPES.format(**texts) + end, 1)
        header = f'{before}{header.format(**texts)}{end}{after}'
        return replace(code, header=header, source=code.source + source.format(**texts))

    def _function(
        self, name: str, outputs: Sequence[StepOutput], pointers: Sequence[tuple[int, str]]
    ) -> tuple[str, list[str]]:
        """Return the prototype of a function, and the lines that set its arrays in the memory."""
        robot, _, _ = name.rpartition('_')
        written = [each.name for each in outputs]
        read = dict.fromkeys(array for _, array in pointers if array not in written)
        arrays = [
            f',\n    {"const " * (array in read)}double {array}[{self._arrays[array].size}]'
            for array in (*read, *written)
        ]
        sets = [
            f'  {robot}_set(memory, {word}, (int64_t)(intptr_t){array});'
            for word, array in pointers
        ]
        prototype = f'void {name}(\n    {robot}_memory *memory,\n    int64_t elapsed'
        return f'{prototype}{"".join(arrays)})', sets


SUPPORT = ('support', 'contact_wrench', 'contact_wrench_covariance')

#: How the outputs are added.
BUILDERS: dict[str, Callable[[CSteps, str, str], None]] = {
    'contact': CSteps._add_flag,
    'collision': CSteps._add_flag,
    'commands': CSteps._add_commands,
    'singularity': CSteps._add_singularity,
    'external_torque_covariance': CSteps._add_torque_covariance,
    **dict.fromkeys(
        ('wrench_validity', 'reduced_wrench', 'wrench_covariance'), CSteps._add_observable
    ),
    **dict.fromkeys(SUPPORT, CSteps._add_support),
}
