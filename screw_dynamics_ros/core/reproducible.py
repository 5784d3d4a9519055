# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arithmetic with the same bits on every processor.

Recorded programs contain constants of the robot, and are stored and compared by their bits. NumPy's
matrix products and sines, and the sines of C libraries, depend on the processor: on the order of
sums, on fused multiplications, on the width of vectors. The sums, products, quotients and square
roots of IEEE 754 do not. So constants are computed from these alone:

* `reproducible` turns the numbers of a model into Python floats in object arrays, with which
  `A @ B` is a sum of products from left to right;
* `product` is such a matrix product of arrays of numbers;
* `sine_cosine` and `arctangent` are rounded correctly.

>>> float(product(np.array([[0.1, 0.2, 0.3]]), np.array([[1.0], [2.0], [3.0]]))[0, 0])
1.4
>>> sine_cosine(1.5707963267948966)
(1.0, 6.123233995736766e-17)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache, reduce
from operator import add
from typing import Any, TypeVar

import numpy as np

from .types import Array

Value = TypeVar('Value')

#: Bits behind the point of sines and cosines before they are rounded to 53. Those of a double
#: have at most 64 zeros or ones behind the bit that decides (Lefèvre and Muller 2001), and at most
#: 61 in front of the first bit.
PRECISION_BITS = 256


def reproducible(value: Value) -> Value:
    """Return a model whose arrays of numbers hold Python floats.

    Data classes, tuples, lists and dicts are copied, without cached results; anything else stays.
    """
    return _converted(value)


def _converted(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.astype(object) if value.dtype.kind == 'f' else value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, dict):
        return {key: _converted(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        parts = map(_converted, value)
        return type(value)(*parts) if hasattr(value, '_fields') else type(value)(parts)
    if is_dataclass(value) and not isinstance(value, type):
        twin = object.__new__(type(value))
        for each in fields(value):
            object.__setattr__(twin, each.name, _converted(getattr(value, each.name)))
        return twin
    return value


def product(*factors: Array) -> Array:
    """Return the product (m, n) of matrices, each element a sum of products from left to right."""
    return reduce(_product, factors)


def _product(A: Array, B: Array) -> Array:
    return total(column[:, None] * row for column, row in zip(A.T, B, strict=True))


def total(terms: Iterable[Any]) -> Any:
    """Return the sum of some numbers or recorded scalars from left to right.

    The `sum` of Python 3.12 carries the rounding errors of floats along, that of 3.11 does not.
    """
    return reduce(add, terms)


def norm(x: Array) -> float:
    """Return |x| of a vector (n,) of numbers."""
    return math.sqrt(total(each * each for each in x.tolist()))


def unit(x: Array) -> Array:
    """Return x / |x| of a vector (n,) of numbers."""
    return x / norm(x)


def sine_cosine(angle: float) -> tuple[float, float]:
    """Return the sine and the cosine of a finite angle [rad], rounded correctly.

    By integers: what the angle exceeds a multiple of pi/2 by, then power series.
    """
    if abs(angle) < 2.0**-60:
        return float(angle), 1.0
    sine, cosine = _sine_cosine(float(angle))
    return sine / (1 << PRECISION_BITS), cosine / (1 << PRECISION_BITS)


def arctangent(y: float, x: float) -> float:
    """Return the angle of the point (x, y) [rad], in [-pi, pi], rounded correctly.

    One Newton step from the arctangent of the C library, in fractions.
    """
    angle = math.atan2(y, x)
    if x == 0.0 or y == 0.0 or not math.isfinite(x * y):
        return angle
    sine, cosine = _sine_cosine(angle)
    along, across = Fraction(x), Fraction(y)
    step = (across * cosine - along * sine) / (along * cosine + across * sine)
    return float(Fraction(angle) + step)


def _sine_cosine(angle: float) -> tuple[int, int]:
    """Return the sine and the cosine of an angle in units of 2^-256."""
    numerator, denominator = abs(angle).as_integer_ratio()
    more = numerator.bit_length()  # at least the bits of the full turns
    quadrant, x = divmod(
        (numerator << (PRECISION_BITS + more)) // denominator, _half_pi(PRECISION_BITS + more)
    )
    x >>= more
    square = x * x >> PRECISION_BITS
    sine, cosine = _series(x, square, 1), _series(1 << PRECISION_BITS, square, 0)
    s, c = [(sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine)][quadrant % 4]
    return s if angle > 0.0 else -s, c


def _series(term: int, square: int, power: int) -> int:
    """Return term (1 - x^2 / ((p + 1) (p + 2)) + x^4 / ((p + 1) ... (p + 4)) - ...)."""
    total, sign = 0, 1
    while term:
        total += sign * term
        power += 2
        term = (term * square >> PRECISION_BITS) // (power * (power - 1))
        sign = -sign
    return total


@cache
def _half_pi(bits: int) -> int:
    """Return pi / 2 in units of 2^-bits: Machin's 2 (4 arctan(1/5) - arctan(1/239))."""
    guard = 16  # rounding of the terms

    def arctangent(n: int) -> int:
        """Return arctan(1 / n)."""
        term, total, k = (1 << (bits + guard)) // n, 0, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    return (2 * (4 * arctangent(5) - arctangent(239))) >> guard
