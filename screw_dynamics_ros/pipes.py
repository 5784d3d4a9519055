# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Processes that this one starts: environment, messages through pipes, and how they end.

Beside `core`, as the process that compiles imports nothing else of the package.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:  # starting takes as little as possible
    import subprocess

#: Environment of commands and of started processes. Threads hardly accelerate linear algebra of
#: small matrices; on busy processors they wait for each other.
ONE_THREAD = {'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1', 'MKL_NUM_THREADS': '1'}


def framed(data: bytes) -> bytes:
    """Return the length of some bytes, and the bytes."""
    return len(data).to_bytes(8, 'little') + data


def send(stream: IO[bytes], data: bytes) -> None:
    """Write `framed` bytes."""
    stream.write(framed(data))
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Read the next `framed` bytes; raises EOFError if nothing, or not all of it, comes."""
    head = stream.read(8)
    data = stream.read(int.from_bytes(head, 'little'))
    if len(head) < 8 or len(data) < int.from_bytes(head, 'little'):
        raise EOFError
    return data


def close_pipes(process: subprocess.Popen[bytes]) -> None:
    """Close this end of the pipes to a process, whatever is left in them."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def cause_of_end(status: int) -> str:
    """Return how a process ended, as text.

    >>> cause_of_end(-9)
    'was ended by signal 9 (SIGKILL)'
    >>> cause_of_end(1)
    'ended with exit status 1'
    """
    if status >= 0:
        return f'ended with exit status {status}'
    try:
        return f'was ended by signal {-status} ({signal.Signals(-status).name})'
    except ValueError:  # a real-time signal
        return f'was ended by signal {-status}'
