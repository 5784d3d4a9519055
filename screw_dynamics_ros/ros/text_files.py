# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""CSV and YAML files written by hand, by spreadsheets and by plotting programs.

Cells of CSV are separated by commas or semicolons; with the latter, numbers may have decimal
commas. Empty lines, comments after # and white space around cells are ignored.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ..core import files
from ..core.errors import ArgumentError


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

    Raises ArgumentError for columns without names, or that are named twice.
    """
    lines = text.splitlines()
    kept = [line for line in lines if line.strip() and not line.startswith('#')]
    is_european = bool(kept) and ';' in kept[0]
    reader = csv.reader(kept, delimiter=';' if is_european else ',', skipinitialspace=True)
    columns = [cell.strip() for cell in next(reader, [])]
    if not has_names(columns):
        raise ArgumentError(
            'the first line has numbers instead of the names of the columns; add a line with names '
            'before it ("ros2 topic echo --csv" writes none: record with "ros2 bag record")'
        )
    doubled = {name for name in columns if columns.count(name) > 1}
    if doubled:
        raise ArgumentError(f'columns named twice: {", ".join(sorted(doubled))}')
    return CsvTable(columns, _rows(reader, len(columns), row_name, is_european))


def has_names(columns: Sequence[str]) -> bool:
    """Whether the first line names the columns: most of its cells are not numbers.

    >>> has_names(['t', 'hip.position', '1']), has_names(['1764300000', '0', '', 'hip', '0.5'])
    (True, False)
    """
    given = [cell for cell in columns if cell]
    return 2 * sum(map(is_number, given)) <= len(given)


def is_number(cell: str) -> bool:
    """Whether a cell is a number, also with a decimal comma."""
    try:
        float(cell.replace(',', '.'))
    except ValueError:
        return False
    return True


def _rows(
    reader: Iterator[list[str]], count: int, row_name: str, is_european: bool
) -> Iterator[list[str]]:
    for number, cells in enumerate(reader, 1):
        if len(cells) != count:
            raise ArgumentError(f'{row_name} {number} has {len(cells)} cells under {count} columns')
        yield [cell.replace(',', '.') for cell in cells] if is_european else cells


LOADER: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
MAX_FILE_BYTES = 4 * 2**20  # bytes of a file
MAX_DEPTH = 30  # levels of lists and mappings


def read_yaml(text: str) -> Any:
    """Return the content of a YAML text.

    Raises
    ------
    ArgumentError
        It is not YAML, has aliases, or is nested too deeply; the message has the line number, but
        does not quote the text.
    """
    check_yaml(text)
    try:
        return yaml.load(text, Loader=LOADER)
    except Exception as error:  # PyYAML passes on exceptions from the conversion of numbers, dates
        raise _refused(error, 'it is not YAML of plain data') from None


def check_yaml(text: str) -> None:
    """Refuse a text that is not YAML, has aliases or is too deep; raises as `read_yaml`."""
    depth = 0
    try:
        for event in yaml.parse(text, Loader=LOADER):
            if isinstance(event, yaml.AliasEvent):
                raise ArgumentError(
                    f'line {event.start_mark.line + 1}: ROS 2 does not support aliases; repeat the '
                    'value'
                )
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MAX_DEPTH:
                raise ArgumentError(
                    f'line {event.start_mark.line + 1}: more than {MAX_DEPTH} levels of lists and '
                    'mappings'
                )
    except (yaml.YAMLError, RecursionError) as error:
        raise _refused(error, 'it is not YAML') from None


def read_yaml_file(path: Path) -> Any:
    """Return the content of a file of at most `MAX_FILE_BYTES` bytes; raises `ArgumentError`."""
    return read_yaml(files.text_of(path, MAX_FILE_BYTES, 'YAML'))


def _refused(error: Exception, what: str) -> ArgumentError:
    """Return an error with the line number and the problem that the parser reports."""
    mark, problem = getattr(error, 'problem_mark', None), getattr(error, 'problem', None)
    line = '' if mark is None else f': line {mark.line + 1}'
    words = re.sub(
        r"(?<!\S)'[^']*\w[^']*'(?!\S)", '...', str(problem or '')
    )  # quotes from the file are removed
    return ArgumentError(f'{what}{line}{f": {words}" if words else ""}')
