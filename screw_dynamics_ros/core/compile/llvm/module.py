# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Print a straight-line program as LLVM IR text.

There are two forms of a program. `scalar_kernel` computes one sample. `stack_kernel` computes a
stack of samples, `lanes` at a time: every value is a SIMD vector, and rows of inputs and outputs
are transposed. Sine and cosine are computed for all joint angles at once, as vector polynomials,
before everything else. A long program is divided into several functions (`DividedProgram`).

The text is valid for LLVM with typed pointers (up to 14) and opaque ones (from 15). It is compiled
without optimization passes: the recording has already folded constants, shared common
subexpressions and removed dead code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ..program.divided_program import LONGEST, PIECE, WINDOW, DividedProgram, PlacedPart
from ..program.packing import PACK, packed
from ..program.sums import chained
from ..program.tracing import WITH_CONSTANT, Element, Program
from .output_rows import OutputRows, blocks, rows_to_columns
from .stack_loop import ROWS, stack_loop
from .trigonometry import arctangent_function, sincos_function
from .writer import NONTEMPORAL, VECTOR_WINDOW, Writer, constant, vector_type

# `contract` allows fused multiply-add. Nothing may assume that NaN or infinity do not occur.
FLAGS = 'nsz arcp contract'

INSTRUCTIONS = {
    'add': 'fadd',
    'sub': 'fsub',
    'mul': 'fmul',
    'shift': 'fadd',
    'scale': 'fmul',
    'reciprocal': 'fdiv',
    'vadd': 'fadd',
    'vsub': 'fsub',
    'vmul': 'fmul',
}

#: Comparisons; false for NaN.
ORDERS = {'less': 'olt', 'less_equal': 'ole'}

#: Joints whose sine and cosine are computed at once for one sample. Not eight: next to 512-bit
#: instructions, Intel processors run all others at half rate, and a sample takes up to 2.4 times as
#: long.
SINCOS_LANES = 4
#: Largest number of operations of a function, for one sample and for stacks, which become slower by
#: transfers through the workspace.
LONGEST_FUNCTION = (LONGEST, 12_000)
MODULE = 3000  # lines of functions that are compiled together
#: Constants of an output, other than 0, from which it is copied from a table first: the time of a
#: compiler grows with the square of the number of stores.
MANY_CONSTANTS = 1000


def scalar_kernel(program: Program, name: str, opaque: bool, table: bool = False) -> Iterator[str]:
    """Yield IR of `void name(double* input0, ..., double* output0, ...)` for one sample.

    The IR consists of several modules; the last one has the function `name`. With `table` it also
    has `void name_table(double** arrays)`, whose argument is an array of these pointers.
    """
    kernel = _Kernel(packed(chained(program), PACK), 1, opaque)
    yield from kernel.modules(name, callers=table_caller(name, kernel, opaque) if table else ())


def table_caller(name: str, kernel: _Kernel, opaque: bool) -> list[str]:
    """Return IR of `name_table`; see `scalar_kernel`."""
    w = Writer(opaque)
    P = w.pointer('double')
    arrays = [f'{P} {w.load_pointer("%arrays", k)}' for k in range(len(kernel.parameters))]
    call = f'  call void @{name}({", ".join(arrays)})'
    return [f'define void @{name}_table({P} %arrays) {{', *w.lines, call, '  ret void', '}']


def stack_kernel(
    program: Program, name: str, lanes: int, opaque: bool, uniform: Collection[str] = ()
) -> Iterator[str]:
    """Yield IR of `name` and `name_shared` of `stack_loop`, which compute stacks of samples.

    Rows of inputs and outputs are contiguous and may be at any address. The `uniform` inputs are
    equal for all samples: only the first row of a tile is read.
    """
    kernel = _Kernel(chained(program), lanes, opaque, uniform)
    sizes = [len(elements) for _, elements in program.outputs]
    loop = stack_loop(name, len(program.inputs), sizes, lanes, opaque)
    yield from kernel.modules('tile', 'internal', loop)


class _Kernel(DividedProgram):
    """The functions that compute `lanes` samples.

    The output values of a stack are stored in the workspace.
    """

    def __init__(
        self, program: Program, lanes: int, opaque: bool, uniform: Collection[str] = ()
    ) -> None:
        written = [elements for _, elements in program.outputs] if lanes > 1 else []
        self.rows = OutputRows(written, lanes)
        group = SINCOS_LANES if lanes == 1 else 1
        longest = LONGEST_FUNCTION[lanes > 1]
        super().__init__(program, lanes, longest, PIECE, group, self.rows.elements)
        self.opaque, self.uniform = opaque, uniform
        self.copied = {
            output
            for output, (_, elements) in enumerate(program.outputs)
            if lanes == 1 and sum(type(e) is float and e != 0.0 for e in elements) >= MANY_CONSTANTS
        }
        self.parameters = [f'%in_{k}' for k in range(len(program.inputs))]
        self.parameters += [f'%out_{k}' for k in range(len(program.outputs))]
        self.outputs = self.parameters[len(program.inputs) :]
        if lanes > 1:
            self.parameters = [ROWS]

    def modules(self, name: str, linkage: str = '', callers: Sequence[str] = ()) -> Iterator[str]:
        """Yield the IR: modules with the functions of a long program, then one with `name`.

        The function `name` calls the others. The lines of `callers`, functions that call it,
        follow.
        """
        w = Writer(self.opaque, prefix='c')
        P = w.pointer('double')
        w.do(f'%w = alloca double, i64 {max(self.workspace.size, 1) * self.lanes}, align 64')
        tables: list[str] = []
        for output in sorted(self.cleared - self.copied):
            w.clear(self.outputs[output], len(self.program.outputs[output][1]))
        for output in sorted(self.copied):
            elements = self.program.outputs[output][1]
            values = [e if isinstance(e, float) else 0.0 for e in elements]
            tables += copied_table(w, self.outputs[output], 0, values)
        if len(self.constants) < MANY_CONSTANTS:
            for value, place in self.constants.items():
                w.store(
                    constant(float.fromhex(value), self.lanes), '%w', place * self.lanes, self.lanes
                )
        else:  # their places follow each other
            values = [float.fromhex(value) for value in self.constants for _ in range(self.lanes)]
            tables += copied_table(w, '%w', min(self.constants.values()) * self.lanes, values)
        declarations, functions = [], []
        step = _Step(self)
        for k in range(len(self.parts) + 1):
            self._write_part(step, k)
            if self.single:
                continue
            used = [p for p in (*self.parameters, '%w') if p in step.w.bases]
            head = f'void @{name}_{k}({", ".join(f"{P} noalias {p}" for p in used)})'
            w.do(f'call void @{name}_{k}({", ".join(f"{P} {p}" for p in used)})')
            declarations.append(f'declare {head}')
            functions += [f'define {head} noinline {{', *step.w.lines, '  ret void', '}']
            step = _Step(self)
            if len(functions) > MODULE or k == len(self.parts):
                yield self._module(functions)
                functions = []
        parameters = ', '.join(f'{P} noalias {p}' for p in self.parameters)
        if self.lanes > 1:
            parameters += ', i1 %streamed'
        definition = f'define {linkage} void @{name}({parameters}) noinline {{'
        end = Writer(self.opaque, prefix='e')
        for call in self.rows.calls(end, ROWS, len(self.program.inputs)):
            end.do(call)
        main = [*w.lines, *step.w.lines, *end.lines, '  ret void', '}']
        yield self._module(
            [*declarations, *tables, *self.rows.table(self._place), definition, *main, *callers]
        )

    def _module(self, lines: Sequence[str]) -> str:
        """Return functions together with the library functions that they call."""
        body = '\n'.join(lines)
        T, suffix = vector_type(self.lanes), 'f64' if self.lanes == 1 else f'v{self.lanes}f64'
        others = {
            '@llvm.sqrt.': f'declare {T} @llvm.sqrt.{suffix}({T})',
            '@llvm.rint.': f'declare {T} @llvm.rint.{suffix}({T})',
            **Writer(self.opaque).declarations(),
            '@sincos(': sincos_function(self._sincos_lanes, self.opaque),
            '@arctangent(': arctangent_function(self.lanes, self.opaque),
            **self.rows.functions(self.opaque),
        }
        others = {name: text for name, text in others.items() if name in body}
        called = '\n'.join(others.values()).splitlines()
        declared = dict.fromkeys(line for line in called if line.startswith('declare'))
        defined = [line for line in called if line not in declared]
        if any('!nontemporal' in line for line in defined):
            defined.append(NONTEMPORAL)
        return '\n'.join([*declared, *defined, body])

    @property
    def _sincos_lanes(self) -> int:
        return SINCOS_LANES if self.lanes == 1 else self.lanes

    def _write_part(self, step: _Step, k: int) -> None:
        """Write part k, preceded by the inputs if it is the first, followed by outputs if last."""
        if k == 0 and self.lanes > 1:
            self._write_inputs(step)
        if k == len(self.parts):
            if self.lanes == 1:
                self._write_outputs(step)
            return
        for i in self.parts[k].operations:
            step.operation(i)
        self._write_sincos(step, self.parts[k])

    def _write_inputs(self, step: _Step) -> None:
        """Load rows of `lanes` samples and transpose them to one vector for each used element."""
        index = {op[1:]: i for i, op in enumerate(self.program.operations) if op[0] == 'input'}
        for k, (name, size) in enumerate(self.program.inputs):
            if name in self.uniform:
                for c in range(size):
                    if (name, c) in index:
                        number = step.w.load(step.row(k, 0), c)
                        step.define(index[name, c], step.w.splat(number, self.lanes))
                continue
            for start, width in blocks(size, self.lanes):
                if any((name, start + c) in index for c in range(width)):
                    rows = [step.w.load(step.row(k, r), start, width) for r in range(self.lanes)]
                    for c, column in enumerate(rows_to_columns(step.w, rows, width)):
                        if (name, start + c) in index:
                            step.define(index[name, start + c], column)

    def _write_sincos(self, step: _Step, part: PlacedPart) -> None:
        """Collect angles into vectors, of joints (one sample) or of samples, and call `@sincos`."""
        if not part.angles:
            return
        w, lanes, angles = step.w, self._sincos_lanes, part.angles
        V, P = vector_type(lanes), w.pointer('double')
        group = lanes if self.lanes == 1 else 1
        padded = -(-len(angles) // group) * group
        for k in range(0, padded, group):
            if self.lanes == 1:
                x = 'undef' if k + lanes <= len(angles) else constant(0.0, lanes)
                for lane, angle in enumerate(angles[k : k + lanes]):
                    x = w(f'insertelement {V} {x}, double {step.value(angle)}, i32 {lane}')
            else:
                x = step.value(angles[k])
            w.store(x, '%w', (part.place + k) * self.lanes, lanes)
        sine = w.address('%w', part.place * self.lanes)
        cosine = w.address('%w', (part.place + padded) * self.lanes)
        w.do(f'call void @sincos({P} {sine}, {P} {cosine}, i64 {padded // group})')

    def _write_outputs(self, step: _Step) -> None:
        """Write the remaining outputs of one sample."""
        for output, place, element in self.unwritten():
            if type(element) is int or output not in self.copied:
                step.w.store(step.value(element), self.outputs[output], place)

    def _place(self, element: Element) -> int:
        """Return the offset of an output element in the workspace."""
        return self.constants[element.hex()] if isinstance(element, float) else self.places[element]


def copied_table(w: Writer, base: str, index: int, values: Sequence[float]) -> Iterator[str]:
    """Copy constants to `base` + `index`; yield the line of their global table."""
    table = f'@constants_of_{base[1:]}'
    w.copy(table, base, index, len(values))
    numbers = ', '.join(f'double {constant(value)}' for value in values)
    yield f'{table} = internal constant [{len(values)} x double] [{numbers}]'


class _Step:
    """One function under construction: its lines, and the names of values in it."""

    def __init__(self, kernel: _Kernel) -> None:
        self.kernel = kernel
        windows = {1: WINDOW, 8: VECTOR_WINDOW}  # too few vectors of other widths would fit
        self.w = Writer(kernel.opaque, windows.get(kernel.lanes, 0))
        self.names: dict[int, str] = {}
        self._rows: dict[tuple[int, int], str] = {}

    def row(self, array: int, sample: int) -> str:
        """Return the pointer to the row of a sample of the tile in an input or output."""
        if (array, sample) not in self._rows:
            place = array * self.kernel.lanes + sample
            self._rows[array, sample] = self.w.load_pointer(ROWS, place)
        return self._rows[array, sample]

    def define(self, i: int, name: str) -> None:
        """Name the result of operation i; store it in the workspace if other functions use it."""
        self.names[i] = name
        doubles = self.kernel.doubles(i)
        if i in self.kernel.places:
            self.w.store(name, '%w', self.kernel.places[i] * self.kernel.lanes, doubles)
        for output, place in self.kernel.targets.get(i, ()):
            self.w.store(name, self.kernel.outputs[output], place, doubles)

    def value(self, element: Element) -> str:
        """Return the name of a value, loaded if it was computed in another function."""
        kernel = self.kernel
        if isinstance(element, float):
            return constant(element, kernel.lanes)
        if element not in self.names:
            if element in kernel.places:
                place = kernel.places[element] * kernel.lanes
                self.names[element] = self.w.load('%w', place, kernel.doubles(element))
            else:  # input of one sample
                _, name, k = kernel.program.operations[element]
                inputs = [input_name for input_name, _ in kernel.program.inputs]
                self.names[element] = self.w.load(kernel.parameters[inputs.index(name)], k)
        return self.names[element]

    def operation(self, i: int) -> None:
        """Write one operation."""
        op = self.kernel.program.operations[i]
        kind, T = op[0], vector_type(self.kernel.doubles(i))
        if kind in INSTRUCTIONS:
            first = float(op[1]) if kind in WITH_CONSTANT else op[1]
            a, b = self.value(first), self.value(op[2])
            self.define(i, self.w(f'{INSTRUCTIONS[kind]} {FLAGS} {T} {a}, {b}'))
        elif kind == 'splat':
            self.define(i, self.w.splat(self.value(op[1]), PACK))
        elif kind == 'pack':
            self.define(i, self.gathered(op[1:]))
        elif kind == 'lane':
            vector = self.value(op[2])
            self.define(i, self.w(f'extractelement {vector_type(PACK)} {vector}, i32 {op[1]}'))
        elif kind in ('neg', 'vneg'):
            self.define(i, self.w(f'fneg {FLAGS} {T} {self.value(op[1])}'))
        elif kind in ('sqrt', 'rint'):
            suffix = 'f64' if self.kernel.lanes == 1 else f'v{self.kernel.lanes}f64'
            argument = self.value(op[1])
            self.define(i, self.w(f'call {FLAGS} {T} @llvm.{kind}.{suffix}({T} {argument})'))
        elif kind == 'atan2':
            y, x = self.value(op[1]), self.value(op[2])
            self.define(i, self.w(f'call {T} @arctangent({T} {y}, {T} {x})'))
        elif kind == 'constant':
            self.define(i, self.value(float.fromhex(op[1])))
        elif kind in ORDERS:
            x, y = map(self.value, op[1:])
            bit = vector_type(self.kernel.lanes, 'i1')
            is_so = self.w(f'fcmp {ORDERS[kind]} {T} {x}, {y}')
            self.define(i, self.w(f'uitofp {bit} {is_so} to {T}'))
        elif kind == 'where':
            mask, x, y = map(self.value, op[1:])
            bit = vector_type(self.kernel.lanes, 'i1')
            is_so = self.w(f'fcmp une {T} {mask}, {self.value(0.0)}')
            self.define(i, self.w(f'select {bit} {is_so}, {T} {x}, {T} {y}'))
        elif kind in ('min', 'max'):
            c, x = self.value(float(op[1])), self.value(op[2])
            bit = vector_type(self.kernel.lanes, 'i1')
            order = 'olt' if kind == 'min' else 'ogt'
            beyond = self.w(f'fcmp {order} {T} {c}, {x}')  # false for NaN, which stays
            self.define(i, self.w(f'select {bit} {beyond}, {T} {c}, {T} {x}'))

    def gathered(self, elements: Sequence[Element]) -> str:
        """Write a vector of scalars."""
        constants = [constant(e) if isinstance(e, float) else 'undef' for e in elements]
        x = '<' + ', '.join(f'double {c}' for c in constants) + '>'
        for lane, element in enumerate(elements):
            if type(element) is int:
                T, value = vector_type(PACK), self.value(element)
                x = self.w(f'insertelement {T} {x}, double {value}, i32 {lane}')
        return x
