"""Print a straight-line program as LLVM IR text.

Two forms come from the same program. `scalar_kernel` computes one sample. `stack_kernel` computes
a stack of samples, `lanes` at a time: every value is a SIMD vector, rows are transposed on the way
in and out.
Sine and cosine are computed for all joint angles at once, as vector polynomials, before everything
else.

The text is valid for LLVM with typed pointers (up to 14) and opaque ones (from 15). It is compiled
without any optimisation pass: the recording has already folded, shared and dropped what a pass
would find.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from screw_dynamics_ros.core.compile.tracing import WITH_CONSTANT, Element, Program, operands

# `contract` allows fused multiply-add. Nothing may assume that NaN or infinity do not occur.
FLAGS = 'nsz arcp contract'

INSTRUCTIONS = {
    'add': 'fadd',
    'sub': 'fsub',
    'mul': 'fmul',
    'div': 'fdiv',
    'shift': 'fadd',
    'scale': 'fmul',
    'reciprocal': 'fdiv',
}


def constant(value: float, lanes: int = 1) -> str:
    """Return a double, or a vector of `lanes` equal doubles, as an IR constant."""
    bits = f'0x{struct.unpack("<Q", struct.pack("<d", value))[0]:016X}'
    return bits if lanes == 1 else '<' + ', '.join([f'double {bits}'] * lanes) + '>'


def vector_type(lanes: int, element: str = 'double') -> str:
    """Return the IR type of `lanes` elements; a plain element for one lane."""
    return element if lanes == 1 else f'<{lanes} x {element}>'


class Writer:
    """Lines of one IR function, with fresh names for intermediate values."""

    def __init__(self, opaque_pointers: bool) -> None:
        self.lines: list[str] = []
        self.opaque = opaque_pointers
        self._count = 0

    def pointer(self, pointee: str) -> str:
        """Return the type of a pointer to `pointee`."""
        return 'ptr' if self.opaque else f'{pointee}*'

    def __call__(self, expression: str) -> str:
        """Append `%name = expression` and return the name."""
        self._count += 1
        name = f'%t{self._count}'
        self.lines.append(f'  {name} = {expression}')
        return name

    def do(self, instruction: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f'  {instruction}')

    def address(self, base: str, index: int | str) -> str:
        """Return the address of double number `index` after `base`."""
        return self(f'getelementptr double, {self.pointer("double")} {base}, i64 {index}')

    def vector_address(self, base: str, index: int | str, lanes: int) -> str:
        """Return the address of double number `index` after `base`, as one of a vector."""
        address = self.address(base, index)
        if lanes == 1 or self.opaque:
            return address
        return self(f'bitcast double* {address} to {vector_type(lanes)}*')

    def load(self, base: str, index: int | str, lanes: int = 1) -> str:
        """Return the double, or the `lanes` doubles, at `base` + `index`."""
        type_ = vector_type(lanes)
        address = self.vector_address(base, index, lanes)
        return self(f'load {type_}, {self.pointer(type_)} {address}, align 8')

    def store(self, value: str, base: str, index: int | str, lanes: int = 1) -> None:
        """Store a double, or `lanes` doubles, at `base` + `index`."""
        type_ = vector_type(lanes)
        address = self.vector_address(base, index, lanes)
        self.do(f'store {type_} {value}, {self.pointer(type_)} {address}, align 8')

    def shuffle(self, a: str, b: str, width: int, mask: Sequence[int]) -> str:
        """Return elements `mask` of the concatenation of two vectors of `width`."""
        indices = ', '.join(f'i32 {k}' for k in mask)
        type_ = f'<{width} x double>'
        return self(f'shufflevector {type_} {a}, {type_} {b}, <{len(mask)} x i32> <{indices}>')


# --- sine and cosine ----------------------------------------------------------------------------

# Coefficients of fdlibm's kernels on [-pi/4, pi/4] (error below one unit in the last place).
SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
# pi/2 as a sum of three doubles, each holding the bits the one before leaves over.
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
# Adding and subtracting this rounds to the nearest integer; the low bits of the sum are the
# integer.
ROUNDER = 6755399441055744.0
# Above this angle [rad] the integer above is no longer exact enough and libm takes over.
LARGEST_ANGLE = 2.0**30


def sincos_function(lanes: int, opaque: bool) -> str:
    """Return IR of `@sincos`: sine and cosine of `lanes` angles, to about one last digit.

    The argument is reduced by multiples of pi/2 with fused multiply-adds (Cody and Waite), so the
    quotient may be large; angles beyond `LARGEST_ANGLE`, infinities and NaN go through the C
    library lane by lane.
    """
    w = Writer(opaque)
    T, L, B = vector_type(lanes), vector_type(lanes, 'i64'), vector_type(lanes, 'i1')

    def c(value: float) -> str:
        return constant(value, lanes)

    def integer(value: int) -> str:
        return '<' + ', '.join([f'i64 {value}'] * lanes) + '>'

    def fma(a: str, b: str, d: str) -> str:
        return w(f'call {T} @llvm.fma.v{lanes}f64({T} {a}, {T} {b}, {T} {d})')

    def polynomial(z: str, coefficients: Sequence[float]) -> str:
        value = c(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            value = fma(value, z, c(coefficient))
        return value

    size = w(f'call {T} @llvm.fabs.v{lanes}f64({T} %x)')
    ordinary = w(f'fcmp ole {T} {size}, {c(LARGEST_ANGLE)}')
    bits = w(f'bitcast {B} {ordinary} to i{lanes}')
    all_ordinary = w(f'icmp eq i{lanes} {bits}, -1')
    w.do(f'br i1 {all_ordinary}, label %fast, label %slow')
    w.lines.append('fast:')
    shifted = fma('%x', c(2 / 3.141592653589793), c(ROUNDER))
    k = w(f'fsub {T} {shifted}, {c(ROUNDER)}')
    minus_k = w(f'fneg {T} {k}')
    r = '%x'
    for part in HALF_PI:
        r = fma(minus_k, c(part), r)
    z = w(f'fmul {T} {r}, {r}')
    rz = w(f'fmul {T} {r}, {z}')
    sine = fma(rz, polynomial(z, SIN), r)
    zz = w(f'fmul {T} {z}, {z}')
    cosine = fma(zz, polynomial(z, COS), fma(z, c(-0.5), c(1.0)))
    quadrant = w(f'bitcast {T} {shifted} to {L}')
    odd = w(f'trunc {L} {quadrant} to {B}')
    first = w(f'select {B} {odd}, {T} {cosine}, {T} {sine}')
    second = w(f'select {B} {odd}, {T} {sine}, {T} {cosine}')

    def with_sign(value: str, two_bits: str) -> str:
        """Flip the sign where bit 1 of `two_bits` is set."""
        sign = w(f'shl {L} {w(f"lshr {L} {two_bits}, {integer(1)}")}, {integer(63)}')
        flipped = w(f'xor {L} {w(f"bitcast {T} {value} to {L}")}, {sign}')
        return w(f'bitcast {L} {flipped} to {T}')

    sine = with_sign(first, quadrant)
    cosine = with_sign(second, w(f'add {L} {quadrant}, {integer(1)}'))
    w.store(sine, '%s', 0, lanes)
    w.store(cosine, '%c', 0, lanes)
    w.do('ret void')
    w.lines.append('slow:')
    for lane in range(lanes):
        angle = w(f'extractelement {T} %x, i32 {lane}')
        for name, target in (('sin', '%s'), ('cos', '%c')):
            w.store(w(f'call double @{name}(double {angle})'), target, lane)
    w.do('ret void')
    P = w.pointer('double')
    return '\n'.join(
        [
            'declare double @sin(double)',
            'declare double @cos(double)',
            f'declare {T} @llvm.fma.v{lanes}f64({T}, {T}, {T})',
            f'declare {T} @llvm.fabs.v{lanes}f64({T})',
            f'define internal void @sincos({T} %x, {P} noalias %s, {P} noalias %c) noinline {{',
            *w.lines,
            '}',
        ]
    )


# --- kernels ------------------------------------------------------------------------------------


def angles_of(program: Program) -> list[int]:
    """Return the indices of the operations whose sine or cosine is taken."""
    return sorted({op[1] for op in program.operations if op[0] in ('sin', 'cos')})


def prerequisites(program: Program, indices: Sequence[int]) -> list[int]:
    """Return the operations that `indices` depend on, themselves included, in order."""
    needed, stack = set(), list(indices)
    while stack:
        i = stack.pop()
        if i not in needed:
            needed.add(i)
            stack.extend(operands(program.operations[i]))
    return sorted(needed)


def body(
    w: Writer,
    program: Program,
    lanes: int,
    load_input: Callable[[str, int], str],
    sincos_lanes: int,
) -> Callable[[Element], str]:
    """Write all operations of `program`; return the function that names the value of an element.

    Angles are collected into vectors of `sincos_lanes` joints (one sample) or of `lanes` samples
    (a stack); sines and cosines come back through memory, to be loaded where they are used.
    """
    T = vector_type(lanes)
    names: dict[int, str] = {}

    def value(element: Element) -> str:
        return names[element] if type(element) is int else constant(element, lanes)

    def write(i: int) -> None:
        op = program.operations[i]
        kind = op[0]
        if kind == 'input':
            names[i] = load_input(op[1], op[2])
        elif kind in ('sin', 'cos'):
            names[i] = w.load(f'%{kind}es', slot[op[1]], lanes)
        elif kind == 'neg':
            names[i] = w(f'fneg {FLAGS} {T} {names[op[1]]}')
        elif kind == 'sqrt':
            suffix = 'f64' if lanes == 1 else f'v{lanes}f64'
            names[i] = w(f'call {FLAGS} {T} @llvm.sqrt.{suffix}({T} {names[op[1]]})')
        else:
            a = constant(op[1], lanes) if kind in WITH_CONSTANT else names[op[1]]
            names[i] = w(f'{INSTRUCTIONS[kind]} {FLAGS} {T} {a}, {names[op[2]]}')

    angles = angles_of(program)
    first = prerequisites(program, angles)
    for i in first:
        write(i)
    group = sincos_lanes if lanes == 1 else 1
    padded = -(-len(angles) // group) * group
    slot = {angle: k * lanes for k, angle in enumerate(angles)}
    if angles:
        V, P = vector_type(sincos_lanes), w.pointer('double')
        w.do(f'%sines = alloca double, i64 {padded * lanes}, align 64')
        w.do(f'%coses = alloca double, i64 {padded * lanes}, align 64')
        for k in range(0, padded, group):
            if lanes == 1:
                x = 'undef' if k + group <= len(angles) else constant(0.0, group)
                for lane, angle in enumerate(angles[k : k + group]):
                    x = w(f'insertelement {V} {x}, double {names[angle]}, i32 {lane}')
            else:
                x = names[angles[k]]
            s, c = w.address('%sines', k * lanes), w.address('%coses', k * lanes)
            w.do(f'call void @sincos({V} {x}, {P} {s}, {P} {c})')
    done = set(first)
    for i in range(len(program.operations)):
        if i not in done:
            write(i)
    return value


def declarations(program: Program, lanes: int) -> list[str]:
    """Return declarations of the intrinsics `body` calls."""
    T, suffix = vector_type(lanes), 'f64' if lanes == 1 else f'v{lanes}f64'
    used = any(op[0] == 'sqrt' for op in program.operations)
    return [f'declare {T} @llvm.sqrt.{suffix}({T})'] if used else []


def scalar_kernel(program: Program, name: str, sincos_lanes: int, opaque: bool) -> str:
    """Return IR of `void name(double* input0, ..., double* output0, ...)` for one sample."""
    w = Writer(opaque)
    P = w.pointer('double')
    parameters = [f'%in_{k}' for k in range(len(program.inputs))]
    parameters += [f'%out_{k}' for k in range(len(program.outputs))]
    place = {input_name: f'%in_{k}' for k, (input_name, _) in enumerate(program.inputs)}
    value = body(w, program, 1, lambda n, k: w.load(place[n], k), sincos_lanes)
    for k, (_, elements) in enumerate(program.outputs):
        for i, element in enumerate(elements):
            w.store(value(element), f'%out_{k}', i)
    w.do('ret void')
    signature = ', '.join(f'{P} noalias {p}' for p in parameters)
    parts = declarations(program, 1)
    if angles_of(program):
        parts.append(sincos_function(sincos_lanes, opaque))
    return '\n'.join([*parts, f'define void @{name}({signature}) {{', *w.lines, '}'])


def stack_kernel(program: Program, name: str, lanes: int, opaque: bool) -> str:
    """Return IR of `void name(double* input0, ..., double* output0, ..., i64 tiles)` for a stack.

    Inputs and outputs are C-ordered (samples, elements); `tiles` counts groups of `lanes` samples.
    """
    w = Writer(opaque)
    P = w.pointer('double')
    sizes = [size for _, size in program.inputs]
    sizes += [len(elements) for _, elements in program.outputs]
    bases = [f'%in_{k}' for k in range(len(program.inputs))]
    bases += [f'%out_{k}' for k in range(len(program.outputs))]
    place = {input_name: k for k, (input_name, _) in enumerate(program.inputs)}

    tiles = [
        w.address(base, w(f'mul i64 %tile, {size * lanes}')) for base, size in zip(bases, sizes)
    ]
    used = {(op[1], op[2]) for op in program.operations if op[0] == 'input'}
    columns: dict[tuple[str, int], str] = {}
    for (input_name, size), tile in zip(program.inputs, tiles):
        for start, width in blocks(size, lanes):
            if any((input_name, start + c) in used for c in range(width)):
                rows = [w.load(tile, row * size + start, width) for row in range(lanes)]
                for c, column in enumerate(rows_to_columns(w, rows, width)):
                    columns[input_name, start + c] = column
    value = body(w, program, lanes, lambda n, k: columns[n, k], lanes)
    for (_, elements), tile in zip(program.outputs, tiles[len(place) :]):
        size = len(elements)
        for start, width in blocks(size, lanes):
            block = [value(e) for e in elements[start : start + width]]
            for row, part in enumerate(columns_to_rows(w, block, lanes)):
                w.store(part, tile, row * size + start, width)
    tile_body = w.lines
    pointers = [f'{P} noalias {base}' for base in bases]
    arguments = ', '.join([*(f'{P} {p}' for p in bases), 'i64 %k'])
    parts = declarations(program, lanes)
    if angles_of(program):
        parts.append(sincos_function(lanes, opaque))
    return '\n'.join(
        [
            *parts,
            f'define internal void @tile({", ".join([*pointers, "i64 %tile"])}) noinline {{',
            *tile_body,
            '  ret void',
            '}',
            f'define void @{name}({", ".join([*pointers, "i64 %tiles"])}) {{',
            'entry:',
            '  br label %loop',
            'loop:',
            '  %k = phi i64 [0, %entry], [%next, %loop]',
            f'  call void @tile({arguments})',
            '  %next = add i64 %k, 1',
            '  %more = icmp slt i64 %next, %tiles',
            '  br i1 %more, label %loop, label %done',
            'done:',
            '  ret void',
            '}',
        ]
    )


# --- transposition ------------------------------------------------------------------------------


def blocks(size: int, lanes: int) -> list[tuple[int, int]]:
    """Cut `size` columns into (start, width), widths powers of two, at most `lanes`."""
    result, start, width = [], 0, lanes
    while start < size:
        while width > size - start:
            width //= 2
        result.append((start, width))
        start += width
    return result


def rows_to_columns(w: Writer, rows: list[str], width: int) -> list[str]:
    """Transpose `lanes` row vectors of `width` elements into `width` column vectors of `lanes`."""
    lanes = len(rows)
    if width == 1:
        column = 'undef'
        for lane, row in enumerate(rows):
            column = w(f'insertelement <{lanes} x double> {column}, double {row}, i32 {lane}')
        return [column]
    vectors, length = rows, width  # first join rows until the vectors have full length
    while length < lanes:
        vectors = [
            w.shuffle(a, b, length, range(2 * length)) for a, b in zip(vectors[::2], vectors[1::2])
        ]
        length *= 2
    groups, columns = [vectors], width
    while columns > 1:  # then split the columns into halves and join twice as many rows
        half, count = columns // 2, lanes // columns  # rows per vector
        split = []
        for group in groups:
            for part in (0, half):
                mask = [
                    source * lanes + row * columns + part + c
                    for source in (0, 1)
                    for row in range(count)
                    for c in range(half)
                ]
                split.append(
                    [w.shuffle(a, b, lanes, mask) for a, b in zip(group[::2], group[1::2])]
                )
        groups, columns = split, half
    return [group[0] for group in groups]


def columns_to_rows(w: Writer, columns: list[str], lanes: int) -> list[str]:
    """Transpose column vectors of `lanes` elements into `lanes` row vectors."""
    width = len(columns)
    if width == 1:
        return [
            w(f'extractelement <{lanes} x double> {columns[0]}, i32 {row}') for row in range(lanes)
        ]
    groups, count = [[column] for column in columns], 1
    while count < width:  # join the columns of two groups, half the rows in each result
        rows = lanes // count // 2
        merged = []
        for left, right in zip(groups[::2], groups[1::2]):
            group = []
            for a, b in zip(left, right):
                for part in (0, rows):
                    mask = [
                        source * lanes + (part + row) * count + c
                        for row in range(rows)
                        for source in (0, 1)
                        for c in range(count)
                    ]
                    group.append(w.shuffle(a, b, lanes, mask))
            merged.append(group)
        groups, count = merged, 2 * count
    rows_per_vector = lanes // width
    return [
        vector
        if rows_per_vector == 1
        else w.shuffle(vector, vector, lanes, range(row * width, (row + 1) * width))
        for vector in groups[0]
        for row in range(rows_per_vector)
    ]
