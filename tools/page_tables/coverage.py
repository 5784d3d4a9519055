# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The table of QUALITY_DECLARATION.md: what the tests run, and which changes they find."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from page_tables.results import table

RESULTS = Path(__file__).parents[1] / 'coverage_of_tests/results'


def coverage(benchmarks: Path) -> str:
    """Return the table from what `make coverage` and `make mutants` wrote."""
    reached = counts(RESULTS / 'coverage.json')
    changes = counts(RESULTS / 'mutants.json')
    rows = [
        (
            folder,
            share(reached[folder]['covered_lines'], reached[folder]['num_statements']),
            share(reached[folder]['covered_branches'], reached[folder]['num_branches']),
            share(tried['found'], tried['found'] + tried['survived']),
            str(tried['found'] + tried['survived'] or ''),
        )
        for folder in reached
        for tried in [changes.get(folder, Counter())]
    ]
    heads = ('folder', 'lines [%]', 'branches [%]', 'changes found [%]', 'changes tried')
    return table(heads, rows, 'shares that the tests run, and that they find').rstrip() + '\n'


def counts(path: Path) -> dict[str, Counter[str]]:
    """Return the counts of each folder, and those of all."""
    found = {name: Counter[str](each) for name, each in json.loads(path.read_text()).items()}
    return found | {'all': sum(found.values(), Counter[str]())}


def share(part: int, whole: int) -> str:
    """Return a share in percent.

    >>> share(1, 3), share(0, 0)
    ('33.3', '')
    """
    return f'{100 * part / whole:.1f}' if whole else ''


TABLES: dict[str, Callable[[Path], str]] = {'coverage': coverage}
