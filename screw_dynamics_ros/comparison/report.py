# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The report of `parity`, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .explanation import Comparison
from .quantities import UNITS, Values

MARK = '*'  # behind a difference above the tolerance


@dataclass(frozen=True)
class ProgramOutcome:
    """What came of one program: a comparison, or the reason why there is none.

    `printed` are the messages of the program, where they are caught.
    """

    name: str
    version: str = ''
    comparison: Comparison | None = None
    notes: Sequence[str] = field(default_factory=tuple)
    refusal: str = ''
    printed: Sequence[str] = field(default_factory=tuple)


def text(head: str, ours: Values, outcomes: Sequence[ProgramOutcome]) -> Iterator[str]:
    """Yield the lines of the report."""
    yield head
    compared = [each for each in outcomes if each.comparison is not None]
    rows = [['', 'unit', 'ours, at most', *(title(each) for each in compared)]]
    for name, unit in UNITS.items():
        apart = [difference(each.comparison, name) for each in compared if each.comparison]
        rows.append([name, unit, size(name, ours), *apart])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths)]
        cells[:2] = [cell.ljust(width) for cell, width in zip(row[:2], widths)]
        yield '  ' + '  '.join(cells).rstrip()
    for outcome in outcomes:
        yield from findings(outcome)


def title(outcome: ProgramOutcome) -> str:
    """Return name and version of a program."""
    return f'{outcome.name} {outcome.version}'.strip()


def difference(comparison: Comparison, name: str) -> str:
    """Return a difference, marked if it is above the tolerance."""
    each = comparison.differences.get(name)
    if each is None:
        return '- '
    return f'{each.absolute:.1e}' + (MARK if each.relative > comparison.tolerance else ' ')


def size(name: str, ours: Values) -> str:
    """Return the largest value of a quantity in ours."""
    if name not in ours.arrays:
        return 'undefined'
    if name == 'link orientations':
        return ''
    return f'{np.abs(ours.arrays[name]).max(initial=0.0):.4g}'


def findings(outcome: ProgramOutcome) -> Iterator[str]:
    """Yield the verdict on one program, the causes and the notes."""
    name = title(outcome)
    if outcome.comparison is None:
        yield f'{name}: skipped: {outcome.refusal}'
        yield from (f'  prints     {line}' for line in outcome.printed)
        return
    comparison = outcome.comparison
    if comparison.agrees:
        yield f'{name}: agrees to {comparison.tolerance:.0e}'
    else:
        yield f'{name}: DIFFERS, {verdict(comparison)}'
    yield from (f'  DIFFERENCE {cause}' for cause in comparison.causes)
    yield from (f'  note       {each}' for each in comparison.harmless)
    yield from (f'  note       {note}' for note in outcome.notes)
    yield from (f'  prints     {line}' for line in outcome.printed)


def verdict(comparison: Comparison) -> str:
    """Say whether the causes explain everything."""
    if comparison.explained:
        return 'as explained by:'
    if comparison.causes:
        return 'in part because of:'
    names = [
        f'{name} ({each.where})' if each.where else name
        for name, each in comparison.differences.items()
        if each.relative > comparison.tolerance
    ]
    return f'and no field of the description explains it: {", ".join(names)}'


def as_json(head: Mapping[str, Any], outcomes: Sequence[ProgramOutcome]) -> str:
    """Return the report as JSON: description and options, then each program."""
    return json.dumps({**head, 'programs': [program(each) for each in outcomes]}, indent=2)


def program(outcome: ProgramOutcome) -> dict[str, Any]:
    """Return one program as plain data; infinite differences, which JSON has not, as null."""
    comparison = outcome.comparison
    data: dict[str, Any] = {
        'name': outcome.name,
        'version': outcome.version,
        'printed': list(outcome.printed),
    }
    if comparison is None:
        return {**data, 'left_out': outcome.refusal}
    return {
        **data,
        'agrees': comparison.agrees,
        'explained': comparison.explained,
        'differences': {
            name: {
                'unit': UNITS[name],
                'absolute': finite(each.absolute),
                'relative': finite(each.relative),
                'where': each.where,
            }
            for name, each in comparison.differences.items()
        },
        'causes': [
            {
                'subject': cause.difference.subject,
                'field': cause.difference.field,
                'ours': cause.difference.ours,
                'theirs': cause.difference.theirs,
                'changes': {name: finite(e.absolute) for name, e in cause.effects.items()},
            }
            for cause in comparison.causes
        ],
        'notes': [*map(str, comparison.harmless), *outcome.notes],
    }


def finite(value: float) -> float | None:
    """Return a number that JSON has."""
    return value if np.isfinite(value) else None
