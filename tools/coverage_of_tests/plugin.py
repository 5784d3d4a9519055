# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A pytest plugin: processes that a test starts are measured, too; durations go to a file.

What such a process runs has the file of the test as its context: the other tests of the file use
it. The file of TEST_DURATIONS gets the duration of each test that has not failed [s].
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

SECONDS: Counter[str] = Counter()
FAILED: set[str] = set()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let what is started from now on measure itself."""
    os.environ['TESTS_OF_PROCESS'] = item.nodeid.partition('::')[0]
    os.environ['COVERAGE_PROCESS_START'] = str(Path(__file__).with_name('coverage.ini'))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add the time of set-up, call and teardown."""
    SECONDS[report.nodeid] += report.duration
    if report.failed:
        FAILED.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write all durations, but for a worker, whose reports the main process gets."""
    passed = {name: each for name, each in SECONDS.items() if name not in FAILED}
    if 'TEST_DURATIONS' in os.environ and not hasattr(session.config, 'workerinput'):
        Path(os.environ['TEST_DURATIONS']).write_text(json.dumps(passed))
