"""Parameters of the nodes: declared from one table, checked alike at start and at run time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from screw_dynamics_ros.core.errors import ArgumentError, ScrewDynamicsError
from screw_dynamics_ros.ros.process.faults import FAULTS

ATTRIBUTE = '_screw_dynamics_parameters'  # of a node: its tables

Value = bool | int | float | str | list[float] | list[str]


@dataclass(frozen=True)
class Specification:
    """One parameter.

    Attributes
    ----------
    name : str
    default : bool, int, float, str, list of float or list of str
        Gives the type; the empty list of strings is written ``['']``, that of numbers ``[]``.
    description : str
        For people; with the unit.
    minimum, maximum : float
        Bounds of a number or of each number of a list.
    choices : tuple of str
        What a string, or each string of a list, may be.
    size : int, optional
        Number of elements of a list.
    read_only : bool
        Whether it is taken at start only.
    """

    name: str
    default: Value
    description: str
    minimum: float = -math.inf
    maximum: float = math.inf
    choices: tuple[str, ...] = ()
    size: int | None = None
    read_only: bool = False

    @property
    def descriptor(self) -> ParameterDescriptor:
        """The rcl_interfaces/ParameterDescriptor; whole numbers are taken for float as well."""
        bounds: dict[str, Any] = {}
        if (
            isinstance(self.default, (float, int))
            and not isinstance(self.default, bool)
            and (math.isfinite(self.minimum) or math.isfinite(self.maximum))
        ):
            kind = type(self.default)
            limits = [
                value
                if math.isfinite(value)
                else math.copysign(1e308 if kind is float else 2**62, value)
                for value in (self.minimum, self.maximum)
            ]
            range_type = FloatingPointRange if kind is float else IntegerRange
            bounds = {
                ('floating_point_range' if kind is float else 'integer_range'): [
                    range_type(from_value=kind(limits[0]), to_value=kind(limits[1]))
                ]
            }
        constraints = [f'one of: {", ".join(self.choices)}'] if self.choices else []
        if isinstance(self.default, list) and math.isfinite(self.minimum):
            constraints.append(f'each >= {self.minimum:g}')
        if self.size is not None:
            constraints.append(f'{self.size} elements')
        return ParameterDescriptor(
            name=self.name,
            description=self.description,
            read_only=self.read_only,
            dynamic_typing=not isinstance(self.default, (bool, str)),
            additional_constraints='; '.join(constraints),
            **bounds,
        )

    def renamed(self, name: str) -> Specification:
        """Return the specification of a parameter with another name."""
        return replace(self, name=name)

    def convert(self, value: Any) -> Value:
        """Return `value` as the type of the default; raises `ArgumentError` with the reason."""
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

    def _convert_list(self, value: Any) -> Value:
        is_text = bool(self.default) and isinstance(self.default[0], str)  # type: ignore[index]
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
        if self.choices and value and value not in self.choices:
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
    """The parameters of one table, on a node that may have several; read like a mapping.

    A change is checked against all tables of the node before any of it is stored, and applied when
    the node has stored it: a change that is refused by anyone changes nothing.

    Parameters
    ----------
    node : rclpy.node.Node
    table : sequence of Specification
    check : callable, optional
        Gets the new values by name; refuses them by raising `ScrewDynamicsError`. Has no effects.
    apply : callable, optional
        Gets the new values by name after they have been accepted and stored.

    Raises
    ------
    ArgumentError
        If a value given at start is not acceptable.
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
            given = declare(node, specification)
            # rclpy takes the empty list of a file for no value.
            empty = given is None and isinstance(specification.default, list)
            self._values[name] = specification.convert([] if empty else given)
        NodeTables.of(node).add(self)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._table

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

    def follow(self, given: Mapping[str, Any]) -> None:
        """Put values that have passed `check` in force, those that differ from the ones before."""
        values = {
            name: self._table[name].convert(value)
            for name, value in given.items()
            if name in self._table
        }
        changed = {name: value for name, value in values.items() if value != self._values[name]}
        if changed:
            self._values.update(changed)
            self._apply(changed)


class NodeTables:
    """All parameter tables of one node: its callbacks for changes.

    Parameters
    ----------
    node : rclpy.node.Node
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._tables: list[Parameters] = []
        node.add_on_set_parameters_callback(self._on_set)
        if hasattr(node, 'add_post_set_parameters_callback'):
            node.add_post_set_parameters_callback(self._follow)
            self._later = None
        else:  # humble: as soon as the executor is free again
            self._later = node.create_guard_condition(self._follow_all)

    @classmethod
    def of(cls, node: Node) -> NodeTables:
        """Return the tables of a node: always the same object."""
        tables: NodeTables | None = getattr(node, ATTRIBUTE, None)
        if tables is None:
            tables = cls(node)
            setattr(node, ATTRIBUTE, tables)
        return tables

    def add(self, parameters: Parameters) -> None:
        """Let a table follow its parameters."""
        self._tables.append(parameters)

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        """Accept or refuse changes; nothing else."""
        given = {parameter.name: parameter.value for parameter in parameters}
        try:
            for table in self._tables:
                table.check(given)
        except ScrewDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        except Exception as error:  # a value nobody has thought of must not end the process
            return SetParametersResult(
                successful=False, reason=f'{", ".join(given)}: {type(error).__name__}: {error}'
            )
        if self._later is not None:
            self._later.trigger()
        return SetParametersResult(successful=True)

    def _follow(self, parameters: Sequence[Parameter]) -> None:
        """Put what the node has stored in force."""
        given = {parameter.name: parameter.value for parameter in parameters}
        for table in self._tables:
            with FAULTS.caught(f'parameters {", ".join(given)}'):
                table.follow(given)

    def _follow_all(self) -> None:
        names = [name for table in self._tables for name in table.values]
        self._follow(self._node.get_parameters(names))


def declare(node: Node, specification: Specification) -> Any:
    """Declare a parameter; return the value given at start, or the default."""
    try:
        return node.declare_parameter(
            specification.name, specification.default, specification.descriptor
        ).value
    except Exception as error:  # rclpy has one class for each kind of bad value
        raise ArgumentError(f'parameter {specification.name}: {error}') from None
