# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Named arrays that a control law reads: state, reference, parameters and memory."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ArgumentError, UnknownNameError
from ...types import Array

#: The size of fields with an element for each velocity of the robot.
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
        'tau': (JOINTS,),
    }
)


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


@dataclass(frozen=True, eq=False)
class LawDeclaration:
    """The parameters and the memory of a law.

    Attributes
    ----------
    parameters : {name: Parameter}
    memory : {name: int or 'joints'}
        Sizes of what the law remembers; zero at the start.
    name : str

    Raises
    ------
    ArgumentError
        For names that are not attributes, and unknown sizes.
    """

    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    memory: Mapping[str, int | str] = field(default_factory=dict)
    name: str = ''

    def __post_init__(self) -> None:
        object.__setattr__(self, 'parameters', dict(self.parameters))
        object.__setattr__(self, 'memory', dict(self.memory))
        sizes = *(each.size for each in self.parameters.values()), *self.memory.values()
        check_fields((*self.parameters, *self.memory), sizes)

    def data(self) -> dict[str, Any]:
        """Return numbers and text, for JSON."""
        parameters = {
            name: {
                **{key: str(getattr(each, key)) for key in ('unit', 'text')},
                **{key: float(getattr(each, key)) for key in ('default', 'minimum', 'maximum')},
                'size': each.size,
            }
            for name, each in self.parameters.items()
        }
        return {'parameters': parameters, 'memory': self.memory, 'name': self.name}

    @staticmethod
    def of(data: Mapping[str, Any]) -> LawDeclaration:
        """Return the declaration from the data of another process; raises `ArgumentError`."""
        try:
            parameters = {
                str(name): Parameter(
                    *(float(each['default']), str(each['unit']), str(each['text'])),
                    *(float(each['minimum']), float(each['maximum']), each['size']),
                )
                for name, each in data['parameters'].items()
            }
            return LawDeclaration(parameters, dict(data['memory']), str(data['name']))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ArgumentError(
                f'this is not the declaration of a law: {type(error).__name__}: {error}'
            ) from None


class LawInputs:
    """Named arrays, read as attributes."""

    def __init__(self, what: str, values: Mapping[str, Any]) -> None:
        self.__dict__.update(_what=what, _values=values, _read=set())

    def __getattr__(self, name: str) -> Any:
        try:
            value = self._values[name]
        except KeyError:
            known = ', '.join(self._values) or 'nothing'
            raise UnknownNameError(f'{self._what} has no {name!r}; it has {known}') from None
        self._read.add(name)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        raise ArgumentError(f'{self._what}.{name} cannot be set; return the new memory as a dict')


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
        return sum(size for _, size in self.sizes)

    @property
    def sizes(self) -> list[tuple[str, int]]:
        """Name and number of elements of each array."""
        return [(name, math.prod(shape)) for name, shape in self.shapes.items()]

    @property
    def places(self) -> dict[str, int]:
        """Index of the first element of each array."""
        return dict(zip(self.shapes, accumulate((size for _, size in self.sizes), initial=0)))

    def unpacked(self, values: Array) -> dict[str, Any]:
        """Return the arrays in a vector (size,); numbers where the shape is ()."""
        arrays, places = {}, self.places
        for name, shape in self.shapes.items():
            part = values[places[name] :][: math.prod(shape)]
            arrays[name] = part.reshape(shape) if shape else part[0]
        return arrays

    def packed(self, what: str, values: Mapping[str, ArrayLike]) -> Array:
        """Return a vector of all arrays, zero where none is given; checks names and shapes."""
        check_names(what, values, self.shapes)
        numbers, places = np.zeros(self.size), self.places
        for name, value in values.items():
            given, shape = np.asarray(value, dtype=float), self.shapes[name]
            if given.shape != shape:
                raise ArgumentError(f'{what}: {name} must have shape {shape}, not {given.shape}')
            numbers[places[name] :][: given.size] = given.ravel()
        return numbers


def names_read(inputs: LawInputs) -> set[str]:
    """Return the names of the inputs that were read."""
    read: set[str] = inputs.__dict__['_read']
    return read


def values_in(inputs: LawInputs) -> Mapping[str, Any]:
    """Return the arrays by name."""
    values: Mapping[str, Any] = inputs.__dict__['_values']
    return values


def check_fields(names: Iterable[str], sizes: Iterable[int | str]) -> None:
    """Raise `ArgumentError` for names that are not attributes, and unknown sizes."""
    for name in names:
        if name.startswith('_') or not name.replace('.', '').isidentifier():
            raise ArgumentError(f'{name!r} cannot be the name of a parameter or a memory')
    for size in sizes:
        if size not in (JOINTS, POSITIONS) and not (isinstance(size, int) and size > 0):
            raise ArgumentError(
                f'a size must be a positive whole number, {JOINTS!r} or {POSITIONS!r}, not {size!r}'
            )


def check_names(what: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise `UnknownNameError` for unknown names."""
    for name in given:
        if name not in known:
            listed = ', '.join(known) or 'nothing'
            raise UnknownNameError(f'{what}: there is no {name!r}; there is {listed}')
