# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""CSV files of spreadsheets and plotting programs.

Cells are separated by commas or semicolons; with the latter, numbers may have decimal commas. Empty
lines, comments after # and white space around cells are ignored.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import NamedTuple

from screw_dynamics_ros.core.errors import ArgumentError


class CsvTable(NamedTuple):
    """The content of a text.

    Attributes
    ----------
    columns : list of str
    rows : iterator of list of str
        Rows with one cell per column; raises ArgumentError at a row of another length.
    """

    columns: list[str]
    rows: Iterator[list[str]]


def read_csv(text: str, row_name: str = 'row') -> CsvTable:
    """Return columns and rows of a text; rows are counted from 1.

    Raises ArgumentError for columns that are named twice.
    """
    lines = text.splitlines()
    kept = [line for line in lines if line.strip() and not line.startswith('#')]
    is_european = bool(kept) and ';' in kept[0]
    reader = csv.reader(kept, delimiter=';' if is_european else ',', skipinitialspace=True)
    columns = [cell.strip() for cell in next(reader, [])]
    doubled = {name for name in columns if columns.count(name) > 1}
    if doubled:
        raise ArgumentError(f'columns named twice: {", ".join(sorted(doubled))}')
    return CsvTable(columns, _rows(reader, len(columns), row_name, is_european))


def _rows(
    reader: Iterator[list[str]], count: int, row_name: str, is_european: bool
) -> Iterator[list[str]]:
    for number, cells in enumerate(reader, 1):
        if len(cells) != count:
            raise ArgumentError(f'{row_name} {number} has {len(cells)} cells under {count} columns')
        yield [cell.replace(',', '.') for cell in cells] if is_european else cells
