# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Processes of a soak: what they use, how they end, and what they leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
MARK = 'SCREW_DYNAMICS_SOAK'  # in the environment of a process and all it starts

#: What no log may contain.
SIGNS = (
    'Traceback',
    'Fatal Python error',
    'Segmentation fault',
    'core dumped',
    'InvalidHandle',
    'terminate called',
    'abandoned after an error',
    'Aborted',
)


class Watched:
    """A process with a log, and all processes it starts.

    Parameters
    ----------
    command : sequence of str
        Arguments of the Python interpreter.
    log : Path
    package : Path
        Folder the package is imported from.
    """

    def __init__(self, command: Sequence[str], log: Path, package: Path) -> None:
        from screw_dynamics_ros.ros.process.children import end_with_parent

        self.log, self._mark = log, uuid.uuid4().hex
        self._read = 0
        environment = {
            **os.environ,
            MARK: self._mark,
            'PYTHONFAULTHANDLER': '1',
            'PYTHONPATH': os.pathsep.join(
                [str(package), *filter(None, [os.environ.get('PYTHONPATH')])]
            ),
        }
        with log.open('wb') as file:
            self.process = subprocess.Popen(
                [sys.executable, *command],
                stdout=file,
                stderr=file,
                cwd=package,  # goes before everything with -m
                env=environment,
                preexec_fn=end_with_parent,
            )

    @property
    def text(self) -> str:
        """What it has written."""
        return self.log.read_text(errors='replace')

    def news(self) -> list[str]:
        """Return the lines of new output that no log may contain, each with what follows it."""
        lines, found = self.text[self._read :].splitlines(keepends=True), []
        for i, line in enumerate(lines):
            if any(sign in line for sign in SIGNS):
                found.append(''.join(lines[i : i + 25]))
        self._read += sum(map(len, lines))
        return found

    def heeds_signals(self) -> bool:
        """Whether SIGTERM is answered: until then Python itself is starting."""
        for line in proc(self.process.pid, 'status').splitlines():
            if line.startswith('SigCgt'):
                return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
        return False

    def end(self, number: int = signal.SIGINT, patience: float = 30.0) -> int | None:
        """Ask it to end; return the exit status, None if it had to be killed."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.abort()
            return None

    def abort(self) -> None:
        """End it by force; its log says where its threads were."""
        for number in (signal.SIGABRT, signal.SIGKILL):
            self.process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(5.0)
                return

    def family(self) -> dict[int, str]:
        """Return the command lines of all processes it has started, by number."""
        mark, found = f'{MARK}={self._mark}'.encode(), {}
        for entry in Path('/proc').iterdir():
            if not entry.name.isdigit() or int(entry.name) == self.process.pid:
                continue
            with suppress(OSError):
                if mark in (entry / 'environ').read_bytes():
                    found[int(entry.name)] = proc(int(entry.name), 'cmdline').replace('\0', ' ')
        return found

    def orphans(self, patience: float = 10.0) -> dict[int, str]:
        """Return what of its processes is left some time after its end."""
        end = time.monotonic() + patience
        while (left := self.family()) and time.monotonic() < end:
            time.sleep(0.05)
        return left

    def used(self) -> float:
        """Return the time it has had of processors [s]."""
        fields = proc(self.process.pid, 'stat').rpartition(')')[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf('SC_CLK_TCK') if fields else 0.0

    def usage(self) -> dict[str, float]:
        """Return memory [MB], threads and file descriptors, and the memory of its workers [MB]."""
        pid = self.process.pid
        workers = [child for child, command in self.family().items() if 'worker_process' in command]
        return {
            'memory': resident(pid),
            'threads': float(len(list_of(pid, 'task'))),
            'descriptors': float(len(list_of(pid, 'fd'))),
            'workers': float(len(workers)),
            'memory of workers': sum(map(resident, workers)),
        }


def proc(pid: int, name: str) -> str:
    """Return a file of /proc, empty if the process is gone."""
    try:
        return Path(f'/proc/{pid}/{name}').read_bytes().decode(errors='replace')
    except OSError:
        return ''


def list_of(pid: int, name: str) -> list[str]:
    """Return the names in a folder of /proc, none if the process is gone."""
    try:
        return os.listdir(f'/proc/{pid}/{name}')
    except OSError:
        return []


def resident(pid: int) -> float:
    """Return the memory of a process [MB]."""
    pages = proc(pid, 'statm').split()
    return int(pages[1]) * os.sysconf('SC_PAGE_SIZE') / 1e6 if pages else 0.0


class Series:
    """What a process uses over time."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._values: list[dict[str, float]] = []

    def add(self, values: dict[str, float]) -> None:
        """Note values of now."""
        self._times.append(time.monotonic())
        self._values.append(values)

    def summary(self, warm_up: float) -> dict[str, Any]:
        """Return first, last, largest value and slope per minute of each, after the warm-up [s]."""
        if not self._times:
            return {}
        times = np.array(self._times) - self._times[0]
        late = times >= min(warm_up, 0.5 * times[-1])
        result = {}
        for name in self._values[0]:
            values = np.array([each[name] for each in self._values])[late]
            minutes = times[late] / 60.0
            slope = np.polyfit(minutes, values, 1)[0] if len(minutes) > 2 else 0.0
            result[name] = {
                'first': values[0],
                'last': values[-1],
                'most': values.max(),
                'slope': float(slope),
                'all': [round(float(value), 2) for value in values],
            }
        return result
