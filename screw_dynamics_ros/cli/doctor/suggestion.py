# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A parameter file with the reason for each line, and undetermined parameters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from screw_dynamics_ros.ros.names import printable

from ..command_line import UnusableError

SHARED, BRINGUP = '/**', '/**/bringup'
KINEMATICS, DYNAMICS, WRENCHES = '/**/kinematics', '/**/dynamics', '/**/wrench_estimator'
SECTIONS = (SHARED, BRINGUP, KINEMATICS, DYNAMICS, WRENCHES)
LINE_WIDTH = 100


@dataclass(frozen=True)
class SuggestedLine:
    """One parameter.

    Attributes
    ----------
    section : str
        One of `SECTIONS`.
    name : str
    value : object
        Value as in a parameter file: text, number, bool, or a list of one of these types.
    reason : str
    """

    section: str
    name: str
    value: Any
    reason: str


@dataclass
class Suggestion:
    """Parameters for a running robot.

    Attributes
    ----------
    lines : list of SuggestedLine
    left : list of (parameters, reason)
        Parameters that the data do not determine, and how to determine them.
    notes : list of str
        Further notes on the robot.
    """

    lines: list[SuggestedLine] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def set(self, section: str, name: str, value: Any, reason: str) -> None:
        """Suggest a parameter."""
        self.lines.append(SuggestedLine(section, name, value, reason))

    def leave(self, parameters: str, reason: str) -> None:
        """Report undetermined parameters."""
        self.left.append((parameters, reason))

    def text(self, robot: str) -> str:
        """Return the parameter file."""
        return '\n'.join(self._text(robot)) + '\n'

    def _text(self, robot: str) -> Iterator[str]:
        yield from comment(
            f'Parameters for the robot {robot}, determined by doctor from its topics. Check each '
            'line before torques are enabled.',
            '',
        )
        yield '#'
        yield '#   ros2 launch screw_dynamics_ros bringup.launch.py params_file:=this_file.yaml'
        if self.left:
            yield '#'
            yield '# Defaults, because the data do not determine them:'
            for parameters, reason in self.left:
                yield from comment(f'* {parameters}: {reason}', '', '#   ')
        if self.notes:
            yield '#'
            yield '# Also:'
            for note in self.notes:
                yield from comment(f'* {note}', '', '#   ')
        for section in SECTIONS:
            lines = [line for line in self.lines if line.section == section]
            if lines:
                yield ''
                yield f'{section}:'
                yield '  ros__parameters:'
            for line in lines:
                yield from comment(line.reason, '    ')
                yield f'    {line.name}: {written(line.value)}'


def comment(text: str, indent: str, further: str | None = None) -> list[str]:
    """Return a text as comment lines; `further` is the prefix of continuation lines."""
    return textwrap.wrap(
        printable(text, 1000),
        LINE_WIDTH,
        initial_indent=f'{indent}# ',
        subsequent_indent=f'{indent}# ' if further is None else further,
        break_long_words=False,
        break_on_hyphens=False,
    )


def written(value: Any) -> str:
    """Return a value in ROS 2 YAML: floats in lists with a decimal point, no empty lists.

    >>> written(['a', 'b']), written([]), written([1, 2.5]), written(True)
    ("['a', 'b']", "['']", '[1.0, 2.5]', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (list, tuple)):
        return f'[{", ".join(map(written, value))}]' if value else "['']"
    return repr(float(value))


def write(suggestion: Suggestion, robot: str, path: Path) -> None:
    """Write the parameter file, without overwriting an existing file.

    Raises `UnusableError` if it cannot be written.
    """
    try:
        with path.open('x', encoding='utf-8') as file:
            file.write(suggestion.text(robot))
    except FileExistsError:
        raise UnusableError(
            f'argument --suggest: {path} already exists and is not overwritten; give another name'
        ) from None
    except OSError as error:
        raise UnusableError(
            f'argument --suggest: cannot write {path}: {error.strerror or error}'
        ) from None
