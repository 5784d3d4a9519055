# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Transposition of the results of one tile of a stack to rows of the outputs, as LLVM IR.

An element of an output is a vector in the workspace: a column with the values of all samples.
Columns are transposed in blocks of one cache line (or less, for short outputs), by loops over a
table with the locations of the columns. Long programs have thousands of elements: unrolled code
would take longer to fetch and to compile than loops. Matrices of trees have many blocks of zeros,
which need no columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..program.tracing import Element
from .writer import Writer, constant

LINE = 8  # doubles in a cache line


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


def transposed(w: Writer, columns: list[str]) -> list[str]:
    """Transpose a square of one, two or four columns, vectors."""
    width = len(columns)
    if width == 1:
        return columns
    pairs = [
        w.shuffle(a, b, width, [k + source for k in range(odd, width, 2) for source in (0, width)])
        for a, b in zip(columns[::2], columns[1::2])
        for odd in (0, 1)
    ]
    if width == 2:
        return pairs
    even, odd, *later = pairs
    return [
        w.shuffle(a, b, width, [half, half + 1, width + half, width + half + 1])
        for half in (0, 2)
        for a, b in zip((even, odd), later)
    ]


@dataclass(frozen=True)
class _Block:
    """Elements of an output from `start` on; without elements a block of zeros."""

    start: int
    elements: Sequence[Element]


class OutputRows:
    """Writes the outputs of a program.

    Parameters
    ----------
    outputs : sequence of sequences of elements
    lanes : int
        Number of samples in a tile.

    Attributes
    ----------
    elements : list
        Elements that must be in the workspace, without repetition.
    """

    def __init__(self, outputs: Sequence[Sequence[Element]], lanes: int) -> None:
        self.lanes = lanes
        self._widths = [block_width(len(elements)) for elements in outputs]
        self._blocks = list(map(_blocks, outputs, self._widths))
        written = (e for blocks in self._blocks for block in blocks for e in block.elements)
        self.elements = list({_key(e): e for e in written}.values())

    def table(self, place: Callable[[Element], int]) -> list[str]:
        """Return IR of `@blocks`: for each block its start and the locations of its columns.

        For a block of zeros the start is encoded as -1 - start.
        """
        numbers: list[int] = []
        for block in (block for blocks in self._blocks for block in blocks):
            numbers.append(block.start if block.elements else ~block.start)
            numbers += [self.lanes * place(e) for e in block.elements]
        text = ', '.join(f'i32 {number}' for number in numbers)
        return [f'@blocks = internal constant [{len(numbers)} x i32] [{text}]'] if numbers else []

    def calls(self, w: Writer, rows: str, first: int) -> Iterator[str]:
        """Yield the calls that write all outputs; the first one is array `first` at `rows`."""
        P, number = w.pointer('double'), 0
        for k, (blocks, width) in enumerate(zip(self._blocks, self._widths)):
            end = number + _length(blocks)
            its_rows = w.address(rows, (first + k) * self.lanes)
            places = f'i64 {number}, i64 {end}, i1 %streamed'
            if blocks:
                yield f'call void @write_rows_{width}({P} %w, {P} {its_rows}, {places})'
            number = end

    def functions(self, opaque: bool) -> dict[str, str]:
        """Return IR of the called functions, by their names."""
        table = f'[{sum(map(_length, self._blocks))} x i32]'
        typed = f'getelementptr inbounds ({table}, {table}* @blocks, i64 0, i64 0)'
        blocks = '@blocks' if opaque else typed
        return {
            f'@write_rows_{width}(': _write_rows(width, self.lanes, blocks, opaque)
            for width in self._widths
        }


def block_width(size: int) -> int:
    """Return the number of elements written at once for an output with `size` elements."""
    return next((width for width in (LINE, 4, 2) if width <= size), 1)


def _blocks(elements: Sequence[Element], width: int) -> list[_Block]:
    """Divide an output into blocks; the last one overlaps the previous one if it would be short."""
    starts = [min(k, len(elements) - width) for k in range(0, len(elements), width)]
    parts = [(start, elements[start : start + width]) for start in starts]
    zero = _key(0.0)
    return [_Block(k, [] if all(_key(e) == zero for e in part) else part) for k, part in parts]


def _length(blocks: Sequence[_Block]) -> int:
    """Return the number of table entries of these blocks."""
    return sum(1 + len(block.elements) for block in blocks)


def _key(element: Element) -> object:
    """Return a key that differs for 0.0 and -0.0."""
    return constant(element) if isinstance(element, float) else element


def _write_rows(width: int, lanes: int, blocks: str, opaque: bool) -> str:
    """Return IR of `void write_rows(double* w, double* rows, i64 first, i64 end, i1 streamed)`.

    It writes the blocks described by entries `first` to `end` - 1 of the table `blocks` to the rows
    of `lanes` samples at the pointers in `rows`. If `streamed`, it uses non-temporal stores of
    whole cache lines, which bypass the caches; rows must consist of whole lines then.
    """
    w = Writer(opaque)
    P = w.pointer('double')
    rows = [w.load_pointer('%rows', row) for row in range(lanes)]
    loops = _loop('cached', rows, width, blocks, opaque)
    if width == LINE:
        w.do('br i1 %streamed, label %past, label %cached')
        loops += _loop('past', rows, width, blocks, opaque)
    else:
        w.do('br label %cached')
    return '\n'.join(
        [
            f'define internal void @write_rows_{width}'
            f'({P} noalias %w, {P} %rows, i64 %first, i64 %end, i1 %streamed) noinline {{',
            'entry:',
            *w.lines,
            *loops,
            'done:',
            '  ret void',
            '}',
        ]
    )


def _loop(name: str, rows: list[str], width: int, blocks: str, opaque: bool) -> list[str]:
    """Return the loop over blocks; the loop named `past` bypasses the caches."""
    w, lanes, square = Writer(opaque, prefix=f'{name}.t'), len(rows), min(width, len(rows), 4)
    table = w.pointer('i32')

    def number(index: int) -> str:
        place = w(f'getelementptr i32, {table} %{name}.block, i64 {index}')
        return w(f'sext i32 {w(f"load i32, {table} {place}")} to i64')

    def write(start: str, values: Callable[[int, int], list[str]]) -> None:
        """Write `values`, rows of square blocks, starting at a sample and a column."""
        for first in range(0, lanes, square):
            parts = [values(first, k) for k in range(0, width, square)]
            for row, of_row in zip(rows[first:], zip(*parts)):
                place = w.address(row, start)
                for k, value in enumerate(of_row):
                    w.store(value, place, k * square, square, name == 'past')

    w.lines.append(f'{name}:')
    w.do(f'%{name}.k = phi i64 [%first, %entry], [%{name}.next, %{name}.written]')
    w.do(f'%{name}.block = getelementptr i32, {table} {blocks}, i64 %{name}.k')
    start = number(0)
    w.do(f'%{name}.zero = icmp slt i64 {start}, 0')
    w.do(f'br i1 %{name}.zero, label %{name}.zeros, label %{name}.columns')
    w.lines.append(f'{name}.zeros:')
    write(w(f'xor i64 {start}, -1'), lambda first, k: [constant(0.0, square)] * square)
    w.do(f'br label %{name}.written')
    w.lines.append(f'{name}.columns:')
    columns = [w.address('%w', number(k + 1)) for k in range(width)]

    def square_of(first: int, k: int) -> list[str]:
        return transposed(w, [w.load(column, first, square) for column in columns[k : k + square]])

    write(start, square_of)
    w.do(f'br label %{name}.written')
    w.lines.append(f'{name}.written:')
    w.do(f'%{name}.length = phi i64 [1, %{name}.zeros], [{width + 1}, %{name}.columns]')
    w.do(f'%{name}.next = add i64 %{name}.k, %{name}.length')
    w.do(f'%{name}.more = icmp slt i64 %{name}.next, %end')
    w.do(f'br i1 %{name}.more, label %{name}, label %done')
    return w.lines
