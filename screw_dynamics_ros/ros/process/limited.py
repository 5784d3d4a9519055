# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions that run code of a user, in a forked process with limits of time, memory and size.

Such code may hang, exhaust the memory, end its process, or block signals; it must not reach the
process that asks. What it returns is JSON, which this process can check. A faulty function is not
an attacker: the child runs with the rights of the user.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.pipes import cause_of_end, framed

from .worker import limit_memory

MAX_ADDED_BYTES = 2**30  # memory of the child above that of this process
MAX_ANSWER_BYTES = 2**26
NOTE_BYTES = 4096
MAX_SWEEPS = 100  # of processes that the child has left

#: What code of a user may not do in the child, as events of `sys.addaudithook`.
REFUSED_EVENTS = frozenset(
    {
        'os.exec',
        'os.fork',
        'os.forkpty',
        'os.kill',
        'os.killpg',
        'os.posix_spawn',
        'os.spawn',
        'os.system',
        'pty.spawn',
        'resource.prlimit',
        'resource.setrlimit',
        'signal.pthread_kill',
        'subprocess.Popen',
    }
)

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # of prctl

_exit, _write = os._exit, os.write  # a user may replace those of the module


class LimitedError(ScrewDynamicsError):
    """A function has not returned within its limits.

    Attributes
    ----------
    place : (str, int)
        File and number of the line that ran last; ('', 0) if it is unknown.
    """

    def __init__(self, reason: str, place: tuple[str, int] = ('', 0)) -> None:
        super().__init__(reason)
        self.place = place


def run_limited(task: Callable[[], Any], timeout: float, is_noted: Callable[[str], bool]) -> Any:
    """Return what a function returns in a child of this process, as data of JSON.

    Parameters
    ----------
    task : callable
        Returns what JSON can have.
    timeout : float
        [s].
    is_noted : callable
        ``is_noted(file)`` returns whether lines of a source file are noted while they run.

    Raises
    ------
    LimitedError
        It has taken too long, its process has ended, or what it returns is too long.
    """
    if not hasattr(os, 'fork'):
        raise LimitedError('code of a user needs a system that can fork a process', ('', 0))
    _call_prctl(PR_SET_CHILD_SUBREAPER, 1)  # what the child leaves becomes a child of this process
    note = mmap.mmap(-1, NOTE_BYTES)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _run(task, writer, note, is_noted)
    os.close(writer)
    try:
        data = _received(reader, time.monotonic() + timeout)
    finally:
        os.close(reader)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        _end_children()
    line, _, file = note[:].rstrip(b'\0').decode(errors='replace').partition(' ')
    note.close()
    place = file, int(line or 0)
    if data is None:
        raise LimitedError(f'it takes longer than {timeout:g} s', place)
    if not data:
        raise LimitedError(f'its process {cause_of_end(status)}', place)
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise LimitedError('its process has returned something else', place) from None


def _received(reader: int, deadline: float) -> bytes | None:
    """Return the framed bytes of a pipe; b'' if it ends before; None after the deadline."""
    data, size = b'', 8
    while len(data) < size:
        left = deadline - time.monotonic()
        if left <= 0.0 or not select.select([reader], [], [], left)[0]:
            return None
        part = os.read(reader, 2**20)
        data += part
        if len(data) >= 8:
            size = 8 + int.from_bytes(data[:8], 'little')
        if not part or size > MAX_ANSWER_BYTES:
            return b''
    return data[8:size]


def _end_children() -> None:
    """End the other children of this process: what the child has started."""
    for _ in range(MAX_SWEEPS):
        try:
            threads = list(Path('/proc/self/task').iterdir())
            found = [int(each) for path in threads for each in _children_of(path)]
        except OSError:  # not Linux
            return
        if not found:
            return
        for process in found:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)


def _children_of(thread: Path) -> list[str]:
    with suppress(FileNotFoundError):
        return (thread / 'children').read_text().split()
    return []


# --- in the child ---------------------------------------------------------------------------------


def _run(
    task: Callable[[], Any], writer: int, note: mmap.mmap, is_noted: Callable[[str], bool]
) -> NoReturn:
    """Run a function, write what it returns, and end."""
    try:
        _isolate(writer)
        sys.addaudithook(_refuse)
        sys.settrace(_tracer(note, is_noted))
        result = task()
        sys.settrace(None)
        data = memoryview(framed(json.dumps(result).encode()))
        while data:
            data = data[_write(writer, data) :]
    finally:
        _exit(1)


def _isolate(writer: int) -> None:
    """Give up what the child has of this process, except the pipe `writer`."""
    _call_prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.closerange(3, writer)
    os.closerange(writer + 1, os.sysconf('SC_OPEN_MAX'))
    limit_memory(MAX_ADDED_BYTES)
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise `PermissionError` for `REFUSED_EVENTS`."""
    if event in REFUSED_EVENTS:
        raise PermissionError(f'{event} is not possible here')


def _tracer(note: mmap.mmap, is_noted: Callable[[str], bool]) -> Callable[..., Any]:
    """Return a function for `sys.settrace` that notes the lines of some files."""

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        if not is_noted(file):
            return None
        text = f'{frame.f_lineno} {file}'.encode()[:NOTE_BYTES]
        note[:] = text.ljust(NOTE_BYTES, b'\0')
        return trace

    return trace


def _call_prctl(option: int, value: int) -> None:
    """Set an attribute of this process, on Linux."""
    if sys.platform == 'linux':
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
