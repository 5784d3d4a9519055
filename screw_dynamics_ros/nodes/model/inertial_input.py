# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inputs of the kernel that change on request: payloads, and inertias of links."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from screw_dynamics_ros.core.motion.control.payload_transitions import (
    Line,
    LoadedParameters,
    load_parameters,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord

from .parts import HostPart, Stage, StateStep
from .running_model import RunningModel


@compiled_step
def load_in_loop(loaded: LoadedParameters, loop: LoopRecord) -> int:
    """Update an input of the kernel."""
    load_parameters(loaded, loop.start)
    return TAKEN


class InertialInput(HostPart, ABC):
    """An input of the kernel that is updated before each joint state.

    Requests change it between two joint states, holding the lock of states. Other threads may read
    it, under its own lock.

    Attributes
    ----------
    loaded : LoadedParameters
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: RunningModel | None = None
        self.loaded = LoadedParameters()
        self.loaded.is_steady = True
        self._step_callbacks: list[Callable[[], None]] = []

    def on_step(self, callback: Callable[[], None]) -> None:
        """Register a callback for changes without a transition, before the next state."""
        self._step_callbacks.append(callback)

    def _follow(self, duration: float) -> None:
        """Follow a change over a duration [s]; the caller holds the lock."""
        self._update()
        if duration == 0.0:
            for callback in self._step_callbacks:
                callback()

    def _update(self) -> None:
        if self._model is not None:
            self.loaded.follow(*self._lines(self._model))

    @abstractmethod
    def _lines(self, model: RunningModel) -> tuple[Array, list[Line]]:
        """Return the input of the kernel, and what it follows; see `LoadedParameters.follow`."""

    def stages(self) -> list[Stage]:
        """Return the step that follows transitions."""
        step = StateStep(load_in_loop, lambda: self.loaded)
        return [Stage(step, is_needed=lambda: not self.loaded.is_steady)]

    def use(self, model: RunningModel) -> None:
        """Adopt another robot."""
        with self._lock:
            self._model = model
            self._update()
        self.keep_house()

    def keep_house(self) -> None:
        """Write the current inertias into the input of the kernel."""
        load_parameters(self.loaded, time.monotonic())
