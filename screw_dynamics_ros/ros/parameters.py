"""Parameters of the nodes: declared from one table, checked alike at start and at run time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
        if isinstance(self.default, (float, int)) and not isinstance(self.default, bool) and (
                math.isfinite(self.minimum) or math.isfinite(self.maximum)):
            kind = type(self.default)
            limits = [value if math.isfinite(value) else math.copysign(
                1e308 if kind is float else 2**62, value) for value in (self.minimum, self.maximum)]
            range_type = FloatingPointRange if kind is float else IntegerRange
            bounds = {('floating_point_range' if kind is float else 'integer_range'): [
                range_type(from_value=kind(limits[0]), to_value=kind(limits[1]))]}
        constraints = [f'one of: {", ".join(self.choices)}'] if self.choices else []
        if isinstance(self.default, list) and math.isfinite(self.minimum):
            constraints.append(f'each >= {self.minimum:g}')
        if self.size is not None:
            constraints.append(f'{self.size} elements')
        return ParameterDescriptor(
            name=self.name, description=self.description, read_only=self.read_only,
            dynamic_typing=not isinstance(self.default, (bool, str)),
            additional_constraints='; '.join(constraints), **bounds)

    def renamed(self, name: str) -> Specification:
        """Return the specification of a parameter with another name."""
        return replace(self, name=name)

    def convert(self, value: Any) -> Value:
        """Return `value` as the type of the default; raises `ArgumentError` with the reason."""
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
        values = [] if value is None else list(value)
        if self.default and isinstance(self.default[0], str):  # type: ignore[index]
            converted: Any = [text for text in map(self._convert_text, values) if text]
        else:
            converted = [self._convert_number(number, float) for number in values]
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
        if isinstance(value, bool) or not isinstance(value, (int, float)) or (
                kind is int and not isinstance(value, int)):
            raise self._error(
                value, 'must be a whole number' if kind is int else 'must be a number')
        if not math.isfinite(value) or not self.minimum <= value <= self.maximum:
            raise self._error(value, f'must be finite and in [{self.minimum:g}, {self.maximum:g}]')
        return kind(value)

    def _error(self, value: Any, text: str) -> ArgumentError:
        return ArgumentError(f'parameter {self.name} {text}, got {value!r}')


class Parameters:
    """The parameters of one node, read like a mapping.

    Parameters
    ----------
    node : rclpy.node.Node
    table : sequence of Specification
    check : callable, optional
        Gets the new values by name; refuses them by raising `ScrewDynamicsError`.
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
            given = self._declare(node, specification)
            self._values[name] = specification.convert(given)
        node.add_on_set_parameters_callback(self._on_set)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    @property
    def values(self) -> dict[str, Any]:
        """A copy of all values by name."""
        return dict(self._values)

    @staticmethod
    def _declare(node: Node, specification: Specification) -> Any:
        try:
            return node.declare_parameter(
                specification.name, specification.default, specification.descriptor).value
        except Exception as error:  # rclpy has one class for each kind of bad value
            raise ArgumentError(f'parameter {specification.name}: {error}') from None

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        """Accept or refuse changes at run time."""
        try:
            values = {parameter.name: self._table[parameter.name].convert(parameter.value)
                      for parameter in parameters if parameter.name in self._table}
            if values:
                self._check(values)
        except ScrewDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._values.update(values)
        if values:
            self._apply(values)
        return SetParametersResult(successful=True)
