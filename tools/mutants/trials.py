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
    waiting, running = list(reversed(changes)), dict[Future[str], tuple[Change, Path, int]]()
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
                running[future] = change, copy, sum(len(group) for group, _ in chosen)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                change, copy, count = running.pop(future)
                results.add(change, future.result(), count)
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
    """A pytest plugin: files in the order of the arguments."""

    def __init__(self, tests: Sequence[str]) -> None:
        files = [each.partition('::')[0] for each in tests]
        self._place = {file: k for k, file in reversed(list(enumerate(files)))}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort the tests by their files."""
        items.sort(key=lambda item: self._place.get(item.nodeid.partition('::')[0], 0))


def tried(copy: Path, change: Change, groups: Sequence[tuple[Sequence[str], float]]) -> str:
    """Return whether one of groups of tests, each with its longest duration [s], finds a change.

    The file is put back.

    Raises
    ------
    RuntimeError
        If tests fail without the change, too; they run once without one.
    """
    place = copy / change.file
    for tests, seconds in groups:
        left = [each for each in tests if (copy, each) not in PASSED]
        if left and not passes(copy, left, seconds, keeps_bytecode=True):
            files = ' '.join(sorted({each.partition('::')[0] for each in left}))
            raise RuntimeError(f'tests of {change.file} fail without a change: {files}')
        PASSED.update((copy, each) for each in left)
        original, times = place.read_text(), place.stat()
        place.write_text(change.code)
        os.utime(place, (0, 0))  # the bytecode is that of another time
        try:
            if not passes(copy, tests, seconds):
                return FOUND
        finally:
            place.write_text(original)
            os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
    return SURVIVED


def passes(copy: Path, tests: Sequence[str], seconds: float, keeps_bytecode: bool = False) -> bool:
    """Return whether tests pass in a copy as it is, in a process of their own."""
    child = os.fork()
    if child == 0:
        run_tests(copy, tests, seconds, keeps_bytecode)
    return ended(child, seconds) == 0


def run_tests(copy: Path, tests: Sequence[str], seconds: float, keeps_bytecode: bool) -> None:
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
        status = int(pytest.main([*OPTIONS, *tests], [InOrder(tests)]))
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
