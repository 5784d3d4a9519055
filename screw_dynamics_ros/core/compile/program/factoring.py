# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Extraction of common factors from sums: a b + a c = a (b + c).

Recursions multiply matrices one by one; a factor that is common to several terms of an element is
visible only after expanding the products. Two kinds of factors matter:

* elements of inertias and positions, as in (Omega_zz - Omega_yy) theta_yz;
* sines and cosines of joint angles. The rotation R = B exp(X q) of a body whose B rotates about one
  axis has elements such as s = sin(alpha) sin(q). In

      R^T w = (c x + s (c_a y + s_a z),  -s x + c (c_a y + s_a z),  -s_a y + c_a z)

  the sum in parentheses is shared: a rotation by alpha and one by q take 8 products and 4 sums, the
  matrix R takes 4 products for its elements and 8 products and 5 sums for each vector.

Only products without other uses are expanded, so that the first kind never adds operations; the
second is kept if the whole program becomes shorter.

>>> from screw_dynamics_ros.core.compile.program.tracing import Recorder, program
>>> recorder = Recorder()
>>> a, b, c = recorder.inputs('x', 3)
>>> factored(program(recorder, [('x', 3)], [a * b + a * c])).operations[3:]
[('add', 1, 2), ('mul', 0, 3)]
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import copysign, isfinite, prod
from typing import Any

import numpy as np

from ...reproducible import total
from .tracing import (
    Operation,
    Program,
    Recorder,
    Scalar,
    operands,
    program,
    use_counts,
    with_operands,
)

SUMS = frozenset({'add', 'sub', 'neg'})

#: A possible common factor: an operation, or (absolute value of a constant,), because 2 == 2.0.
Factor = int | tuple[float]

#: A common factor, and the terms that it multiplies.
Group = tuple[Factor, list['Term']]


@dataclass(frozen=True)
class Term:
    """A constant times factors, which are operations of the original program.

    `whole` is the operation with this value, and its sign; None for a term from which a factor has
    been extracted.
    """

    constant: float
    factors: tuple[int, ...]
    whole: tuple[float, int] | None = None

    @property
    def sign(self) -> float:
        """Sign of the constant, including signed zeros."""
        return copysign(1.0, self.constant)

    def common(self) -> set[Factor]:
        """Return the factors that can be extracted from a product."""
        found: set[Factor] = set(self.factors)
        if abs(self.constant) != 1.0:
            found.add((abs(self.constant),))
        return found if len(self.factors) + (abs(self.constant) != 1.0) > 1 else set()

    def without(self, factor: Factor) -> Term:
        """Return the term divided by one of its factors."""
        if isinstance(factor, tuple):
            return Term(self.sign, self.factors)
        rest = list(self.factors)
        rest.remove(factor)
        return Term(self.constant, tuple(rest))


def factored(recorded: Program) -> Program:
    """Return an equivalent program in which common factors are extracted from sums.

    Returns the original program if the new one is not shorter.
    """
    programs = [recorded, _Factoring(recorded, through_rotations=False).program()]
    if any(op[0] == 'scale' and is_trigonometric(recorded, op[2]) for op in recorded.operations):
        programs.append(_Factoring(recorded, through_rotations=True).program())
    return min(programs, key=lambda each: each.operation_count)


def is_trigonometric(recorded: Program, i: int) -> bool:
    """Return whether operation i is a sine or a cosine."""
    return recorded.operations[i][0] in ('sin', 'cos')


class _Factoring:
    """Records a program again, with common factors extracted from every sum.

    Attributes
    ----------
    inner : set of int
        Sums that are used by one other sum only: they are expanded. The expression x - x, which is
        0 or NaN, is kept.
    value : {int: Scalar}
        The results of operations in the new recording.
    """

    def __init__(self, recorded: Program, *, through_rotations: bool) -> None:
        self.recorded = recorded
        self.before = recorded.operations
        self.through_rotations = through_rotations
        self.uses = use_counts(recorded)
        self.inner = {
            i
            for op in self.before
            if op[0] in SUMS
            for i in operands(op)
            if self.uses[i] == 1 and self._is_sum(i)
        }
        self.recorder = Recorder()
        self.value: dict[int, Scalar] = {}

    def _is_sum(self, i: int) -> bool:
        """Return whether operation i is a sum that can be expanded."""
        op = self.before[i]
        return op[0] in SUMS and (op[0] == 'neg' or op[1] != op[2])

    def program(self) -> Program:
        """Record all operations again, without those that have become unused."""
        for i, op in enumerate(self.before):
            if i not in self.inner:
                self.value[i] = self._sum(i) if self._is_sum(i) else self._again(op)
        outputs = []
        for shape, elements in self.recorded.outputs:
            flat = np.empty(len(elements), dtype=object)
            flat[:] = [self.value[e] if type(e) is int else e for e in elements]
            outputs.append(flat.reshape(shape))
        return program(self.recorder, self.recorded.inputs, outputs)

    def _again(self, op: Operation) -> Scalar:
        """Record an operation on the new values of its operands; move signs out of products."""
        new = [self.value[i] for i in operands(op)]
        result: Any = None
        if op[0] == 'mul':
            result = new[0] * new[1]
        elif op[0] == 'scale':
            result = op[1] * new[0]
        elif op[0] in SUMS:
            result = -new[0] if op[0] == 'neg' else new[0] + new[1]
            result = new[0] - new[1] if op[0] == 'sub' else result
        if isinstance(result, Scalar):  # not a constant, such as x - x
            return result
        return self.recorder.put(with_operands(op, lambda i: self.value[i].index))

    def _sum(self, root: int) -> Scalar:
        """Record the sum that ends with operation `root`."""
        addends, inner = self._written_out(root)
        groups, single = grouped([self._term(sign, i) for sign, i in addends])
        result = self._total(groups, single) if groups else None
        if isinstance(result, Scalar):  # not a constant: terms did not all cancel
            return result
        for i in sorted(inner):
            self.value[i] = self._again(self.before[i])
        return self.value[root]

    def _written_out(self, root: int) -> tuple[list[tuple[float, int]], list[int]]:
        """Return the terms of a sum with their signs, and the sums that were expanded."""
        addends, inner, stack = [], [root], [(1.0, root)]
        while stack:
            sign, i = stack.pop()
            if i != root and i not in self.inner:
                addends.append((sign, i))
                continue
            inner.append(i)
            op = self.before[i]
            stack += [(-sign if op[0] == 'sub' else sign, k) for k in op[2:]]
            stack.append((-sign if op[0] == 'neg' else sign, op[1]))
        return addends, inner

    def _term(self, sign: float, i: int) -> Term:
        """Return an operation as a product, with factors expanded that have no other uses."""
        constant, factors, stack = sign, [], [i]
        while stack:
            k = stack.pop()
            op, own = self.before[k], self.uses[k] == 1
            if op[0] == 'mul' and own:
                stack += op[1:]
            elif op[0] == 'scale' and isfinite(op[1]) and (own or self._turns(op[2])):
                constant *= op[1]
                stack.append(op[2])
            else:
                factors.append(k)
        return Term(constant, tuple(sorted(factors)), (sign, i))

    def _turns(self, i: int) -> bool:
        """Return whether a constant times operation i is such an element of a rotation matrix."""
        return self.through_rotations and is_trigonometric(self.recorded, i)

    def _total(self, groups: list[Group], single: list[Term]) -> Any:
        """Record the sum of groups and single terms."""
        parts = []
        for factor, terms in groups:
            sign, inside = self._parentheses(terms)
            outside = factor[0] if isinstance(factor, tuple) else self.value[factor]
            parts.append((sign, outside * inside))
        for term in single:
            if term.whole is not None:
                parts.append((term.whole[0], self.value[term.whole[1]]))
            else:
                product = prod([self.value[i] for i in term.factors], start=abs(term.constant))
                parts.append((term.sign, product))
        return added(parts)

    def _parentheses(self, terms: list[Term]) -> tuple[float, Any]:
        """Record a sum up to its sign, chosen so that equal sums are recognized."""
        sign = min(terms, key=lambda term: (term.factors, abs(term.constant))).sign
        return sign, self._total(*grouped([Term(sign * t.constant, t.factors) for t in terms]))


def grouped(terms: list[Term]) -> tuple[list[Group], list[Term]]:
    """Return common factors with their cofactors, and the terms without common factor.

    The most frequent factor is extracted first; among equals, the one computed last.
    """
    groups: list[Group] = []
    while True:
        frequency = Counter(factor for term in terms for factor in term.common())
        if not frequency or max(frequency.values()) < 2:
            return groups, terms
        factor = max(frequency, key=lambda f: (frequency[f], type(f) is int, f))
        groups.append((factor, [t.without(factor) for t in terms if factor in t.common()]))
        terms = [t for t in terms if factor not in t.common()]


def added(parts: list[tuple[float, Any]]) -> Any:
    """Record a sum of signed scalars and constants, always in the same order."""
    constant = total([0.0, *(sign * x for sign, x in parts if not isinstance(x, Scalar))])
    scalars = sorted(
        ((sign, x) for sign, x in parts if isinstance(x, Scalar)),
        key=lambda part: (part[0] < 0.0, part[1].index),
    )
    if not scalars:
        return constant
    first, result = scalars[0]
    for sign, x in scalars[1:]:
        result = result + x if sign == first else result - x
    return first * result + constant
