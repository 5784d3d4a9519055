# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of outputs: topics, parts of model states, outputs of `annotate` and of C code."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from screw_dynamics_ros.core.annotation import DEFAULT
from screw_dynamics_ros.core.annotation import OUTPUTS as RECORDED
from screw_dynamics_ros.core.outputs import FORMS, OUTPUTS, OutputRow

MAX_LABELS = 8  # of a dimension in a table


def topics(folder: Path) -> str:
    """Return the table of published outputs."""
    lines = ['| topic | type | content |', '|---|---|---|']
    for row in OUTPUTS.values():
        if row.node:
            link = '/<link>' if row.of_links else ''
            lines.append(f'| `{row.topic}{link}` | {FORMS[row.form][0]} | {row.text} |')
    return '\n'.join(lines) + '\n'


def parts(folder: Path) -> str:
    """Return the table of parts of the model state."""
    lines = ['| part | elements | unit | frame | requires |', '|---|---|---|---|---|']
    for row in OUTPUTS.values():
        needs = [name for name in ('velocity', 'effort') if getattr(row, name)]
        cells = (
            f'`{row.part("<link>" if row.of_links else "")}`',
            ' × '.join(elements(row)),
            row.unit.replace('|', '\\|'),
            row.frame,
            ', '.join(needs),
        )
        lines.append('| ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines) + '\n'


def elements(row: OutputRow) -> Iterator[str]:
    """Yield the labels of each dimension, or how many there are."""
    for labels in row.labels:
        if isinstance(labels, str):
            yield labels
        else:
            yield ', '.join(labels) if len(labels) < MAX_LABELS else f'{len(labels)} labels'


def recorded(folder: Path) -> str:
    """Return the item of the option --outputs of `annotate`."""
    named = ' and '.join(name for name in RECORDED if name not in DEFAULT)
    text = (
        f'* `--outputs`: {", ".join(name for name in DEFAULT if name in OUTPUTS)}, and, only if '
        f'named, {named}; acceleration is for tables only. [Topics](../reference/nodes/topics.md) '
        'has their contents.'
    )
    return textwrap.fill(text, 120, subsequent_indent='  ', break_on_hyphens=False) + '\n'


#: Tables of pages; they need no results.
TABLES: dict[str, Callable[[Path], str]] = {
    'topics': topics,
    'parts': parts,
    'recorded': recorded,
}
