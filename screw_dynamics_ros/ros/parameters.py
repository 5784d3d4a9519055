# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the nodes: declared in tables, with the same checks at startup and at run time."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ..core.errors import ArgumentError, ScrewDynamicsError
from .process.faults import FAULTS
from .process.state_lock import STATE_LOCK

with suppress(ModuleNotFoundError):  # commands without ROS read and check the tables
    from rcl_interfaces.msg import (
        FloatingPointRange,
        IntegerRange,
        ParameterDescriptor,
        SetParametersResult,
    )
    from rclpy.node import Node
    from rclpy.parameter import Parameter

    from .compatibility import call_after_parameters_are_set, call_before_parameters_are_set

ATTRIBUTE = '_screw_dynamics_parameters'  # attribute of a node with its tables

Value = bool | int | float | str | list[float] | list[str]

MAX_BOUNDS = {float: 1e308, int: 2**62}  # in descriptors


@dataclass(frozen=True)
class Specification:
    """One parameter.

    Attributes
    ----------
    name : str
    default : bool, int, float, str, list of float or list of str
        Gives the type; the empty list of strings is written ``['']``, that of numbers ``[]``. Where
        it is a list of one number, a number is converted to such a list.
    description : str
        Text for users, with the unit.
    minimum, maximum : float
        Bounds of a number or of each number of a list.
    choices : tuple of str
        Allowed values of a string, or of each string of a list.
    size : int, optional
        Number of elements of a list.
    rule : str
        Additional constraint, as text for users; enforced by the owner's `check`.
    read_only : bool
        Whether it can be set at start only.
    """

    name: str
    default: Value
    description: str
    minimum: float = -math.inf
    maximum: float = math.inf
    choices: tuple[str, ...] = ()
    size: int | None = None
    rule: str = ''
    read_only: bool = False

    @property
    def kind(self) -> Parameter.Type:
        """The type of all values: a parameter never changes it."""
        if self._is_text_list:
            return Parameter.Type.STRING_ARRAY
        if isinstance(self.default, list):
            return Parameter.Type.DOUBLE_ARRAY
        return Parameter.Type.from_parameter_value(self.default)

    @property
    def _is_text_list(self) -> bool:
        listed = self.default if isinstance(self.default, list) else []
        return any(isinstance(element, str) for element in listed)

    @property
    def range(self) -> str:
        """The allowed values, as text."""
        words = [f'one of: {", ".join(self.choices)}'] if self.choices else []
        if self._is_text_list:
            words = [f'any of: {", ".join(self.choices)}'] if self.choices else []
        elif isinstance(self.default, list):
            words.append(f'each {self._bounds}')
        elif type(self.default) in MAX_BOUNDS:
            words.append(self._bounds)
        if self.size is not None:
            words.append(f'{self.size} elements')
        if self.rule:
            words.append(self.rule)
        return '; '.join(words)

    @property
    def _bounds(self) -> str:
        has_minimum, has_maximum = math.isfinite(self.minimum), math.isfinite(self.maximum)
        if has_minimum and has_maximum:
            return f'in [{self.minimum:g}, {self.maximum:g}]'
        if has_minimum:
            return f'>= {self.minimum:g}'
        return f'<= {self.maximum:g}' if has_maximum else 'finite'

    @property
    def descriptor(self) -> ParameterDescriptor:
        """The rcl_interfaces/ParameterDescriptor; ROS has ranges for single numbers only."""
        bounds: dict[str, Any] = {}
        number: Any = type(self.default)
        if number in MAX_BOUNDS and (math.isfinite(self.minimum) or math.isfinite(self.maximum)):
            limits = [
                number(value if math.isfinite(value) else math.copysign(MAX_BOUNDS[number], value))
                for value in (self.minimum, self.maximum)
            ]
            name, kind = (
                ('integer_range', IntegerRange)
                if number is int
                else ('floating_point_range', FloatingPointRange)
            )
            bounds = {name: [kind(from_value=limits[0], to_value=limits[1])]}
        return ParameterDescriptor(
            name=self.name,
            type=self.kind.value,
            description=self.description,
            read_only=self.read_only,
            dynamic_typing=False,
            additional_constraints=self.rule if bounds else self.range,
            **bounds,
        )

    def renamed(self, name: str) -> Specification:
        """Return the specification of a parameter with another name."""
        return replace(self, name=name)

    def typed(self, value: Any) -> Parameter | None:
        """Return a value as a parameter of this type, None if its type differs.

        Integers are converted to float where needed (users write 1 for 1.0), and an empty list,
        which rclpy interprets as a list of bytes, to an empty list of this type.
        """
        value = self._listed(value)
        if self.kind == Parameter.Type.DOUBLE:
            value = _as_float(value)
        elif self.kind == Parameter.Type.DOUBLE_ARRAY and isinstance(value, (list, tuple, array)):
            value = [_as_float(element) for element in value]
        is_number = self.kind in (Parameter.Type.INTEGER, Parameter.Type.DOUBLE)
        if not self.kind.check(value) or (is_number and isinstance(value, bool)):
            return None
        return Parameter(self.name, self.kind, value)

    def convert(self, value: Any) -> Value:
        """Return `value` with the type of the default; raises `ArgumentError` with the reason."""
        if value is None:
            raise self._error(value, 'needs a value and cannot be deleted')
        if isinstance(self.default, list):
            return self._convert_list(value)
        if isinstance(self.default, bool):
            if isinstance(value, bool):
                return value
            raise self._error(value, 'must be true or false')
        if isinstance(self.default, str):
            return self._convert_text(value)
        return self._convert_number(value, type(self.default))

    def _listed(self, value: Any) -> Any:
        """Return a number as a list of it, where the default is a list of one number."""
        default = self.default
        is_one = isinstance(default, list) and len(default) == 1 and isinstance(default[0], float)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return [value] if is_one and is_number else value

    def _convert_list(self, value: Any) -> Value:
        value = self._listed(value)
        is_text = self._is_text_list
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise self._error(value, f'must be a list of {"texts" if is_text else "numbers"}')
        if is_text:
            converted: Any = [text for text in map(self._convert_text, value) if text]
        else:
            converted = [self._convert_number(number, float) for number in value]
        if self.size is not None and len(converted) != self.size:
            raise self._error(value, f'must have {self.size} elements')
        return converted

    def _convert_text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise self._error(value, 'must be text')
        may_be_empty = self.default == '' or isinstance(self.default, list)
        if self.choices and value not in self.choices and (value or not may_be_empty):
            raise self._error(value, f'must be one of {", ".join(self.choices)}')
        return value

    def _convert_number(self, value: Any, kind: type) -> Any:
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or (kind is int and not isinstance(value, int))
        ):
            raise self._error(
                value, 'must be a whole number' if kind is int else 'must be a number'
            )
        if not math.isfinite(value) or not self.minimum <= value <= self.maximum:
            raise self._error(value, f'must be finite and in [{self.minimum:g}, {self.maximum:g}]')
        return kind(value)

    def _error(self, value: Any, text: str) -> ArgumentError:
        return ArgumentError(f'parameter {self.name} {text}, got {value!r}')


class Parameters:
    """The parameters of one table of a node, which may have several tables; read like a mapping.

    A change is checked against all tables of the node before any of it is stored, and applied after
    the node has stored it: a change refused by one table has no effect.

    Parameters
    ----------
    node : rclpy.node.Node
    table : sequence of Specification
    check : callable, optional
        Receives the new values by name; refuses them by raising `ScrewDynamicsError`. It must have
        no side effects.
    apply : callable, optional
        Receives the new values by name after they have been accepted and stored.

    Raises
    ------
    ArgumentError
        If a value given at start is invalid.
    """

    def __init__(
        self,
        node: Node,
        table: Sequence[Specification],
        check: Callable[[dict[str, Value]], None] = lambda values: None,
        apply: Callable[[dict[str, Value]], None] = lambda values: None,
    ) -> None:
        self._table = {specification.name: specification for specification in table}
        self._check, self._apply = check, apply
        self._values: dict[str, Any] = {}
        for name, specification in self._table.items():
            self._values[name] = specification.convert(declare(node, specification))
        NodeTables.of(node).add(self)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def typed(self, parameter: Parameter) -> Parameter | None:
        """Return a parameter of this table converted to its declared type, None if impossible."""
        specification = self._table.get(parameter.name)
        return specification.typed(parameter.value) if specification else None

    @property
    def values(self) -> dict[str, Any]:
        """A copy of all values by name."""
        return dict(self._values)

    def check(self, given: Mapping[str, Any]) -> None:
        """Refuse new values of some parameters; raises `ScrewDynamicsError`."""
        values = {
            name: self._table[name].convert(value)
            for name, value in given.items()
            if name in self._table
        }
        if values:
            self._check(values)

    def changes(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """Return the checked values that differ from the current ones."""
        values = {
            name: self._table[name].convert(value)
            for name, value in given.items()
            if name in self._table
        }
        return {name: value for name, value in values.items() if value != self._values[name]}

    def activate(self, given: Mapping[str, Any]) -> None:
        """Activate checked values that differ from the current ones."""
        changed = self.changes(given)
        if changed:
            self._values.update(changed)
            self._apply(changed)


class NodeTables:
    """All parameter tables of one node, and the callbacks for parameter changes.

    Parameters
    ----------
    node : rclpy.node.Node

    Attributes
    ----------
    guards : list of callables
        Each receives the names of the parameters to change, and raises `ScrewDynamicsError` to
        refuse the change. They must have no side effects.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._tables: list[Parameters] = []
        self.guards: list[Callable[[Collection[str]], None]] = []
        call_before_parameters_are_set(node, self._typed)
        node.add_on_set_parameters_callback(self._on_set)
        self._later = None
        if not call_after_parameters_are_set(node, self._follow):
            # Called when the executor is idle.
            self._later = node.create_guard_condition(self._follow_all)

    @classmethod
    def of(cls, node: Node) -> NodeTables:
        """Return the tables of a node, created on first use."""
        tables: NodeTables | None = getattr(node, ATTRIBUTE, None)
        if tables is None:
            tables = cls(node)
            setattr(node, ATTRIBUTE, tables)
        return tables

    def add(self, parameters: Parameters) -> None:
        """Update a table when its parameters change."""
        self._tables.append(parameters)

    def _typed(self, parameters: list[Parameter]) -> list[Parameter]:
        """Convert values to the declared types; leave values that cannot be converted."""
        return [
            next(filter(None, (table.typed(parameter) for table in self._tables)), parameter)
            for parameter in parameters
        ]

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        """Accept or refuse changes, without side effects."""
        given = {parameter.name: parameter.value for parameter in parameters}
        try:
            for table in self._tables:
                table.check(given)
            changed = [name for table in self._tables for name in table.changes(given)]
            for guard in self.guards:
                guard(changed)
        except ScrewDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        except Exception as error:  # no value may end the process
            return SetParametersResult(
                successful=False, reason=f'{", ".join(given)}: {type(error).__name__}: {error}'
            )
        if self._later is not None:
            self._later.trigger()
        return SetParametersResult(successful=True)

    def _follow(self, parameters: Sequence[Parameter]) -> None:
        """Activate the stored values of the node."""
        given = {parameter.name: parameter.value for parameter in parameters}
        for table in self._tables:
            with FAULTS.caught(f'parameters {", ".join(given)}'), STATE_LOCK:
                table.activate(given)

    def _follow_all(self) -> None:
        names = [name for table in self._tables for name in table.values]
        self._follow(self._node.get_parameters(names))


def declare(node: Node, specification: Specification) -> Any:
    """Declare a parameter; return the value given at start, otherwise the default."""
    name, descriptor = specification.name, specification.descriptor
    override = getattr(node, '_parameter_overrides', {}).get(name)
    given = specification.default if override is None else override.value
    if given is None and isinstance(specification.default, list):
        given = []  # rclpy reads an empty list in a file as no value
    specification.convert(given)  # raises an error with the reason
    parameter = specification.typed(given)
    assert parameter is not None  # as it can be converted
    if parameter.value == []:
        _declare_empty(node, specification)
    else:
        node.declare_parameter(name, parameter.value, descriptor, ignore_override=True)
    return parameter.value


def _declare_empty(node: Node, specification: Specification) -> None:
    """Declare a parameter with an empty list, which rclpy would interpret as a list of bytes."""
    name = specification.name
    writable = replace(specification, read_only=False).descriptor
    node.declare_parameter(name, specification.kind, writable, ignore_override=True)
    node.set_parameters([Parameter(name, specification.kind, [])])
    if specification.read_only:
        node.set_descriptor(name, specification.descriptor)


def _as_float(value: Any) -> Any:
    """Return an integer as float, any other value unchanged."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
