# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The lock of everything that depends on joint states.

Joint states may be processed by compiled code in a separate thread, without the lock of the
interpreter. Callbacks that change parameters, payloads or models, or read a state, hold this lock:
they run between two joint states. The lock is fair, and a thread that waits lends its priority to
the one that holds it.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from screw_dynamics_ros.core.compile.typed.external import address_of
from screw_dynamics_ros.core.compile.typed.records import Opaque

Function = TypeVar('Function', bound=Callable[..., Any])

SIZE = 256  # bytes for a pthread_mutex_t and its attributes, more than any platform needs
RECURSIVE, INHERIT = 1, 1  # PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT of Linux
FREE = 0  # result of pthread_mutex_trylock


class _NativeMutex:
    """A recursive mutex of the C library with priority inheritance; raises OSError without it."""

    def __init__(self) -> None:
        if not sys.platform.startswith('linux'):
            raise OSError('not Linux')
        library, held = ctypes.CDLL(None), ctypes.PyDLL(None)
        self._memory = np.zeros(SIZE, dtype=np.uint8)
        first = address_of(self._memory)
        self.address = mutex = first + -first % 64
        attributes = ctypes.create_string_buffer(64)
        prepared = [
            library.pthread_mutexattr_init(attributes),
            library.pthread_mutexattr_settype(attributes, RECURSIVE),
            library.pthread_mutexattr_setprotocol(attributes, INHERIT),
            library.pthread_mutex_init(ctypes.c_void_p(mutex), attributes),
        ]
        if any(prepared):
            raise OSError(max(prepared), 'no mutex with priority inheritance')
        argument = [ctypes.c_void_p]
        # Without waiting, and without releasing the lock of the interpreter, if it is free.
        self._try, self._lock = held.pthread_mutex_trylock, library.pthread_mutex_lock
        self._unlock = held.pthread_mutex_unlock
        for function in (self._try, self._lock, self._unlock):
            function.argtypes = argument

    def acquire(self) -> None:
        """Wait for the mutex."""
        if self._try(self.address) != FREE:
            self._lock(self.address)

    def release(self) -> None:
        """Release the mutex."""
        self._unlock(self.address)


class StateLock(Opaque):
    """The lock, reentrant; use it in a `with` statement.

    Attributes
    ----------
    address : int
        Address of the pthread_mutex_t, 0 if compiled code cannot share it.
    before, after : list of callables
        Called when a Python thread has acquired the lock, and before it releases it.
    changes : int
        How often a Python thread has released it.
    """

    def __init__(self) -> None:
        self.before: list[Callable[[], None]] = []
        self.after: list[Callable[[], None]] = []
        self.address = self.changes = 0
        self._depth = 0
        self._mutex: Any = threading.RLock()
        with suppress(OSError, AttributeError):
            self._mutex = _NativeMutex()
            self.address = self._mutex.address

    def __enter__(self) -> None:
        self._mutex.acquire()
        self._depth += 1
        if self._depth == 1:
            for callback in self.before:
                callback()

    def __exit__(self, *_: object) -> None:
        try:
            if self._depth == 1:
                self.changes += 1
                for callback in self.after:
                    callback()
        finally:
            self._depth -= 1
            self._mutex.release()

    def acquire(self) -> None:
        """Hold the lock for a joint state until `release`, without calling anything."""
        self._mutex.acquire()
        self._depth += 1

    def adopt(self) -> None:
        """Hold the lock that compiled code has acquired in this thread, until `release`."""
        self._depth += 1

    def nest(self, step: int) -> None:
        """Begin (1) or end (-1) a section of Python while compiled code holds the lock."""
        self._depth += step

    def release(self) -> None:
        """Release the lock after `acquire` or `adopt`."""
        self._depth -= 1
        self._mutex.release()

    def exclusive(self, callback: Function) -> Function:
        """Return a callback that holds the lock."""

        @wraps(callback)  # rclpy inspects the signature
        def call(*arguments: Any, **options: Any) -> Any:
            with self:
                return callback(*arguments, **options)

        return call  # type: ignore[return-value]


#: The lock of this process.
STATE_LOCK = StateLock()
