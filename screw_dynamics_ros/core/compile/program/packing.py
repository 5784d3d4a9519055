# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Packs: computation of several elements of a matrix by one vector instruction.

The dynamics for one sample consists of scalar operations. The elements in a row of a matrix product
are sums of products that share one factor each, so that four of them (with AVX) take as many
instructions as one: superword-level parallelism (Larsen and Amarasinghe 2000).

Packs start at rows of the outputs. Their operands also become packs if the lanes are such sums;
otherwise scalars are gathered, which is worthwhile if several packs use them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from .tracing import Element, Operation, Program, operands, use_counts, with_operands

PACK = 4  # elements of a matrix that are computed at once for one sample
VECTORS = frozenset({'pack', 'splat', 'vadd', 'vsub', 'vmul', 'vneg'})  # operations on packs

GATHER = 1.2  # cost of inserting a scalar into a pack, in instructions

#: Operations, ~i for the negative result of operation i, and None for a structural zero (0 == 0.0
#: would be ambiguous).
Lanes = tuple[int | None, ...]
#: A sign and up to two operations as factors.
Term = tuple[float, tuple[int, ...]]


@dataclass(frozen=True)
class PackedTerm:
    """Terms of all lanes: sign times the shared factor, if any, times the other factors."""

    sign: float
    factor: int | None
    others: Lanes


@dataclass(eq=False)
class Pack:
    """A vector of values: the sum of `terms`, or gathered from scalars if there are none.

    It can be computed after operation `time` of the program; packs with the same time are ordered
    by `number`.
    """

    lanes: Lanes
    number: int
    terms: list[PackedTerm]
    time: int


def packed(program: Program, width: int) -> Program:
    """Return an equivalent program with packs of `width` where they save instructions.

    Its additional operations create vectors, `('pack', *elements)`, `('splat', i)`, `('vadd' |
    'vsub' | 'vmul', i, j)` and `('vneg', i)`, and extract a lane, `('lane', k, i)`.
    """
    packs = _Packs(program, width)
    return _Writer(program, packs).program() if packs.home else program


class _Packs:
    """The selection of packs for a program.

    Attributes
    ----------
    packs : dict
        Packs by their lanes; operands come before the packs that use them.
    home : dict
        The pack and the lane that compute the result of an operation.
    """

    def __init__(self, program: Program, width: int) -> None:
        self.operations = program.operations
        self.uses = use_counts(program)
        self.packs: dict[Lanes, Pack] = {}
        self.home: dict[int, tuple[Pack, int]] = {}
        self._sums: dict[Lanes, list[PackedTerm]] = {}  # without terms: not worthwhile
        rows = [
            elements[start : start + width]
            for shape, elements in program.outputs
            if len(shape) > 1 and elements
            for row in range(0, len(elements), shape[-1])
            for start in range(row, row + shape[-1] - width + 1, width)
        ]
        seeds = [
            tuple(e if type(e) is int else None for e in row)
            for row in rows
            if all(type(e) is int or e == 0.0 for e in row)
        ]
        sums = self._reachable(seeds)
        demand = Counter(term.others for terms in sums.values() for term in terms)
        for lanes in sorted(sums, key=last):
            gathering = (
                GATHER * len(lanes) / demand[term.others]
                for term in sums[lanes]
                if not self._sums[term.others]
            )
            work = sum(1 for term in sums[lanes] for e in term.others if e is not None)
            pays = len(sums[lanes]) + sum(gathering) < work - len(lanes) / 2
            self._sums[lanes] = sums[lanes] if pays else []
        for seed in seeds:
            if self._sums[seed]:
                self._make(seed)

    def _reachable(self, seeds: list[Lanes]) -> dict[Lanes, list[PackedTerm]]:
        """Return the sums of all lanes that are used if packs are formed wherever possible."""
        found: dict[Lanes, list[PackedTerm]] = {}
        stack = list(seeds)
        while stack:
            lanes = stack.pop()
            if lanes not in found:
                found[lanes] = self._aligned(lanes)
                stack += [term.others for term in found[lanes]]
        return found

    def _terms(self, root: int) -> list[Term]:
        """Return the terms of the sum that ends with operation `root`.

        A partial sum with other uses is a single term. Products are expanded in any case: as part
        of a pack, they take no instruction more.
        """
        terms: list[Term] = []
        stack = [(1.0, root)]
        while stack:
            sign, i = stack.pop()
            op = self.operations[i]
            kind = op[0] if i == root or self.uses[i] == 1 or op[0] == 'mul' else ''
            if kind in ('add', 'sub'):
                stack += [(sign if kind == 'add' else -sign, op[2]), (sign, op[1])]
            elif kind == 'neg':
                stack.append((-sign, op[1]))
            else:
                terms.append((sign, (op[1], op[2]) if kind == 'mul' else (i,)))
        return terms

    def _aligned(self, lanes: Lanes) -> list[PackedTerm]:
        """Return the aligned terms of the lanes, empty if the lanes are not sums."""
        if any(e is not None and e < 0 for e in lanes):
            return []
        terms = [[] if e is None else self._terms(e) for e in lanes]
        if any(len(ts) == 1 for ts in terms) or not any(terms):
            return []
        frequency = Counter(
            f for ts in terms for f in {f for _, fs in ts if len(fs) == 2 for f in fs}
        )
        rows: dict[tuple[int | None, int], list[tuple[float, int | None]]] = {}
        for lane, ts in enumerate(terms):
            seen: Counter[int | None] = Counter()
            for sign, fs in ts:
                factor, other = None, fs[0]
                if len(fs) == 2:
                    factor, other = sorted(fs, key=lambda f: (-frequency[f], f))
                row = rows.setdefault((factor, seen[factor]), [(0.0, None)] * len(lanes))
                row[lane] = sign, other
                seen[factor] += 1
        result = []
        for (factor, _), row in rows.items():
            sign = next(sign for sign, _ in row if sign)
            others = tuple(e if e is None or s == sign else ~e for s, e in row)
            result.append(PackedTerm(sign, factor, others))
        return result

    def _make(self, seed: Lanes) -> None:
        """Create a pack after its operands."""
        stack = [seed]
        while stack:
            lanes = stack[-1]
            terms = self._sums[lanes]
            missing = [term.others for term in terms if term.others not in self.packs]
            if missing and lanes not in self.packs:
                stack += missing
                continue
            stack.pop()
            if lanes in self.packs:
                continue
            factors = [term.factor for term in terms if term.factor is not None]
            waits = [self.packs[term.others].time for term in terms] + factors
            time = max(waits, default=last(lanes))
            pack = self.packs[lanes] = Pack(lanes, len(self.packs), terms, time)
            for k, e in enumerate(lanes):
                if terms and e is not None:
                    self.home.setdefault(e, (pack, k))


def last(lanes: Lanes) -> int:
    """Return the last operation among some lanes."""
    return max((max(e, ~e) for e in lanes if e is not None), default=-1)


class _Writer:
    """Writes the program with packs and the remaining scalar operations."""

    def __init__(self, program: Program, packs: _Packs) -> None:
        self.before, self.packs = program, packs.packs
        self.home = packs.home
        self.operations: list[Operation] = []
        self.index: dict[object, int] = {}
        self.order: list[int | Pack] = [*range(len(program.operations)), *self.packs.values()]
        self.order.sort(key=lambda x: (x.time, 1, x.number) if isinstance(x, Pack) else (x, 0, 0))
        self.place = {x: n for n, x in enumerate(self.order)}
        self.result: dict[int | Pack, int] = {}
        self.now = 0

    def program(self) -> Program:
        """Write all that the outputs need."""
        end = len(self.order)
        needed = {
            self.place[self._source(e, end)]
            for _, elements in self.before.outputs
            for e in elements
            if type(e) is int
        }
        for n in reversed(range(end)):
            if n in needed:
                needed.update(self.place[x] for x in self._reads(n))
        for n, x in enumerate(self.order):
            self.now = n
            if n in needed:
                self.result[x] = self._pack(x) if isinstance(x, Pack) else self._scalar(x)
        self.now = end
        outputs = [
            (shape, [self._value(e) if type(e) is int else e for e in elements])
            for shape, elements in self.before.outputs
        ]
        return Program(self.before.inputs, self.operations, outputs)

    def _source(self, i: int, now: int) -> int | Pack:
        """Return the source of the result of operation i: a pack if it exists by then."""
        home = self.home.get(i)
        return home[0] if home is not None and self.place[home[0]] < now else i

    def _reads(self, n: int) -> list[int | Pack]:
        """Return the operands of operation or pack number n in order."""
        x = self.order[n]
        if not isinstance(x, Pack):
            return [self._source(i, n) for i in operands(self.before.operations[x])]
        if not x.terms:
            return [self._source(max(e, ~e), n) for e in x.lanes if e is not None]
        factors = [self._source(t.factor, n) for t in x.terms if t.factor is not None]
        return [self.packs[term.others] for term in x.terms] + factors

    def _put(self, *operation: Any) -> int:
        key = (*operation, *map(type, operation)) if operation[0] == 'pack' else operation
        index = self.index.setdefault(key, len(self.operations))  # types, because 0 == 0.0
        if index == len(self.operations):
            self.operations.append(operation)
        return index

    def _value(self, i: int) -> int:
        source = self._source(i, self.now)
        if isinstance(source, Pack):
            return self._put('lane', self.home[i][1], self.result[source])
        return self.result[source]

    def _element(self, e: int | None) -> Element:
        if e is None:
            return 0.0
        return self._value(e) if e >= 0 else self._put('neg', self._value(~e))

    def _scalar(self, i: int) -> int:
        return self._put(*with_operands(self.before.operations[i], self._value))

    def _pack(self, pack: Pack) -> int:
        if not pack.terms:
            return self._put('pack', *map(self._element, pack.lanes))
        total: int | None = None
        for term in sorted(pack.terms, key=lambda term: -term.sign):
            x = self.result[self.packs[term.others]]
            if term.factor is not None:
                x = self._put('vmul', self._put('splat', self._value(term.factor)), x)
            if total is None:
                total = x if term.sign > 0.0 else self._put('vneg', x)
            else:
                total = self._put('vadd' if term.sign > 0.0 else 'vsub', total, x)
        assert total is not None
        return total
