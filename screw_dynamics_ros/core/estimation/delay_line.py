# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Model quantities at the time of delayed efforts, interpolated between past samples.

Efforts with a delay d correspond to the state at t - d. The quantities x of the model at that time
are interpolated between the samples before and after t - d,

    x(t - d) = held + share x(t),                                                       (1)

where share is nonzero if no sample is between t - d and t. For samples at 100 Hz and a bandwidth of
2 Hz, the relative error of interpolation is 0.1 %.

>>> line, clock = DelayLine(1), StateClock()
>>> line.delay = 15_000_000
>>> for k in range(4):  # x = 10 t, each 10 ms
...     _ = clock.advance(10_000_000 * k)
...     line.advance(clock)
...     now = np.array([0.1 * k])
...     print(line.is_ready, delayed(line.numbers, now).round(3))
...     line.keep(now)
False [0.]
False [0.1]
True [0.05]
True [0.15]
"""

from __future__ import annotations

import numpy as np

from ..compile.typed.functions import Floats, Ints, typed
from ..compile.typed.records import Record
from ..state_clock import StateClock
from ..types import Array
from .observers.steps import has_finite_sum

CAPACITY = 2048  # samples


def delayed(numbers: Array, now: Array) -> Array:
    """Return x(t - d) of (1), (m,), from the numbers of a line and x(t). Can be recorded."""
    return np.asarray(numbers[:-1] + numbers[-1] * now)


class DelayLine(Record):
    """Stores m quantities of past samples.

    Parameters
    ----------
    size : int
        m.

    Attributes
    ----------
    is_running : bool
        Whether the next sample continues.
    numbers : (m + 1,) array
        `held` and `share` of (1) for the current sample; always the same array.
    delay : int
        d [ns]; 0 for none. Can be changed at any time.
    is_ready : bool
        Whether the stored samples cover t - d.
    stamp : int
        Of the current sample [ns].
    stamps, rows : (`CAPACITY`,) and (`CAPACITY` m,) arrays
        The stored samples, in a ring: no two are closer than 2 d / `CAPACITY`.
    first, count : int
        Index of the oldest one, and their number.
    """

    is_running: bool
    numbers: Floats
    delay: int
    is_ready: bool
    stamp: int
    stamps: Ints
    rows: Floats
    first: int
    count: int

    def __init__(self, size: int) -> None:
        self.numbers = np.zeros(size + 1)
        self.stamps = np.zeros(CAPACITY, dtype=np.int64)
        self.rows = np.zeros(CAPACITY * size)
        self.restart()

    def restart(self) -> None:
        """Restart with the next sample."""
        restart_line(self)

    def advance(self, clock: StateClock) -> None:
        """Advance to the sample of a clock."""
        advance_line(self, clock)

    def keep(self, now: Array) -> None:
        """Store x (m,) of the current sample; numbers that are not finite cause a restart."""
        keep_row(self, now)


@typed
def restart_line(line: DelayLine) -> None:
    """Restart with the next sample."""
    line.is_running = False
    pass_present(line)
    line.is_ready = line.delay == 0


@typed
def pass_present(line: DelayLine) -> None:
    """Let (1) be x(t)."""
    m = len(line.numbers) - 1
    for k in range(m):
        line.numbers[k] = 0.0
    line.numbers[m] = 1.0


@typed
def advance_line(line: DelayLine, clock: StateClock) -> None:
    """See `DelayLine.advance`."""
    stamp = clock.stamp
    line.stamp = stamp
    target = stamp - line.delay
    if clock.elapsed == 0 or not line.is_running:
        line.count = 0
    line.is_running = True
    while line.count > 1 and line.stamps[(line.first + 1) % CAPACITY] <= target:
        line.first = (line.first + 1) % CAPACITY
        line.count -= 1
    begin = line.stamps[line.first]
    line.is_ready = line.delay == 0 or (line.count > 0 and begin <= target)
    if line.delay == 0 or not line.is_ready:
        pass_present(line)
        return
    m = len(line.numbers) - 1
    following = (line.first + 1) % CAPACITY
    is_between = line.count > 1
    end = line.stamps[following] if is_between else stamp
    share = float(target - begin) / float(end - begin)
    for k in range(m):
        line.numbers[k] = (1.0 - share) * line.rows[line.first * m + k]
        if is_between:
            line.numbers[k] += share * line.rows[following * m + k]
    line.numbers[m] = 0.0 if is_between else share


@typed
def keep_row(line: DelayLine, now: Floats) -> None:
    """See `DelayLine.keep`."""
    if line.delay == 0:
        return
    m = len(line.numbers) - 1
    if not has_finite_sum(now, m):
        restart_line(line)
        return
    newest = (line.first + line.count - 1) % CAPACITY
    if line.count > 0 and line.stamp - line.stamps[newest] < 2 * line.delay // CAPACITY:
        return
    place = (line.first + line.count) % CAPACITY
    line.stamps[place] = line.stamp
    for k in range(m):
        line.rows[place * m + k] = now[k]
    line.count += 1
