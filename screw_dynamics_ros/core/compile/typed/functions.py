# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Typed functions: a subset of Python that runs as Python, and is compiled to machine code.

`typed` marks a function whose annotations are `int`, `float`, `bool`, `Ints`, `Floats`, `Bytes`,
records (`records.Record`), and `None` for the result. `library.compiled` compiles it. Both paths
give the same bits, except

* integers have 64 bits in compiled code and wrap; Python's are unbounded. Python raises an error
  when a number is stored that does not fit; compiled code stores its low bits.
* Division by zero raises in Python. In compiled code it is infinite or NaN for floats, and 0 for
  integers, quotient and remainder. Shifts by less than 0 or more than 63 bits shift all bits out.
* `int`, `round` and `math.floor` of numbers beyond 64 bits saturate in compiled code, NaN gives 0;
  functions of `math` return infinity or NaN, where Python raises.
* Indices are not checked in compiled code, and negative ones do not refer to the end.
* Sign and payload of NaN are unspecified.

In Python, arrays reach the function as memory views, whose elements are Python numbers: NumPy's
integers would wrap at other sizes. Callers pass arrays or memory views.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

Function = TypeVar('Function', bound=Callable[..., Any])


class ValueType(NamedTuple):
    """Type of a value: its name in Python, its type in IR, and of an array, that of elements.

    `formats` are those of memory views of such an array, `size` the bytes of an element, `fields`
    the class of a record.
    """

    name: str
    ir: str
    element: ValueType | None = None
    size: int = 0
    formats: str = ''
    fields: Any = None

    @property
    def passed(self) -> str:
        """The IR type of arguments and results: booleans are passed as 0 or 1."""
        return 'i64' if self is BOOL else self.ir


INT, FLOAT, BOOL = ValueType('int', 'i64'), ValueType('float', 'double'), ValueType('bool', 'i1')
NOTHING = ValueType('None', 'void')
INTS = ValueType('Ints', 'i64', INT, 8, 'lq')
FLOATS = ValueType('Floats', 'i64', FLOAT, 8, 'd')
BYTES = ValueType('Bytes', 'i64', INT, 1, 'B')
TYPES: dict[Any, ValueType] = {
    int: INT,
    float: FLOAT,
    bool: BOOL,
    type(None): NOTHING,
    Ints: INTS,
    Floats: FLOATS,
    Bytes: BYTES,
}


class TypedFunctionError(ArgumentError):
    """A function cannot be compiled; the message has file, line and construct."""


@dataclass(frozen=True, eq=False)
class FunctionDeclaration:
    """A typed function with the types of its parameters and of its result."""

    function: Callable[..., Any]
    parameters: tuple[tuple[str, ValueType], ...]
    result: ValueType

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.__name__

    def fault(self, line: int, text: str) -> TypedFunctionError:
        """Return an error in a line of the function."""
        file = self.function.__code__.co_filename
        return TypedFunctionError(f'{file}:{line}: {self.name}: {text}')


def typed(function: Function) -> Function:
    """Declare a typed function; it is still an ordinary function.

    Raises
    ------
    TypedFunctionError
        Parameters without a type or of another type, with defaults, or by keyword; a closure.
    """
    declaration = declared(function)
    arrays = [(k, type_) for k, (_, type_) in enumerate(declaration.parameters) if type_.element]
    floats = [k for k, (_, type_) in enumerate(declaration.parameters) if type_ is FLOAT]
    if not arrays:
        function.__typed__ = declaration  # type: ignore[attr-defined]
        return function

    @wraps(function)
    def run(*arguments: Any) -> Any:
        given = list(arguments)
        for k, type_ in arrays[: len(given)]:
            if type(given[k]) is not memoryview:
                given[k] = view(declaration, k, given[k], type_)
        for k in floats:
            given[k] = float(given[k])  # those of NumPy warn
        return function(*given)

    run.__typed__ = declaration  # type: ignore[attr-defined]
    return cast(Function, run)


def declaration_of(function: Any) -> FunctionDeclaration | None:
    """Return the declaration of a typed function, None for other objects."""
    found = getattr(function, '__typed__', None)
    return found if isinstance(found, FunctionDeclaration) else None


def declared(function: Callable[..., Any]) -> FunctionDeclaration:
    """Return the types of a function; raises `TypedFunctionError`."""
    first = FunctionDeclaration(function, (), NOTHING)
    line = function.__code__.co_firstlineno
    if function.__closure__:
        names = ', '.join(function.__code__.co_freevars)
        raise first.fault(line, f'uses {names} of the enclosing function: use module constants')
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError) as error:
        raise first.fault(line, f'an annotation cannot be evaluated: {error}') from error
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        name = parameter.name
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            raise first.fault(line, f'{name} is not passed by position')
        if parameter.default is not parameter.empty:
            raise first.fault(line, f'{name} has a default: remove it')
        parameters.append((name, annotated(first, name, hints)))
        if parameters[-1][1] is NOTHING:
            raise first.fault(line, f'{name} has the type None')
    result = annotated(first, 'return', hints)
    if result.element or result.fields:
        raise first.fault(
            line, 'returns an array or a record: return an index or an offset instead'
        )
    return FunctionDeclaration(function, tuple(parameters), result)


def annotated(declaration: FunctionDeclaration, name: str, hints: dict[str, Any]) -> ValueType:
    """Return the type of a parameter, or of `return`."""
    line = declaration.function.__code__.co_firstlineno
    if name not in hints:
        raise declaration.fault(line, f'{name} has no annotation')
    hint = hints[name]
    type_ = TYPES.get(hint) if isinstance(hint, Hashable) else None
    type_ = type_ or getattr(hint, 'value_type', None)
    if type_ is None:
        choice = ', '.join(type_.name for type_ in TYPES.values())
        raise declaration.fault(
            line, f'{name} has the type {hint!r}: choose one of {choice}, or a record'
        )
    return type_


def view(declaration: FunctionDeclaration, index: int, array: Any, type_: ValueType) -> memoryview:
    """Return the memory of an array argument; raises `ArgumentError` for other arguments."""
    if isinstance(array, np.ndarray) and array.ndim == 1 and array.flags.c_contiguous:
        buffer: Any = array
        result = memoryview(buffer)
        if result.format in type_.formats:
            return result
    found = f'{array.dtype} {array.shape}' if isinstance(array, np.ndarray) else type(array)
    raise ArgumentError(
        f'{declaration.name}: {declaration.parameters[index][0]} must be a contiguous vector for '
        f'{type_.name}, found {found}'
    )
