# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The steps of an observer in time: their lengths, and where it starts again."""

from __future__ import annotations

import math

import numpy as np

from screw_dynamics_ros.core.types import Array

SETTLING_TIME_CONSTANTS = 5.0  # time constants after which 99.3 % of a torque are seen


class StepLengths:
    """Times from sample to sample, by the stamps.

    Attributes
    ----------
    longest : float
        A step longer than this [s] restarts.
    """

    def __init__(self) -> None:
        self.longest = math.inf
        self._stamp: int | None = None

    def restart(self) -> None:
        """Restart with the next sample."""
        self._stamp = None

    def take(self, stamp: int, restarted: bool = False) -> int:
        """Return the time since the sample before [ns], 0 at a start.

        Parameters
        ----------
        stamp : int
            Of the sample [ns]. One that does not advance restarts.
        restarted : bool
            Whether the sample comes after a pause.
        """
        before, self._stamp = self._stamp, stamp
        elapsed = 0 if before is None or restarted else stamp - before
        return elapsed if 0.0 < elapsed * 1e-9 <= self.longest else 0


class ObserverSteps:
    """Lengths of steps and decay factors, by the stamps of the states.

    Parameters
    ----------
    n : int
        Torques that are observed.

    Attributes
    ----------
    numbers : (n + 3,) array
        Always the same array: e^(-h / T) for each torque, 1 / h, h, and 1 in the first step. In the
        first step there is no step before: they are 1, 0, 0 and 1.
    time_constants : (n,) array
        T [s], greater than 0; may be changed at any time.
    lengths : StepLengths
        Says where it restarts.
    starts : int
        How often the observer has started.
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
        """Take the step to a state; return whether it is the first one.

        Parameters
        ----------
        stamp : int
            Of the state [ns]. One that does not advance restarts.
        restarted : bool
            Whether the state comes after a pause.
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
        """Whether what the observer started with has decayed, see `SETTLING_TIME_CONSTANTS`."""
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
