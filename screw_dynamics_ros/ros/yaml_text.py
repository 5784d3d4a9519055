# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""YAML with bounds: no aliases, plain data only, limited in size and depth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from ..core import files
from ..core.errors import ArgumentError

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
