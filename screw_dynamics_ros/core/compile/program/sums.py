# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rewrite each sum of products as one chain, so that all products but the first are fused.

(a b + c d) + (e f + g h) takes two products, two fused multiply-adds and an addition; the chain
a b + c d + e f + g h takes one product and three fused multiply-adds. Recursions often add sums.
"""

from __future__ import annotations

from .tracing import Operation, Program, operands, use_counts, with_operands

SUMS = frozenset({'add', 'sub', 'neg', 'shift'})

#: Largest number of operations between a sum and a sum in it that is merged: beyond, its terms
#: would occupy registers too long.
NEAR = 40


def chained(program: Program) -> Program:
    """Return a program that adds the terms of each sum sequentially.

    Terms that are computed last are added last, so that only the end of the chain waits for them.
    """
    before = program.operations
    uses = use_counts(program)
    inner = {  # sums that are terms of one other sum
        i
        for n, op in enumerate(before)
        if op[0] in SUMS
        for i in operands(op)
        if before[i][0] in SUMS and uses[i] == 1 and n - i < NEAR
    }
    operations: list[Operation] = []
    new: dict[int, int] = {}

    def put(*operation: object) -> int:
        operations.append(operation)
        return len(operations) - 1

    def chain(root: int) -> int:
        """Write the sum that ends with operation `root`."""
        terms: list[tuple[float, int]] = []
        constant = 0.0
        stack = [(1.0, root)]
        while stack:
            sign, i = stack.pop()
            op = before[i]
            if i != root and i not in inner:
                terms.append((sign, new[i]))
                continue
            if op[0] == 'shift':
                constant += sign * op[1]
            stack += [(-sign if op[0] == 'neg' else sign, k) for k in operands(op)[:1]]
            stack += [(-sign if op[0] == 'sub' else sign, k) for k in operands(op)[1:]]
        terms.sort(key=lambda term: term[1])
        first = next((term for term in terms if term[0] > 0.0), terms[0])
        terms.remove(first)
        total = first[1] if first[0] > 0.0 else put('neg', first[1])
        if constant:
            total = put('shift', constant, total)
        for sign, i in terms:
            total = put('add' if sign > 0.0 else 'sub', total, i)
        return total

    for i, op in enumerate(before):
        if i in inner:
            continue
        if op[0] in SUMS and not inner.isdisjoint(operands(op)):
            new[i] = chain(i)
        else:
            new[i] = put(*with_operands(op, new.__getitem__))
    outputs = [
        (shape, [new[e] if type(e) is int else e for e in elements])
        for shape, elements in program.outputs
    ]
    return Program(program.inputs, operations, outputs)
