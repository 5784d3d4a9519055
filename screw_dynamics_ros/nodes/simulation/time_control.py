# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What requests do to the time of a simulation: pauses, and going on from another state."""

from __future__ import annotations

import time
from collections.abc import Callable

from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.nodes.simulation.run_state import RunState
from screw_dynamics_ros.nodes.simulation.simulation_time import SimulationTime, TickSchedule


class TimeControl:
    """Pauses of a simulation; after each, and after a stop, time goes on from the present.

    Parameters
    ----------
    state : RunState
    simulated : SimulationTime
    pace : TickSchedule
    now : callable
        Returns the time of the system [ns].
    """

    def __init__(
        self, state: RunState, simulated: SimulationTime, pace: TickSchedule, now: Callable[[], int]
    ) -> None:
        self._state, self._time, self._pace, self._now = state, simulated, pace, now

    @property
    def seconds(self) -> str:
        """The time of the simulation [s]."""
        return f'{self._time.stamp / NANOSECONDS:.9g}'

    def pause(self, wanted: bool) -> str:
        """Begin or end a pause, and return what is so now; raises `RefusedError` after a stop."""
        if wanted:
            self._state.pause()
        elif self._state.paused:
            self._state.resume(time.monotonic())
            self._restart()
        return f'{"paused" if wanted else "running"} at {self.seconds} s'

    def replaced(self) -> None:
        """Let the simulation go on from another state, even if it had stopped."""
        if self._state.stopped:
            self._restart()
        self._state.replaced()

    def _restart(self) -> None:
        """Go on from now, after time has stood still."""
        self._pace.start(time.monotonic())
        self._time.skip_to(self._now())
