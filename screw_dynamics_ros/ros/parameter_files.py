# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameter files: the node patterns of their sections, and the parameters in them.

An invalid file is refused with a clear reason. ROS 2 itself reports some invalid files with
internals of its parser, and ignores others (plain text, an empty file).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..core import files
from ..core.errors import ArgumentError
from .text_files import MAX_FILE_BYTES, check_yaml, read_yaml_file

PARAMETERS = 'ros__parameters'
SHAPE = f'write sections like "/**/bringup: {{{PARAMETERS}: {{gravity: [0.0, 0.0, -9.81]}}}}"'
NODES = re.compile(r'(/(\*{1,2}|[A-Za-z_]\w*))+', re.ASCII)
NUMBERS = {f'tag:yaml.org,2002:{kind}' for kind in ('int', 'float')}


@dataclass(frozen=True)
class ParameterSection:
    """Parameters for the nodes whose names match a pattern.

    Attributes
    ----------
    pattern : str
        Name of a node with its namespace; ``*`` matches one part of it, ``**`` any number.
    names : tuple of str
        Names of the parameters.
    """

    pattern: str
    names: tuple[str, ...]

    @property
    def is_for_any_node(self) -> bool:
        """Whether the pattern contains no node name, at most a namespace."""
        return self.pattern.endswith('*')

    def matches(self, node: str) -> bool:
        """Whether the pattern matches the full name of a node, by the rules of rcl."""
        pattern = self.pattern.replace('/**', r'(/\w+)~').replace('/*', r'(/\w+)')
        return re.fullmatch(pattern.replace('~', '*'), node) is not None


def read_parameter_file(path: Path) -> list[ParameterSection]:
    """Return the sections of a parameter file.

    Raises
    ------
    ArgumentError
        If it cannot be read or is not a parameter file; the message has the fault and the remedy.
    """
    text = files.text_of(path, MAX_FILE_BYTES, 'YAML')
    check_yaml(text)
    content = yaml.compose(text, yaml.SafeLoader)
    if content is None:
        raise ArgumentError(f'it is empty; {SHAPE}')
    if not isinstance(content, yaml.MappingNode):
        raise ArgumentError(f'it is not a parameter file; {SHAPE}')
    return [
        section
        for key, value in content.value
        for section in _sections('/' + key.value.removeprefix('/'), value)
    ]


def read_parameters(path: Path, left_out: Collection[str] = ()) -> dict[str, Any]:
    """Return the parameters in a file by name, of all its sections but some together.

    Raises
    ------
    ArgumentError
        As `read_parameter_file`; two sections have different values of a parameter.
    """
    read_parameter_file(path)  # has better messages for invalid parameter files
    found: dict[str, Any] = {}
    for pattern, values in _contents('', read_yaml_file(path)):
        for name, value in _flat('', values) if pattern not in left_out else ():
            if found.setdefault(name, value) != value:
                raise ArgumentError(
                    f'section {pattern} has another {name} than one before it; keep one of them'
                )
    return found


def _contents(pattern: str, content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the sections with their parameters."""
    for key, value in content.items():
        if key == PARAMETERS:
            yield pattern, value
        else:
            yield from _contents(f'{pattern}/{str(key).removeprefix("/")}', value)


def _flat(prefix: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(f'{prefix}{key}.', value)
        else:
            yield f'{prefix}{key}', value


def _sections(pattern: str, content: yaml.Node) -> Iterator[ParameterSection]:
    """Yield the section with this name, or its sections if it is a namespace."""
    where = f'line {content.start_mark.line + 1}: section {pattern}'
    if not NODES.fullmatch(pattern):
        raise ArgumentError(
            f'{where}: this is not a valid node name; use letters, digits and _, no digit first, '
            '* and ** for any'
        )
    if not isinstance(content, yaml.MappingNode) or not content.value:
        raise ArgumentError(f'{where} has no {PARAMETERS}; {SHAPE}')
    for key, value in content.value:
        if key.value != PARAMETERS:
            yield from _sections(f'{pattern}/{key.value}', value)
        elif not isinstance(value, yaml.MappingNode):
            raise ArgumentError(f'{where} has empty {PARAMETERS}; {SHAPE}')
        else:
            yield ParameterSection(pattern, tuple(_names(value, '')))


def _names(parameters: yaml.MappingNode, prefix: str) -> Iterator[str]:
    for key, value in parameters.value:
        name = f'{prefix}{key.value}'
        if isinstance(value, yaml.MappingNode):
            yield from _names(value, f'{name}.')
            continue
        if isinstance(value, yaml.SequenceNode) and {each.tag for each in value.value} == NUMBERS:
            raise ArgumentError(
                f'line {value.start_mark.line + 1}: parameter {name}: '
                f'[{", ".join(each.value for each in value.value)}] has numbers with and without '
                'a decimal point, which ROS 2 refuses; write all of them with one'
            )
        yield name
