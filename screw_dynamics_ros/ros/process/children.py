# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Child processes that exit with this process, and ROS domains for them."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

LAST_LINES = 15
#: Signals, and the timeout after each [s].
SHUTDOWN_TIMEOUTS_S = (signal.SIGINT, 3.0), (signal.SIGTERM, 2.0), (signal.SIGKILL, 60.0)
PR_SET_PDEATHSIG = 1  # linux/prctl.h
LIBC = ctypes.CDLL(None)  # loaded here, because few operations are safe between fork and exec


class Children:
    """Child processes; leaving the `with` block stops all of them."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix='screw_dynamics_')
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Children:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._folder.cleanup()

    def start(self, name: str, module: str, arguments: Sequence[str]) -> None:
        """Run `python -m module arguments` with the interpreter and environment of this process."""
        with self._log(name).open('wb') as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, '-m', module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, 'PYTHONUNBUFFERED': '1'},
                start_new_session=True,  # Ctrl-C reaches the parent only, which stops its children
                preexec_fn=end_with_parent,
            )

    def pids(self) -> dict[str, int]:
        """Return the process ids by name."""
        return {name: process.pid for name, process in self._processes.items()}

    def check(self) -> None:
        """Raise ChildProcessError with the last output of a process, if it has exited."""
        for name, process in self._processes.items():
            status = process.poll()
            if status is not None:
                how = (
                    f'exited with status {status}'
                    if status >= 0
                    else f'was terminated by signal {-status}'
                )
                raise ChildProcessError(
                    f'the process {name} {how}; its last output:\n'
                    + '\n'.join(f'    {line}' for line in self.output(name))
                )

    def output(self, name: str) -> list[str]:
        """Return the last lines of output of a process."""
        lines = self._log(name).read_text(errors='replace').splitlines()
        return lines[-LAST_LINES:] or ['(none)']

    def end(self) -> None:
        """Stop all processes with SIGINT, then SIGTERM, then SIGKILL."""
        for number, patience in SHUTDOWN_TIMEOUTS_S:
            running = [process for process in self._processes.values() if process.poll() is None]
            for process in running:
                process.send_signal(number)
            deadline = time.monotonic() + patience
            for process in running:
                try:
                    process.wait(max(0.0, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    continue

    def _log(self, name: str) -> Path:
        return Path(self._folder.name, f'{name}.log')


def end_with_parent() -> None:
    """Request SIGTERM from the kernel when the parent process dies, even if it is killed."""
    if sys.platform == 'linux':
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def free_domain(first: int = 40, last: int = 100) -> int:
    """Return a ROS_DOMAIN_ID that appears to be unused on this machine.

    A DDS participant of domain d listens on UDP port 7410 + 250 d, or a higher one if it is in use.
    """
    count = last - first + 1
    for i in range(count):
        domain = first + (os.getpid() + i) % count
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
            try:
                trial.bind(('', 7410 + 250 * domain))
                return domain
            except OSError:
                continue
    return first
