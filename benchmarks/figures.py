"""One measured figure, and the table they make."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One line of the benchmark.

    Attributes
    ----------
    group, robot, name : str
        What was measured.
    ours, theirs : float
        Smallest of all repeats, in `unit`; `theirs` is NaN where there is nothing to compare with.
    ours_median, theirs_median : float
    unit : str
    ratio : float
        theirs / ours: how many times faster; for latencies ours / theirs.
    required : float
        NaN if nothing is required.
    meaning : str
        What is required: 'ratio at least', 'ratio at most', 'ours at least' or 'ours at most'.
    note : str
    """

    group: str
    robot: str
    name: str
    ours: float
    theirs: float = float('nan')
    ours_median: float = float('nan')
    theirs_median: float = float('nan')
    unit: str = 'us'
    ratio: float = float('nan')
    required: float = float('nan')
    meaning: str = 'ratio at least'
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

    def as_dict(self) -> dict[str, Any]:
        """Return what goes into the JSON file, None for what is not there."""
        content = {**asdict(self), 'fulfilled': self.fulfilled}
        return {key: None if value != value else value for key, value in content.items()}


def compared(
    group: str,
    robot: str,
    name: str,
    times: dict[str, tuple[float, float]],
    *,
    scale: float = 1e6,
    unit: str = 'us',
    required: float = float('nan'),
    note: str = '',
) -> Figure:
    """Return the figure of `times` = {'ours': (minimum, median), 'theirs': ...} in seconds."""
    (ours, ours_median), (theirs, theirs_median) = times['ours'], times['theirs']
    return Figure(
        group,
        robot,
        name,
        scale * ours,
        scale * theirs,
        scale * ours_median,
        scale * theirs_median,
        unit,
        theirs / ours,
        required,
        note=note,
    )


COLUMNS = ('robot', 'what', 'ours', 'median', 'theirs', 'median', 'ratio', 'required', '')


def table(figures: Iterable[Figure]) -> str:
    """Return the figures as text, one block for each group."""
    lines: list[str] = []
    group = None
    for figure in figures:
        if figure.group != group:
            group = figure.group
            lines += ['', group, '=' * len(group), _line(COLUMNS)]
        mark = {None: '', True: 'ok', False: 'MISSED'}[figure.fulfilled]
        lines.append(
            _line(
                (
                    figure.robot,
                    figure.name,
                    _number(figure.ours, figure.unit),
                    _number(figure.ours_median),
                    _number(figure.theirs, figure.unit),
                    _number(figure.theirs_median),
                    _number(figure.ratio),
                    _requirement(figure),
                    ' '.join(x for x in (mark, figure.note) if x),
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
    widths = (20, 34, 10, 9, 10, 9, 8, 11, 0)
    return '  '.join(f'{cell:<{width}}' for cell, width in zip(cells, widths)).rstrip()
