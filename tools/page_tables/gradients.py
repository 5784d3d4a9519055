# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The measured table of doc/how_to/gradients.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from page_tables.results import (
    Results,
    limit,
    lost,
    machine_of,
    number,
    ours,
    table,
    theirs,
    times,
    verdict,
)

PART = 'gradients'


def gradients(folder: Path) -> str:
    """Return the table, and what it was measured on."""
    results = Results(folder, PART)
    rows = [
        (
            figure['name'],
            ours(figure) if 'peer' in figure else number(figure['ours']),
            figure.get('peer', ''),
            theirs(figure),
            times(figure) if 'ratio' in figure else '',
            limit(figure),
            lost(figure),
        )
        for figure in results.figures
    ]
    heads = ('what', 'ours', 'beside', 'theirs', 'times faster', 'limit', 'remark')
    text = table(heads, rows, 'times in µs per sample or step: median (99th percentile)')
    return f'{text}{verdict(results)}\n{machine_of(folder, [PART])}'


TABLES: dict[str, Callable[[Path], str]] = {PART: gradients}
