# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Simulation time: stamps of joint states, and the schedule of ticks in real time."""

from __future__ import annotations

import math

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
