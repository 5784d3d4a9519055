# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which tests run a line: those of the folder in `test` with the path of the file, by coverage."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from coverage import CoverageData

from tools.mutants.copies import environment

PACKAGE = 'screw_dynamics_ros'


def folder_of_tests(root: Path, file: str) -> str:
    """Return the nearest folder in `test` with the path of a file of the package."""
    folder = Path(file).relative_to(PACKAGE).parent
    while not (root / 'test' / folder).is_dir() or not any((root / 'test' / folder).rglob('*.py')):
        folder = folder.parent
    return str('test' / folder)


class TestsByLine:
    """The tests of each line, measured once for each folder of tests.

    Attributes
    ----------
    seconds : dict
        Duration of each test [s].
    """

    __test__ = False

    def __init__(self, root: Path, build: Path, copy: Path, files: Iterable[str]) -> None:
        self._root, self._data, self.seconds = root, {}, {}
        by_folder: dict[str, set[str]] = {}
        for file in files:
            by_folder.setdefault(folder_of_tests(root, file), set()).add(file)
        for tests, every in sorted(by_folder.items()):
            self._data[tests] = self._measured(build, copy, tests, every)

    def _measured(self, build: Path, copy: Path, tests: str, files: set[str]) -> CoverageData:
        name = tests.replace('/', '.')
        data, log = build / f'{name}.coverage', build / f'{name}.json'
        folders = sorted({str(Path(file).parent) for file in files})
        if not data.exists():
            print(f'coverage of {tests}', flush=True)
            command = [
                sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider',
                '-p', 'tools.mutants.durations', '--cov-context=test', '--cov-report=',
                *(f'--cov={folder}' for folder in folders), tests, *folders,
            ]  # fmt: skip
            run = subprocess.run(
                command,
                cwd=copy,
                env=environment(copy) | {'COVERAGE_FILE': str(data), 'TEST_DURATIONS': str(log)},
                capture_output=True,
                text=True,
            )
            if run.returncode:
                data.unlink(missing_ok=True)
                raise SystemExit(f'{tests} fails without a change:\n{run.stdout[-4000:]}')
        self.seconds.update(json.loads(log.read_text()))
        found = CoverageData(str(data))
        found.read()
        return found

    def __call__(self, file: str, line: int, copy: Path) -> list[str]:
        """Return the tests of a line, the quick ones first.

        All of the folder, file by file, if the line runs while modules are imported, or in other
        processes only.
        """
        tests = folder_of_tests(self._root, file)
        contexts = self._data[tests].contexts_by_lineno(str(copy / file)).get(line, [])
        found = {each.partition('|')[0] for each in contexts} - {''}
        return sorted(found, key=lambda each: self.seconds.get(each, 0.0)) or [tests, file]

    def duration(self, tests: Iterable[str]) -> float:
        """Return how long tests take [s], for a folder all that was measured."""
        every = set(tests)
        if every <= self.seconds.keys():
            return sum(self.seconds[each] for each in every)
        return sum(self.seconds.values())
