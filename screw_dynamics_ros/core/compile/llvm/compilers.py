# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parallel compilation of long programs in several processes, while their IR is generated."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from queue import Empty, SimpleQueue

from screw_dynamics_ros.pipes import close_pipes, receive, send

from ..sources import PACKAGE
from . import compiler_process, native


class Compilers:
    """Processes that compile modules in parallel; the current one if none can be started.

    They end after some idle time, and are started again when needed.
    """

    def __init__(self, count: int) -> None:
        self._idle: SimpleQueue[subprocess.Popen[bytes] | None] = SimpleQueue()
        for _ in range(count):
            self._idle.put(None)

    def start(self) -> None:
        """Start the processes that are not running."""
        for _ in range(self._idle.qsize()):
            with suppress(Empty):
                self._idle.put(running(self._idle.get_nowait()))

    def compile(self, module: str) -> bytes:
        """Return the object file of a module."""
        process = running(self._idle.get())
        try:
            if process is not None and process.stdin and process.stdout:
                send(process.stdin, native.with_target(module).encode())
                return receive(process.stdout)
        except (OSError, EOFError):
            end(process)
            process = None
        finally:
            self._idle.put(process)
        return native.emitted(module)

    def stop(self) -> None:
        """End the processes."""
        for _ in range(self._idle.qsize()):
            process = self._idle.get()
            self._idle.put(None)
            if process is not None:
                with suppress(OSError):
                    process.communicate()


@cache
def shared() -> Compilers:
    """Return the shared compilers, one for each processor."""
    result = Compilers(native.worker_count())
    atexit.register(result.stop)
    return result


if hasattr(os, 'register_at_fork'):  # a forked process must not share the pipes
    os.register_at_fork(after_in_child=shared.cache_clear)


def end(process: subprocess.Popen[bytes] | None) -> None:
    """End a process, and close the pipes to it."""
    if process is None:
        return
    process.kill()
    process.wait()
    close_pipes(process)


def running(process: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes] | None:
    """Return a running process, otherwise a new one; None if none can be started."""
    if process is not None and process.poll() is None:
        return process
    end(process)
    settings = json.dumps(native.target_settings())
    try:
        process = subprocess.Popen(
            [sys.executable, '-S', compiler_process.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join([*sys.path, str(PACKAGE.parent)])},
        )
        if process.stdin:
            process.stdin.write(f'{settings}\n'.encode())  # sent with the first module
    except (OSError, ValueError, TypeError):  # `sys.executable` is missing or None
        return None
    return process


def compile_code(modules: Iterable[str], long: bool = False) -> bytes:
    """Return the machine code of the IR modules of one program, for `Library`.

    Modules of a long program are compiled in other processes while further ones are generated.
    """
    if not long:
        return native.joined(map(native.emitted, modules))
    compilers = shared()
    compilers.start()
    with ThreadPoolExecutor(native.worker_count()) as threads:
        return native.joined(threads.map(compilers.compile, modules))
