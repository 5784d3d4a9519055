# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which tests try a change: those that run its line, the ones beside the file first."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tools.coverage_of_tests.measurement import lines_in_functions, measurements, test_files

PACKAGE = Path('screw_dynamics_ros')
#: Tests of what importing makes: data classes, and tables of parameters.
OF_MODULES = [
    'test/package/test_data_classes.py',
    'test/doc/test_generated_pages.py::test_page_is_up_to_date[doc/reference/parameters.md]',
]
MOST_FILES = 8  # of tests in a group: each is imported


def folder_of_tests(root: Path, file: str) -> str:
    """Return the nearest folder in `test` with the path of a file of the package.

    >>> folder_of_tests(Path(), 'screw_dynamics_ros/core/robot/robot.py')
    'test/core/robot'
    """
    parents = Path(file).relative_to(PACKAGE).parents
    return next(str('test' / each) for each in parents if any((root / 'test' / each).glob('*.py')))


class TestsByLine:
    """The tests of each line; a test file is measured again when it changes."""

    __test__ = False

    def __init__(self, root: Path, seconds: float) -> None:
        self._root, self._seconds = root, seconds
        self._measurements = measurements(root)
        self._hashes = test_files(root)
        self._durations = Counter[str]()  # of tests and files
        for each in self._measurements:
            for name, duration in each.seconds.items():
                self._durations.update({name: duration, name.partition('::')[0]: duration})

    @cache  # noqa: B019 - it lives as long as the command
    def __call__(self, file: str, line: int) -> list[list[str]]:
        """Return the tests of a line in groups: those beside its file, others, those of modules.

        Quick ones come first, as many as take so many seconds together, of a few files.
        """
        source, folder = (self._root / file).read_text(), folder_of_tests(self._root, file)
        found = {x for each in self._measurements for x in each.tests_of(file, source, line)}
        near = {each for each in found if each.startswith((f'{folder}/', f'{file}::'))}
        of_modules = [] if line in lines_in_functions(source) else [OF_MODULES]
        return [self._quick(each) for each in (near, found - near) if each] + of_modules

    def _quick(self, tests: Iterable[str]) -> list[str]:
        """Return tests, the quick ones first, as many as are quick together, and at least one."""
        chosen, files, sum_of = list[str](), set[str](), 0.0
        for test in sorted(tests, key=lambda each: (self._durations[each], each)):
            sum_of += self._durations[test]
            if chosen and sum_of > self._seconds:
                break
            file = test.partition('::')[0]
            if file in files or len(files) < MOST_FILES:
                chosen.append(test)
                files.add(file)
        return chosen

    def digest(self, file: str, line: int) -> str:
        """Return a hash of the tests of a line, and of their files."""
        tests = [each for group in self(file, line) for each in group]
        texts = [f'{each} {self._hashes.get(each.partition("::")[0])}' for each in tests]
        return hashlib.sha256('\n'.join(texts).encode()).hexdigest()[:16]

    def duration(self, tests: Iterable[str]) -> float:
        """Return how long tests and files take [s]."""
        return sum(self._durations[test] for test in tests)
