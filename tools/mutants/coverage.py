# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which tests run a line: those of the folder in `test` with the path of the file, by coverage."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from coverage import CoverageData

from tools.mutants.copies import environment

PACKAGE = Path('screw_dynamics_ros')


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


class TestsByLine:
    """The tests of each line, measured once for each folder of tests.

    Attributes
    ----------
    seconds : dict
        Duration of each test [s].
    """

    __test__ = False

    def __init__(self, build: Path, copy: Path) -> None:
        self._build, self._copy, self.seconds = build, copy, {}
        self._data: dict[str, CoverageData] = {}

    def __call__(self, file: str, line: int) -> list[str]:
        """Return the tests of a line, the quick ones first.

        Those of a wider folder if the nearest has none; all of the nearest if no test runs the
        line: it runs while modules are imported, in other processes, or never.
        """
        folders = folders_of_tests(self._copy, file)
        for tests in folders:
            lines = self._measured(tests).contexts_by_lineno(str(self._copy / file))
            found = {each.partition('|')[0] for each in lines.get(line, [])} - {''}
            if found:
                return sorted(found, key=lambda each: self.seconds.get(each, 0.0))
        return [folders[0], file]

    def _measured(self, tests: str) -> CoverageData:
        """Return which tests of a folder run which lines of the package's folder of that path."""
        if tests in self._data:
            return self._data[tests]
        package = str(PACKAGE / Path(tests).relative_to('test'))
        name = f'{tests.replace("/", ".")}.{digest(self._copy, (tests, package))}'
        data, log = self._build / f'{name}.coverage', self._build / f'{name}.json'
        if not data.exists():
            print(f'\ncoverage of {tests}', flush=True)
            command = [
                sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider',
                '-p', 'tools.mutants.durations', '--cov-context=test', '--cov-report=',
                f'--cov={package}', tests, package,
            ]  # fmt: skip
            run = subprocess.run(
                command,
                cwd=self._copy,
                env=environment(self._copy)
                | {'COVERAGE_FILE': str(data), 'TEST_DURATIONS': str(log)},
                capture_output=True,
                text=True,
            )
            if run.returncode:
                data.unlink(missing_ok=True)
                raise SystemExit(f'{tests} fails without a change:\n{run.stdout[-4000:]}')
        self.seconds.update(json.loads(log.read_text()))
        self._data[tests] = CoverageData(str(data))
        self._data[tests].read()
        return self._data[tests]

    def duration(self, tests: Iterable[str]) -> float:
        """Return how long tests take [s], for a folder all that was measured."""
        every = set(tests)
        if every <= self.seconds.keys():
            return sum(self.seconds[each] for each in every)
        return sum(self.seconds.values())
