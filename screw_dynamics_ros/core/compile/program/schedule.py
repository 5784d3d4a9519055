# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Order of the operations of a program: sines and cosines are computed together.

Sine and cosine of many angles are computed at once, as vectors, so all available angles come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .tracing import Program, operands


@dataclass
class Part:
    """A sequence of operations, then the sines and cosines of the angles known by then.

    The operations do not include inputs, sines and cosines.
    """

    operations: list[int]
    angles: list[int]


def schedule(program: Program) -> list[Part]:
    """Order the operations so that all angles of a part are known at its end.

    The angles and their operands come first, then their sines and cosines (repeated if angles
    depend on other sines), then all other operations: the last part has no angles.
    """
    operations = program.operations
    depth: list[int] = []  # number of nested sines between an operation and the inputs
    for op in operations:
        below = max(map(depth.__getitem__, operands(op)), default=0)
        depth.append(below + (op[0] in ('sin', 'cos')))
    angles = sorted({op[1] for op in operations if op[0] in ('sin', 'cos')})
    needed = prerequisites(program, angles)
    parts = [Part([], []) for _ in range(max((depth[k] for k in angles), default=-1) + 1)]
    for k in angles:
        parts[depth[k]].angles.append(k)
    computed = [i for i, op in enumerate(operations) if op[0] not in ('input', 'sin', 'cos')]
    for i in computed:
        if i in needed:
            parts[depth[i]].operations.append(i)
    return [*parts, Part([i for i in computed if i not in needed], [])]


def prerequisites(program: Program, indices: Sequence[int]) -> set[int]:
    """Return the operations on which `indices` depend, including themselves."""
    needed: set[int] = set()
    stack = list(indices)
    while stack:
        i = stack.pop()
        if i not in needed:
            needed.add(i)
            stack.extend(operands(program.operations[i]))
    return needed
