"""Transposition of small blocks between rows (samples) and columns (SIMD vectors), as LLVM IR."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.llvm.writer import Writer


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
