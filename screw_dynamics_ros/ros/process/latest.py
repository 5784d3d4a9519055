# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Work in the background: a thread for one task after the other, of which the newest counts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.scheduling import use_ordinary_time

T = TypeVar('T')

IDLE_TIMEOUT_S = 1.0  # that an idle thread waits for another task before it ends


class Latest(Generic[T]):
    """A thread that runs the newest task, and drops what was requested before.

    Parameters
    ----------
    name : str
        Of the thread and of its faults.
    in_ordinary_time : bool
        Whether the thread leaves the real-time scheduling of the process: for long computations.

    Attributes
    ----------
    waiting : callable or None
        The task that has not begun.
    outcome : object or None
        What the newest task has returned, until it is fetched.
    """

    def __init__(self, name: str, *, in_ordinary_time: bool = True) -> None:
        self._name, self._in_ordinary_time = name, in_ordinary_time
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_running = False  # a task that nothing newer has replaced
        self.waiting: Callable[[], T] | None = None
        self.outcome: T | None = None

    @property
    def is_busy(self) -> bool:
        """Whether the newest task waits or runs."""
        with self._changed:
            return self.waiting is not None or self._is_running

    def ask(self, task: Callable[[], T]) -> None:
        """Have a task done as soon as possible; what was asked for before is dropped."""
        with self._changed:
            if self._thread is None:  # it begins by waiting for this lock
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                thread.start()  # may fail: then nothing has changed
                self._thread = thread
            self._replace(task)
            self._changed.notify()

    def cancel(self) -> None:
        """Drop what was asked for; a task that runs goes on, and its outcome is dropped."""
        with self._changed:
            self._replace(None)

    def poll(self) -> T | None:
        """Return what the newest task has returned once, None if there is nothing new."""
        if self.outcome is None:  # cheap: it may be asked for at each joint state
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
        """Run the next task; return False if none came for a while: the thread ends."""
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
        except BaseException as error:  # SystemExit, too: without its thread no task would be done
            FAULTS.record(self._name, error)
        with self._changed:
            if self._is_running:
                self.outcome, self._is_running = outcome, False
        return True
