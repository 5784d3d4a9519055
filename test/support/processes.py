# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Watching processes that a test has started."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

T = TypeVar('T')


def wait_for(condition: Callable[[], T], seconds: float = 240.0) -> T:
    """Wait until something holds; return it."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, 'timed out'
        time.sleep(0.002)
    return value


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that still run."""
    found = []
    for task in Path(f'/proc/{pid}/task').glob('*/children'):
        with suppress(FileNotFoundError, ProcessLookupError):
            found += [int(child) for child in task.read_text().split()]
    return [child for child in found if is_running(child)]


def workers(pid: int, purpose: str) -> list[int]:
    """Return the processes in which a node does something, as `process.worker.Worker` calls it."""
    return [child for child in children(pid) if command(child).endswith(purpose)]


def command(pid: int) -> str:
    """Return the command line of a process."""
    try:
        return Path(f'/proc/{pid}/cmdline').read_text().replace('\0', ' ').strip()
    except FileNotFoundError:
        return ''


def processor_time(pid: int) -> float:
    """Return what a process has used [s]."""
    user, system = Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf('SC_CLK_TCK')


def resident(pid: int) -> int:
    """Return the memory of a process [bytes]."""
    return int(Path(f'/proc/{pid}/statm').read_text().split()[1]) * os.sysconf('SC_PAGE_SIZE')
