# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Time of a simulation: stamps and ticks, run state, and requests that affect them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.units import NANOSECONDS


class SimulationTime:
    """Stamps of ticks, equally spaced; the origin of simulated time is one period before tick 0.

    In ROS a stamp of zero means no stamp.

    Parameters
    ----------
    rate : float
        Ticks per second [Hz].
    origin : int, optional
        Stamp of tick 0 from the system clock [ns]; None for simulated time.

    Attributes
    ----------
    tick : int
    """

    def __init__(self, rate: float, origin: int | None = None) -> None:
        self._period, self.tick = NANOSECONDS / rate, 0
        self.is_simulated = origin is None
        self._origin = round(self._period) if origin is None else origin

    @property
    def stamp(self) -> int:
        """The time of the current tick [ns]."""
        return self._origin + round(self.tick * self._period)

    def restart(self) -> None:
        """Restart simulated time; system time continues."""
        if self.is_simulated:
            self.tick = 0

    def skip(self, seconds: float) -> None:
        """Skip system time without ticks [s]."""
        if not self.is_simulated:
            self._origin += round(seconds * NANOSECONDS)

    def skip_to(self, stamp: int) -> None:
        """Move the current tick to a system time [ns], unless it is already later."""
        if not self.is_simulated:
            self._origin += max(0, stamp - self.stamp)


class TickSchedule:
    """Schedule of ticks in real time.

    Parameters
    ----------
    period : float
        Between two ticks [s]; 0 for as fast as possible. May be set.
    most_lag : float
        Largest lag that is caught up [s].
    """

    def __init__(self, period: float, most_lag: float) -> None:
        self._most_lag = most_lag
        self._begin, self._count, self._period = -math.inf, 0, period

    @property
    def period(self) -> float:
        """Time between two ticks [s]."""
        return self._period

    @period.setter
    def period(self, period: float) -> None:
        self.start(self._due)
        self._period = period

    @property
    def _due(self) -> float:
        """Time of the next tick [s]; a sum of periods would drift where the clock is large."""
        return self._begin + self._count * self._period

    def start(self, now: float) -> None:
        """Schedule the next tick now."""
        self._begin, self._count = now, 0

    def is_due(self, now: float) -> bool:
        """Whether the next tick is due."""
        return now >= self._due

    def count(self, now: float) -> None:
        """Mark a tick as done."""
        if self._period:
            self._count += 1
        else:
            self.start(now)

    def lost(self, now: float) -> float:
        """Return the time to skip because the lag is too large [s], 0 if it is not."""
        late = now - self._due
        if not self._most_lag < late < math.inf:
            return 0.0
        self.start(now)
        return late


class RefusedError(ScrewDynamicsError):
    """A request that is not possible in the current state of the simulation."""


class RunState:
    """Running or paused; stopped by a divergence; in lock step waiting for commands.

    A stop lasts until the state is reset or set: from the last state the simulation would diverge
    again.

    Parameters
    ----------
    paused : bool

    Attributes
    ----------
    paused : bool
    stopped : str
        Reason for the stop; empty if the simulation can continue.
    awaited : int or None
        Stamp of the joint state that is waiting for commands [ns].
    """

    def __init__(self, paused: bool = False) -> None:
        self.paused, self.stopped = paused, ''
        self.awaited: int | None = None
        self._asked, self._missing = math.inf, 0

    @property
    def is_running(self) -> bool:
        """Whether time runs, now or as soon as a command arrives."""
        return not (self.paused or self.stopped)

    def pause(self) -> None:
        """Pause; has no effect if already paused."""
        self.paused = True

    def resume(self, now: float) -> None:
        """End a pause at a real time [s]; raises `RefusedError` if the simulation has stopped."""
        self._check_stopped()
        if self.paused:
            self.paused, self._asked = False, now

    def check_step(self) -> None:
        """Raise `RefusedError` unless the simulation is paused, which permits single steps."""
        self._check_stopped()
        if not self.paused:
            raise RefusedError('the simulation is running; call ~/pause with data: true first')

    def stop(self, reason: str) -> None:
        """Stop the simulation for a reason, such as a divergence."""
        self.stopped, self.awaited = reason, None

    def replaced(self) -> None:
        """End a stop, because the state was reset or set."""
        self.stopped, self.awaited = '', None

    def wait_for_answer(self, stamp: int, now: float, commands: int = 1) -> None:
        """Wait, from real time `now` [s], for a number of commands that answer a stamp [ns]."""
        self.awaited, self._asked, self._missing = stamp, now, commands

    def answered(self, stamp: int = 0) -> bool:
        """Count a command; return whether all expected commands have arrived.

        Commands with a nonzero stamp [ns] older than the joint state are ignored.
        """
        if self.awaited is None or 0 < stamp < self.awaited:
            return False
        self._missing -= 1
        if self._missing > 0:
            return False
        self.awaited = None
        return True

    def given_up(self, now: float, timeout: float) -> bool:
        """Whether the commands did not arrive within a timeout [s]; then stop waiting."""
        if self.awaited is None or not timeout or now - self._asked < timeout:
            return False
        self.awaited = None
        return True

    def _check_stopped(self) -> None:
        if self.stopped:
            raise RefusedError(
                f'the simulation has stopped: {self.stopped}; call ~/reset, or set a state first'
            )


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
