# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Operations of a straight-line program as infix expressions, common to C and Python."""

from __future__ import annotations

from collections.abc import Callable

from ..program.tracing import Element, Operation

BINARY = {'add': '+', 'sub': '-', 'mul': '*'}
WITH_CONSTANT_FIRST = {'shift': '+', 'scale': '*', 'reciprocal': '/'}


def infix(operation: Operation, number: Callable[[float], str]) -> str:
    """Return the infix expression of an operation on the results x0, x1, ... of others.

    Inputs, minima and maxima are excluded because they differ between languages; `number` formats
    constants.
    """
    kind = operation[0]
    if kind in BINARY:
        return f'x{operation[1]} {BINARY[kind]} x{operation[2]}'
    if kind in WITH_CONSTANT_FIRST:
        return f'{number(operation[1])} {WITH_CONSTANT_FIRST[kind]} x{operation[2]}'
    if kind == 'neg':
        return f'-x{operation[1]}'
    return f'{kind}({", ".join(f"x{i}" for i in operation[1:])})'


def infix_element(e: Element, number: Callable[[float], str]) -> str:
    """Return an element of an output: a result or a constant."""
    return f'x{e}' if type(e) is int else number(e)
