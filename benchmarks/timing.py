"""Timing that other processes disturb little: interleaved repeats, smallest and median."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Run = Callable[[int], float]  # number of calls -> seconds


def loop(statement: str, **names: Any) -> Run:
    """Return a function that runs a statement n times; `names` are its local variables."""
    source = (
        f'def run(n, {", ".join(f"{name}={name}" for name in names)}):\n'
        '    start = clock()\n'
        '    for _ in repeat(None, n):\n'
        f'        {statement}\n'
        '    return clock() - start\n'
    )
    from itertools import repeat

    namespace = {**names, 'repeat': repeat, 'clock': time.perf_counter}
    exec(source, namespace)
    return namespace['run']  # type: ignore[return-value]


def measure(
    runs: dict[str, Run], *, repeats: int, seconds: float = 2e-3
) -> dict[str, tuple[float, float]]:
    """Return {name: (smallest, median)} seconds per call.

    All candidates take turns, so that a slow spell of the machine hits them alike; each turn lasts
    about `seconds`. The first turns, which warm up, do not count.
    """
    number = {}
    for name, run in runs.items():
        run(1)
        n = 1
        while run(n) < seconds / 2 and n < 10**6:
            n *= 2
        number[name] = n
    samples: dict[str, list[float]] = {name: [] for name in runs}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(repeats):
            for name, run in runs.items():
                samples[name].append(run(number[name]) / number[name])
    finally:
        if enabled:
            gc.enable()
    return {name: (min(values), statistics.median(values)) for name, values in samples.items()}


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this thread, and so the number of workers, on one processor core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
