# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Committed results of the benchmark, and the cells and lines of tables that show them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Figure = dict[str, Any]
TIMES = 'us', 'ms', 's'  # units of figures


class Results:
    """The figures of some parts of the benchmark."""

    def __init__(self, folder: Path, *parts: str) -> None:
        self.parts = parts
        files = [json.loads((folder / f'{part}.json').read_text()) for part in parts]
        self.environments = [file['environment'] for file in files]
        self.figures: list[Figure] = [figure for file in files for figure in file['figures']]

    def select(self, **values: str) -> list[Figure]:
        """Return the figures that have these values; '' also selects what is not there."""
        return [
            figure
            for figure in self.figures
            if all(figure.get(key, '') == value for key, value in values.items())
        ]

    def names(self, key: str) -> list[str]:
        """Return the values of a field, each once, in their order."""
        return list(dict.fromkeys(figure[key] for figure in self.figures))


def machine_of(folder: Path, parts: Iterable[str]) -> str:
    """Return what some parts were measured on."""
    lines: dict[str, list[tuple[str, list[float]]]] = {}
    for path in (folder / f'{part}.json' for part in parts):
        where = json.loads(path.read_text())['environment']
        line = (
            f'{where["processor"]}, {where["cores"]} cores, {where["vectors"]} doubles per vector; '
            f'Python {where["python"]}, NumPy {where["numpy"]}, llvmlite {where["llvmlite"]}, '
            f'Pinocchio {where["pinocchio"]}, rclpy {where["rclpy"]}, '
            f'Fast DDS for ROS {where["fastrtps"]}; {where["date"]}'
        )
        lines.setdefault(line, []).append((path.stem, where['load before and after']))
    text = []
    for line, parts in lines.items():
        loads = [load for _, pair in parts for load in pair]
        which = '' if len(lines) == 1 else f' ({", ".join(name for name, _ in parts)})'
        text.append(
            f'Measured on: {line}{which}. Load average of the machine, which others use too, '
            f'before and after the parts: {min(loads):.1f} to {max(loads):.1f}.\n'
        )
    return '\n'.join(text)


def first(figures: Sequence[Figure]) -> Figure | None:
    """Return the first figure, None if there is none."""
    return figures[0] if figures else None


def number(value: float | None) -> str:
    """Return a number with three digits."""
    if value is None:
        return ''
    return f'{value:.0f}' if abs(value) >= 100 else f'{value:.3g}'


def unit_of(figure: Figure) -> str:
    """Return the unit with a space before it."""
    unit = {'us': 'µs'}.get(figure.get('unit', ''), figure.get('unit', ''))
    return f' {unit}' if unit else ''


def ours(figure: Figure | None, *, unit: bool = False) -> str:
    """Return our median and 99th percentile."""
    return _pair(figure, 'ours', unit=unit)


def theirs(figure: Figure | None) -> str:
    """Return the peer's median and 99th percentile."""
    return _pair(figure, 'theirs')


def _pair(figure: Figure | None, whose: str, *, unit: bool = False) -> str:
    if not figure or whose not in figure:
        return '–'
    tail = number(figure.get(f'{whose}_p99'))
    return (
        number(figure[whose]) + (f' ({tail})' if tail else '') + (unit_of(figure) if unit else '')
    )


def times(figure: Figure | None) -> str:
    """Return how many times faster, bold where it is less than once."""
    if not figure:
        return '–'
    ratio = number(figure['ratio'])
    return f'**{ratio}**' if figure['ratio'] < 1.0 else ratio


def limit(figure: Figure) -> str:
    """Return what is required."""
    if 'required' not in figure:
        return ''
    sign = '≥' if figure['meaning'].endswith('least') else '≤'
    of_ratio = figure['meaning'].startswith('ratio')
    return f'{sign} {figure["required"]:g}' + (' times' if of_ratio else unit_of(figure))


def note(figure: Figure | None) -> str:
    """Return the note of a figure."""
    return figure.get('note', '') if figure else ''


def lost(*figures: Figure | None) -> str:
    """Return, in bold, that another program is faster or has less, and that a limit is missed."""
    words = []
    for figure in figures:
        if figure and figure['worse']:
            words.append('slower' if figure.get('unit') in TIMES else 'more')
        if figure and figure.get('fulfilled') is False:
            words.append('limit missed')
    return f'**{"; ".join(dict.fromkeys(words))}**' if words else ''


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], what: str) -> str:
    """Return a table with a line about its cells above, as Markdown; equal first cells once."""
    lines = [
        f'{what[0].upper()}{what[1:]}.\n',
        f'| {" | ".join(heads)} |',
        '|---' * len(heads) + '|',
    ]
    previous = ''
    for head, *cells in rows:
        shown = '' if head == previous and len(heads) > 4 else head
        lines.append(f'| {" | ".join([shown, *cells])} |')
        previous = head
    return '\n'.join(lines) + '\n\n'


def verdict(results: Results) -> str:
    """Return the numbers of lost comparisons and missed limits, and a table of them."""
    compared = [f for f in results.figures if not f.get('peer', 'ours').startswith('ours')]
    required = [figure for figure in results.figures if 'fulfilled' in figure]
    missed = [figure for figure in required if not figure['fulfilled']]
    listed = [figure for figure in results.figures if figure in missed or figure['worse']]
    files = ', '.join(f'[{part}.json](benchmarks/results/{part}.json)' for part in results.parts)
    parts = [f'{len(missed)} of {len(required)} limits are missed'] if required else []
    if compared:
        worse = sum(bool(figure['worse']) for figure in compared)
        parts.insert(0, f'{worse} of {len(compared)} comparisons are lost')
    text = f'In {files}, {" and ".join(parts)}.\n'
    if not listed:
        return text
    rows = [
        (
            label(figure),
            ours(figure, unit=True),
            figure.get('peer', ''),
            theirs(figure) if 'peer' in figure else '',
            limit(figure),
            lost(figure),
        )
        for figure in listed
    ]
    heads = 'case', 'ours', 'beside', 'theirs', 'limit', 'remark'
    return f'{text}\n{table(heads, rows, "lost comparisons and missed limits")[:-1]}'


def label(figure: Figure) -> str:
    """Return robot and name."""
    return f'{figure["robot"]}, {figure["name"]}'
