# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes that start quickly: forked from a process that has imported them.

    python test/endurance/nursery.py

reads commands, ``[node, argument, ...]`` as JSON, one a line, and answers each one with the
process id; it says ``[pid, status]`` when one of them has ended.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

from screw_dynamics_ros.ros.process.children import end_with_parent


def serve() -> str:
    """Fork a child for each command; return, in the child, the node to run."""
    waiting = b''
    while True:
        ready, _, _ = select.select([0], [], [], 0.01)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            tell([pid, os.waitstatus_to_exitcode(status)])
        if not ready:
            continue
        data = os.read(0, 65536)
        if not data:
            sys.exit()
        waiting += data
        *lines, waiting = waiting.split(b'\n')
        for line in lines:
            name, *arguments = json.loads(line)
            pid = os.fork()
            if not pid:
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(2, 1)
                end_with_parent()
                sys.argv = [name, *arguments]
                return name
            tell([pid])


def tell(what: list[int]) -> None:
    """Write a line at once."""
    os.write(1, (json.dumps(what) + '\n').encode())


class Nursery:
    """The process above, seen from outside."""

    def __init__(self, log: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            preexec_fn=end_with_parent,
        )
        self._waiting = b''
        self._started: list[int] = []
        self.ended: dict[int, int] = {}

    def start(self, name: str, arguments: list[str]) -> Child:
        """Run a node."""
        assert self._process.stdin is not None
        self._process.stdin.write((json.dumps([name, *arguments]) + '\n').encode())
        self._process.stdin.flush()
        while not self._started:
            self.read(1.0)
        return Child(self, self._started.pop())

    def read(self, timeout: float = 0.0) -> None:
        """Take in what has been said."""
        assert self._process.stdout is not None
        file = self._process.stdout.fileno()
        if not select.select([file], [], [], timeout)[0]:
            return
        data = os.read(file, 65536)
        if not data:
            raise RuntimeError('the process that starts nodes has ended')
        *lines, self._waiting = (self._waiting + data).split(b'\n')
        for line in lines:
            pid, *status = json.loads(line)
            if status:
                self.ended[pid] = status[0]
            else:
                self._started.append(pid)


class Child:
    """A node; as much of subprocess.Popen as is needed."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self._nursery, self.pid = nursery, pid

    def poll(self) -> int | None:
        """Return the exit status, None while it runs."""
        self._nursery.read()
        return self._nursery.ended.get(self.pid)

    def wait(self, seconds: float = 60.0) -> int:
        """Return the exit status when it has ended."""
        end = time.monotonic() + seconds
        while (status := self.poll()) is None:
            if time.monotonic() > end:
                raise TimeoutError(f'process {self.pid} does not end')
            time.sleep(0.002)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it where it is."""
        self.send_signal(signal.SIGKILL)


if __name__ == '__main__':
    from screw_dynamics_ros.nodes import bringup, executables  # noqa: F401  bringup imports all

    with suppress(OSError):  # where that is permitted, starting does not wait for others, either
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    executables.run(serve())
