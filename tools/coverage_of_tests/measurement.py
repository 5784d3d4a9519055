# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which tests run which lines: pytest with coverage, kept in build/coverage."""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from coverage import CoverageData

PACKAGE = 'screw_dynamics_ros'
BUILD = 'build/coverage'
SETTINGS = 'tools/coverage_of_tests/coverage.ini'


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


def test_files(root: Path) -> dict[str, str]:
    """Return a hash of each file with tests or doctests, relative to the root."""
    files = [
        *(root / 'test').rglob('test_*.py'),
        *(each for each in (root / PACKAGE / 'core').rglob('*.py') if '>>>' in each.read_text()),
    ]
    return {str(each.relative_to(root)): digest(root, [str(each)]) for each in sorted(files)}


def measurements(root: Path) -> list[Measurement]:
    """Return what is known of the tests as they are; what has changed is measured first."""
    left, found = test_files(root), list[Measurement]()
    (root / BUILD).mkdir(parents=True, exist_ok=True)
    for path in sorted((root / BUILD).glob('*.tests.json'), reverse=True):
        found.append(read(path, left))
        left = {name: text for name, text in left.items() if name not in found[-1].tests}
    if left:
        path, _ = measure(root, left)
        found.append(read(path, left))
    return found


def read(path: Path, now: Mapping[str, str]) -> Measurement:
    """Return a measurement, of test files that are still the same."""
    kept = json.loads(path.read_text())
    tests = {name: text for name, text in kept['tests'].items() if now.get(name) == text}
    seconds = {
        name: each for name, each in kept['seconds'].items() if name.partition('::')[0] in tests
    }
    data = path.with_name(path.name.replace('.tests.json', '.data'))
    return Measurement(data, kept['root'], seconds, kept['sources'], tests)


def measure(root: Path, tests: Mapping[str, str]) -> tuple[Path, int]:
    """Run test files with coverage; return the file of the measurement, and pytest's status.

    Tests that fail are left out. SystemExit if the run is not whole: nothing is kept of it.
    """
    print(f'coverage of {len(tests)} test files', flush=True)
    number = len(list((root / BUILD).glob('*.tests.json')))
    path = root / BUILD / f'{number:03d}.tests.json'
    log = root / BUILD / 'seconds.json'
    sources = {
        str(file.relative_to(root)): file.read_text() for file in (root / PACKAGE).rglob('*.py')
    }
    command = [
        sys.executable, '-m', 'pytest', '-q', '-n', 'auto', '--maxprocesses', '4',
        '--dist', 'loadfile', '--no-loadscope-reorder', '-p', 'tools.coverage_of_tests.plugin',
        f'--cov={PACKAGE}', '--cov-context=test', '--cov-report=', f'--cov-config={SETTINGS}',
        *tests,
    ]  # fmt: skip
    own = {
        'COVERAGE_FILE': str(root / BUILD / f'{number:03d}.data'),
        'TEST_DURATIONS': str(log),
        'PYTHONPATH': str(root),
    }
    log.unlink(missing_ok=True)
    status = subprocess.run(command, cwd=root, env=os.environ | own, check=False).returncode
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or not log.exists():
        raise SystemExit(f'the tests were interrupted (status {status}): nothing is measured')
    kept = {
        'root': str(root),
        'tests': dict(tests),
        'seconds': json.loads(log.read_text()),
        'sources': sources,
    }
    path.write_text(json.dumps(kept))
    return path, status
