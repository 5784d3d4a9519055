# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Background tasks: a thread that executes only the newest request."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from .faults import FAULTS
from .scheduling import use_ordinary_time

T = TypeVar('T')

IDLE_TIMEOUT_S = 1.0  # after which an idle thread ends


class Latest(Generic[T]):
    """A thread that runs the newest task and discards earlier ones.

    Parameters
    ----------
    name : str
        Name of the thread, and of its faults.
    in_ordinary_time : bool
        Whether the thread leaves the real-time scheduling of the process, for long computations.

    Attributes
    ----------
    waiting : callable or None
        The task that has not started.
    outcome : object or None
        Result of the newest task, until it is fetched.
    ready : callable
        Called in the thread when there is an outcome; may be set.
    """

    def __init__(self, name: str, *, in_ordinary_time: bool = True) -> None:
        self._name, self._in_ordinary_time = name, in_ordinary_time
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_running = False  # the newest task
        self.waiting: Callable[[], T] | None = None
        self.outcome: T | None = None
        self.ready: Callable[[], None] = lambda: None

    @property
    def is_busy(self) -> bool:
        """Whether the newest task is waiting or running."""
        with self._changed:
            return self.waiting is not None or self._is_running

    def ask(self, task: Callable[[], T]) -> None:
        """Request a task as soon as possible, and discard earlier requests."""
        with self._changed:
            if self._thread is None:  # it starts by acquiring this lock
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                thread.start()  # on failure nothing has changed
                self._thread = thread
            self._replace(task)
            self._changed.notify()

    def cancel(self) -> None:
        """Discard the request; a running task continues, its outcome is discarded."""
        with self._changed:
            self._replace(None)

    def poll(self) -> T | None:
        """Return the result of the newest task once, None if there is no new one."""
        if self.outcome is None:  # without lock: may be called for each joint state
            return None
        with self._changed:
            outcome, self.outcome = self.outcome, None
            return outcome

    def _replace(self, task: Callable[[], T] | None) -> None:
        self.waiting, self.outcome, self._is_running = task, None, False

    def _work(self) -> None:
        if self._in_ordinary_time:
            use_ordinary_time()
        while self._run_next():
            pass

    def _run_next(self) -> bool:
        """Run the next task; return False after `IDLE_TIMEOUT_S` without one: the thread ends."""
        with self._changed:
            if self.waiting is None:
                self._changed.wait(IDLE_TIMEOUT_S)
            if self.waiting is None:
                self._thread = None
                return False
            task, self.waiting, self._is_running = self.waiting, None, True
        outcome = None
        try:
            outcome = task()
        except BaseException as error:  # SystemExit, too: the thread must survive
            FAULTS.record(self._name, error)
        with self._changed:
            if self._is_running:
                self.outcome, self._is_running = outcome, False
        if self.outcome is not None:
            FAULTS.guarded(self._name, self.ready)()
        return True
