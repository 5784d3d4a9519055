# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The statements in C that compute a program: one function, or several that share a workspace.

Compilers give a long function a large stack frame, and take time that grows faster than its length:
the parts of a `DividedProgram` take a quarter to a half less time to compute, and a tenth to
compile.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain

from screw_dynamics_ros.core.compile.program.divided_program import (
    WINDOW,
    DividedProgram,
    PlacedPart,
)
from screw_dynamics_ros.core.compile.program.sums import chained
from screw_dynamics_ros.core.compile.program.tracing import Element, Operation, Program, operands
from screw_dynamics_ros.core.compile.text.c_sincos import LANES
from screw_dynamics_ros.core.compile.text.infix import infix, infix_element

#: Largest number of operations of one function, and of the parts of a longer program.
LONGEST_FUNCTION, PIECE = 2500, 400

#: What the parts of a program need. The second macro makes a pointer of its own from an address:
#: distances from it are short.
SHARING = """\
#if defined(__GNUC__)
#define RESTRICT __restrict__
#define PART static __attribute__((noinline))
#else
#define RESTRICT
#define PART static
#endif
#if defined(__GNUC__) && defined(__x86_64__)
#define NEARBY(pointer) __asm__("" : "+r"(pointer))
#else
#define NEARBY(pointer) (void)(pointer)
#endif
"""

OURS = ('w_', 'in_')  # arrays of the parts: the workspace, and the inputs

#: Comparisons; false for NaN.
ORDERS = {'less': '<', 'less_equal': '<='}


class Body(DividedProgram):
    """The statements of a function.

    Parameters
    ----------
    name : str
        Of the function.
    program : Program
    results : sequence of str
        Names of the outputs; the inputs keep the names of the program.
    """

    def __init__(self, name: str, program: Program, results: Sequence[str]) -> None:
        super().__init__(chained(program), 1, LONGEST_FUNCTION, PIECE, LANES)
        self.name, self.results = name, tuple(results)
        sizes = [size for _, size in program.inputs]
        starts = [0, *accumulate(sizes)]
        self.starts = {array: start for (array, _), start in zip(program.inputs, starts)}
        self.input_count = starts[-1]

    def parts_before(self) -> Iterator[str]:
        """Yield the functions that the function calls."""
        if self.single:
            return
        for k, part in enumerate(self.parts):
            statements = _Statements(self)
            statements.compute(part)
            statements.sines(part)
            yield f'PART void {self._part(k)}({", ".join(self._parameters(statements))})'
            yield from ('{', *statements.lines, '}', '')

    def lines(self) -> Iterator[str]:
        """Yield the statements of the function; all inputs are read before an output is written."""
        operations = self.program.operations
        read = {op[1] for op in operations if op[0] == 'input'}
        yield from (f'  (void){array};' for array, _ in self.program.inputs if array not in read)
        yield from self._in_one() if self.single else self._by_parts()

    def _in_one(self) -> Iterator[str]:
        """Yield the inputs, then the parts of the schedule; outputs as soon as they are known."""
        operations = self.program.operations
        for i, op in enumerate(operations):
            if op[0] == 'input':
                yield f'  const double x{i} = {expression(op)};'
        writes: dict[int | None, list[str]] = defaultdict(list)
        for result, (_, flat) in zip(self.results, self.program.outputs):
            for k, e in enumerate(flat):
                known_with = e if type(e) is int else None
                writes[known_with].append(f'  {result}[{k}] = {infix_element(e, number)};')
        places = {op: i for i, op in enumerate(operations) if op[0] in ('sin', 'cos')}
        for number_of_part, part in enumerate(self.parts):
            for i in part.operations:
                yield f'  const double x{i} = {expression(operations[i])};'
                yield from writes.pop(i, ())
            if not part.angles:
                continue
            angles, sines, cosines = (f'{kind}{number_of_part}' for kind in ('a_', 's_', 'c_'))
            count = f'VECTORS({len(vectors(part.angles))})'
            yield f'  const reals {angles}[{count}] = {{{", ".join(vectors(part.angles))}}};'
            yield f'  reals {sines}[{count}], {cosines}[{count}];'
            yield f'  sines_and_cosines({angles}, {sines}, {cosines}, {count});'
            for k, angle in enumerate(part.angles):
                for kind, array in (('sin', sines), ('cos', cosines)):
                    if (kind, angle) in places:
                        yield f'  const double x{places[kind, angle]} = LANE({array}, {k});'
        yield from chain.from_iterable(writes.values())  # inputs, sines and constants

    def _by_parts(self) -> Iterator[str]:
        """Yield a copy of the inputs, the calls of the parts, and what is left of the outputs."""
        count = -(-self.workspace.size // LANES)
        yield f'  reals shared_[VECTORS({max(count, 1)})];'
        yield f'  double in_[{max(self.input_count, 1)}];'
        yield '  double *const w_ = (double *)shared_;'
        for array, size in self.program.inputs:
            yield f'  memcpy(in_ + {self.starts[array]}, {array}, {size} * sizeof(double));'
        for k, part in enumerate(self.parts):
            statements = _Statements(self)
            statements.compute(part)
            statements.sines(part)
            yield f'  {self._part(k)}({", ".join(statements.arrays)});'
        rest = _Statements(self)
        for output, (_, elements) in enumerate(self.program.outputs):
            for place, element in enumerate(elements):
                if (output, place) not in self.stored:
                    rest.write(output, place, rest.value(element))
        yield from rest.lines

    def _part(self, k: int) -> str:
        return f'part_{k}_of_{self.name}'

    @staticmethod
    def _parameters(statements: _Statements) -> list[str]:
        """Return the declarations of the arrays that statements use."""
        return [
            f'const double *RESTRICT {array}' if array == 'in_' else f'double *RESTRICT {array}'
            for array in statements.arrays
        ]


class _Statements:
    """The statements of one part.

    Attributes
    ----------
    lines : list of str
    arrays : dict
        Names of the arrays that they use, in order.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        self.lines: list[str] = []
        self.arrays: dict[str, None] = {}
        self._known: set[int] = set()
        self._windows: set[str] = set()

    def compute(self, part: PlacedPart) -> None:
        """Write the operations of a part."""
        body = self.body
        for i in part.operations:
            operation = body.program.operations[i]
            for operand in operands(operation):
                self.value(operand)
            self._let(i, expression(operation))
            if i in body.places:
                self._store('w_', body.places[i], f'x{i}')
            for output, place in body.targets.get(i, ()):
                self.write(output, place, f'x{i}')

    def sines(self, part: PlacedPart) -> None:
        """Write the sines and cosines of the angles of a part."""
        if not part.angles:
            return
        for angle in part.angles:
            self.value(angle)
        self.arrays['w_'] = None
        values = vectors(part.angles)
        count = f'VECTORS({len(values)})'
        places = (part.place, part.place + LANES * len(values))
        sines, cosines = (f'(reals *)(w_ + {place})' for place in places)
        self.lines += [
            f'  const reals a_[{count}] = {{{", ".join(values)}}};',
            f'  sines_and_cosines(a_, {sines}, {cosines}, {count});',
        ]

    def value(self, element: Element) -> str:
        """Return the text of a value, after reading it if another part has computed it."""
        if isinstance(element, float):
            return number(element)
        if element not in self._known:
            body = self.body
            if element in body.places:
                self._let(element, self._at('w_', body.places[element]))
            else:
                _, array, k = body.program.operations[element]
                self._let(element, self._at('in_', body.starts[array] + k))
        return f'x{element}'

    def write(self, output: int, place: int, text: str) -> None:
        """Write an element of an output."""
        self._store(self.body.results[output], place, text)

    def _let(self, i: int, text: str) -> None:
        self._known.add(i)
        self.lines.append(f'  const double x{i} = {text};')

    def _store(self, array: str, index: int, text: str) -> None:
        place = self._at(array, index)
        self.lines.append(f'  {place} = {text};')

    def _at(self, array: str, index: int) -> str:
        """Return the text of an element of an array, near a pointer."""
        self.arrays[array] = None
        number = (index + WINDOW // 2) // WINDOW
        if not number:
            return f'{array}[{index}]'
        outputs = self.body.results
        window = f'{array}{number}' if array in OURS else f'o{outputs.index(array)}_{number}'
        if window not in self._windows:
            self._windows.add(window)
            kind = 'const double' if array == 'in_' else 'double'
            self.lines.append(f'  {kind} *{window} = {array} + {number * WINDOW};')
            self.lines.append(f'  NEARBY({window});')
        return f'{window}[{index - number * WINDOW}]'


def vectors(angles: Sequence[int]) -> list[str]:
    """Return the initializers of the vectors of some angles."""
    given = [f'x{i}' for i in angles]
    given += ['0.0'] * (-len(given) % LANES)
    return [f'VECTOR({", ".join(given[k : k + LANES])})' for k in range(0, len(given), LANES)]


def expression(operation: Operation) -> str:
    """Return the right-hand side of one operation."""
    kind = operation[0]
    if kind == 'input':
        return f'{operation[1]}[{operation[2]}]'
    if kind == 'constant':
        return number(float.fromhex(operation[1]))
    if kind in ORDERS:
        return f'(double)(x{operation[1]} {ORDERS[kind]} x{operation[2]})'
    if kind == 'where':
        return 'one_of(x{}, x{}, x{})'.format(*operation[1:])
    if kind in ('min', 'max'):  # not fmin, fmax: NaN stays
        c, x, less = number(operation[1]), f'x{operation[2]}', '<' if kind == 'min' else '>'
        return f'one_of((double)({c} {less} {x}), {c}, {x})'
    return infix(operation, number)


def number(value: float) -> str:
    """Return a constant as an exact C literal."""
    if math.isfinite(value):
        return repr(value)
    return 'NAN' if math.isnan(value) else 'INFINITY' if value > 0 else '-INFINITY'
