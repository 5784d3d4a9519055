# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reports of the commands: sections of lines, tables and findings, as text, Markdown or HTML."""

from __future__ import annotations

import argparse
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from ..core.description.robot_description import Finding
from .command_line import option

MARKS = {'error': 'ERROR  ', 'warning': 'WARNING', 'info': 'note   '}

STYLE = (
    'body{font-family:sans-serif;max-width:60em;margin:auto;padding:1em}img{max-width:100%}'
    'pre{overflow-x:auto}.error{color:#b00020}.warning{color:#946200}'
)


@dataclass
class Section:
    """A title, lines of text, and findings."""

    title: str
    lines: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Section:
        """Append a table, without a head if that is empty; return the section.

        Columns have minimal width; the first one is left-aligned.
        """
        table = [row for row in (head, *rows) if row]
        widths = [max(map(len, column)) for column in zip(*table)]
        for name, *cells in table:
            cells = [text.rjust(width) for text, width in zip(cells, widths[1:])]
            self.lines.append('  '.join((name.ljust(widths[0]), *cells)).rstrip())
        return self

    def text(self) -> list[str]:
        """Return the lines to print."""
        lines = (*self.lines, *finding_lines(self.findings))
        return [self.title, *(f'  {line}' for line in lines)]


def digits(numbers: Iterable[float], count: int = 4) -> list[str]:
    """Return the cells of numbers with significant digits."""
    return [f'{x:.{count}g}' for x in numbers]


def finding_lines(findings: Iterable[Finding]) -> list[str]:
    """Return findings as lines, errors first."""
    ordered = sorted(findings, key=lambda finding: list(MARKS).index(finding.severity))
    return [f'{MARKS[finding.severity]} {finding}' for finding in ordered]


def text(sections: Iterable[Section]) -> str:
    """Return the text to print."""
    return '\n'.join(line for section in sections for line in section.text())


def markdown(title: str, sections: Iterable[Section], picture: str = '') -> str:
    """Return a page of Markdown, with a picture of this file name after the first section."""
    parts = [f'# {title}']
    for section in sections:
        parts.append(f'## {section.title}')
        if section.lines:
            parts.append('```\n' + '\n'.join(section.lines) + '\n```')
        if section.findings:
            parts.append('\n'.join(f'* **{finding}**' for finding in section.findings))
        if picture:
            parts.append(f'![{title}]({picture})')
            picture = ''
    return '\n\n'.join(parts) + '\n'


def html(title: str, sections: Iterable[Section], picture: bytes = b'') -> str:
    """Return a page of HTML that contains everything, also the picture (PNG)."""
    parts = [f'<!DOCTYPE html><meta charset="utf-8"><title>{escape(title)}</title>']
    parts += [f'<style>{STYLE}</style>', f'<h1>{escape(title)}</h1>']
    for section in sections:
        parts.append(f'<h2>{escape(section.title)}</h2>')
        if section.lines:
            parts.append('<pre>' + escape('\n'.join(section.lines)) + '</pre>')
        parts += [
            f'<p class="{each.severity}">{escape(str(each))}</p>' for each in section.findings
        ]
    if picture:
        parts.append(f'<img alt="" src="data:image/png;base64,{b64encode(picture).decode()}">')
    return '\n'.join(parts) + '\n'


def add_html(parser: argparse.ArgumentParser) -> None:
    """Add the option --html."""
    option(parser, '--html FILE', 'also write the report as one page of HTML', Path)
