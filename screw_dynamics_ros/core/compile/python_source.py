"""Print a straight-line program as plain Python, for machines without llvmlite."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.tracing import Element, Program

BINARY = {'add': '+', 'sub': '-', 'mul': '*', 'div': '/'}
WITH_CONSTANT_FIRST = {'shift': '+', 'scale': '*', 'reciprocal': '/'}


def python_source(program: Program, name: str) -> str:
    """Return the source of `name(input0, ...)`, which returns one list of elements for each output.

    Inputs are sequences of numbers (one sample) or of arrays (a stack): the same code serves both.
    """
    lines = [f'def {name}({", ".join(f"in_{k}" for k in range(len(program.inputs)))}):']
    place = {input_name: k for k, (input_name, _) in enumerate(program.inputs)}
    for i, op in enumerate(program.operations):
        kind = op[0]
        if kind == 'input':
            expression = f'in_{place[op[1]]}[{op[2]}]'
        elif kind in BINARY:
            expression = f'x{op[1]} {BINARY[kind]} x{op[2]}'
        elif kind in WITH_CONSTANT_FIRST:
            expression = f'{op[1]!r} {WITH_CONSTANT_FIRST[kind]} x{op[2]}'
        elif kind in ('min', 'max'):
            expression = f'{kind}imum({op[1]!r}, x{op[2]})'
        elif kind == 'neg':
            expression = f'-x{op[1]}'
        else:
            expression = f'{kind}(x{op[1]})'
        lines.append(f'    x{i} = {expression}')
    returned = ', '.join(
        '[' + ', '.join(_element(e) for e in elements) + ']' for _, elements in program.outputs
    )
    lines.append(f'    return [{returned}]')
    return '\n'.join(lines)


def _element(element: Element) -> str:
    return f'x{element}' if type(element) is int else repr(element)


def python_functions(program: Program) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the program as two Python functions: on floats (fast) and on NumPy arrays.

    The first raises ZeroDivisionError, ValueError or OverflowError where IEEE arithmetic has
    infinities and NaN; the second follows IEEE and serves stacks and those cases.
    """
    code = compile(python_source(program, 'function'), '<straight-line program>', 'exec')
    on_floats: dict[str, Any] = {
        'sin': math.sin,
        'cos': math.cos,
        'sqrt': math.sqrt,
        'minimum': lambda c, x: c if c < x else x,  # NaN stays
        'maximum': lambda c, x: c if c > x else x,
    }
    on_arrays: dict[str, Any] = {name: getattr(np, name) for name in on_floats}
    exec(code, on_floats)
    exec(code, on_arrays)
    return on_floats['function'], on_arrays['function']
