# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A flag over several signals, with hysteresis and minimal durations.

It is raised when one signal has been above its upper threshold for the rise time, in all samples
without interruption. It is lowered when all signals have been below their lower thresholds for the
fall time. Between the thresholds, in gaps, and without samples it keeps its value; a gap only
restarts the measurement of these times.

>>> flag = ThresholdFlag(np.array([2.0, 10.0]), np.array([1.0, 5.0]), rise=0.002, fall=0.002)
>>> samples = [(3, 0), (3, 0), (3, 0), (1.5, 0), (0, 6), (0, 4), (0, 4), (0, 4)]
>>> [flag.take(k * 1_000_000, np.array(x)) for k, x in enumerate(samples)]
[False, False, True, True, True, True, True, False]
"""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.measurement.estimation.observers.steps import StepLengths
from screw_dynamics_ros.core.types import Array

NO_STRETCH = -1  # the signal is not beyond its threshold


class ThresholdFlag:
    """A flag over n signals.

    Parameters
    ----------
    upper, lower : (n,) arrays
        See `set_thresholds`.
    rise, fall : float
        Times for which one signal must be above, and all below [s]; can be changed at any time.

    Attributes
    ----------
    is_raised : bool
    cause : int or None
        The signal that raised it last.
    lengths : StepLengths
        Detects gaps.
    upper, lower : (n,) arrays
    """

    def __init__(self, upper: Array, lower: Array, rise: float, fall: float) -> None:
        self.rise, self.fall = rise, fall
        self.cause: int | None = None
        self.lengths = StepLengths()
        self.set_thresholds(upper, lower)
        self.reset()

    def set_thresholds(self, upper: Array, lower: Array) -> None:
        """Set the thresholds (n,) of the absolute values; infinite ones never raise the flag.

        Raises
        ------
        ArgumentError
            A lower threshold that is not below the upper one, or is negative.
        """
        for k in range(len(upper)):
            if not (0.0 <= lower[k] < upper[k] or np.isinf(upper[k])):
                raise ArgumentError(
                    f'signal {k}: the lower threshold {lower[k]:g} must be in [0, upper '
                    f'threshold {upper[k]:g})'
                )
        self.upper, self.lower = upper, lower
        # Python numbers are faster than small arrays.
        self._upper, self._lower = upper.tolist(), lower.tolist()

    def reset(self) -> None:
        """Lower the flag, and reset all times."""
        self.is_raised, self.cause = False, None
        self.lengths.restart()
        self._above = [NO_STRETCH] * len(self.upper)  # ns
        self._below = NO_STRETCH

    def take(self, stamp: int, signals: Array, restarted: bool = False) -> bool:
        """Return the flag after a sample.

        Parameters
        ----------
        stamp : int
            Stamp of the sample [ns]. If it does not increase, all times are reset.
        signals : (n,) array
            NaN is neither above nor below.
        restarted : bool
            Whether the sample is the first after a pause.
        """
        elapsed = self.lengths.take(stamp, restarted)
        if not elapsed:
            self._above, self._below = [NO_STRETCH] * len(self._above), NO_STRETCH
        sizes = [abs(signal) for signal in signals.tolist()]
        self._above = [
            continued(before, elapsed) if size > limit else NO_STRETCH
            for before, size, limit in zip(self._above, sizes, self._upper)
        ]
        is_below = all(size < limit for size, limit in zip(sizes, self._lower))
        self._below = continued(self._below, elapsed) if is_below else NO_STRETCH
        longest = max(self._above, default=NO_STRETCH)
        if longest >= round(1e9 * self.rise):
            if not self.is_raised:
                self.cause = self._above.index(longest)
            self.is_raised = True
        elif is_below and self._below >= round(1e9 * self.fall):
            self.is_raised = False
        return self.is_raised


def continued(stretch: int, elapsed: int) -> int:
    """Return the updated time of a signal beyond its threshold [ns]."""
    return 0 if stretch == NO_STRETCH else stretch + elapsed
