# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Transposition of small blocks between rows (samples) and columns (SIMD vectors), as LLVM IR."""

from __future__ import annotations

from .writer import Writer


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
