# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Timing in turns (A B C A B C ...): medians, 99th percentiles of single calls, ratios of turns.

All candidates take turns, so that a slow spell of the machine hits them alike, and a ratio is the
median over the rounds of the ratio within a round. Turns are shorter than the time slices of the
system: other processes spoil few of them. The garbage collector rests for all of them.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Protocol

import numpy as np

#: Calls in each turn that are timed one by one, for the 99th percentile; fewer if they take long.
SINGLE = 50


class Run(Protocol):
    """Something to be timed."""

    def __call__(self, n: int) -> float:
        """Return the seconds that n calls take."""

    def each(self, n: int) -> list[float]:
        """Return the seconds of each of n calls, without those for reading the clock."""


class Loop:
    """A Python statement; `names` are its local variables."""

    def __init__(self, statement: str, **names: Any) -> None:
        arguments = ', '.join(f'{name}={name}' for name in names)
        source = (
            f'def run(n, {arguments}):\n'
            '    start = clock()\n'
            '    for _ in repeat(None, n):\n'
            f'        {statement}\n'
            '    return clock() - start\n'
            f'def each(n, {arguments}):\n'
            '    times = []\n'
            '    for _ in repeat(None, n):\n'
            '        start = clock()\n'
            f'        {statement}\n'
            '        times.append(clock() - start)\n'
            '    return times\n'
        )
        space = {**names, 'repeat': repeat, 'clock': time.perf_counter}
        exec(source, space)
        self._run, self._each = space['run'], space['each']

    def __call__(self, n: int) -> float:
        return self._run(n)

    def each(self, n: int) -> list[float]:
        return [max(0.0, t - CLOCK) for t in self._each(n)]


loop = Loop


def clock_seconds() -> float:
    """Return what reading the clock adds to the time of a single call."""
    source = 'times = []\nfor _ in range(2000):\n    start = clock(); times.append(clock() - start)'
    space: dict[str, Any] = {'clock': time.perf_counter}
    exec(source, space)
    return statistics.median(space['times'])


CLOCK = clock_seconds()


@dataclass(frozen=True)
class Times:
    """Seconds per call.

    Attributes
    ----------
    turns : list of float
        Mean of each turn.
    p99 : float
        99th percentile of calls that were timed one by one.
    """

    turns: list[float]
    p99: float

    @property
    def median(self) -> float:
        """Median over the turns."""
        return statistics.median(self.turns)


@dataclass(frozen=True)
class Ratio:
    """How many times faster: median, and the range of all rounds but a tenth at either end."""

    median: float
    low: float
    high: float


def ratio(ours: Times, theirs: Times) -> Ratio:
    """Return theirs / ours, compared round by round."""
    rounds = np.array(theirs.turns) / np.array(ours.turns)
    low, median, high = np.quantile(rounds, [0.1, 0.5, 0.9])
    return Ratio(float(median), float(low), float(high))


def measure(runs: dict[str, Run], *, repeats: int, seconds: float = 2e-4) -> dict[str, Times]:
    """Return {name: times}. Each turn lasts about `seconds`; what warms up does not count."""
    number = {}
    for name, run in runs.items():
        run(1)
        n = 1
        while run(n) < seconds / 2 and n < 10**6:
            n *= 2
        number[name] = n
    turns: dict[str, list[float]] = {name: [] for name in runs}
    single: dict[str, list[float]] = {name: [] for name in runs}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(repeats):
            for name, run in runs.items():
                turns[name].append(run(number[name]) / number[name])
                single[name] += run.each(min(SINGLE, number[name]))
    finally:
        if enabled:
            gc.enable()
    return {name: Times(turns[name], float(np.quantile(single[name], 0.99))) for name in runs}


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this thread, and so the number of workers, on one processor core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
