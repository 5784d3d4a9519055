# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws as functions of NumPy arrays, recorded into one program with the robot.

A law maps the state of a robot, a reference, parameters and a memory to torques and the next
memory:

>>> from screw_dynamics_ros.core.tree.examples import planar_arm_description
>>> @control_law(
...     parameters={'stiffness': Parameter(10.0, 'N m/rad', minimum=0.0)},
...     memory={'integral': JOINTS},
... )
... def springs(robot, state, reference, parameters, memory):
...     error = reference.q - state.q
...     integral = np.clip(memory.integral + error * state.dt, -1.0, 1.0)
...     return parameters.stiffness * error + integral + robot.gravity_torques(state.q), {
...         'integral': integral
...     }

`Law.on` records it for one robot. The program contains the recursions of the robot; it has no
branches: of `np.where` both values are computed.

>>> arm = Robot(planar_arm_description())
>>> law = springs.on(arm)
>>> tau, memory = law.step([0.0, 0.0], [0.0, 0.0], dt=0.1, reference={'q': [0.5, 0.0]})
>>> (tau - arm.gravity_torques([0.0, 0.0])).round(6), memory
(array([5.05, 0.  ]), array([0.05, 0.  ]))

A law is a function of what it reads: no global variables that change, no random numbers.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import vector
from screw_dynamics_ros.core.compile.program.recorded_arrays import plain, recorded
from screw_dynamics_ros.core.compile.program.tracing import Recorder
from screw_dynamics_ros.core.errors import ArgumentError, NotRecordableError
from screw_dynamics_ros.core.motion.laws.law_fields import (
    JOINTS,
    POSITIONS,
    REFERENCE,
    STATE,
    FieldLayout,
    LawInputs,
    Parameter,
    check_fields,
    check_names,
    names_read,
    values_in,
)
from screw_dynamics_ros.core.motion.laws.recorded_robot import RecordedRobot
from screw_dynamics_ros.core.robot.fused_kernel import Evaluation, Formula
from screw_dynamics_ros.core.robot.robot import Robot
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from screw_dynamics_ros.core.types import Array

#: Inputs of the program besides q, v and gravity.
PACKED = ('law_state', 'law_reference', 'law_parameters', 'law_memory')

#: Fields of the reference without a default: zero would be a motion.
REQUIRED = ('q', 'pose')

LawFunction = Callable[..., tuple[Any, Mapping[str, Any]] | Any]


@dataclass(frozen=True, eq=False)
class Law:
    """A control law.

    Attributes
    ----------
    function : callable
        ``function(robot, state, reference, parameters, memory, **options)`` returns the torques
        (nv,) [N m, N], and with a memory also its next values by name. `robot` has the functions of
        `Robot`; `state` has q, v, the measured torques tau, the time dt since the last state [s]
        (0 at the first one) and the wrench of a wrist sensor; `reference` has `REFERENCE`. Options
        are constants of the recording, such as the name of a link.
    parameters : {name: Parameter}
    memory : {name: int or 'joints'}
        Sizes of what the law remembers; zero at the start.
    name : str
    """

    function: LawFunction
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    memory: Mapping[str, int | str] = field(default_factory=dict)
    name: str = ''

    def __post_init__(self) -> None:
        object.__setattr__(self, 'parameters', dict(self.parameters))
        object.__setattr__(self, 'memory', dict(self.memory))
        sizes = *(each.size for each in self.parameters.values()), *self.memory.values()
        check_fields((*self.parameters, *self.memory), sizes)
        object.__setattr__(self, 'name', self.name or self.function.__name__)

    def on(self, robot: Robot, **options: str | float | Sequence[float]) -> RobotLaw:
        """Return the law for one robot.

        Raises `NotRecordableError`, with the line at fault, if it cannot be recorded.
        """
        return RobotLaw(self, robot, options)

    def __add__(self, other: Law) -> Law:
        """Return the sum of two laws; parameters and memory are called '<law>.<name>'."""
        return sum_of_laws(*self._parts, *other._parts)

    @property
    def _parts(self) -> tuple[Law, ...]:
        return getattr(self.function, 'laws', (self,))


def control_law(
    parameters: Mapping[str, Parameter] | None = None,
    memory: Mapping[str, int | str] | None = None,
) -> Callable[[LawFunction], Law]:
    """Return a decorator that makes a `Law` of a function."""
    return lambda function: Law(function, parameters or {}, memory or {})


def sum_of_laws(*laws: Law) -> Law:
    """Return the law whose torques are the sums of those of others.

    Parameters and memory are called '<law>.<name>', options belong to all laws that have them.
    Raises `ArgumentError` if two laws have the same name.
    """
    names = [law.name for law in laws]
    if len(set(names)) < len(names):
        raise ArgumentError(f'two laws of a sum have the same name: {", ".join(names)}')

    def total(
        robot: RecordedRobot,
        state: LawInputs,
        reference: LawInputs,
        parameters: LawInputs,
        memory: LawInputs,
        **options: Any,
    ) -> tuple[Any, dict[str, Any]]:
        tau, new = 0.0, {}
        for law in laws:
            own = {name: getattr(parameters, f'{law.name}.{name}') for name in law.parameters}
            kept = {name: getattr(memory, f'{law.name}.{name}') for name in law.memory}
            chosen = {name: options[name] for name in options if name in options_of(law.function)}
            result = law.function(
                robot,
                state,
                reference,
                LawInputs('parameters', own),
                LawInputs('memory', kept),
                **chosen,
            )
            torques, found = torques_and_memory(result)
            tau = tau + torques
            new.update({f'{law.name}.{name}': value for name, value in found.items()})
        return tau, new

    total.laws = laws  # type: ignore[attr-defined]
    return Law(
        total,
        {f'{law.name}.{name}': each for law in laws for name, each in law.parameters.items()},
        {f'{law.name}.{name}': size for law in laws for name, size in law.memory.items()},
        '+'.join(names),
    )


def options_of(function: LawFunction) -> tuple[str, ...]:
    """Return the names of the keyword-only arguments of a law."""
    code = function.__code__
    return code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]


@dataclass(frozen=True)
class LawEvaluation(Evaluation):
    """A law as the function of a formula: torques and next memory from the inputs of the program.

    Attributes
    ----------
    law : RobotLaw
        Compared by identity.
    """

    law: Any = None

    def on(self, tree: Tree, *inputs: Array) -> tuple[Array, Array]:
        """Return torques (nv,) and memory (m,) on a tree."""
        result: tuple[Array, Array] = self.law.evaluate(tree, *inputs)
        return result

    def described(self) -> tuple[object, ...]:
        """Return that it is not a function of this package, so that it is always recorded."""
        return 'law', None


class RobotLaw:
    """A law for one robot, in one program.

    Attributes
    ----------
    law : Law
    robot : Robot
    options : dict
    state, reference : FieldLayout
        The fields that the law reads, besides q and v.
    parameters, memory : FieldLayout
    defaults : (p,) array
        Values of the parameters.
    torques, next_memory : Formula
        Outputs of a program of the robot, (nv,) and (m,), for `Robot.fuse` with the parameters of
        `sizes`.
    """

    def __init__(self, law: Law, robot: Robot, options: Mapping[str, Any]) -> None:
        self.law, self.robot, self.options = law, robot, dict(options)
        check_options(law, options)
        shape = self._shape
        self.parameters = FieldLayout(
            {
                name: () if each.size == 1 else shape((each.size,))
                for name, each in law.parameters.items()
            }
        )
        self.memory = FieldLayout({name: shape((size,)) for name, size in law.memory.items()})
        self.state = FieldLayout({name: shape(each) for name, each in STATE.items()})
        self.reference = FieldLayout({name: shape(each) for name, each in REFERENCE.items()})
        read = self._fields_read()
        self.state, self.reference = (
            FieldLayout({name: each.shapes[name] for name in each.shapes if name in names})
            for each, names in zip((self.state, self.reference), read)
        )
        self.defaults = self.values_of({})
        sources = ('q', 'v', 'gravity', *self.sizes)
        tree = robot.regrouped_tree
        both = Formula(law.name, sources, LawEvaluation(tree, tree.digest, law.name, self))
        self.torques = Formula(f'torques of {law.name}', (both,), part, (0,))
        self.next_memory = Formula(f'memory of {law.name}', (both,), part, (1,))

    def _shape(self, sizes: Sequence[int | str]) -> tuple[int, ...]:
        known = {JOINTS: self.robot.nv, POSITIONS: self.robot.nq}
        return tuple(known[size] if isinstance(size, str) else size for size in sizes)

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of the inputs of the program besides q, v and gravity, without empty ones."""
        layouts = self.state, self.reference, self.parameters, self.memory
        return {name: each.size for name, each in zip(PACKED, layouts) if each.size}

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

    def _fields_read(self) -> tuple[set[str], set[str]]:
        """Record the law once; return the fields of state and reference that it reads."""
        recorder, robot = Recorder(), self.robot
        layouts = self.state, self.reference, self.parameters, self.memory
        read: list[set[str]] = []
        self.evaluate(
            robot.regrouped_tree,
            recorder.inputs('q', robot.nq),
            recorder.inputs('v', robot.nv),
            recorder.inputs('gravity', 3),
            *(recorder.inputs(name, each.size) for name, each in zip(PACKED, layouts) if each.size),
            read=read,
        )
        return read[0], read[1]

    def evaluate(
        self,
        tree: Tree,
        q: Array,
        v: Array,
        gravity: Array,
        *packed: Array,
        read: list[set[str]] | None = None,
    ) -> tuple[Array, Array]:
        """Run the function on numbers or recorded scalars; return torques (nv,), memory (m,)."""
        inputs = dict(zip(self.sizes, map(read_only, packed)))
        nothing = read_only(q[:0])
        state, reference, parameters, memory = (
            layout.unpacked(inputs.get(name, nothing))
            for layout, name in zip(
                (self.state, self.reference, self.parameters, self.memory), PACKED
            )
        )
        states = LawInputs('state', {'q': read_only(q), 'v': read_only(v), **state})
        references = LawInputs('reference', reference)
        tau, new = self._call(
            RecordedRobot(tree, self.robot, read_only(gravity)),
            states,
            references,
            LawInputs('parameters', parameters),
            LawInputs('memory', memory),
        )
        if read is not None:
            read += [names_read(states), names_read(references)]
        tau = self._checked('torques', tau, (self.robot.nv,))
        if set(new) != set(self.memory.shapes):
            raise NotRecordableError(
                f'{described(self.law)} returns the memory {sorted(new)}; it has '
                f'{sorted(self.memory.shapes)}'
            )
        kept = [
            self._checked(name, new[name], shape).ravel()
            for name, shape in self.memory.shapes.items()
        ]
        return tau, np.concatenate(kept) if kept else np.zeros(0)

    def _checked(self, what: str, value: Any, shape: tuple[int, ...]) -> Array:
        array = np.asarray(plain(value), dtype=None if isinstance(value, np.ndarray) else object)
        if array.shape != shape:
            raise NotRecordableError(
                f'{described(self.law)} returns {what} of shape {array.shape}; it must be {shape}'
            )
        return array

    def _call(self, *arguments: Any) -> tuple[Any, Any]:
        """Call the function; errors name its line."""
        try:
            return torques_and_memory(self.law.function(*arguments, **self.options))
        except Exception as error:
            place = line_of(error, self.law) or described(self.law)
            reason = str(error)
            if isinstance(error, TypeError) and 'recorded scalar' in reason:
                reason = (
                    'a decision about values: use np.where, np.minimum or np.clip on arrays of the '
                    'state, made with np.stack or np.concatenate rather than np.array'
                )
            raise NotRecordableError(f'{place}: {reason}') from error

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


def read_only(values: Array) -> Any:
    """Return recorded scalars or numbers that a law cannot change: others read them, too."""
    view = recorded(values.view())
    view.flags.writeable = False
    return view


def torques_and_memory(result: Any) -> tuple[Any, Any]:
    """Return both parts of what a law returned; raises `ArgumentError`."""
    parts = result if isinstance(result, tuple) else (result, {})
    if len(parts) != 2 or not isinstance(parts[1], Mapping | LawInputs):
        raise ArgumentError('a law returns torques, or torques and a dict of its memory')
    tau, new = parts
    return tau, values_in(new) if isinstance(new, LawInputs) else new


def check_options(law: Law, options: Mapping[str, Any]) -> None:
    """Raise `UnknownNameError` for unknown options, `ArgumentError` for missing ones."""
    functions = [each.function for each in law._parts]
    known = [name for function in functions for name in options_of(function)]
    check_names(f'options of {law.name}', options, known)
    for function in functions:
        for name in options_of(function):
            if name not in options and name not in (function.__kwdefaults__ or {}):
                raise ArgumentError(f'{law.name} needs the option {name}')


def part(values: tuple[Array, ...], place: int) -> Array:
    """Return one of several arrays."""
    return values[place]


def described(law: Law) -> str:
    """Return the name of a law, with file and line of its definition."""
    codes = [each.function.__code__ for each in law._parts]
    places = [f'{Path(code.co_filename).name}:{code.co_firstlineno}' for code in codes]
    return f'{law.name} ({", ".join(places)})'


def line_of(error: BaseException, law: Law) -> str | None:
    """Return file, number and text of the line of a law that raised an error."""
    files = {each.function.__code__.co_filename for each in law._parts}
    place, trace = None, error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name in files and name != __file__:
            text = linecache.getline(name, trace.tb_lineno).strip()
            place = f'{Path(name).name}:{trace.tb_lineno}: {text}'
        trace = trace.tb_next
    return place
