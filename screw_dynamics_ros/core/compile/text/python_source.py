# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Print a straight-line program as plain Python, for machines without llvmlite."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..program.tracing import Program
from .infix import infix, infix_element


def python_source(program: Program, name: str) -> str:
    """Return the source of `name(input0, ...)`, which returns one list of elements for each output.

    Inputs are sequences of numbers (one sample) or of arrays (a stack): the code is the same.
    """
    lines = [f'def {name}({", ".join(f"in_{k}" for k in range(len(program.inputs)))}):']
    place = {input_name: k for k, (input_name, _) in enumerate(program.inputs)}
    for i, op in enumerate(program.operations):
        kind = op[0]
        if kind == 'input':
            expression = f'in_{place[op[1]]}[{op[2]}]'
        elif kind == 'constant':
            expression = repr(float.fromhex(op[1]))
        elif kind in ('min', 'max'):
            expression = f'{kind}imum({op[1]!r}, x{op[2]})'
        else:
            expression = infix(op, repr)
        lines.append(f'    x{i} = {expression}')
    returned = ', '.join(
        '[' + ', '.join(infix_element(e, repr) for e in elements) + ']'
        for _, elements in program.outputs
    )
    lines.append(f'    return [{returned}]')
    return '\n'.join(lines)


def python_functions(program: Program) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the program as two Python functions: on floats (fast) and on NumPy arrays.

    The first raises ZeroDivisionError, ValueError or OverflowError where IEEE arithmetic has
    infinities and NaN; the second follows IEEE and is used for stacks and for those cases.
    """
    code = compile(python_source(program, 'function'), '<straight-line program>', 'exec')
    on_floats: dict[str, Any] = {
        'sin': math.sin,
        'cos': math.cos,
        'sqrt': math.sqrt,
        'rint': round,
        'atan2': math.atan2,
        'minimum': lambda c, x: c if c < x else x,  # NaN stays
        'maximum': lambda c, x: c if c > x else x,
        'less': lambda x, y: float(x < y),
        'less_equal': lambda x, y: float(x <= y),
        'where': lambda mask, x, y: x if mask else y,
    }
    on_arrays: dict[str, Any] = {
        name: np.arctan2 if name == 'atan2' else getattr(np, name) for name in on_floats
    }
    on_arrays['less'] = lambda x, y: np.less(x, y) * 1.0
    on_arrays['less_equal'] = lambda x, y: np.less_equal(x, y) * 1.0
    for names in (on_floats, on_arrays):
        names.update(inf=math.inf, nan=math.nan)
    exec(code, on_floats)
    exec(code, on_arrays)
    return on_floats['function'], on_arrays['function']
