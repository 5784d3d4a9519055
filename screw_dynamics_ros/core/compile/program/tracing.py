# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recording of a recursion as a straight-line program.

The recursions in `kinematics` and `dynamics` operate on NumPy arrays. With object arrays of
`Scalar` they do not compute numbers, but record the sequence of operations for one robot. The
recording folds constants, removes products with structural zeros, moves signs out of products, and
shares common subexpressions.
"""

from __future__ import annotations

import hashlib
import marshal
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ...errors import NotRecordableError

# An element is the index of an earlier operation (int) or a constant (float).
Element = int | float

Operation = tuple[Any, ...]

# Operations `(name, constant, index)`. They have separate names because 2 == 2.0: common
# subexpressions must distinguish an index from a constant.
WITH_CONSTANT = frozenset({'shift', 'scale', 'reciprocal', 'min', 'max', 'lane'})


#: Operations that read no others.
LEAVES = frozenset({'input', 'constant'})

#: Sums of two terms.
TWO_TERMS = frozenset({'add', 'sub'})


class Recorder:
    """The list of recorded operations `(name, *operands)`, and their index for sharing.

    More than `max_operations` raise `NotRecordableError`.
    """

    def __init__(self, max_operations: float = math.inf) -> None:
        self.operations: list[Operation] = []
        self._known: dict[Operation, int] = {}
        self._max_operations = max_operations

    def inputs(self, name: str, size: int) -> np.ndarray:
        """Return an object array of `size` scalars, the elements of the input called `name`."""
        array = np.empty(size, dtype=object)
        for k in range(size):
            array[k] = self.put(('input', name, k))
        return array

    def put(self, operation: Operation) -> Scalar:
        """Record an operation unchanged, or return the same earlier one."""
        index = self._known.setdefault(operation, len(self.operations))
        if index == len(self.operations):
            if index >= self._max_operations:
                raise NotRecordableError(f'more than {self._max_operations} operations')
            self.operations.append(operation)
        return Scalar(self, index)

    def negative(self, i: int) -> Scalar:
        """Record -i."""
        op = self.operations[i]
        if op[0] == 'neg':
            return Scalar(self, op[1])
        return self.put(('neg', i))

    def sum(self, i: int, j: int) -> Any:
        """Record i + j."""
        ops = self.operations
        if i == j:
            return self.scaled(2.0, i)
        if ops[j][0] == 'neg':
            return self.difference(i, ops[j][1])
        if ops[i][0] == 'neg':
            return self.difference(j, ops[i][1])
        shorter = self._canceled(i, j, 1.0)
        if shorter is not None:
            return shorter
        return self.put(('add', i, j)) if i < j else self.put(('add', j, i))

    def shifted(self, c: float, i: int) -> Scalar:
        """Record c + i."""
        if c == 0.0:
            return Scalar(self, i)
        return self.put(('shift', c, i))

    def difference(self, i: int, j: int) -> Any:
        """Record i - j."""
        if i == j:
            return 0.0
        ops = self.operations
        if ops[j][0] == 'neg':
            return self.sum(i, ops[j][1])
        if ops[i][0] == 'neg':
            return -self.sum(ops[i][1], j)
        shorter = self._canceled(i, j, -1.0)
        if shorter is not None:
            return shorter
        opposite = self._known.get(('sub', j, i))
        if opposite is not None:
            return self.negative(opposite)
        return self.put(('sub', i, j))

    def _canceled(self, i: int, j: int, sign: float) -> Any:
        """Record i + sign j if a common term cancels: (a + b) - (a + c) = b - c; None otherwise."""
        ops = self.operations
        if ops[i][0] not in TWO_TERMS or ops[j][0] not in TWO_TERMS:
            return None
        first, second = self._terms(i), [(sign * s, k) for s, k in self._terms(j)]
        for own, left in zip(first, first[::-1]):
            for other, right in zip(second, second[::-1]):
                if own[1] == other[1] and own[0] == -other[0]:
                    return self._signed_sum(*left, *right)
        return None

    def _signed_sum(self, s: float, i: int, t: float, j: int) -> Any:
        """Record s i + t j of signs s and t."""
        if s > 0.0:
            return self.sum(i, j) if t > 0.0 else self.difference(i, j)
        return self.difference(j, i) if t > 0.0 else -self.sum(i, j)

    def _terms(self, i: int) -> list[tuple[float, int]]:
        """Return the two terms of a sum with their signs; empty for x - x, which may be NaN."""
        kind, a, b = self.operations[i]
        return [(1.0, a), (1.0 if kind == 'add' else -1.0, b)] if a != b else []

    def product(self, i: int, j: int) -> Scalar:
        """Record i j."""
        ops = self.operations
        negative = False
        if ops[i][0] == 'neg':
            i, negative = ops[i][1], not negative
        if ops[j][0] == 'neg':
            j, negative = ops[j][1], not negative
        result = self.put(('mul', i, j)) if i < j else self.put(('mul', j, i))
        return -result if negative else result

    def scaled(self, c: float, i: int) -> Any:
        """Record c i; a product with zero is the number zero."""
        if c == 0.0:
            return 0.0
        if c == 1.0:
            return Scalar(self, i)
        op = self.operations[i]
        if op[0] == 'neg':
            return self.scaled(-c, op[1])
        if c < 0.0:
            return -self.scaled(-c, i)
        if op[0] == 'scale':
            return self.scaled(c * op[1], op[2])
        return self.put(('scale', c, i))

    def quotient(self, a: Element, b: Element) -> Any:
        """Record a / b; quotients by the same b share its reciprocal, because division is slow."""
        if isinstance(b, float):
            return self.scaled(1.0 / b, int(a))
        if self.operations[b][0] == 'neg':
            return -self.quotient(a, self.operations[b][1])
        if type(a) is float:
            return self.put(('reciprocal', a, b)) if a else 0.0
        return self.product(int(a), self.put(('reciprocal', 1.0, b)).index)

    def clamped(self, lower: float, upper: float, i: int) -> Scalar:
        """Record i clamped to a range; infinite bounds are omitted."""
        result = Scalar(self, i)
        if lower > -np.inf:
            result = self.put(('max', float(lower), result.index))
        if upper < np.inf:
            result = self.put(('min', float(upper), result.index))
        return result

    def function(self, name: str, i: int) -> Scalar:
        """Record the sine, cosine, square root or nearest integer of i."""
        if self.operations[i][0] == 'neg':  # cosine is even, sine is odd
            argument = self.operations[i][1]
            if name == 'cos':
                return self.put(('cos', argument))
            if name == 'sin':
                return -self.put(('sin', argument))
        return self.put((name, i))

    def angle(self, y: int, x: int) -> Scalar:
        """Record arctan2(y, x)."""
        return self.put(('atan2', y, x))

    def constant(self, c: float, i: int) -> int:
        """Return the operation c + (i - i), a constant; NaN where i is not a number."""
        return self.shifted(c, self.put(('sub', i, i)).index).index

    def index(self, x: Any) -> int:
        """Return the operation of a recorded scalar or of a number.

        The text of a constant distinguishes 0.0 from -0.0, which equal each other.
        """
        return x.index if isinstance(x, Scalar) else self.put(('constant', float(x).hex())).index

    def compared(self, kind: str, x: Any, y: Any) -> Scalar:
        """Record whether x < y ('less') or x <= y ('less_equal'): 1, or 0 also for NaN."""
        return self.put((kind, self.index(x), self.index(y)))

    def choice(self, mask: Any, x: Any, y: Any) -> Any:
        """Record x where a mask is not 0, else y."""
        chosen, other = self.index(x), self.index(y)
        if chosen == other:
            return Scalar(self, chosen)
        return self.put(('where', self.index(mask), chosen, other))


class Scalar:
    """A number without a value: the result of one recorded operation."""

    __slots__ = ('index', 'recorder')

    def __init__(self, recorder: Recorder, index: int) -> None:
        self.recorder = recorder
        self.index = index

    def __repr__(self) -> str:
        return f'Scalar({self.index}: {self.recorder.operations[self.index]})'

    # NumPy handles array operands and calls these methods for each element.

    def __add__(self, other: Any) -> Any:
        if type(other) is Scalar:
            return self.recorder.sum(self.index, other.index)
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.recorder.shifted(float(other), self.index)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if type(other) is Scalar:
            return self.recorder.difference(self.index, other.index)
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.recorder.shifted(-float(other), self.index)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if type(other) is Scalar:
            return self.recorder.product(self.index, other.index)
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.recorder.scaled(float(other), self.index)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        divisor = other.index if type(other) is Scalar else float(other)
        return self.recorder.quotient(self.index, divisor)

    def __rtruediv__(self, other: Any) -> Any:
        return self.recorder.quotient(float(other), self.index)

    def __pow__(self, exponent: int) -> Any:
        power: Any = self
        for _ in range(exponent - 1):
            power = power * self
        return power

    def __neg__(self) -> Scalar:
        return self.recorder.negative(self.index)

    def __pos__(self) -> Scalar:
        return self

    def sin(self) -> Scalar:
        """Record the sine; NumPy calls this."""
        return self.recorder.function('sin', self.index)

    def cos(self) -> Scalar:
        """Record the cosine; NumPy calls this."""
        return self.recorder.function('cos', self.index)

    def sqrt(self) -> Scalar:
        """Record the square root; NumPy calls this."""
        return self.recorder.function('sqrt', self.index)

    def rint(self) -> Scalar:
        """Record the nearest integer; NumPy calls this."""
        return self.recorder.function('rint', self.index)

    def arctan2(self, x: Any) -> Any:
        """Record the angle of the point (x, self); NumPy calls this."""
        return arctangent(self, x)

    def clamped(self, lower: float, upper: float) -> Any:
        """Record the value clamped between two constants; `clamp` calls this."""
        return self.recorder.clamped(lower, upper, self.index)

    def __bool__(self) -> bool:
        raise TypeError(
            'a recorded scalar has no value yet: a recursion must not branch on it; `choice` of '
            'compile.program.recorded_arrays chooses between numbers'
        )

    def _compared(self, other: object) -> bool:
        raise TypeError('a recorded scalar has no value yet: a recursion must not compare it')

    __eq__ = __ne__ = _compared

    def __lt__(self, other: Any) -> Any:
        return self._order('less', self, other)

    def __le__(self, other: Any) -> Any:
        return self._order('less_equal', self, other)

    def __gt__(self, other: Any) -> Any:
        return self._order('less', other, self)

    def __ge__(self, other: Any) -> Any:
        return self._order('less_equal', other, self)

    def _order(self, kind: str, x: Any, y: Any) -> Any:
        if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
            return NotImplemented
        return self.recorder.compared(kind, x, y)

    def __abs__(self) -> Any:
        return self.recorder.choice(self < 0.0, -self, self)

    __hash__ = None  # type: ignore[assignment]

    def __float__(self) -> float:
        raise TypeError('a recorded scalar has no value yet: it cannot become a float')


def clamp(x: Any, lower: float, upper: float) -> Any:
    """Return x clamped between two constants; NaN stays NaN."""
    return x.clamped(lower, upper) if isinstance(x, Scalar) else np.clip(x, lower, upper)


def arctangent(y: Any, x: Any) -> Any:
    """Return arctan2(y, x) [rad] of numbers or recorded scalars."""
    if isinstance(y, Scalar):
        recorder = y.recorder
        other = x.index if isinstance(x, Scalar) else recorder.constant(float(x), y.index)
        return recorder.angle(y.index, other)
    if isinstance(x, Scalar):
        return x.recorder.angle(x.recorder.constant(float(y), x.index), x.index)
    return np.arctan2(y, x)


@dataclass(frozen=True)
class Program:
    """A straight-line program: inputs, operations and outputs.

    Attributes
    ----------
    inputs : sequence of (name, size)
        The inputs, each a vector.
    operations : list of tuples
        `('input', name, k)`, `('add' | 'sub' | 'mul', i, j)`, `('neg' | 'sin' | 'cos' | 'sqrt' |
        'rint', i)`, `('less' | 'less_equal', i, j)` = 1 or 0, `('where', i, j, k)` = j where i is
        not 0, else k, `('constant', text of float.hex)`, and with a constant c
        `('shift', c, i)` = c + i, `('scale', c, i)` = c i,
        `('reciprocal', c, i)` = c / i, `('min' | 'max', c, i)`; i and j are indices of earlier
        operations; `('atan2', i, j)` is the angle of the point (j, i). Every operation is used by
        an output.
    outputs : list of (shape, elements)
        Each output in C order; an element is the index of an operation (int) or a constant (float).
    """

    inputs: tuple[tuple[str, int], ...]
    operations: list[Operation]
    outputs: list[tuple[tuple[int, ...], list[Element]]]

    @property
    def operation_count(self) -> int:
        """Number of operations, including sines, cosines and roots."""
        return sum(op[0] != 'input' for op in self.operations)

    def digest(self) -> str:
        """Return a hash of the program; constants are compared bitwise."""
        content = (list(self.inputs), self.operations, self.outputs)
        return hashlib.sha256(marshal.dumps(content, 2)).hexdigest()  # 2: writes no references


def operands(operation: Operation) -> tuple[int, ...]:
    """Return the indices of the operations that `operation` reads."""
    kind = operation[0]
    if kind in WITH_CONSTANT:
        return operation[2:]
    if kind in LEAVES:
        return ()
    if kind == 'pack':
        return tuple([e for e in operation[1:] if type(e) is int])
    return operation[1:]


def with_operands(operation: Operation, new: Callable[[int], int]) -> Operation:
    """Return a scalar operation that reads `new(i)` where `operation` reads i."""
    kind = operation[0]
    if kind in LEAVES:
        return operation
    if kind in WITH_CONSTANT:
        return (kind, operation[1], new(operation[2]))
    return (kind, *map(new, operation[1:]))


def use_counts(program: Program) -> Counter[int]:
    """Return the number of uses of each operation, by operations and outputs."""
    results = (e for _, elements in program.outputs for e in elements if type(e) is int)
    return _uses(program.operations, results)


def _uses(operations: Iterable[Operation], results: Iterable[int]) -> Counter[int]:
    """Return the number of uses of each operation, by operations and results."""
    uses = Counter(chain.from_iterable(map(operands, operations)))
    uses.update(results)
    return uses


def program(
    recorder: Recorder, inputs: Sequence[tuple[str, int]], outputs: Sequence[np.ndarray]
) -> Program:
    """Return the program with the operations that `outputs` need, renumbered in recorded order."""
    elements = [
        [
            e.index if isinstance(e, Scalar) else float(e)
            for e in np.asarray(output, dtype=object).ravel()
        ]
        for output in outputs
    ]
    recorded = list(recorder.operations)
    results = {e for flat in elements for e in flat if type(e) is int}
    recording = _needed(recorded, results)
    uses = _uses((recorded[i] for i in recording), results)
    for i in recording:
        if recorded[i][0] == 'neg':
            recorded[i] = _opposite(recorded, uses, recorded[i][1]) or recorded[i]
    kept = _needed(recorded, results)
    new_index = {old: new for new, old in enumerate(kept)}
    return Program(
        inputs=tuple(inputs),
        operations=[with_operands(recorded[i], new_index.__getitem__) for i in kept],
        outputs=[
            (np.shape(output), [new_index[e] if type(e) is int else e for e in flat])
            for output, flat in zip(outputs, elements)
        ],
    )


def _needed(operations: Sequence[Operation], results: Iterable[int]) -> list[int]:
    """Return the operations that `results` need, including themselves, in order."""
    needed = set(results)
    for i in reversed(range(len(operations))):
        if i in needed:
            needed.update(operands(operations[i]))
    return sorted(needed)


def _opposite(operations: list[Operation], uses: Counter[int], root: int) -> Operation | None:
    """Return the negative of operation `root` as one operation, without 'neg'; None if impossible.

    It may change operations with no other use, from a constant or a difference that absorbs the
    sign up to `root`. It is not recursive, because sums may have thousands of terms.
    """
    above: dict[int, tuple[int, int]] = {}  # user of an operation, and its other operand
    waiting = [root]
    while waiting:
        k = waiting.pop()
        kind, *of = operations[k]
        if kind == 'scale':
            opposite = (kind, -of[0], of[1])
        elif uses[k] > 1 or kind not in ('mul', 'add', 'sub'):
            continue
        elif kind == 'sub':
            opposite = (kind, of[1], of[0])
        else:
            for operand, other in (of[::-1], of):  # the last one is visited first
                if uses[operand] == 1:
                    above[operand] = k, other
                    waiting.append(operand)
            continue
        while k != root:
            operations[k] = opposite
            user, other = above[k]
            opposite = ('mul' if operations[user][0] == 'mul' else 'sub', k, other)
            k = user
        return opposite
    return None
