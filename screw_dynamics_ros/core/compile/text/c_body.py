# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The statements in C that compute a program: one function, or several that share a workspace.

Compilers give a long function a large stack frame, and take time that grows faster than its length:
the parts of a `DividedProgram` take a quarter to a half less time to compute, and a tenth to
compile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain

from ..program.divided_program import LONGEST, PIECE, WINDOW, DividedProgram, PlacedPart
from ..program.packing import PACK, VECTORS, packed
from ..program.sums import chained
from ..program.tracing import Element, Operation, Program, operands
from .c_sincos import LANES
from .infix import infix, infix_element

#: Definitions for packs: vectors of GCC and Clang, otherwise structures.
PACKS = """\
#if defined(__GNUC__)
#define PACK_OF(a, b, c, d) {a, b, c, d}
#define LANE_OF_PACK(x, k) (x)[k]
#define ADD_PACKS(x, y) ((x) + (y))
#define SUBTRACT_PACKS(x, y) ((x) - (y))
#define MULTIPLY_PACKS(x, y) ((x) * (y))
#define NEGATIVE_PACK(x) (-(x))
typedef reals real_pack;
#else
#define PACK_OF(a, b, c, d) {{a, b, c, d}}
#define LANE_OF_PACK(x, k) (x).lane[k]
typedef struct {
  double lane[4];
} real_pack;
static inline real_pack ADD_PACKS(real_pack x, real_pack y) {
  for (int k = 0; k < 4; k++) x.lane[k] += y.lane[k];
  return x;
}
static inline real_pack SUBTRACT_PACKS(real_pack x, real_pack y) {
  for (int k = 0; k < 4; k++) x.lane[k] -= y.lane[k];
  return x;
}
static inline real_pack MULTIPLY_PACKS(real_pack x, real_pack y) {
  for (int k = 0; k < 4; k++) x.lane[k] *= y.lane[k];
  return x;
}
static inline real_pack NEGATIVE_PACK(real_pack x) {
  for (int k = 0; k < 4; k++) x.lane[k] = -x.lane[k];
  return x;
}
#endif
"""

#: Definitions for the parts of a program. `NEARBY` makes a separate pointer from an address:
#: distances from it are short.
PARTS = """\
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

#: Operations on packs; loading and storing them is no function: without AVX, compilers warn of
#: functions that return them.
ON_PACKS = {
    'vadd': 'ADD_PACKS',
    'vsub': 'SUBTRACT_PACKS',
    'vmul': 'MULTIPLY_PACKS',
    'vneg': 'NEGATIVE_PACK',
}

OURS = ('w_', 'in_')  # arrays of the parts: the workspace, and the inputs

#: Comparisons; false for NaN.
ORDERS = {'less': '<', 'less_equal': '<='}


class CBody(DividedProgram):
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
        super().__init__(packed(chained(program), PACK), 1, LONGEST, PIECE, LANES)
        self.name, self.results = name, tuple(results)
        sizes = [size for _, size in program.inputs]
        starts = [0, *accumulate(sizes)]
        self.starts = {array: start for (array, _), start in zip(program.inputs, starts)}
        self.input_count = starts[-1]
        #: Operations whose results are named; not lanes that are only written with their pack.
        self.used = {*self.targets, *self.places}
        self.used.update(chain.from_iterable(map(operands, self.program.operations)))

    @property
    def definitions(self) -> list[str]:
        """The definitions that the statements need, after those for sines."""
        has_packs = any(operation[0] in VECTORS for operation in self.program.operations)
        return [PACKS] * has_packs + [PARTS] * (not self.single)

    def kind(self, i: int) -> str:
        """Return the type of the result of an operation."""
        return 'real_pack' if self.doubles(i) > 1 else 'double'

    def assigned(self, place: str, i: int) -> str:
        """Return the statement that writes the result of an operation to a place in an array."""
        if self.doubles(i) > 1:
            return f'  memcpy(&{place}, &x{i}, sizeof x{i});'
        return f'  {place} = x{i};'

    @cached_property
    def _statements(self) -> list[_Statements]:
        """The statements of each part, if there are several functions."""
        return [] if self.single else [_Statements(self, part) for part in self.parts]

    def parts_before(self) -> Iterator[str]:
        """Yield the functions that the function calls."""
        for k, statements in enumerate(self._statements):
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
        yield from self._clear()
        places = {op: i for i, op in enumerate(operations) if op[0] in ('sin', 'cos')}
        for number_of_part, part in enumerate(self.parts):
            for i in part.operations:
                if i in self.used:
                    yield f'  const {self.kind(i)} x{i} = {expression(operations[i])};'
                for output, place in self.targets.get(i, ()):
                    yield self.assigned(f'{self.results[output]}[{place}]', i)
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
        for output, place, element in self.unwritten():
            yield f'  {self.results[output]}[{place}] = {infix_element(element, number)};'

    def _by_parts(self) -> Iterator[str]:
        """Yield a copy of the inputs, the calls of the parts, and the rest of the outputs."""
        count = -(-self.workspace.size // LANES)
        yield f'  reals shared_[VECTORS({max(count, 1)})];'
        yield f'  double in_[{max(self.input_count, 1)}];'
        yield '  double *const w_ = (double *)shared_;'
        for array, size in self.program.inputs:
            yield f'  memcpy(in_ + {self.starts[array]}, {array}, {size} * sizeof(double));'
        yield from self._clear()
        for k, statements in enumerate(self._statements):
            yield f'  {self._part(k)}({", ".join(statements.arrays)});'
        rest = _Statements(self)
        for output, place, element in self.unwritten():
            rest.write(output, place, element)
        yield from rest.lines

    def _clear(self) -> Iterator[str]:
        """Yield the statements that clear outputs with many zeros."""
        for output in sorted(self.cleared):
            size = len(self.program.outputs[output][1])
            yield f'  memset({self.results[output]}, 0, {size} * sizeof(double));'

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
    """The statements of one part, or at first none.

    Attributes
    ----------
    lines : list of str
    arrays : dict
        Names of the arrays that they use, in order.
    """

    def __init__(self, body: CBody, part: PlacedPart | None = None) -> None:
        self.body = body
        self.lines: list[str] = []
        self.arrays: dict[str, None] = {}
        self._known: set[int] = set()
        self._windows: set[str] = set()
        if part is not None:
            self._compute(part)
            self._sines(part)

    def _compute(self, part: PlacedPart) -> None:
        """Write the operations of a part."""
        body = self.body
        for i in part.operations:
            if i not in body.used:
                continue
            operation = body.program.operations[i]
            for operand in operands(operation):
                self.value(operand)
            self._let(i, expression(operation))
            if i in body.places:
                self._store('w_', body.places[i], i)
            for output, place in body.targets.get(i, ()):
                self._store(body.results[output], place, i)

    def _sines(self, part: PlacedPart) -> None:
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
                self._load(element, self._at('w_', body.places[element]))
            else:
                _, array, k = body.program.operations[element]
                self._let(element, self._at('in_', body.starts[array] + k))
        return f'x{element}'

    def write(self, output: int, place: int, element: Element) -> None:
        """Write an element of an output."""
        text = self.value(element)
        self.lines.append(f'  {self._at(self.body.results[output], place)} = {text};')

    def _let(self, i: int, text: str) -> None:
        self._known.add(i)
        self.lines.append(f'  const {self.body.kind(i)} x{i} = {text};')

    def _load(self, i: int, place: str) -> None:
        if self.body.doubles(i) == 1:
            self._let(i, place)
        else:
            self._known.add(i)
            self.lines += [f'  real_pack x{i};', f'  memcpy(&x{i}, &{place}, sizeof x{i});']

    def _store(self, array: str, index: int, i: int) -> None:
        self.lines.append(self.body.assigned(self._at(array, index), i))

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
    if kind == 'pack':
        lanes = (infix_element(e, number) for e in operation[1:])
        return f'PACK_OF({", ".join(lanes)})'
    if kind == 'splat':
        return f'PACK_OF({", ".join([f"x{operation[1]}"] * PACK)})'
    if kind == 'lane':
        return f'LANE_OF_PACK(x{operation[2]}, {operation[1]})'
    if kind in ON_PACKS:
        return f'{ON_PACKS[kind]}({", ".join(f"x{i}" for i in operation[1:])})'
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
