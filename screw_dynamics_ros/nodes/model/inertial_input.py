# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inputs of the kernel that change on request: payloads, and inertias of links."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from .running_model import RunningModel


class InertialInput(ABC):
    """An input of the kernel that is updated before each joint state.

    Requests may change it from any thread, under the lock; `prepare` and `load` run in the thread
    of the joint states.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: RunningModel | None = None
        self._is_steady, self._has_stepped = False, False
        self._step_callbacks: list[Callable[[], None]] = []

    def on_step(self, callback: Callable[[], None]) -> None:
        """Register a callback for changes without a transition; called before the next state."""
        self._step_callbacks.append(callback)

    def _follow(self, duration: float) -> None:
        """Start a transition of a duration [s]; the caller holds the lock."""
        self._is_steady, self._has_stepped = False, self._has_stepped or duration == 0.0

    @property
    def is_changing(self) -> bool:
        """Whether `prepare` has anything to do."""
        return self._has_stepped or not self._is_steady

    def prepare(self) -> None:
        """Update the input of the kernel; call it before each state."""
        if not self._is_steady:
            self.load()
        if self._has_stepped:
            self._has_stepped = False
            for callback in self._step_callbacks:
                callback()

    @abstractmethod
    def load(self) -> None:
        """Write the active inertias into the input of the kernel."""
