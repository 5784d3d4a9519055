# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs of the table as formulas of one C function, with their memory as inputs and results."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from ..core import Robot, UnknownNameError
from ..core.compile.text.c_source import CSource, identifier, in_comment
from ..core.errors import ArgumentError
from ..core.estimation.dead_band import dead_band_of_size, torques_outside_band
from ..core.estimation.effort_terms import TERMS
from ..core.estimation.low_pass import low_pass_step
from ..core.estimation.observers import quantities
from ..core.estimation.observers.table import OBSERVERS
from ..core.estimation.residual_model import ResidualModel
from ..core.files import text_of
from ..core.formulas import contact
from ..core.outputs import OUTPUTS
from ..core.robot.actuated_robot import Source, elements
from ..core.robot.functions import Output
from ..core.robot.fused_kernel import Formula
from ..core.types import Array
from ..nodes.model.actuated import actuated
from ..nodes.model.output_formulas import of_motors
from ..nodes.model.running_model import of_joints
from ..nodes.model.scalar_joints import scalar_joints
from ..nodes.model.torque_terms import torque_terms
from ..nodes.outputs.external_wrenches import residual_recordings
from ..nodes.outputs.external_wrenches.external_torque import effort_terms, efforts_of
from .c_steps import BUILDERS, CSteps

#: Why outputs are not exported.
NOT_EXPORTED = {
    **dict.fromkeys(('position', 'velocity', 'effort'), 'it is an input'),
    'residual': 'it is the input offset; --residual FILE has a function for it',
    'residual_confidence': 'it is for reports of a node',
    'constraint_wrench': 'the rank of its equations varies, a node solves them by LAPACK',
}

#: Inputs besides those of the functions of `Robot`, for n joints with one coordinate.
MEANINGS = {
    'effort_shares': f'1 for each of {", ".join(TERMS)} that the measured efforts contain, else 0',
    'measured': 'measured efforts of the joints',
    'offset': 'subtracted from the external torques, as by a tare',
    'observer': 'memory of the observer: next_observer of the last call, zero at the start',
    'observer_step': 'with the time h since the last call: e^(-h / T) for the time constant T of '
    'each joint, 1 / h, h, 0; in the first call 1 for each joint, 0, 0, 1',
    'observer_parameters': 'numbers of each joint, one parameter after the other: {parameters}',
    'torque_weights': 'e = exp(-a h), 1 - e - w, w = 1 - (1 - e) / (a h) with a = 2 pi cutoff; '
    '0, 0, 1 without a filter, in the first call, and in the nodes until the observer has settled',
    'wrench_weights': 'the same for wrenches',
    'dead_bands': 'of torques, forces and moments; 0 for none',
    'contact': 'damping, characteristic_length and singularity_threshold [m]',
    'base_observer': 'memory of the momentum of the base: next_base_observer of the last call',
    'base_step': 'as observer_step, for the six velocities of the base',
    'shares': f'1 for each of {", ".join(TERMS)} that the robot does not compensate itself, else 0',
    'reference': '1 for each joint with a reference, else 0; its positions, velocities and '
    'accelerations',
}

#: The meaning of the memories of low-pass filters.
FILTER = 'memory of a low-pass filter: the result next_... of the last call'


class COutputs:
    """Outputs by the names of their arrays, for one function.

    Torques and wrenches pass low-pass filters and dead bands as in `wrench_estimator`. Angular
    parts come first.

    Parameters
    ----------
    robot : Robot
    observer : str
        Of external torques, one of `OBSERVERS`.
    residual : ResidualModel, optional
        Of external torques, for a function that computes the input `offset`.

    Attributes
    ----------
    results : dict of str to Source
        In the order in which they were added.
    memory : dict of str to Source
        The next memories, by name.
    """

    def __init__(
        self, robot: Robot, observer: str = 'static', residual: ResidualModel | None = None
    ) -> None:
        self._robot, self._observer, self._residual = robot, observer, residual
        self._n = n = len(scalar_joints(robot))
        self.results: dict[str, Source] = {}
        self.memory: dict[str, Source] = {}
        self._steps: dict[tuple[str, str], None] = {}
        self._sizes = {
            'effort_shares': len(TERMS),
            'measured': n,
            'offset': n,
            'observer': OBSERVERS[observer].state_size(n),
            'observer_step': n + 3,
            'observer_parameters': max(1, n * len(OBSERVERS[observer].parameters)),
            'torque_filter': 2 * n,
            'torque_weights': 3,
            'wrench_weights': 3,
            'dead_bands': 3,
            'contact': 3,
            'shares': len(TERMS),
            'reference': 4 * n,
            'base_observer': 18,
            'base_step': 9,
        }

    def add(self, text: str) -> None:
        """Add an output, NAME or NAME/LINK.

        Raises `UnknownNameError`, and `ArgumentError` for outputs that no formula computes.
        """
        name, _, link = text.partition('/')
        if name not in OUTPUTS:
            raise UnknownNameError(f'no output {name!r}; choose one of {", ".join(OUTPUTS)}')
        row = OUTPUTS[name]
        if row.of_links != bool(link):
            raise UnknownNameError(f'{text!r} does not name an output; write {row.part("LINK")}')
        if link:
            self._robot.tree.frame(link)
        if row.of_base and not self._robot.floating_base:
            raise ArgumentError(f'{name} requires a floating base: use --floating-base')
        if name in NOT_EXPORTED:
            raise ArgumentError(f'{text} is not exported: {NOT_EXPORTED[name]}')
        if name in BUILDERS:
            if name == 'wrench_covariance':
                self.results[f'wrench_{identifier(link)}_pivots'] = self._contact(link)[1]
            self._steps[name, link] = None
        elif name == 'external_torque':
            torque = (self._filtered_torque(), 'dead_bands')
            self.results[name] = Formula('torque outside band', torque, torques_outside_band)
        elif name == 'wrench':
            self._add_wrench(link)
        elif name == 'feedforward':
            self.results[name] = torque_terms(self._robot).feedforward
        else:
            result = f'{name}_torques' if name in TERMS else identifier(text)
            self.results[result] = of_motors(row, self._robot, *filter(None, [link]))

    @cached_property
    def _observed(self) -> quantities.Observation:
        robot, efforts = self._robot, efforts_of(self._robot)
        static = quantities.static_torque(efforts, effort_terms(robot))
        friction = quantities.friction_of(robot, efforts)
        given = quantities.quantities(efforts, of_joints(robot, 'v'), static, str, friction)
        return quantities.observation(self._observer, self._n, given)

    def _filtered_torque(self) -> Formula:
        """Return the external torques (n,) by the observer after their low-pass filter."""
        observed = self._observed
        if observed.state is not None:
            self.memory['next_observer'] = observed.state
        return self._filtered('torque_filter', observed.torque, self._n, 'torque_weights')

    def _filtered(self, memory: str, value: Formula, size: int, weights: str) -> Formula:
        """Return a signal (size,) after a low-pass filter."""
        state = Formula(memory, (memory, value, weights), low_pass_step)
        self._sizes[memory] = 2 * size
        self.memory[f'next_{memory}'] = state
        return elements(state, range(size, 2 * size))

    def _contact(self, link: str) -> tuple[Formula, Formula]:
        """Return the wrench at a link, and its pivots, which are positive if it is observable."""
        count = actuated(self._robot).freedoms_of(link)
        if count < 6:
            raise ArgumentError(
                f'wrench/{link}: {count} joints move it, but the six components of a wrench '
                'require six: reduced_wrench is their observable part'
            )
        jacobian = of_joints(self._robot, ('jacobian', link, 'body'))
        return contact(jacobian, self._filtered_torque())

    def _add_wrench(self, link: str) -> None:
        """Add the wrench at a link, and its pivots."""
        wrench, pivots = self._contact(link)
        name = identifier(f'wrench_{link}')
        filtered = self._filtered(f'wrench_filter_{identifier(link)}', wrench, 6, 'wrench_weights')
        bands = (filtered, 'dead_bands')
        self.results[name] = Formula('wrench outside bands', bands, wrench_outside_bands)
        self.results[f'{name}_pivots'] = pivots

    @property
    def has_steps(self) -> bool:
        """Whether another function computes some outputs or the offset."""
        return bool(self._steps) or self._residual is not None

    @property
    def outputs(self) -> list[Formula]:
        """All results, then the next memories, with their names."""
        named = {**self.results, **self.memory}
        return [Formula(name, (source,), itself) for name, source in named.items()]

    @property
    def parameters(self) -> dict[str, int]:
        """Sizes of the inputs in addition to those of the functions of `Robot`."""
        read = sources_of(self.outputs)
        return {name: size for name, size in self._sizes.items() if name in read}

    def c_source(self, name: str, functions: Sequence[Output], separate: bool) -> CSource:
        """Return functions of `Robot` and all results as C; the header explains the inputs.

        Outputs by steps are those of a second function, `name`_steps; `name`_residual computes the
        offset.
        """
        steps = CSteps(
            self._robot, self._observed, self._filtered_torque, [*self._steps], self._residual
        )
        self.results.update(steps.results)
        self.memory.update(steps.memory)
        parameters = self.parameters
        code = self._robot.c_source(
            name, *functions, *self.outputs, parameters=parameters, separate=separate
        )
        kept = ', '.join(OBSERVERS[self._observer].parameters) or 'none, not read'
        lines = [
            f'{input_}: {MEANINGS.get(input_, FILTER).format(parameters=kept)}'
            for input_ in self._sizes
            if input_ in parameters or input_ in steps.inputs
        ]
        wrapped = [text for line in lines for text in textwrap.wrap(line, 96)]
        comment = ''.join(f' * {in_comment(line)}\n' for line in wrapped)
        if comment:
            code = replace(code, header=f'/*\n{comment} */\n{code.header}')
        return steps.added_to(code, name) if self.has_steps else code


def residual_of_file(path: Path, robot: Robot) -> ResidualModel:
    """Return the model or map of a file for a robot; raises `ArgumentError`."""
    try:
        text = text_of(path, residual_recordings.MAX_FILE_BYTES)
    except ArgumentError as error:
        raise ArgumentError(f'--residual: {path}: {error}') from None
    joints = scalar_joints(robot)
    found = residual_recordings.of_text(str(path), text, joints, None)
    return residual_recordings.model_of(str(path), found, robot, joints)


def sources_of(outputs: Sequence[Source]) -> set[Source]:
    """Return outputs and all that they read."""
    found, pending = set[Source](), list(outputs)
    while pending:
        source = pending.pop()
        if source not in found:
            found.add(source)
            pending += source.sources if isinstance(source, Formula) else ()
    return found


def wrench_outside_bands(wrench: Array, bands: Array) -> Array:
    """Return moment and force (6,) after their dead bands."""
    moment, force = wrench[:3], wrench[3:]
    return np.concatenate([dead_band_of_size(moment, bands[2]), dead_band_of_size(force, bands[1])])


def itself(values: Array) -> Array:
    """Return an array."""
    return values
