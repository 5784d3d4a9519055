# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Model quantities at the time of delayed efforts, interpolated between past samples.

Efforts with a delay d correspond to the state at t - d. The quantities x of the model at that time
are interpolated between the samples before and after t - d,

    x(t - d) = held + share x(t),                                                       (1)

where share is nonzero if no sample is between t - d and t. For samples at 100 Hz and a bandwidth of
2 Hz, the relative error of interpolation is 0.1 %.

>>> line = DelayLine(1)
>>> line.delay = 15_000_000
>>> for k in range(4):  # x = 10 t, each 10 ms
...     line.advance(10_000_000 * k)
...     now = np.array([0.1 * k])
...     print(line.is_ready, delayed(line.numbers, now).round(3))
...     line.keep(now)
False [0.]
False [0.1]
True [0.05]
True [0.15]
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.measurement.estimation.observers.steps import StepLengths
from screw_dynamics_ros.core.types import Array


def delayed(numbers: Array, now: Array) -> Array:
    """Return x(t - d) of (1), (m,), from the numbers of a line and x(t). Can be recorded."""
    return np.asarray(numbers[:-1] + numbers[-1] * now)


class DelayLine:
    """Stores m quantities of past samples.

    Attributes
    ----------
    numbers : (m + 1,) array
        `held` and `share` of (1) for the current sample; always the same array.
    delay : int
        d [ns]; 0 for none. Can be changed at any time.
    is_ready : bool
        Whether the stored samples cover t - d.
    lengths : StepLengths
        Detects pauses, which clear the stored samples.
    """

    def __init__(self, size: int) -> None:
        self.numbers = np.zeros(size + 1)
        self.delay = 0
        self.lengths = StepLengths()
        self._past: deque[tuple[int, Array]] = deque()
        self.restart()

    def restart(self) -> None:
        """Restart with the next sample."""
        self.lengths.restart()
        self._set(None, 1.0)
        self.is_ready = not self.delay

    def advance(self, stamp: int, restarted: bool = False) -> None:
        """Advance to a sample.

        Parameters
        ----------
        stamp : int
            Stamp of the sample [ns]. A stamp that does not increase causes a restart.
        restarted : bool
            Whether the sample is the first after a pause.
        """
        self._stamp, past, target = stamp, self._past, stamp - self.delay
        if not self.lengths.take(stamp, restarted):
            past.clear()
        while len(past) > 1 and past[1][0] <= target:
            past.popleft()
        self.is_ready = not self.delay or bool(past and past[0][0] <= target)
        if not self.delay or not self.is_ready:
            self._set(None, 1.0)
            return
        begin, before = past[0]
        end, after = past[1] if len(past) > 1 else (stamp, None)
        share = (target - begin) / (end - begin)
        held = (1.0 - share) * before
        if after is None:
            self._set(held, share)
        else:
            self._set(held + share * after, 0.0)

    def keep(self, now: Array) -> None:
        """Store x (m,) of the current sample; numbers that are not finite cause a restart."""
        if not self.delay:
            return
        if np.isfinite(now.sum()):
            self._past.append((self._stamp, now.copy()))
        else:
            self.restart()

    def _set(self, held: Array | None, share: float) -> None:
        self.numbers[:-1] = 0.0 if held is None else held
        self.numbers[-1] = share


class StackDelay:
    """The same for consecutive stacks of samples.

    Parameters
    ----------
    delay : int
        d [ns].
    """

    def __init__(self, delay: int) -> None:
        self._delay = delay
        self._time = np.zeros(0, dtype=np.int64)  # of kept rows, before the next stack [ns]
        self._rows: Array | None = None
        self._stamp = 0

    def take(self, t: NDArray[np.int64], begins: NDArray[np.bool_], rows: Array) -> Array:
        """Return x(t - d), (N, m), NaN before the first stored sample.

        Parameters
        ----------
        t : (N,) array of int
            Stamps [ns].
        begins : (N,) array of bool
            Samples after a pause.
        rows : (N, m) array
            x; rows that are not finite cause a restart.
        """
        if not self._delay or not len(t):
            return rows
        count, lost = len(self._time), ~np.isfinite(rows @ np.ones(rows.shape[1]))
        begins, rows = begins | lost, np.where(lost[:, None], np.nan, rows)
        if self._rows is None:
            begins[0], self._stamp = True, int(t[0])
        steps = np.where(begins, 0, np.diff(t, prepend=self._stamp))
        time = np.concatenate([self._time, np.cumsum(steps)])  # without pauses
        every = rows if self._rows is None else np.concatenate([self._rows, rows])
        begin = np.where(np.concatenate([np.zeros(count, bool), begins]), np.arange(len(time)), 0)
        first = np.maximum.accumulate(begin)[count:]
        target = time[count:] - self._delay
        k = np.searchsorted(time, target, side='right') - 1
        is_ready = k >= first
        k = np.maximum(k, 0)
        after = np.minimum(k + 1, len(time) - 1)
        share = (target - time[k]) / np.maximum(time[after] - time[k], 1)
        result = (1.0 - share)[:, None] * every[k] + share[:, None] * every[after]
        result[~is_ready] = np.nan
        kept = max(int(np.searchsorted(time, time[-1] - self._delay, side='right')) - 1, first[-1])
        self._time, self._rows = time[kept:] - time[-1], every[kept:]
        self._stamp = int(t[-1])
        return np.asarray(result)
