# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws as functions of NumPy arrays, recorded into one program with the robot.

A law maps the state of a robot, a reference, parameters and a memory to torques and the next
memory:

>>> from screw_dynamics_ros.core.law import JOINTS
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
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...compile.program.recorded_arrays import plain, recorded
from ...compile.program.tracing import Recorder, Scalar, program
from ...dynamics.payload import with_inertia_changes
from ...errors import ArgumentError, NotRecordableError
from ...reproducible import reproducible
from ...robot.fused_kernel import INERTIA_CHANGES
from ...robot.robot import Robot
from ...tree.multibody_tree import Tree
from ...types import Array
from .law_fields import (
    FieldLayout,
    LawDeclaration,
    LawInputs,
    Parameter,
    check_names,
    names_read,
    values_in,
)
from .recorded_robot import RecordedRobot
from .robot_law import LawRecording, RobotLaw, inputs_of, layouts

MAX_OPERATIONS = 50_000  # while a law is recorded
MAX_SIZE = 4096  # numbers of the memory, and of the parameters

LawFunction = Callable[..., tuple[Any, Mapping[str, Any]] | Any]


class Law(LawDeclaration):
    """A control law.

    Attributes
    ----------
    function : callable
        ``function(robot, state, reference, parameters, memory, **options)`` returns the torques
        (nv,) [N m, N], and with a memory also its next values by name. `robot` has the functions of
        `Robot`; `state` has q, v, the measured torques tau, the time dt since the last state [s]
        (0 at the first one) and the wrench of a wrist sensor; `reference` has `REFERENCE`. Options
        are constants of the recording, such as the name of a link.
    parameters, memory, name
        See `LawDeclaration`; the name is by default that of the function.
    """

    function: LawFunction

    def __init__(
        self,
        function: LawFunction,
        parameters: Mapping[str, Parameter] | None = None,
        memory: Mapping[str, int | str] | None = None,
        name: str = '',
    ) -> None:
        super().__init__(parameters or {}, memory or {}, name or function.__name__)
        object.__setattr__(self, 'function', function)

    def on(self, robot: Robot, **options: str | float | Sequence[float]) -> RobotLaw:
        """Return the law for one robot.

        Raises `NotRecordableError`, with the line at fault, if it cannot be recorded.
        """
        return RobotLaw(self, robot, options, record(self, robot, options))

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
    return lambda function: Law(function, parameters, memory)


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


def record(law: Law, robot: Robot, options: Mapping[str, Any]) -> LawRecording:
    """Return the program of a law for a robot; raises as `Law.on`."""
    check_options(law, options)
    fields = layouts(law, robot)
    for group in ('memory', 'parameters'):
        size = fields[group].size
        if size > MAX_SIZE:
            raise NotRecordableError(
                f'{described(law)}: {group} of {size} numbers, at most {MAX_SIZE} are possible'
            )
    recorder = Recorder(MAX_OPERATIONS)
    arrays = {name: recorder.inputs(name, size) for name, size in inputs_of(robot, fields)}
    groups = {
        group: LawInputs(
            group,
            {
                **({name: read_only(arrays[name]) for name in 'qv'} if group == 'state' else {}),
                **layout.unpacked(packed(arrays, group, layout)),
            },
        )
        for group, layout in fields.items()
    }
    tree = with_inertia_changes(reproducible(robot.regrouped_tree), arrays[INERTIA_CHANGES])
    outputs = evaluate(law, tree, robot, arrays['gravity'], groups, options)
    read = {
        group: [name for name in fields[group].shapes if name in names_read(groups[group])]
        for group in ('state', 'reference')
    }
    inputs = inputs_of(robot, layouts(law, robot, read))
    return LawRecording(read, program(recorder, inputs, outputs))


def packed(arrays: Mapping[str, Array], group: str, layout: FieldLayout) -> Any:
    """Return the inputs of a group of fields as one vector."""
    return read_only(
        np.concatenate(
            [np.zeros(0, object), *(arrays[f'{group}.{name}'] for name in layout.shapes)]
        )
    )


def evaluate(
    law: Law,
    tree: Tree,
    robot: Robot,
    gravity: Array,
    groups: Mapping[str, LawInputs],
    options: Mapping[str, Any],
) -> tuple[Array, Array]:
    """Run the function of a law on numbers or recorded scalars.

    Parameters
    ----------
    law : Law
    tree : Tree
        Of the robot, whose bodies may have recorded inertias.
    robot : Robot
    gravity : (3,) array
        [m/s^2].
    groups : {'state', 'reference', 'parameters', 'memory': LawInputs}
    options : dict

    Returns
    -------
    tau : (nv,) array
        [N m, N].
    memory : (m,) array

    Raises
    ------
    NotRecordableError
        With file and line.
    """
    arguments = RecordedRobot(tree, robot, read_only(gravity)), *groups.values()
    tau, new = _called(law, arguments, options)
    tau = _checked(law, 'torques', tau, (robot.nv,))
    shapes = layouts(law, robot)['memory'].shapes
    if set(new) != set(shapes):
        raise NotRecordableError(
            f'{described(law)} returns the memory {sorted(map(str, new))}; it has {sorted(shapes)}'
        )
    kept = [_checked(law, name, new[name], shape).ravel() for name, shape in shapes.items()]
    return tau, np.concatenate(kept) if kept else np.zeros(0)


def _checked(law: Law, what: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Return a result of a law as an array of recorded scalars and numbers."""
    array = np.asarray(plain(value), dtype=None if isinstance(value, np.ndarray) else object)
    if array.shape != shape:
        raise NotRecordableError(
            f'{described(law)} returns {what} of shape {array.shape}; it must be {shape}'
        )
    for element in array.ravel():
        if not isinstance(element, Scalar | float | int | np.floating | np.integer):
            raise NotRecordableError(
                f'{described(law)} returns {what} with {str(element)[:40]!r}, a '
                f'{type(element).__name__}; it must be real numbers'
            )
    return array


def _called(law: Law, arguments: Sequence[Any], options: Mapping[str, Any]) -> tuple[Any, Any]:
    """Call the function of a law; errors name its line."""
    try:
        return torques_and_memory(law.function(*arguments, **options))
    except Exception as error:
        place = line_of(error, files_of(law)) or described(law)
        reason = str(error) or type(error).__name__
        if isinstance(error, TypeError) and 'recorded scalar' in reason:
            reason = (
                'a decision about values: use np.where, np.minimum or np.clip on arrays of the '
                'state, made with np.stack or np.concatenate rather than np.array'
            )
        elif isinstance(error, ValueError) and arguments[0].nq != arguments[0].nv:
            reason += '; q is longer than v (free base, ball joint): q_d - q is not a rate'
        raise NotRecordableError(f'{place}: {reason}') from error


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


def files_of(law: Law) -> set[str]:
    """Return the files that define a law, with those that `law_source` has loaded for them."""
    files: set[str] = set()
    for each in law._parts:
        module = sys.modules.get(each.function.__module__)
        files |= {each.function.__code__.co_filename, *getattr(module, '__law_files__', ())}
    return files


def described(law: Law) -> str:
    """Return the name of a law, with file and line of its definition."""
    codes = [each.function.__code__ for each in law._parts]
    places = [f'{Path(code.co_filename).name}:{code.co_firstlineno}' for code in codes]
    return f'{law.name} ({", ".join(places)})'


def line_of(error: BaseException, files: Collection[str]) -> str | None:
    """Return file, number and text of the last line of some files that an error comes from."""
    place, trace = None, error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name in files and name != __file__:
            place = place_of(name, trace.tb_lineno)
        trace = trace.tb_next
    return place


def place_of(file: str, line: int) -> str:
    """Return name, number and text of a line."""
    linecache.checkcache(file)
    return f'{Path(file).name}:{line}: {linecache.getline(file, line).strip()}'
