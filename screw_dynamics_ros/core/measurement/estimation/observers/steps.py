# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The time steps of an observer: their lengths, and restarts."""

from __future__ import annotations

import math

import numpy as np

from screw_dynamics_ros.core.types import Array

SETTLING_TIME_CONSTANTS = 5.0  # time constants after which 99.3 % of a torque are estimated


class StepLengths:
    """Times between samples, from their stamps.

    Attributes
    ----------
    longest : float
        A longer step [s] causes a restart.
    """

    def __init__(self) -> None:
        self.longest = math.inf
        self._stamp: int | None = None

    def restart(self) -> None:
        """Restart with the next sample."""
        self._stamp = None

    def take(self, stamp: int, restarted: bool = False) -> int:
        """Return the time since the previous sample [ns], 0 at a start.

        Parameters
        ----------
        stamp : int
            Stamp of the sample [ns]. A stamp that does not increase causes a restart.
        restarted : bool
            Whether the sample is the first after a pause.
        """
        before, self._stamp = self._stamp, stamp
        elapsed = 0 if before is None or restarted else stamp - before
        return elapsed if 0.0 < elapsed * 1e-9 <= self.longest else 0


class ObserverSteps:
    """Lengths of steps and decay factors, from the stamps of the states.

    Parameters
    ----------
    n : int
        Number of observed torques.

    Attributes
    ----------
    numbers : (n + 3,) array
        Always the same array: e^(-h / T) for each torque, 1 / h, h, and whether it is the first
        step. In the first step they are 1, 0, 0 and 1.
    time_constants : (n,) array
        T [s], greater than 0; can be changed at any time.
    lengths : StepLengths
        Determines where it restarts.
    starts : int
        Number of starts of the observer.
    """

    def __init__(self, n: int) -> None:
        self.numbers = np.zeros(n + 3)
        self.time_constants = np.full(n, 0.02)
        self.starts = 0
        self.lengths = StepLengths()
        self._decay, self._others = self.numbers[:n], self.numbers[n:]
        self.restart()

    def restart(self) -> None:
        """Restart with the next state."""
        self.lengths.restart()
        self._age = 0
        self._set(1.0, 0.0, 0.0, 1.0)

    def advance(self, stamp: int, restarted: bool = False) -> bool:
        """Advance to a state; return whether it is the first one.

        Parameters
        ----------
        stamp : int
            Stamp of the state [ns]. A stamp that does not increase causes a restart.
        restarted : bool
            Whether the state is the first after a pause.
        """
        elapsed = self.lengths.take(stamp, restarted)
        if not elapsed:
            self._age = 0
            self.starts += 1
            self._set(1.0, 0.0, 0.0, 1.0)
            return True
        self._age += elapsed  # ns
        h = elapsed * 1e-9
        self._set(np.exp(-h / self.time_constants), 1.0 / h, h, 0.0)
        return False

    @property
    def settled(self) -> bool:
        """Whether the initial error has decayed, see `SETTLING_TIME_CONSTANTS`."""
        return self._age >= round(SETTLING_TIME_CONSTANTS * 1e9 * self.longest_time_constant)

    @property
    def age(self) -> int:
        """The time since the last start [ns]."""
        return self._age

    @property
    def longest_time_constant(self) -> float:
        """The largest of `time_constants` [s]."""
        return float(self.time_constants.max(initial=0.0))

    def _set(self, decay: Array | float, *others: float) -> None:
        self._decay[:], self._others[:] = decay, others
