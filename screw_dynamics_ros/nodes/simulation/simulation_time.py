# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Time of the simulation: the stamps of joint states, and when the next one is due."""

from __future__ import annotations

import math

from screw_dynamics_ros.core.units import NANOSECONDS


class SimulationTime:
    """Stamps of ticks, equally spaced; the origin of simulated time is one period before tick 0.

    A stamp of zero means in ROS that there is none.

    Parameters
    ----------
    rate : float
        Ticks per second [Hz].
    origin : int, optional
        Stamp of tick 0 by the clock of the system [ns]; simulated time otherwise.

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
        """The time of the present tick [ns]."""
        return self._origin + round(self.tick * self._period)

    def restart(self) -> None:
        """Begin again, if time is simulated; otherwise it goes on."""
        if self.is_simulated:
            self.tick = 0

    def skip(self, seconds: float) -> None:
        """Let time of the system pass without ticks [s]."""
        if not self.is_simulated:
            self._origin += round(seconds * NANOSECONDS)

    def skip_to(self, stamp: int) -> None:
        """Let the present tick be at a time of the system [ns], unless it is later already."""
        if not self.is_simulated:
            self._origin += max(0, stamp - self.stamp)


class TickSchedule:
    """When ticks are due in real time.

    Parameters
    ----------
    period : float
        Between two ticks [s]; 0 for as fast as possible. May be set.
    most_lag : float
        More than this is not made up for [s].
    """

    def __init__(self, period: float, most_lag: float) -> None:
        self.period, self._most_lag = period, most_lag
        self._due = -math.inf

    def start(self, now: float) -> None:
        """Let the next tick be due now."""
        self._due = now

    def is_due(self, now: float) -> bool:
        """Whether it is time for a tick."""
        return now >= self._due

    def count(self, now: float) -> None:
        """Take a tick as done."""
        self._due = self._due + self.period if self.period else now

    def lost(self, now: float) -> float:
        """Return how much time is given up, because it is too much to be made up for [s]."""
        late = now - self._due
        if not self._most_lag < late < math.inf:
            return 0.0
        self._due = now
        return late
