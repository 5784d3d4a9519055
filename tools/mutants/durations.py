# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A pytest plugin that writes the duration of each test [s] to the file of TEST_DURATIONS."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

SECONDS: Counter[str] = Counter()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add the time of set-up, call and teardown."""
    SECONDS[report.nodeid] += report.duration


def pytest_sessionfinish() -> None:
    """Write all durations."""
    Path(os.environ['TEST_DURATIONS']).write_text(json.dumps(SECONDS))
