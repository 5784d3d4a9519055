"""Main function of the process of a `Worker`: calls functions and returns their results."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import traceback
from contextlib import suppress
from queue import SimpleQueue
from typing import IO

import numpy as np

from screw_dynamics_ros.core.compile.llvm.compiler_process import receive, send
from screw_dynamics_ros.ros.process.worker import NICENESS


def serve() -> None:
    """Call functions until the input ends; then end at once, whatever is being computed."""
    with suppress(AttributeError, OSError):
        os.nice(NICENESS)
    np.seterr(all='ignore')  # as in the nodes
    answers = os.fdopen(os.dup(sys.stdout.fileno()), 'wb')
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what others print is no answer
    tasks: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=read, args=(sys.stdin.buffer, tasks), daemon=True).start()
    while True:
        answer = result_of(tasks.get())
        try:
            send(answers, answer)
        except OSError:  # nobody is there any more
            os._exit(0)


def read(stream: IO[bytes], tasks: SimpleQueue[bytes]) -> None:
    """Queue what comes; end the process when nothing more can come."""
    with suppress(OSError, EOFError):
        while True:
            tasks.put(receive(stream))
    os._exit(0)


def result_of(task: bytes) -> bytes:
    """Return whether a function could be called, and what it returned or why not."""
    try:
        function, arguments = pickle.loads(task)
        result = True, function(*arguments)
        return pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        with suppress(OSError):
            traceback.print_exc()
        return pickle.dumps((False, f'{type(error).__name__}: {error}'))
