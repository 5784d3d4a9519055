# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A flag over several signals, with hysteresis and minimal durations.

It is raised when one signal has been above its upper threshold for the rise time, in all samples
without interruption. It is lowered when all signals have been below their lower thresholds for the
fall time. Between the thresholds, in gaps, and without samples it keeps its value; a gap only
restarts the measurement of these times.

>>> flag = ThresholdFlag(np.array([2.0, 10.0]), np.array([1.0, 5.0]), rise=0.002, fall=0.002)
>>> samples = [(3, 0), (3, 0), (3, 0), (1.5, 0), (0, 6), (0, 4), (0, 4), (0, 4)]
>>> [flag.take(np.array(x), 1_000_000) for x in samples]
[False, False, True, True, True, True, True, False]
"""

from __future__ import annotations

import numpy as np

from ..compile.typed.functions import Floats, Ints, typed
from ..compile.typed.records import Record
from ..errors import ArgumentError
from ..types import Array

NO_STRETCH = -1  # the signal is not beyond its threshold
NO_CAUSE = -1


class ThresholdFlag(Record):
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
    raised_by : int
        Index of the signal that raised it last, or `NO_CAUSE`.
    cause_signal, cause_limit : float
        Its value and its upper threshold at that sample.
    is_running : bool
        Whether the next sample continues.
    upper, lower : (n,) arrays
        Always the same arrays.
    above : (n,) array of int
        Time for which each signal has been above [ns], or `NO_STRETCH`.
    below : int
        Time for which all have been below [ns], or `NO_STRETCH`.
    """

    is_running: bool
    is_raised: bool
    raised_by: int
    cause_signal: float
    cause_limit: float
    rise: float
    fall: float
    upper: Floats
    lower: Floats
    above: Ints
    below: int

    def __init__(self, upper: Array, lower: Array, rise: float, fall: float) -> None:
        n = len(upper)
        self.upper, self.lower = np.zeros(n), np.zeros(n)
        self.above = np.zeros(n, dtype=np.int64)
        self.rise, self.fall = rise, fall
        self.set_thresholds(upper, lower)
        self.reset()

    @property
    def cause(self) -> int | None:
        """The signal that raised it last."""
        return None if self.raised_by == NO_CAUSE else self.raised_by

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
        self.upper[:], self.lower[:] = upper, lower

    def reset(self) -> None:
        """Lower the flag, and reset all times."""
        self.is_raised, self.raised_by = False, NO_CAUSE
        self.is_running = False
        self.above[:], self.below = NO_STRETCH, NO_STRETCH

    def take(self, signals: Array, elapsed: int) -> bool:
        """Return the flag after a sample.

        Parameters
        ----------
        signals : (n,) array
            NaN is neither above nor below.
        elapsed : int
            Time since the last sample [ns]; 0, for the first one, resets all times; see
            `StateClock`.
        """
        return advance_flag(self, np.ascontiguousarray(signals, dtype=np.float64), elapsed)


@typed
def advance_flag(flag: ThresholdFlag, signals: Floats, elapsed: int) -> bool:
    """Return the result of `ThresholdFlag.take`."""
    step = elapsed if flag.is_running else 0
    flag.is_running = True
    is_below = True
    longest = NO_STRETCH
    cause = 0
    for k in range(len(flag.upper)):
        size = abs(signals[k])
        above = NO_STRETCH
        if size > flag.upper[k]:
            above = continued(flag.above[k], step)
        flag.above[k] = above
        if above > longest:
            longest = above
            cause = k
        is_below = is_below and size < flag.lower[k]
    flag.below = continued(flag.below, step) if is_below else NO_STRETCH
    if longest >= round(1e9 * flag.rise):
        if not flag.is_raised:
            flag.raised_by = cause
            flag.cause_signal = signals[cause]
            flag.cause_limit = flag.upper[cause]
        flag.is_raised = True
    elif is_below and flag.below >= round(1e9 * flag.fall):
        flag.is_raised = False
    return flag.is_raised


@typed
def continued(stretch: int, elapsed: int) -> int:
    """Return the updated time of a signal beyond its threshold [ns]; 0 at its first sample."""
    return 0 if stretch == NO_STRETCH or elapsed == 0 else stretch + elapsed
