# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which tests run a line: those of the folder in `test` with the path of the file, by coverage."""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from coverage import CoverageData

from tools.mutants.copies import environment

PACKAGE = Path('screw_dynamics_ros')
ENOUGH = 120.0  # s of tests for one change; the quick ones first


def folders_of_tests(root: Path, file: str) -> list[str]:
    """Return the folders in `test` for a file of the package, the nearest one first.

    They have the path of the file, up to `test/core/lie` or `test/nodes`.
    """
    parents = Path(file).relative_to(PACKAGE).parents
    found = [str('test' / each) for each in parents if any((root / 'test' / each).glob('*.py'))]
    deep = [each for each in found if len(Path(each).parts) > 2]
    return deep or found[:1]


def digest(root: Path, folders: Iterable[str]) -> str:
    """Return a hash of the source files in folders, or of files."""
    places = [root / each for each in folders]
    files = sorted(x for each in places for x in ([each] if each.is_file() else each.rglob('*.py')))
    return hashlib.sha256(b''.join(file.read_bytes() for file in files)).hexdigest()[:16]


@dataclass
class Measurement:
    """Which tests ran which lines of the sources as they were.

    Attributes
    ----------
    path : Path
        Data of coverage.
    root : Path
        Where the sources were.
    seconds : dict
        Duration of each test [s].
    sources : dict
        Text of each source file.
    tests : dict
        Hash of each test file.
    """

    path: Path
    root: str
    seconds: dict[str, float]
    sources: dict[str, str]
    tests: dict[str, str]

    @cached_property
    def _data(self) -> CoverageData:
        data = CoverageData(str(self.path))
        data.read()
        return data

    def tests_of(self, file: str, source: str, line: int) -> set[str]:
        """Return the tests that ran a line: by name, or all of a file if a process ran it."""
        before = self.sources.get(file)
        if before is None:
            return set()
        lines = {same_line(before, source, line)}
        if None in lines or line not in lines_in_functions(source):
            lines = set(lines_in_functions(before))  # of a new line, and of one that importing runs
        contexts = self._data.contexts_by_lineno(str(Path(self.root) / file))
        every = {each.partition('|')[0] for k in lines for each in contexts.get(k, ())} - {''}
        return {each for each in every if each in self.seconds or each in self.tests}


def same_line(before: str, after: str, line: int) -> int | None:
    r"""Return where a line was; None if it is new.

    >>> same_line('a\nb\nc', 'a\nnew\nb\nc', 3), same_line('a', 'a\nb', 2)
    (2, None)
    """
    if before == after:
        return line
    matcher = difflib.SequenceMatcher(None, before.split('\n'), after.split('\n'), autojunk=False)
    for a, b, size in matcher.get_matching_blocks():
        if b < line <= b + size:
            return a + line - b
    return None


def lines_in_functions(source: str) -> set[int]:
    r"""Return the lines of bodies of functions.

    >>> lines_in_functions('a = 1\ndef f(b=2):\n    return b')
    {3}
    """
    functions = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {line for each in functions for line in range(each.body[0].lineno, each.end_lineno + 1)}


class TestsByLine:
    """The tests of each line; a test file is measured again when it changes."""

    __test__ = False

    def __init__(self, build: Path, copy: Path) -> None:
        self._build, self._copy = build, copy
        self._durations = Counter[str]()  # of tests, files and folders
        self._measured: dict[str, list[Measurement]] = {}

    def __call__(self, file: str, line: int) -> list[str]:
        """Return the tests of a line, the quick ones first, as many as are quick together.

        Those of a wider folder if the nearest has none; all of the nearest if no test runs it.
        """
        folders, source = folders_of_tests(self._copy, file), (self._copy / file).read_text()
        for folder in folders:
            found = {
                test
                for each in self._measurements(folder)
                for test in each.tests_of(file, source, line)
            }
            if found:
                return self._quick(found)
        return [folders[0], file]

    def _quick(self, tests: Iterable[str]) -> list[str]:
        """Return tests, the quick ones first, as many as are quick together, and at least one."""
        chosen, sum_of = list[str](), 0.0
        for test in sorted(tests, key=lambda each: (self.duration([each]), each)):
            sum_of += self.duration([test])
            if chosen and sum_of > ENOUGH:
                break
            chosen.append(test)
        return chosen

    def _measurements(self, folder: str) -> list[Measurement]:
        """Return the measurements of a folder of tests, once what changed is measured again."""
        if folder in self._measured:
            return self._measured[folder]
        package = str(PACKAGE / Path(folder).relative_to('test'))
        places = [*(self._copy / folder).rglob('test_*.py'), *(self._copy / package).rglob('*.py')]
        left = {
            str(file.relative_to(self._copy)): digest(self._copy, [str(file)])
            for file in sorted(places)
            if file.name.startswith('test_') or '>>>' in file.read_text()
        }
        found = []
        for path in sorted(self._build.glob(f'{slug(folder)}.*.json'), reverse=True):
            found.append(self._read(path, left))
            left = {name: text for name, text in left.items() if name not in found[-1].tests}
        if left:
            path = self._build / f'{slug(folder)}.{len(found):03d}.json'
            self._measure(path, package, left)
            found.append(self._read(path, left))
        self._measured[folder] = found
        return found

    def _read(self, path: Path, now: Mapping[str, str]) -> Measurement:
        """Return a measurement, of test files that are still the same."""
        kept = json.loads(path.read_text())
        tests = {name: text for name, text in kept['tests'].items() if now.get(name) == text}
        seconds = {
            name: each for name, each in kept['seconds'].items() if name.partition('::')[0] in tests
        }
        for name, each in seconds.items():
            file = Path(name.partition('::')[0])
            self._durations.update({str(part): each for part in (name, file, *file.parents)})
        data = path.with_suffix('.coverage')
        root = kept.get('root', str(self._copy))
        return Measurement(data, root, seconds, kept['sources'], tests)

    def _measure(self, path: Path, package: str, tests: Mapping[str, str]) -> None:
        """Run test files with coverage."""
        print(f'\ncoverage of {len(tests)} files for {package}', flush=True)
        sources = {
            str(file.relative_to(self._copy)): file.read_text()
            for file in (self._copy / package).rglob('*.py')
        }
        log = path.with_suffix('.seconds')
        command = [
            sys.executable, '-m', 'pytest', '-q', '-n', 'auto', '--dist', 'loadfile',
            '-p', 'no:cacheprovider', '-p', 'tools.coverage_of_tests.plugin', '--cov-report=',
            '--cov-context=test', f'--cov={package}',
            '--cov-config=tools/coverage_of_tests/coverage.ini',
            *tests,
        ]  # fmt: skip
        own = {'COVERAGE_FILE': str(path.with_suffix('.coverage')), 'TEST_DURATIONS': str(log)}
        run = subprocess.run(
            command,
            cwd=self._copy,
            env=environment(self._copy) | own,
            capture_output=True,
            text=True,
        )
        if run.returncode:
            raise SystemExit(f'tests fail without a change:\n{run.stdout[-4000:]}')
        kept = {
            'root': str(self._copy),
            'tests': dict(tests),
            'seconds': json.loads(log.read_text()),
            'sources': sources,
        }
        path.write_text(json.dumps(kept))

    def duration(self, tests: Iterable[str]) -> float:
        """Return how long tests, files and folders take [s]."""
        return sum(self._durations[test] for test in tests)


def slug(folder: str) -> str:
    """Return the name of a folder as that of a file."""
    return folder.replace('/', '-')
