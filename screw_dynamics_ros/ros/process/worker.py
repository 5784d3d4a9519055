# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A process for long computations, so that they do not hold the lock of this interpreter.

A `Worker` calls functions in a separate process, which it starts on first use and again after the
process has died. The child shares only two pipes with this process: neither sockets nor scheduling.
It ends when the pipe is closed, however this process ended.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, ClassVar, TypeVar
from weakref import WeakSet

import numpy as np

from screw_dynamics_ros.core.errors import ErrorCode, ScrewDynamicsError
from screw_dynamics_ros.pipes import ONE_THREAD, cause_of_end, close_pipes, receive, send

from ..status import Status
from .scheduling import use_least_real_time

MAX_MEMORY_BYTES = 2 * 2**30
MAX_CPU_TIME_S = 300


def serve() -> None:
    """Call functions until the input ends; then end at once, even during a computation."""
    with suppress(AttributeError, OSError):
        os.nice(NICENESS)
    np.seterr(all='ignore')  # as in the nodes
    answers = os.fdopen(os.dup(sys.stdout.fileno()), 'wb')
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # libraries may print to it
    tasks: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=read, args=(sys.stdin.buffer, tasks), daemon=True).start()
    limit_memory()
    while True:
        task = tasks.get()
        limit_time()
        answer = result_of(task)
        try:
            send(answers, answer)
        except OSError:  # the parent has ended
            os._exit(0)


def read(stream: IO[bytes], tasks: SimpleQueue[bytes]) -> None:
    """Queue incoming tasks; end the process at the end of the stream."""
    with suppress(OSError, EOFError):
        while True:
            tasks.put(receive(stream))
    os._exit(0)


def limit_memory(added: int = MAX_MEMORY_BYTES) -> None:
    """Limit the process to some bytes above its current size; larger tasks fail alone."""
    with suppress(ImportError, OSError, ValueError):  # not on Windows; no /proc on macOS
        import resource

        pages = int(Path('/proc/self/statm').read_text().split()[0])
        most = pages * resource.getpagesize() + added
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def limit_time() -> None:
    """Limit a task to `MAX_CPU_TIME_S` of processor time; then the system ends the process."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        most = int(time.process_time() + MAX_CPU_TIME_S)
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def result_of(task: bytes) -> bytes:
    """Return the pickled pair (success, result or reason) of a task."""
    try:
        function, arguments = pickle.loads(task)
        result = True, function(*arguments)
        return pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        with suppress(OSError):
            traceback.print_exc()
        return pickle.dumps((False, f'{type(error).__name__}: {error}'))


T = TypeVar('T')

NICENESS = 5  # of the process after its start: outputs for joint states take precedence
DEATH_HOLD_S = 3.0  # shortest time for which a death is reported
EXIT_TIMEOUT_S = 1.0  # for a process that has closed its pipe to end

#: Main program of the process. It imports nothing from the current folder.
PROGRAM = """
import os, sys
if hasattr(os, 'SCHED_OTHER'):
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
sys.path[:] = filter(None, sys.path)
from screw_dynamics_ros.ros.process.worker import serve
serve()
"""


class WorkerError(ScrewDynamicsError, RuntimeError):
    """The other process could not be started, or has died."""

    code = ErrorCode.PROCESS_DIED


class FunctionError(WorkerError):
    """A function raised an exception in the other process."""

    code = ErrorCode.INTERNAL


class Worker:
    """Calls functions in another process, in order.

    Parameters
    ----------
    purpose : str
        Purpose of the process, for messages: 'answers requests'.

    Attributes
    ----------
    ended : bool
        Whether `end` was called.
    """

    _all: ClassVar[WeakSet[Worker]] = WeakSet()

    def __init__(self, purpose: str) -> None:
        self._purpose = purpose
        self._calling, self._changing = threading.Lock(), threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.ended = False
        self._since: float | None = None  # start time of the current call
        self._deaths, self._death, self._last_death = 0, '', -math.inf
        self._is_replaced = False  # whether another process has answered since
        self._all.add(self)

    @property
    def pid(self) -> int | None:
        """Process ID, None without a process."""
        process = self.process
        return None if process is None else process.pid

    @property
    def waiting(self) -> float:
        """Duration of the current call [s], 0 without one."""
        since = self._since
        return 0.0 if since is None else time.monotonic() - since

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return ``function(*arguments)``, computed in the other process; wait for it.

        Parameters
        ----------
        function : callable
            Defined at the top level of a module; arguments and result can be pickled.

        Raises
        ------
        WorkerError
            If the process dies during the call or cannot be started.
        FunctionError
            If the function raises an exception.
        """
        task = pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)
        with self._calling:
            self._since = time.monotonic()
            try:
                is_done, result = pickle.loads(self._exchange(task))
            finally:
                self._since = None
        if not is_done:
            raise FunctionError(result)
        self._is_replaced = True
        return result

    def _exchange(self, task: bytes) -> bytes:
        """Send a task to the process and return the response."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, task)
            return receive(process.stdout)
        except (OSError, EOFError, ValueError):
            raise WorkerError(self._bury(process)) from None

    def _running(self) -> subprocess.Popen[bytes]:
        """Return the process, a new one if there is none."""
        with self._changing:
            if self.ended:
                raise WorkerError(f'the process that {self._purpose} is ended')
            if self.process is not None and self.process.poll() is not None:
                self._note_death(self.process)  # it died while idle
            if self.process is None:
                self.process = started(self._purpose)
            return self.process

    def _bury(self, process: subprocess.Popen[bytes]) -> str:
        """Release a process that has closed its pipe; return how it ended."""
        with self._changing:
            with suppress(subprocess.TimeoutExpired):
                process.wait(EXIT_TIMEOUT_S)
            if self.ended:
                return f'the process that {self._purpose} is ended'
            process.kill()
            process.wait()
            return self._note_death(process)

    def _note_death(self, process: subprocess.Popen[bytes]) -> str:
        self._deaths, self._is_replaced = self._deaths + 1, False
        self._last_death = time.monotonic()
        self._death = f'the process that {self._purpose} {cause_of_end(process.returncode)}'
        self.process = None
        close_pipes(process)
        return self._death

    def report(self, status: Status, remedy: str) -> None:
        """Report a process that has died, until a new one has answered."""
        if self._deaths:
            status.values['processes that died'] = str(self._deaths)
        if self._deaths and not (
            self._is_replaced and time.monotonic() - self._last_death > DEATH_HOLD_S
        ):
            status.warn(f'{self._death}; {remedy}')

    def end(self) -> None:
        """End the process at once and permanently; may be called twice."""
        with self._changing:
            self.ended = True
            process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()
            close_pipes(process)

    @classmethod
    def end_all(cls) -> None:
        """End the processes of all workers."""
        for worker in list(cls._all):
            worker.end()


def started(purpose: str) -> subprocess.Popen[bytes]:
    """Return a new process; raises `WorkerError`.

    The process inherits two properties from the thread that starts it. It ignores Ctrl-C of a
    terminal, which is for its parent. It starts with the priority of that thread, which it then
    gives up: the thread holds the interpreter lock until the process has started, which would take
    long on a busy machine with ordinary priority.
    """
    made: list[subprocess.Popen[bytes] | Exception] = []

    def start() -> None:
        use_least_real_time()
        with suppress(AttributeError):
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        path = os.pathsep.join(filter(None, sys.path))
        try:
            made.append(
                subprocess.Popen(
                    [sys.executable, '-c', PROGRAM, purpose],  # `purpose` is shown by ps
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**ONE_THREAD, **os.environ, 'PYTHONPATH': path},
                )
            )
        except (OSError, ValueError) as error:
            made.append(error)

    thread = threading.Thread(target=start, name='start of a process')
    thread.start()
    thread.join()
    (process,) = made
    if isinstance(process, Exception):
        raise WorkerError(f'another process could not be started: {process}')
    return process
