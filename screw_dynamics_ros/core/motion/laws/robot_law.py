# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A recorded control law with its robot: data without any function of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import vector
from ...compile.program.replay import data_of, program_of, replayed
from ...compile.program.tracing import Program
from ...errors import ArgumentError
from ...robot.fused_kernel import INERTIA_CHANGES, DescribedFunction, Formula
from ...robot.robot import Robot
from ...types import Array
from .law_fields import (
    JOINTS,
    POSITIONS,
    REFERENCE,
    STATE,
    FieldLayout,
    LawDeclaration,
    check_names,
)

#: Groups of fields, and the inputs of a program of the robot that concatenate them.
PACKED: Mapping[str, str] = {
    'state': 'law_state',
    'reference': 'law_reference',
    'parameters': 'law_parameters',
    'memory': 'law_memory',
}

#: Fields of the reference without a default: zero would be a motion.
REQUIRED = ('q', 'pose')


@dataclass(frozen=True)
class LawRecording:
    """What a law computes for one robot.

    Attributes
    ----------
    read : {'state' or 'reference': names}
        The fields that it reads, besides q and v of the state.
    program : Program
        Torques (nv,) and the next memory (m,), from q, v, gravity, `INERTIA_CHANGES`, and one input
        '<group>.<field>' for each field of `PACKED`.
    """

    read: Mapping[str, Sequence[str]]
    program: Program

    def data(self) -> dict[str, Any]:
        """Return lists, numbers and text, for JSON."""
        return {'read': self.read, 'program': data_of(self.program)}

    @staticmethod
    def of(data: Mapping[str, Any], law: LawDeclaration, robot: Robot) -> LawRecording:
        """Return the recording of a law from the data of another process.

        Raises `ArgumentError` if they do not fit to the law and the robot.
        """
        try:
            given = data['read']
            read = {
                group: [str(name) for name in given[group] if name in known]
                for group, known in (('state', STATE), ('reference', REFERENCE))
            }
            recording = LawRecording(read, program_of(data['program']))
        except (KeyError, TypeError) as error:
            raise ArgumentError(f'this is not the recording of a law: {error}') from None
        fields = layouts(law, robot, recording.read)
        sizes = tuple(shape for shape, _ in recording.program.outputs)
        if recording.program.inputs != inputs_of(robot, fields) or sizes != (
            (robot.nv,),
            (fields['memory'].size,),
        ):
            raise ArgumentError(f'the program of law {law.name} is of another law or robot')
        return recording


def layouts(
    law: LawDeclaration, robot: Robot, read: Mapping[str, Sequence[str]] | None = None
) -> dict[str, FieldLayout]:
    """Return the fields of the groups of `PACKED`; of state and reference those that are read."""
    known = {JOINTS: robot.nv, POSITIONS: robot.nq}

    def shape(sizes: Sequence[int | str]) -> tuple[int, ...]:
        return tuple(known[size] if isinstance(size, str) else size for size in sizes)

    given = {
        group: {
            name: shape(each)
            for name, each in fields.items()
            if read is None or name in read[group]
        }
        for group, fields in (('state', STATE), ('reference', REFERENCE))
    }
    given['parameters'] = {
        name: () if each.size == 1 else shape((each.size,)) for name, each in law.parameters.items()
    }
    given['memory'] = {name: shape((size,)) for name, size in law.memory.items()}
    return {group: FieldLayout(shapes) for group, shapes in given.items()}


def inputs_of(robot: Robot, fields: Mapping[str, FieldLayout]) -> tuple[tuple[str, int], ...]:
    """Return the inputs of the program of a `LawRecording`, with their sizes."""
    changes = robot.payload_parameters({}).size
    return (
        ('q', robot.nq),
        ('v', robot.nv),
        ('gravity', 3),
        (INERTIA_CHANGES, changes),
        *((f'{group}.{name}', size) for group in fields for name, size in fields[group].sizes),
    )


@dataclass(frozen=True)
class LawReplay(DescribedFunction):
    """A recorded law as the function of a formula; those of equal programs are equal.

    Attributes
    ----------
    digest : str
        Of the program.
    program : Program
    groups : tuple of FieldLayout
        Those of `PACKED` that are not empty.
    """

    digest: str
    program: Program = field(compare=False)
    groups: tuple[tuple[str, FieldLayout], ...] = field(compare=False)

    def __call__(
        self, q: Array, v: Array, gravity: Array, changes: Array, *packed: Array
    ) -> tuple[Array, ...]:
        """Return torques (nv,) and memory (m,)."""
        inputs = {'q': q, 'v': v, 'gravity': gravity, INERTIA_CHANGES: changes}
        for (group, layout), numbers in zip(self.groups, packed):
            places = layout.places
            for name, size in layout.sizes:
                inputs[f'{group}.{name}'] = numbers[places[name] :][:size]
        return replayed(self.program, inputs)

    def described(self) -> tuple[object, ...]:
        """Return the digest of the program."""
        return 'law', self.digest


class RobotLaw:
    """A law for one robot, in one program.

    Parameters
    ----------
    law : LawDeclaration
    robot : Robot
    options : dict
        Constants of the recording.
    recording : LawRecording

    Attributes
    ----------
    law, robot, options
        As given.
    state, reference : FieldLayout
        The fields that the law reads, besides q and v.
    parameters, memory : FieldLayout
    defaults : (p,) array
        Values of the parameters.
    torques, next_memory : Formula
        Outputs of a program of the robot, (nv,) and (m,), for `Robot.fuse` with the parameters of
        `sizes`.
    """

    def __init__(
        self,
        law: LawDeclaration,
        robot: Robot,
        options: Mapping[str, Any],
        recording: LawRecording,
    ) -> None:
        self.law, self.robot, self.options = law, robot, dict(options)
        fields = layouts(law, robot, recording.read)
        self.state, self.reference = fields['state'], fields['reference']
        self.parameters, self.memory = fields['parameters'], fields['memory']
        self.sizes = {PACKED[group]: each.size for group, each in fields.items() if each.size}
        self.defaults = self.values_of({})
        groups = tuple((group, each) for group, each in fields.items() if each.size)
        program = recording.program
        both = Formula(
            law.name,
            ('q', 'v', 'gravity', INERTIA_CHANGES, *self.sizes),
            LawReplay(program.digest(), program, groups),
        )
        self.torques = Formula(f'torques of {law.name}', (both,), part, (0,))
        self.next_memory = Formula(f'memory of {law.name}', (both,), part, (1,))

    def __repr__(self) -> str:
        return f'RobotLaw({self.law.name!r}, robot={self.robot.description.name!r})'

    def values_of(self, given: Mapping[str, ArrayLike]) -> Array:
        """Return the parameters (p,); those that are not given have their defaults.

        Raises `UnknownNameError`, and `ArgumentError` for wrong shapes and values beyond bounds.
        """
        check_names(f'parameters of {self.law.name}', given, self.parameters.shapes)
        values = {}
        for name, parameter in self.law.parameters.items():
            shape = self.parameters.shapes[name]
            value = np.asarray(given.get(name, parameter.default), dtype=float)
            if value.ndim == 0:
                value = np.full(shape, value)
            if not ((value >= parameter.minimum) & (value <= parameter.maximum)).all():
                raise ArgumentError(
                    f'{name} must be in [{parameter.minimum}, {parameter.maximum}], got {value}'
                )
            values[name] = value
        return self.parameters.packed(f'parameters of {self.law.name}', values)

    # --- one state --------------------------------------------------------------------------------

    @cached_property
    def _kernel(self) -> Any:
        outputs = [self.torques, *([self.next_memory] if self.memory.size else [])]
        return self.robot.fuse(*outputs, parameters=self.sizes)

    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        state: Mapping[str, ArrayLike] | None = None,
        dt: float = 0.0,
        reference: Mapping[str, ArrayLike] | None = None,
        parameters: Array | None = None,
        memory: Array | None = None,
    ) -> tuple[Array, Array]:
        """Return the torques (nv,) [N m, N], and the next memory (m,).

        Parameters
        ----------
        q, v : (nq,), (nv,) arrays
        state, reference : mapping
            Fields that the law reads; zero by default, but q and pose of the reference are required
            if they are read. Fields that it does not read are refused.
        dt : float
            Time since the last state [s].
        parameters : (p,) array
            From `values_of`; the defaults if not given.
        memory : (m,) array
            Zero if not given.
        """
        given, wanted = {**(state or {})}, {**(reference or {})}
        if 'dt' in self.state.shapes:
            given['dt'] = dt
        for name in REQUIRED:
            if name in self.reference.shapes and name not in wanted:
                raise ArgumentError(f'{self.law.name} reads reference.{name}, which is not given')
        packed = {
            'law_state': self.state.packed('state', given),
            'law_reference': self.reference.packed('reference', wanted),
            'law_parameters': self._vector('parameters', parameters, self.defaults),
            'law_memory': self._vector('memory', memory, np.zeros(self.memory.size)),
        }
        vectors = {
            'q': vector('q', self.robot.nq, q),
            'v': vector('v', self.robot.nv, v),
            'gravity': self.robot.gravity,
            **packed,
        }
        results = self._kernel(*(vectors[name] for name in self._kernel.inputs))
        return results[0], results[1] if self.memory.size else np.zeros(0)

    def _vector(self, name: str, given: ArrayLike | None, default: Array) -> Array:
        return default if given is None else vector(name, default.size, given)


def part(values: tuple[Array, ...], place: int) -> Array:
    """Return one of several arrays."""
    return values[place]
