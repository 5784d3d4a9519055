# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Operations of numbers as Python defines them, in IR."""

from __future__ import annotations

import ast

from .functions import FLOAT, INT
from .writer import TypedWriter, Value, literal

FLOAT_OPERATIONS: dict[type[ast.AST], str] = {
    ast.Add: 'fadd',
    ast.Sub: 'fsub',
    ast.Mult: 'fmul',
    ast.Div: 'fdiv',
}
INT_OPERATIONS: dict[type[ast.AST], str] = {
    ast.Add: 'add',
    ast.Sub: 'sub',
    ast.Mult: 'mul',
    ast.BitAnd: 'and',
    ast.BitOr: 'or',
    ast.BitXor: 'xor',
}
#: Comparisons of integers, and of floats: false for NaN, but not-equal true.
COMPARISONS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Eq: ('eq', 'oeq'),
    ast.NotEq: ('ne', 'une'),
    ast.Lt: ('slt', 'olt'),
    ast.LtE: ('sle', 'ole'),
    ast.Gt: ('sgt', 'ogt'),
    ast.GtE: ('sge', 'oge'),
}
SMALLEST, LARGEST = -(2**63), 2**63 - 1
ZERO, ONE, LAST_BIT = literal(0), literal(1), literal(63)


def binary(w: TypedWriter, operator: ast.operator, a: Value, b: Value) -> Value | None:
    """Return an operation of two values of one type; None if there is no such operation."""
    if a.type is FLOAT:
        name = FLOAT_OPERATIONS.get(type(operator))
        return w.operation(name, a, b) if name else None
    if isinstance(operator, ast.FloorDiv | ast.Mod):
        quotient, remainder = floor_division(w, a, b)
        return quotient if isinstance(operator, ast.FloorDiv) else remainder
    if isinstance(operator, ast.LShift):
        return left_shift(w, a, b)
    if isinstance(operator, ast.RShift):
        return right_shift(w, a, b)
    name = INT_OPERATIONS.get(type(operator))
    return w.operation(name, a, b) if name else None


def floor_division(w: TypedWriter, a: Value, b: Value) -> tuple[Value, Value]:
    """Return quotient and remainder; the remainder has the sign of the divisor.

    Processors divide neither by 0 nor the smallest integer by -1: these two divisors are replaced.
    """
    if b.constant in (None, 0, -1):
        is_zero, is_minus_one = w.relation('eq', b, ZERO), w.relation('eq', b, literal(-1))
        safe = w.chosen(w.value(is_zero.type, f'or i1 {is_zero.text}, {is_minus_one.text}'), ONE, b)
        quotient, remainder = _floored(w, a, safe)
        negative = w.operation('sub', ZERO, a)
        quotient = w.chosen(is_minus_one, negative, quotient)
        return w.chosen(is_zero, ZERO, quotient), remainder
    return _floored(w, a, b)


def _floored(w: TypedWriter, a: Value, b: Value) -> tuple[Value, Value]:
    quotient, remainder = w.operation('sdiv', a, b), w.operation('srem', a, b)
    opposite = w.relation('slt', w.operation('xor', remainder, b), ZERO)
    is_rest = w.relation('ne', remainder, ZERO)
    low = w.value(opposite.type, f'and i1 {opposite.text}, {is_rest.text}')
    return (
        w.chosen(low, w.operation('sub', quotient, ONE), quotient),
        w.chosen(low, w.operation('add', remainder, b), remainder),
    )


def left_shift(w: TypedWriter, a: Value, count: Value) -> Value:
    """Return a shift to the left; all bits are shifted out by other counts than 0 to 63."""
    return w.chosen(w.relation('ule', count, LAST_BIT), w.operation('shl', a, count), ZERO)


def right_shift(w: TypedWriter, a: Value, count: Value) -> Value:
    """Return an arithmetic shift to the right; only the sign remains of other counts."""
    return w.operation('ashr', a, w.chosen(w.relation('ule', count, LAST_BIT), count, LAST_BIT))


def compared(w: TypedWriter, operator: ast.cmpop, a: Value, b: Value) -> Value | None:
    """Return a comparison of two values of one type; None if there is no such comparison."""
    names = COMPARISONS.get(type(operator))
    return w.relation(names[a.type is FLOAT], a, b) if names else None


def absolute(w: TypedWriter, a: Value) -> Value:
    """Return an absolute value."""
    if a.type is FLOAT:
        return w.value(FLOAT, f'call double @llvm.fabs.f64(double {a.text})')
    return w.chosen(w.relation('slt', a, ZERO), w.operation('sub', ZERO, a), a)


def to_int(w: TypedWriter, a: Value) -> Value:
    """Return a float without its fraction as integer: saturated, 0 for NaN."""
    low, high = literal(float(SMALLEST)), literal(-float(SMALLEST))
    below, within = w.relation('olt', a, low), w.relation('olt', a, high)
    inside = w.value(within.type, f'and i1 {w.relation("oge", a, low).text}, {within.text}')
    bound = w.chosen(below, literal(SMALLEST), literal(LARGEST))
    bound = w.chosen(w.relation('uno', a, a), ZERO, bound)
    return w.chosen(inside, w.converted('fptosi', a, INT), bound)
