# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Main loop of the process of a `Worker`: calls functions and returns their results."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO

import numpy as np

from screw_dynamics_ros.pipes import receive, send

from .worker import NICENESS

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
