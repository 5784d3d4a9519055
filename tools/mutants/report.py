# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Results of changes that were tried, those that change nothing, and a table of both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml

from tools.coverage_of_tests.folders import folder_of
from tools.coverage_of_tests.measurement import digest
from tools.mutants.changes import Change
from tools.mutants.coverage import TestsByLine

FOUND, SURVIVED = 'found', 'survived'


class Results:
    """Outcomes by change, in a file that is appended to.

    A change that was found is not tried again while its file is the same, one that survived not
    while the tests that try it are the same as well.
    """

    def __init__(self, path: Path, root: Path, tests: TestsByLine) -> None:
        self._path, self._root, self._tests = path, root, tests
        self._outcomes: dict[tuple[str, ...], tuple[str, int, str]] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            *key, outcome, count, tried = json.loads(line)
            self._outcomes[tuple(key)] = outcome, count, tried

    def add(self, change: Change, outcome: str) -> None:
        """Keep an outcome, and by which tests."""
        count = sum(len(group) for group in self._tests(change.file, change.line))
        kept = outcome, count, self._tests.digest(change.file, change.line)
        self._outcomes[self._key(change)] = kept
        with self._path.open('a') as file:
            file.write(json.dumps([*self._key(change), *kept]) + '\n')

    def __contains__(self, change: Change) -> bool:
        if self._key(change) not in self._outcomes:
            return False
        outcome, _, tried = self._outcomes[self._key(change)]
        return outcome == FOUND or tried == self._tests.digest(change.file, change.line)

    def survived(self, change: Change) -> bool:
        """Return whether no test has found a change."""
        return self._outcomes.get(self._key(change), ('', 0, ''))[0] == SURVIVED

    def tests(self, change: Change) -> int:
        """Return how many tests have tried a change."""
        return self._outcomes[self._key(change)][1]

    def _key(self, change: Change) -> tuple[str, ...]:
        return *change.key, self._digest(change.file)

    @cache  # noqa: B019 - it lives as long as the command
    def _digest(self, file: str) -> str:
        return digest(self._root, [file])


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
