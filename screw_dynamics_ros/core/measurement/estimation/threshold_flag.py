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

from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.shared_numbers import Flag, Real, SharedNumbers, Word
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.measurement.estimation.observers.steps import (
    StepLengths,
    step_length,
)
from screw_dynamics_ros.core.types import Array

NO_STRETCH = -1  # the signal is not beyond its threshold
NO_CAUSE = -1

# Places of the shared attributes, after those of `StepLengths`. ABOVE: the first of n times [ns].
# UPPER: the first of n upper thresholds, before n lower ones.
IS_RAISED, CAUSE, BELOW, ABOVE = range(2, 6)
RISE, FALL, CAUSE_SIGNAL, CAUSE_LIMIT, UPPER = range(1, 6)


class ThresholdFlag(SharedNumbers):
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
    cause_signal, cause_limit : float
        Its value and its upper threshold at that sample.
    lengths : StepLengths
        Detects gaps.
    upper, lower : (n,) arrays
        Always the same arrays.
    """

    is_raised = Flag(IS_RAISED)
    rise, fall = Real(RISE), Real(FALL)
    cause_signal, cause_limit = Real(CAUSE_SIGNAL), Real(CAUSE_LIMIT)
    _cause, _below = Word(CAUSE), Word(BELOW)

    def __init__(self, upper: Array, lower: Array, rise: float, fall: float) -> None:
        n = len(upper)
        super().__init__(ABOVE + n, UPPER + 2 * n)
        self._n, self._above = n, self.words[ABOVE:]
        self.upper, self.lower = self.reals[UPPER : UPPER + n], self.reals[UPPER + n :]
        self.rise, self.fall = rise, fall
        self.lengths = StepLengths(self)
        self.set_thresholds(upper, lower)
        self.reset()

    @property
    def cause(self) -> int | None:
        """The signal that raised it last."""
        return None if self._cause == NO_CAUSE else self._cause

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
        self.is_raised, self._cause = False, NO_CAUSE
        self.lengths.restart()
        self._above[:], self._below = NO_STRETCH, NO_STRETCH

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
        given: Any = np.ascontiguousarray(signals, dtype=np.float64).data
        return advance_flag(self.word_view, self.real_view, given, self._n, stamp, restarted)


@typed
def advance_flag(
    words: Ints, reals: Floats, signals: Floats, n: int, stamp: int, restarted: bool
) -> bool:
    """Return the result of `ThresholdFlag.take` with its words and reals, for n signals."""
    elapsed = step_length(words, reals, stamp, restarted)
    is_below = True
    longest = NO_STRETCH
    cause = 0
    for k in range(n):
        size = abs(signals[k])
        above = NO_STRETCH
        if size > reals[UPPER + k]:
            above = continued(words[ABOVE + k], elapsed)
        words[ABOVE + k] = above
        if above > longest:
            longest = above
            cause = k
        is_below = is_below and size < reals[UPPER + n + k]
    below = continued(words[BELOW], elapsed) if is_below else NO_STRETCH
    words[BELOW] = below
    if longest >= round(1e9 * reals[RISE]):
        if words[IS_RAISED] == 0:
            words[CAUSE] = cause
            reals[CAUSE_SIGNAL] = signals[cause]
            reals[CAUSE_LIMIT] = reals[UPPER + cause]
        words[IS_RAISED] = 1
    elif is_below and below >= round(1e9 * reals[FALL]):
        words[IS_RAISED] = 0
    return words[IS_RAISED] != 0


@typed
def continued(stretch: int, elapsed: int) -> int:
    """Return the updated time of a signal beyond its threshold [ns]; 0 at its first sample."""
    return 0 if stretch == NO_STRETCH or elapsed == 0 else stretch + elapsed
