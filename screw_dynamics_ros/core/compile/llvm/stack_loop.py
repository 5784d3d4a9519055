"""The loop around the code for one tile, `lanes` samples of a stack, as LLVM IR.

A tile gets a table of pointers, one to the row of each sample in each input and output. So rows may
be any number of bytes apart: none, for what is the same for all samples. A tile that begins less
than `lanes` samples before the end has the last sample several times: nothing is copied or padded,
and every sample is computed by the same instructions, wherever it is in its stack.
"""

from __future__ import annotations

from screw_dynamics_ros.core.compile.llvm.writer import Writer

ROWS = '%rows'  # the table of a tile: addresses of `lanes` rows for each array


def stack_loop(name: str, arrays: int, lanes: int, opaque: bool) -> list[str]:
    """Return IR of two functions that call `void tile(double* rows)`.

    `void name(i64* addresses, i64* steps, i64 first, i64 end)` computes samples `first` to
    `end` - 1 of inputs and outputs at `addresses`, `steps` bytes from one sample to the next.

    `void name_shared(i64* addresses, i64* steps, i64 samples, i64 chunk, i64* claimed)` may run in
    several threads at once: each claims `chunk` samples at a time, until all are `claimed`.
    """
    w = Writer(opaque)
    P, W = w.pointer('double'), w.pointer('i64')
    vector = f'<{lanes} x i64>'
    lane = f'<{", ".join(f"i64 {k}" for k in range(lanes))}>'

    def splat(value: str) -> str:
        one = w(f'insertelement {vector} undef, i64 {value}, i32 0')
        zeros = f'<{lanes} x i32> zeroinitializer'
        return w(f'shufflevector {vector} {one}, {vector} undef, {zeros}')

    def word(base: str, index: int) -> str:
        return w(f'load i64, {W} {w(f"getelementptr i64, {W} {base}, i64 {index}")}')

    left = w('sub i64 %end, %i')
    last = splat(w(f'sub i64 {left}, 1'))
    within = w(f'icmp slt {vector} {lane}, {last}')
    sample = w(f'select <{lanes} x i1> {within}, {vector} {lane}, {vector} {last}')
    for k in range(arrays):
        step = word('%steps', k)
        start = w(f'add i64 {word("%addresses", k)}, {w(f"mul i64 %i, {step}")}')
        rows = w(f'add {vector} {splat(start)}, {w(f"mul {vector} {sample}, {splat(step)}")}')
        place = w(f'getelementptr {vector}, {w.pointer(vector)} %table, i64 {k}')
        w.do(f'store {vector} {rows}, {w.pointer(vector)} {place}, align 64')
    table = '%table' if opaque else w(f'bitcast {vector}* %table to double*')
    return [
        f'define void @{name}({W} %addresses, {W} %steps, i64 %first, i64 %end) {{',
        'entry:',
        f'  %table = alloca {vector}, i64 {max(arrays, 1)}, align 64',
        '  %any = icmp slt i64 %first, %end',
        '  br i1 %any, label %loop, label %done',
        'loop:',
        '  %i = phi i64 [%first, %entry], [%next, %loop]',
        *w.lines,
        f'  call void @tile({P} {table})',
        f'  %next = add i64 %i, {lanes}',
        '  %more = icmp slt i64 %next, %end',
        '  br i1 %more, label %loop, label %done',
        'done:',
        '  ret void',
        '}',
        f'define void @{name}_shared({W} %addresses, {W} %steps, i64 %samples, i64 %chunk, '
        f'{W} %claimed) {{',
        'entry:',
        '  br label %claim',
        'claim:',
        f'  %first = atomicrmw add {W} %claimed, i64 %chunk seq_cst',
        '  %any = icmp slt i64 %first, %samples',
        '  br i1 %any, label %run, label %done',
        'run:',
        '  %whole = add i64 %first, %chunk',
        '  %fits = icmp slt i64 %whole, %samples',
        '  %end = select i1 %fits, i64 %whole, i64 %samples',
        f'  call void @{name}({W} %addresses, {W} %steps, i64 %first, i64 %end)',
        '  br label %claim',
        'done:',
        '  ret void',
        '}',
    ]
