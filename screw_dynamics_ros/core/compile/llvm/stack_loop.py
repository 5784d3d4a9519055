# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The loop around the code for one tile, `lanes` samples of a stack, as LLVM IR.

A tile receives a table of pointers to the row of each sample in each input and output. Rows can
therefore have any stride in bytes: zero for inputs that are equal for all samples. An incomplete
last tile repeats the last sample: nothing is copied or padded, and the same instructions compute
every sample, independently of its position in the stack.
"""

from __future__ import annotations

from collections.abc import Sequence

from .output_rows import LINE
from .writer import Writer

ROWS = '%rows'  # the table of a tile: addresses of `lanes` rows for each array

#: Size of results in bytes from which non-temporal stores are faster: they do not fit in the
#: second-level cache, which stays available for the program and its values.
STREAMED = 8 * 2**20

#: Size of results in bytes from which their memory is prefetched before a tile is computed, and the
#: largest size of a tile for that: it must not evict values from the first-level cache.
FETCHED, FETCHED_TILE = 3 * 2**19, 2**14


def stack_loop(
    name: str, inputs: int, outputs: Sequence[int], lanes: int, opaque: bool
) -> list[str]:
    """Return IR of two functions that call `void tile(double* rows, i1 streamed)`.

    `void name(i64* addresses, i64* steps, i64 first, i64 end)` computes samples `first` to
    `end` - 1 of inputs and outputs at `addresses`, `steps` bytes from one sample to the next.

    `void name_shared(i64* addresses, i64* steps, i64 samples, i64 chunk, i64* claimed, i64 back)`
    can run in several threads at once. Each thread claims `chunk` samples at a time, from the start
    or, if `back` is 1, from the end. `claimed` has three counters: all claimed chunks, those from
    the start, and those from the end. The results of a thread are thus contiguous, and in the
    caches of its processor when their memory is used again.

    `inputs` is the number of inputs, `outputs` are the sizes of the outputs. Outputs that consist
    of whole cache lines are streamed if there are many samples.
    """
    w = Writer(opaque)
    W = w.pointer('i64')
    how = 'i1 %streamed, i1 %fetched'
    return [
        *_tiles(inputs, outputs, lanes, opaque),
        f'define void @{name}({W} %addresses, {W} %steps, i64 %first, i64 %end) {{',
        'entry:',
        '  %samples = sub i64 %end, %first',
        *_choices(w, inputs, outputs),
        f'  call void @tiles({W} %addresses, {W} %steps, i64 %first, i64 %end, {how})',
        '  ret void',
        '}',
        f'define void @{name}_shared({W} %addresses, {W} %steps, i64 %samples, i64 %chunk, '
        f'{W} %claimed, i64 %back) {{',
        'entry:',
        *_choices(w, inputs, outputs),
        '  %after = add i64 %samples, %chunk',
        '  %before = sub i64 %after, 1',
        '  %chunks = sdiv i64 %before, %chunk',
        '  %from_last = icmp ne i64 %back, 0',
        '  %place = add i64 %back, 1',
        f'  %own = getelementptr i64, {W} %claimed, i64 %place',
        '  br label %claim',
        'claim:',
        f'  %number = atomicrmw add {W} %claimed, i64 1 seq_cst',
        '  %any = icmp slt i64 %number, %chunks',
        '  br i1 %any, label %run, label %done',
        'run:',
        f'  %ahead = atomicrmw add {W} %own, i64 1 seq_cst',
        '  %left = sub i64 %chunks, %ahead',
        '  %behind = sub i64 %left, 1',
        '  %k = select i1 %from_last, i64 %behind, i64 %ahead',
        '  %first = mul i64 %k, %chunk',
        '  %whole = add i64 %first, %chunk',
        '  %fits = icmp slt i64 %whole, %samples',
        '  %end = select i1 %fits, i64 %whole, i64 %samples',
        f'  call void @tiles({W} %addresses, {W} %steps, i64 %first, i64 %end, {how})',
        '  br label %claim',
        'done:',
        '  ret void',
        '}',
    ]


def _choices(w: Writer, inputs: int, outputs: Sequence[int]) -> list[str]:
    """Return the lines that decide whether results are `%streamed`, or prefetched (`%fetched`)."""
    numbers = max(1, sum(outputs))
    w.do(f'%fetched = icmp sge i64 %samples, {-(-FETCHED // (8 * numbers))}')
    if any(size % LINE for size in outputs):
        w.do('%streamed = and i1 false, false')
    else:
        bits = '0'
        for k in range(inputs, inputs + len(outputs)):
            bits = w(f'or i64 {bits}, {_word(w, "%addresses", k)}')
        whole = w(f'icmp eq i64 {w(f"and i64 {bits}, {8 * LINE - 1}")}, 0')
        many = w(f'icmp sge i64 %samples, {-(-STREAMED // (8 * numbers))}')
        w.do(f'%streamed = and i1 {whole}, {many}')
    lines, w.lines = w.lines, []
    return lines


def _word(w: Writer, base: str, index: int) -> str:
    W = w.pointer('i64')
    return w(f'load i64, {W} {w(f"getelementptr i64, {W} {base}, i64 {index}")}')


def _tiles(inputs: int, outputs: Sequence[int], lanes: int, opaque: bool) -> list[str]:
    """Return IR of `tiles`, which computes a range of samples; can stream or prefetch results."""
    w = Writer(opaque)
    arrays, fetch = inputs + len(outputs), 8 * lanes * sum(outputs) <= FETCHED_TILE
    P, W = w.pointer('double'), w.pointer('i64')
    vector = f'<{lanes} x i64>'
    lane = f'<{", ".join(f"i64 {k}" for k in range(lanes))}>'

    def splat(value: str) -> str:
        one = w(f'insertelement {vector} undef, i64 {value}, i32 0')
        zeros = f'<{lanes} x i32> zeroinitializer'
        return w(f'shufflevector {vector} {one}, {vector} undef, {zeros}')

    left = w('sub i64 %end, %i')
    last = splat(w(f'sub i64 {left}, 1'))
    within = w(f'icmp slt {vector} {lane}, {last}')
    sample = w(f'select <{lanes} x i1> {within}, {vector} {lane}, {vector} {last}')
    for k in range(arrays):
        step = _word(w, '%steps', k)
        start = w(f'add i64 {_word(w, "%addresses", k)}, {w(f"mul i64 %i, {step}")}')
        rows = w(f'add {vector} {splat(start)}, {w(f"mul {vector} {sample}, {splat(step)}")}')
        place = w(f'getelementptr {vector}, {w.pointer(vector)} %table, i64 {k}')
        w.do(f'store {vector} {rows}, {w.pointer(vector)} {place}, align 64')
        if fetch and k >= inputs:
            w.do(f'call void @fetch(i64 {start}, i64 {lanes * outputs[k - inputs]}, i1 %fetched)')
    table = '%table' if opaque else w(f'bitcast {vector}* %table to double*')
    return [
        *(_fetch(opaque) if fetch else ()),
        f'define internal void @tiles({W} %addresses, {W} %steps, i64 %first, i64 %end, '
        'i1 %streamed, i1 %fetched) {',
        'entry:',
        f'  %table = alloca {vector}, i64 {max(arrays, 1)}, align 64',
        '  %any = icmp slt i64 %first, %end',
        '  br i1 %any, label %loop, label %done',
        'loop:',
        '  %i = phi i64 [%first, %entry], [%next, %loop]',
        *w.lines,
        f'  call void @tile({P} {table}, i1 %streamed)',
        f'  %next = add i64 %i, {lanes}',
        '  %more = icmp slt i64 %next, %end',
        '  br i1 %more, label %loop, label %computed',
        'computed:',
        '  br i1 %streamed, label %order, label %done',
        'order:',  # non-temporal stores are not ordered with later stores
        '  fence seq_cst',
        '  br label %done',
        'done:',
        '  ret void',
        '}',
    ]


def _fetch(opaque: bool) -> list[str]:
    """Return IR of `fetch`, which prefetches the memory of some doubles for writing if `wanted`.

    It assumes that the rows of a tile are contiguous, as in new arrays. For other rows it has no
    benefit and does no harm.
    """
    byte, suffix = Writer(opaque).pointer('i8'), '' if opaque else 'i8'
    return [
        f'declare void @llvm.prefetch.p0{suffix}({byte}, i32, i32, i32)',
        'define internal void @fetch(i64 %start, i64 %doubles, i1 %wanted) noinline {',
        'entry:',
        '  %bytes = mul i64 %doubles, 8',
        '  %end = add i64 %start, %bytes',
        '  br i1 %wanted, label %loop, label %done',
        'loop:',
        '  %place = phi i64 [%start, %entry], [%next, %loop]',
        f'  %line = inttoptr i64 %place to {byte}',
        f'  call void @llvm.prefetch.p0{suffix}({byte} %line, i32 1, i32 3, i32 1)',
        f'  %next = add i64 %place, {8 * LINE}',
        '  %more = icmp slt i64 %next, %end',
        '  br i1 %more, label %loop, label %done',
        'done:',
        '  ret void',
        '}',
    ]
