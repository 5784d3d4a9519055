# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Requests that affect the time of a simulation: pauses, resets and new states."""

from __future__ import annotations

import time
from collections.abc import Callable

from screw_dynamics_ros.core.units import NANOSECONDS

from .run_state import RunState
from .simulation_time import SimulationTime, TickSchedule


class TimeControl:
    """Pauses of a simulation; after a pause or stop, time continues from now.

    Parameters
    ----------
    state : RunState
    simulated : SimulationTime
    pace : TickSchedule
    now : callable
        Returns the system time [ns].
    """

    def __init__(
        self, state: RunState, simulated: SimulationTime, pace: TickSchedule, now: Callable[[], int]
    ) -> None:
        self._state, self._time, self._pace, self._now = state, simulated, pace, now

    @property
    def seconds(self) -> str:
        """The simulation time [s]."""
        return f'{self._time.stamp / NANOSECONDS:.9g}'

    def pause(self, wanted: bool) -> str:
        """Start or end a pause, and return a message; raises `RefusedError` after a stop."""
        if wanted:
            self._state.pause()
        elif self._state.paused:
            self._state.resume(time.monotonic())
            self._restart()
        return f'{"paused" if wanted else "running"} at {self.seconds} s'

    def replaced(self) -> None:
        """Continue from a state that was set, even after a stop."""
        if self._state.stopped:
            self._restart()
        self._state.replaced()

    def _restart(self) -> None:
        """Continue from now after a pause or stop."""
        self._pace.start(time.monotonic())
        self._time.skip_to(self._now())
