# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run a recorded program operation by operation: what it means, independent of any printer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.program.tracing import Program

SCALAR = {
    'add': lambda x, y: x + y,
    'sub': lambda x, y: x - y,
    'mul': lambda x, y: x * y,
    'neg': lambda x: -x,
    'sin': math.sin,
    'cos': math.cos,
    'sqrt': math.sqrt,
    'rint': round,
    'atan2': math.atan2,
    'vadd': lambda x, y: x + y,
    'vsub': lambda x, y: x - y,
    'vmul': lambda x, y: x * y,
    'vneg': lambda x: -x,
}
WITH_CONSTANT = {
    'shift': lambda c, x: c + x,
    'scale': lambda c, x: c * x,
    'reciprocal': lambda c, x: c / x,
    'min': lambda c, x: min(c, x),
    'max': lambda c, x: max(c, x),
    'lane': lambda k, x: x[k],
}


def run(program: Program, width: int = 4, **inputs: np.ndarray) -> list[np.ndarray]:
    """Return the outputs; packs are arrays of `width`."""
    x: list[Any] = []
    for kind, *arguments in program.operations:
        if kind == 'input':
            x.append(inputs[arguments[0]][arguments[1]])
        elif kind == 'pack':
            assert len(arguments) == width
            x.append(np.array([x[e] if type(e) is int else e for e in arguments]))
        elif kind == 'splat':
            x.append(np.full(width, x[arguments[0]]))
        elif kind in WITH_CONSTANT:
            x.append(WITH_CONSTANT[kind](arguments[0], x[arguments[1]]))
        else:
            x.append(SCALAR[kind](*(x[i] for i in arguments)))
    return [
        np.array([x[e] if type(e) is int else e for e in elements]).reshape(shape)
        for shape, elements in program.outputs
    ]
