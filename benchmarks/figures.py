# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One measured figure, and the table they make."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from timing import Times
from timing import ratio as ratio_of

NAN = float('nan')


@dataclass(frozen=True)
class Figure:
    """One line of the benchmark.

    Attributes
    ----------
    group, robot, name : str
        What was measured.
    ours, ours_p99 : float
        Median and 99th percentile, in `unit`, unless `note` says otherwise.
    peer : str
        What it is compared with; '' if there is nothing. It begins with 'ours' if it is ours,
        too, under other conditions.
    theirs, theirs_p99 : float
    unit : str
    ratio : float
        theirs / ours: how many times faster, compared in turns; for latencies ours / theirs.
    ratio_low, ratio_high : float
        Range of the ratio over all rounds but a tenth at either end.
    required : float
        NaN if nothing is required.
    meaning : str
        What is required: 'ratio at least', 'ratio at most', 'ours at least' or 'ours at most'.
    fails : bool
        Whether the benchmark ends with status 1 if what is required does not hold.
    more : bool
        Whether more is better, as for a share of solved poses.
    note : str
    """

    group: str
    robot: str
    name: str
    ours: float
    ours_p99: float = NAN
    peer: str = ''
    theirs: float = NAN
    theirs_p99: float = NAN
    unit: str = 'us'
    ratio: float = NAN
    ratio_low: float = NAN
    ratio_high: float = NAN
    required: float = NAN
    meaning: str = 'ratio at least'
    fails: bool = False
    more: bool = False
    note: str = ''

    @property
    def fulfilled(self) -> bool | None:
        """Whether the requirement holds; None if there is none."""
        if self.required != self.required:
            return None
        return {
            'ratio at least': self.ratio >= self.required,
            'ratio at most': self.ratio <= self.required,
            'ours at least': self.ours >= self.required,
            'ours at most': self.ours <= self.required,
        }[self.meaning]

    @property
    def worse(self) -> list[str]:
        """What the peer is better in: 'median', '99 %'."""
        if not self.peer or self.peer.startswith('ours'):
            return []
        sign = -1.0 if self.more else 1.0
        pairs = {'median': (self.ours, self.theirs), '99 %': (self.ours_p99, self.theirs_p99)}
        if self.ratio == self.ratio and not self.meaning.endswith('most'):
            pairs['median'] = (1.0, self.ratio)  # in turns, which the medians are not
        return [name for name, (a, b) in pairs.items() if sign * a > sign * b]

    def as_dict(self) -> dict[str, Any]:
        """Return what goes into the JSON file, with 4 digits and without what is not there."""
        content = {**asdict(self), 'fulfilled': self.fulfilled, 'worse': self.worse}
        return {
            key: float(f'{value:.4g}') if isinstance(value, float) else value
            for key, value in content.items()
            if value == value and value not in ('', None)
        }


def read(path: Path) -> list[Figure]:
    """Return the figures of a JSON file."""
    known = {field.name for field in fields(Figure)}
    content = json.loads(path.read_text(encoding='utf-8'))['figures']
    return [Figure(**{key: x for key, x in each.items() if key in known}) for each in content]


def compared(
    group: str,
    robot: str,
    name: str,
    times: dict[str, Times],
    *,
    scale: float = 1e6,
    unit: str = 'us',
    required: dict[str, float] | None = None,
    note: str = '',
) -> list[Figure]:
    """Return figures of `times` = {'ours': ..., peer: ..., ...}, one for each peer."""
    ours = times['ours']
    found = []
    for peer, theirs in times.items():
        if peer == 'ours':
            continue
        ratio = ratio_of(ours, theirs)
        found.append(
            Figure(
                group,
                robot,
                name,
                scale * ours.median,
                scale * ours.p99,
                peer,
                scale * theirs.median,
                scale * theirs.p99,
                unit,
                ratio.median,
                ratio.low,
                ratio.high,
                (required or {}).get(peer, NAN),
                note=note,
            )
        )
    return found


COLUMNS = ('robot', 'what', 'ours', '99 %', 'peer', 'theirs', '99 %', 'ratio', 'required', '')


def table(figures: Iterable[Figure]) -> str:
    """Return the figures as text, one block for each group."""
    lines: list[str] = []
    group = None
    for figure in figures:
        if figure.group != group:
            group = figure.group
            lines += ['', group, '=' * len(group), _line(COLUMNS)]
        mark = {None: '', True: 'ok', False: 'MISSED'}[figure.fulfilled]
        worse = f'WORSE THAN THE PEER ({", ".join(figure.worse)})' if figure.worse else ''
        lines.append(
            _line(
                (
                    figure.robot,
                    figure.name,
                    _number(figure.ours, figure.unit),
                    _number(figure.ours_p99),
                    figure.peer,
                    _number(figure.theirs, figure.unit),
                    _number(figure.theirs_p99),
                    _number(figure.ratio),
                    _requirement(figure),
                    '; '.join(x for x in (mark, worse, figure.note) if x),
                )
            )
        )
    return '\n'.join(lines)


def _number(value: float, unit: str = '') -> str:
    if value != value:
        return ''
    text = f'{value:.3g}' if value < 1000 else f'{value:.0f}'
    return f'{text} {unit}'.strip()


def _requirement(figure: Figure) -> str:
    if figure.required != figure.required:
        return ''
    sign = '>=' if figure.meaning.endswith('least') else '<='
    unit = f' {figure.unit}' if figure.meaning.startswith('ours') else ''
    return f'{sign} {figure.required:g}{unit}'


def _line(cells: Iterable[str]) -> str:
    widths = (20, 34, 10, 7, 24, 10, 7, 6, 9, 0)
    return '  '.join(f'{cell:<{width}}' for cell, width in zip(cells, widths)).rstrip()
