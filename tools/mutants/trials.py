# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tries changes: each in a process that has the libraries loaded, and the package not yet."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import pytest

from tools.mutants.changes import Change
from tools.mutants.copies import bytecode_of, environment
from tools.mutants.coverage import TestsByLine
from tools.mutants.report import FOUND, SURVIVED, Results

LIBRARIES = ('numpy', 'scipy.linalg', 'scipy.optimize', 'scipy.sparse', 'scipy.integrate',
             'scipy.interpolate', 'scipy.spatial', 'scipy.stats', 'llvmlite.binding', 'pytest',
             'hypothesis', 'pygments.lexers', 'yaml', 'tqdm', 'multiprocessing.pool',
             'defusedxml.ElementTree', 'pinocchio', 'mujoco')  # fmt: skip
OPTIONS = ('-x', '-q', '-p', 'no:cacheprovider', '-p', 'no:xdist', '-p', 'no:cov',
           '-W', 'ignore::pytest.PytestAssertRewriteWarning')  # fmt: skip
PATIENCE = 180.0  # s beyond ten times the usual duration, for changes that do not end
PATIENCE_OF_PROCESSOR = 20.0  # s of its time, likewise
FACTOR = 10.0

PASSED: set[tuple[Path, str]] = set()  # tests that passed in a copy without a change


def try_all(
    copies: Sequence[Path], changes: Sequence[Change], tests: TestsByLine, results: Results
) -> None:
    """Try changes, in each copy one at a time; results are kept as they come."""
    context = get_context('spawn')
    waiting, running = list(reversed(changes)), dict[Future[str | None], tuple[Change, Path]]()
    free = list(copies)
    begin, done = time.monotonic(), 0
    with ProcessPoolExecutor(len(copies), context, load_libraries) as pool:
        while waiting or running:
            while waiting and free:
                change, copy = waiting.pop(), free.pop()
                chosen = [
                    (group, FACTOR * tests.duration(group) + PATIENCE)
                    for group in tests(change.file, change.line)
                ]
                future = pool.submit(tried, copy, change, chosen)
                running[future] = change, copy
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                change, copy = running.pop(future)
                outcome = future.result()
                if outcome is not None:
                    results.add(change, outcome)
                free.append(copy)
                done += 1
                left = (time.monotonic() - begin) / done * (len(changes) - done)
                print(f'\r{done} of {len(changes)}, {left / 60:.0f} min left ', end='', flush=True)


def load_libraries() -> None:
    """Import what takes long and is never changed."""
    os.environ.update(OPENBLAS_NUM_THREADS='1')
    for name in LIBRARIES:
        with suppress(ImportError):
            import_module(name)


class InOrder:
    """A pytest plugin: files in the order of the arguments; a failure is logged."""

    def __init__(self, tests: Sequence[str], log: Path) -> None:
        self._log = log
        files = [each.partition('::')[0] for each in tests]
        self._place = {file: k for k, file in reversed(list(enumerate(files)))}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort the tests by their files."""
        items.sort(key=lambda item: self._place.get(item.nodeid.partition('::')[0], 0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Log a test that fails."""
        if report.failed and report.nodeid:
            self._log.write_text(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Log a file that cannot be imported."""
        if report.failed and report.nodeid:
            self._log.write_text(report.nodeid)


def tried(copy: Path, change: Change, groups: Sequence[tuple[Sequence[str], float]]) -> str | None:
    """Return whether one of groups of tests, each with its longest duration [s], finds a change.

    The file is put back. None if the test that fails also does without the change.
    """
    place = copy / change.file
    for tests, seconds in groups:
        original, times = place.read_text(), place.stat()
        place.write_text(change.code)
        os.utime(place, (0, 0))  # the bytecode is that of another time
        try:
            failed = failure(copy, tests, seconds)
        finally:
            place.write_text(original)
            os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
        if failed is None:
            continue
        if (copy, failed) not in PASSED and failure(copy, [failed], seconds, True) is not None:
            print(f'\n{failed} fails without a change', flush=True)
            return None
        PASSED.add((copy, failed))
        return FOUND
    return SURVIVED


def failure(
    copy: Path, tests: Sequence[str], seconds: float, keeps_bytecode: bool = False
) -> str | None:
    """Return the first test that fails in a copy as it is, in a process of its own, if any.

    If none is known to have failed, as when the process ends, it is the first of the tests.
    """
    log = copy.with_name(f'{copy.name}_failed')
    log.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        run_tests(copy, tests, log, seconds, keeps_bytecode)
    if ended(child, seconds) == 0:
        return None
    return log.read_text() if log.exists() else tests[0]


def run_tests(
    copy: Path, tests: Sequence[str], log: Path, seconds: float, keeps_bytecode: bool
) -> None:
    """Run tests in this process, which ends with their status."""
    status = 1
    try:
        os.setsid()
        os.environ.update(environment(copy))
        most = int(seconds - PATIENCE + PATIENCE_OF_PROCESSOR)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        os.chdir(copy)
        with open(os.devnull, 'r+') as nowhere:
            for stream in (0, 1, 2):
                os.dup2(nowhere.fileno(), stream)
        sys.path[:] = [str(copy), *(each for each in sys.path if 'screw' not in each)]
        sys.pycache_prefix = str(bytecode_of(copy))
        sys.dont_write_bytecode = not keeps_bytecode
        status = int(pytest.main([*OPTIONS, *tests], [InOrder(tests, log)]))
    except BaseException:  # a change may raise anything while a module is imported
        status = 1
    os._exit(status)


def ended(child: int, seconds: float) -> int:
    """Return the status of a child; one that does not end is ended, with its own children."""
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            return status
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]
