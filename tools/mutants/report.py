# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Results of changes that were tried, those that change nothing, and a table of both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import yaml

from tools.coverage_of_tests.folders import folder_of
from tools.coverage_of_tests.measurement import digest
from tools.mutants.changes import Change
from tools.mutants.coverage import folder_of_tests

FOUND, SURVIVED = 'found', 'survived'


class Results:
    """Outcomes by change, file and tests, in a file that is appended to."""

    def __init__(self, path: Path, root: Path) -> None:
        self._path, self._root = path, root
        self._digests: dict[str, str] = {}
        self._outcomes: dict[tuple[str, ...], tuple[str, int]] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            *key, outcome, count = json.loads(line)
            self._outcomes[tuple(key)] = outcome, count

    def add(self, change: Change, outcome: str, count: int) -> None:
        """Keep an outcome, and how many tests there were."""
        self._outcomes[self._key(change)] = outcome, count
        with self._path.open('a') as file:
            file.write(json.dumps([*self._key(change), outcome, count]) + '\n')

    def __contains__(self, change: Change) -> bool:
        return self._key(change) in self._outcomes

    def survived(self, change: Change) -> bool:
        """Return whether no test has found a change."""
        return self._outcomes.get(self._key(change), ('', 0))[0] == SURVIVED

    def tests(self, change: Change) -> int:
        """Return how many tests have tried a change."""
        return self._outcomes[self._key(change)][1]

    def _key(self, change: Change) -> tuple[str, ...]:
        beside = folder_of_tests(self._root, change.file)
        for name in (change.file, beside):
            if name not in self._digests:
                self._digests[name] = digest(self._root, [name])
        return *change.key, self._digests[change.file], self._digests[beside]


class Equivalent:
    """Changes that change no result, with the reason.

    Raises
    ------
    SystemExit
        If one is listed whose line is no longer there.
    """

    def __init__(self, path: Path, root: Path) -> None:
        self._keys = set()
        for file, every in (yaml.safe_load(path.read_text()) or {}).items():
            lines = {line.strip() for line in (root / file).read_text().splitlines()}
            for each in every:
                if each['before'] not in lines:
                    raise SystemExit(f'{path.name}: {file} has no line {each["before"]!r}')
                self._keys.add((file, each['before'], each['after']))

    def __contains__(self, change: Change) -> bool:
        return change.key in self._keys


Counts = dict[str, Counter[str]]


def count(changes: Iterable[Change], results: Results, equivalent: Equivalent) -> Counts:
    """Return how many changes of each folder were found, were not, and change no result."""
    counts: Counts = {}
    for change in changes:
        kind = 'equivalent' if change in equivalent else FOUND
        if kind == FOUND and results.survived(change):
            kind = SURVIVED
        counts.setdefault(folder_of(change.file), Counter())[kind] += 1
    return dict(sorted(counts.items()))


def table(counts: Counts) -> str:
    """Return the counts of each folder, in Markdown."""
    lines = ['| folder | found | missed | equivalent | share found |', '|---|---|---|---|---|']
    for folder, each in [*counts.items(), ('all', sum(counts.values(), Counter[str]()))]:
        tried = each[FOUND] + each[SURVIVED]
        share = f'{each[FOUND] / tried:.0%}' if tried else ''
        lines.append(
            f'| {folder} | {each[FOUND]} | {each[SURVIVED]} | {each["equivalent"]} | {share} |'
        )
    return '\n'.join(lines)
