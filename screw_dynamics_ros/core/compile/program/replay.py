# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Straight-line programs as data: from another process, and run again.

>>> import json
>>> from screw_dynamics_ros.core.compile.program.tracing import Recorder, program
>>> recorder = Recorder()
>>> x = recorder.inputs('x', 2)
>>> recorded = program(recorder, [('x', 2)], [np.array([2.0 * x[0] + x[1], 1.0])])
>>> received = program_of(json.loads(json.dumps(data_of(recorded))))
>>> received == recorded
True
>>> replayed(received, {'x': np.array([3.0, 0.5])})
(array([6.5, 1. ]),)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...types import Array
from .recorded_arrays import choice
from .tracing import WITH_CONSTANT, Element, Operation, Program, Scalar, arctangent, clamp


def one_or_zero(mask: Any) -> Any:
    """Return a mask of recorded scalars or numbers as a number."""
    return mask if isinstance(mask, Scalar) else float(mask)


#: Operations on recorded scalars and numbers. Numbers follow IEEE 754, also where Python raises.
OPERATIONS: dict[str, Callable[..., Any]] = {
    'add': lambda x, y: x + y,
    'sub': lambda x, y: x - y,
    'mul': lambda x, y: x * y,
    'neg': lambda x: -x,
    'sin': np.sin,
    'cos': np.cos,
    'sqrt': np.sqrt,
    'rint': np.rint,
    'less': lambda x, y: one_or_zero(x < y),
    'less_equal': lambda x, y: one_or_zero(x <= y),
    'where': choice,
    'shift': lambda c, x: x + c,
    'scale': lambda c, x: x * c,
    'reciprocal': lambda c, x: np.divide(c, x),
    'min': lambda c, x: clamp(x, -math.inf, c),
    'max': lambda c, x: clamp(x, c, math.inf),
    'atan2': arctangent,
}

#: Numbers of indices that they read.
ARITIES = {
    **dict.fromkeys(('add', 'sub', 'mul', 'less', 'less_equal', 'atan2'), 2),
    **dict.fromkeys(('neg', 'sin', 'cos', 'sqrt', 'rint'), 1),
    **dict.fromkeys(WITH_CONSTANT - {'lane'}, 1),
    'where': 3,
}


def replayed(program: Program, inputs: Mapping[str, Array]) -> tuple[Array, ...]:
    """Return the outputs of a program for numbers, or for recorded scalars: it is recorded again.

    Parameters
    ----------
    program : Program
    inputs : {name: (size,) array}
        Of all its inputs.
    """
    values: list[Any] = []
    for kind, *of in program.operations:
        value: Any
        if kind == 'input':
            value = inputs[of[0]][of[1]]
        elif kind == 'constant':
            value = float.fromhex(of[0])
        elif kind in WITH_CONSTANT:
            value = OPERATIONS[kind](of[0], values[of[1]])
        else:
            value = OPERATIONS[kind](*[values[i] for i in of])
        values.append(value if isinstance(value, Scalar) else float(value))
    return tuple(
        array_of([values[e] if type(e) is int else e for e in elements]).reshape(shape)
        for shape, elements in program.outputs
    )


def array_of(elements: list[Any]) -> Array:
    """Return recorded scalars and numbers as an array of objects, numbers alone as floats."""
    is_recorded = any(isinstance(e, Scalar) for e in elements)
    array = np.empty(len(elements), dtype=object if is_recorded else float)
    array[:] = elements
    return array


# --- data -----------------------------------------------------------------------------------------


def data_of(program: Program) -> list[Any]:
    """Return a program as lists, numbers and text, for JSON."""
    return [program.inputs, program.operations, program.outputs]


def program_of(data: Any) -> Program:
    """Return a program from the data of another process; raises `ArgumentError` for others."""
    try:
        inputs, operations, outputs = data
        sizes = {str(name): checked_count(size) for name, size in inputs}
        return Program(
            tuple(sizes.items()),
            [checked_operation(tuple(each), k, sizes) for k, each in enumerate(operations)],
            [checked_output(shape, elements, len(operations)) for shape, elements in outputs],
        )
    except (TypeError, ValueError, KeyError, LookupError) as error:
        raise ArgumentError(f'this is not a program: {type(error).__name__}: {error}') from None


def checked_operation(operation: Operation, place: int, sizes: Mapping[str, int]) -> Operation:
    """Return an operation that reads earlier ones; raises `ValueError` or `LookupError`."""
    kind, *of = operation
    if kind == 'input':
        name, k = of
        if not 0 <= checked_count(k) < sizes[name]:
            raise ValueError(f'input {name} {k}')
    elif kind == 'constant':
        (text,) = of
        float.fromhex(text)
    else:
        indices = of[1:] if kind in WITH_CONSTANT else of
        if len(indices) != ARITIES[kind] or any(checked_count(i) >= place for i in indices):
            raise ValueError(f'operation {operation}')
        if kind in WITH_CONSTANT and type(of[0]) is not float:
            raise ValueError(f'operation {operation}')
    return operation


def checked_output(shape: Any, elements: Any, count: int) -> tuple[tuple[int, ...], list[Element]]:
    """Return an output whose elements are operations and numbers; raises `ValueError`."""
    checked = tuple(map(checked_count, shape))
    if math.prod(checked) != len(elements) or any(
        type(e) is not float and checked_count(e) >= count for e in elements
    ):
        raise ValueError(f'output {shape}')
    return checked, list(elements)


def checked_count(value: Any) -> int:
    """Return a natural number; raises `ValueError`."""
    if type(value) is not int or value < 0:
        raise ValueError(f'{value!r} is not a natural number')
    return value
