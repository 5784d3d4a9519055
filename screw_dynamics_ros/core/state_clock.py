# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The clock of a sequence of samples."""

from __future__ import annotations

from .compile.typed.functions import typed
from .compile.typed.records import Record

UNLIMITED = 2**62  # [ns]


class StateClock(Record):
    """Time between samples, from their stamps.

    Attributes
    ----------
    stamp : int
        Of the last sample [ns].
    is_running : bool
        Whether there is one.
    timeout : int
        A longer step [ns] is a pause.
    elapsed : int
        Time since the previous sample [ns]; 0 at the first one, after a pause, and if stamps do not
        increase.
    """

    stamp: int
    is_running: bool
    timeout: int
    elapsed: int

    def __init__(self) -> None:
        self.timeout = UNLIMITED

    def restart(self) -> None:
        """Restart with the next sample."""
        self.is_running = False

    def advance(self, stamp: int, restarted: bool = False) -> int:
        """Advance to a sample; return the time since the previous one [ns].

        Parameters
        ----------
        stamp : int
            [ns].
        restarted : bool
            Whether the sample is the first after a pause.
        """
        return advance_clock(self, stamp, restarted)


@typed
def advance_clock(clock: StateClock, stamp: int, restarted: bool) -> int:
    """See `StateClock.advance`."""
    elapsed = stamp - clock.stamp
    follows = clock.is_running and not restarted and 0 < elapsed <= clock.timeout
    clock.elapsed = elapsed if follows else 0
    clock.stamp = stamp
    clock.is_running = True
    return clock.elapsed
