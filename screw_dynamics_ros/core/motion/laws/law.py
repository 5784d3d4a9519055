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
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import vector
from screw_dynamics_ros.core.compile.program.recorded_arrays import plain, recorded
from screw_dynamics_ros.core.compile.program.tracing import Recorder
from screw_dynamics_ros.core.errors import ArgumentError, NotRecordableError, UnknownNameError
from screw_dynamics_ros.core.motion.laws.recorded_robot import RecordedRobot
from screw_dynamics_ros.core.robot.fused_kernel import Evaluation, Formula
from screw_dynamics_ros.core.robot.robot import Robot
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from screw_dynamics_ros.core.types import Array

#: The size of what has an element for each velocity of the robot.
JOINTS = 'joints'

POSITIONS = 'positions'

#: Fields of the state besides q and v, and of the reference: their shapes. Wrenches and twists have
#: the angular part first.
STATE: Mapping[str, tuple[int | str, ...]] = MappingProxyType(
    {'tau': (JOINTS,), 'dt': (), 'wrench': (6,)}
)
REFERENCE: Mapping[str, tuple[int | str, ...]] = MappingProxyType(
    {
        'q': (POSITIONS,),
        'v': (JOINTS,),
        'a': (JOINTS,),
        'pose': (4, 4),
        'twist': (6,),
        'wrench': (6,),
    }
)

#: Inputs of the program besides q, v and gravity.
PACKED = ('law_state', 'law_reference', 'law_parameters', 'law_memory')


@dataclass(frozen=True)
class Parameter:
    """A number, or one for each joint, that may change while the law runs.

    Attributes
    ----------
    default : float
    unit : str
    text : str
        Its meaning.
    minimum, maximum : float
        Bounds, included.
    size : int or 'joints'
        1: a number; otherwise a vector, of which every element has the default.

    Raises
    ------
    ArgumentError
        A default that is not finite, or beyond the bounds.
    """

    default: float
    unit: str = ''
    text: str = ''
    minimum: float = -math.inf
    maximum: float = math.inf
    size: int | str = 1

    def __post_init__(self) -> None:
        if not (math.isfinite(self.default) and self.minimum <= self.default <= self.maximum):
            raise ArgumentError(
                f'parameter with default {self.default}: it must be finite and in '
                f'[{self.minimum}, {self.maximum}]'
            )


class LawInputs:
    """Named arrays, read as attributes.

    Attributes
    ----------
    read : set of str
        What has been read.
    """

    read: set[str]

    def __init__(self, what: str, values: Mapping[str, Any]) -> None:
        self.__dict__.update(_what=what, _values=values, read=set())

    def __getattr__(self, name: str) -> Any:
        try:
            value = self._values[name]
        except KeyError:
            known = ', '.join(self._values) or 'nothing'
            raise UnknownNameError(f'{self._what} has no {name!r}; it has {known}') from None
        self.read.add(name)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        raise ArgumentError(f'{self._what}.{name} cannot be set; return the new memory as a dict')


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
            torques, found = result if isinstance(result, tuple) else (result, {})
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
class FieldLayout:
    """Where named arrays are in a vector.

    Attributes
    ----------
    shapes : {name: shape}
    """

    shapes: Mapping[str, tuple[int, ...]]

    @property
    def size(self) -> int:
        """Number of elements of all arrays."""
        return sum(map(math.prod, self.shapes.values()))

    def unpacked(self, values: Array) -> dict[str, Any]:
        """Return the arrays in a vector (size,); numbers where the shape is ()."""
        arrays, place = {}, 0
        for name, shape in self.shapes.items():
            size = math.prod(shape)
            part = values[place : place + size]
            arrays[name] = part.reshape(shape) if shape else part[0]
            place += size
        return arrays

    def packed(self, what: str, values: Mapping[str, ArrayLike]) -> Array:
        """Return a vector of all arrays, zero where none is given; checks names and shapes."""
        check_names(what, values, self.shapes)
        numbers = np.zeros(self.size)
        arrays, place = values, 0
        for name, shape in self.shapes.items():
            size = math.prod(shape)
            if name in arrays:
                given = np.asarray(arrays[name], dtype=float)
                if given.shape != shape:
                    raise ArgumentError(
                        f'{what}: {name} must have shape {shape}, not {given.shape}'
                    )
                numbers[place : place + size] = given.ravel()
            place += size
        return numbers


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
        LawInputs of the parameters.
    torques, next_memory : Formula
        Outputs of a program of the robot, (nv,) and (m,), for `Robot.fuse` with the parameters of
        `sizes`.
    """

    def __init__(self, law: Law, robot: Robot, options: Mapping[str, Any]) -> None:
        self.law, self.robot, self.options = law, robot, dict(options)
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
        inputs = dict(zip(self.sizes, map(recorded, packed)))
        nothing = recorded(q[:0])
        state, reference, parameters, memory = (
            layout.unpacked(inputs.get(name, nothing))
            for layout, name in zip(
                (self.state, self.reference, self.parameters, self.memory), PACKED
            )
        )
        states = LawInputs('state', {'q': recorded(q), 'v': recorded(v), **state})
        references = LawInputs('reference', reference)
        result = self._call(
            RecordedRobot(tree, self.robot, gravity),
            states,
            references,
            LawInputs('parameters', parameters),
            LawInputs('memory', memory),
        )
        if read is not None:
            read += [states.read, references.read]
        tau, new = result if isinstance(result, tuple) else (result, {})
        tau = self._checked('torques', tau, (self.robot.nv,))
        if new is not memory and set(new) != set(self.memory.shapes):
            raise NotRecordableError(
                f'{self.law.name} returns the memory {sorted(new)}; it has '
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
                f'{self.law.name} returns {what} of shape {array.shape}; it must be {shape}'
            )
        return array

    def _call(self, *arguments: Any) -> Any:
        """Call the function; errors name its line."""
        try:
            return self.law.function(*arguments, **self.options)
        except Exception as error:
            place = line_of(error, self.law)
            if place is None:
                raise
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
            Fields that the law reads; zero by default. Fields that it does not read are refused.
        dt : float
            Time since the last state [s].
        parameters : (p,) array
            From `values_of`; the defaults if not given.
        memory : (m,) array
            Zero if not given.
        """
        given = {**(state or {})}
        if 'dt' in self.state.shapes:
            given['dt'] = dt
        packed = {
            'law_state': self.state.packed('state', given),
            'law_reference': self.reference.packed('reference', reference or {}),
            'law_parameters': self.defaults if parameters is None else parameters,
            'law_memory': np.zeros(self.memory.size) if memory is None else memory,
        }
        vectors = {
            'q': vector('q', self.robot.nq, q),
            'v': vector('v', self.robot.nv, v),
            'gravity': self.robot.gravity,
            **packed,
        }
        results = self._kernel(*(vectors[name] for name in self._kernel.inputs))
        return results[0], results[1] if self.memory.size else np.zeros(0)


def check_names(what: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise `UnknownNameError` for names that are not known."""
    for name in given:
        if name not in known:
            listed = ', '.join(known) or 'nothing'
            raise UnknownNameError(f'{what}: there is no {name!r}; there is {listed}')


def part(values: tuple[Array, ...], place: int) -> Array:
    """Return one of several arrays."""
    return values[place]


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
