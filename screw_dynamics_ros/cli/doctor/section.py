# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A section of a report: plain lines and tables, then findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from screw_dynamics_ros.core.description.robot_description import Finding

MARKS = {'error': 'ERROR  ', 'warning': 'WARNING', 'info': 'note   '}


@dataclass
class Section:
    """A title, lines of text, and findings."""

    title: str
    lines: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Append a table with columns of minimal width, the first one left-aligned."""
        widths = [max(map(len, column)) for column in zip(head, *rows)]
        for row in (head, *rows):
            cells = [text.rjust(width) for text, width in zip(row, widths)]
            cells[0] = row[0].ljust(widths[0])
            self.lines.append('  '.join(cells).rstrip())

    def text(self) -> Iterator[str]:
        """Yield the lines to print."""
        yield self.title
        yield from (f'  {line}' for line in self.lines)
        for severity, mark in MARKS.items():
            for finding in self.findings:
                if finding.severity == severity:
                    yield f'  {mark} {finding}'
