# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rate limits: which of the joint states that arrive are used, for Python and the compiled loop.

Due times have the distance of one period. Of states that arrive faster, the first one at or after
each due time is used, so that the mean rate is met for any ratio of the two rates. If states arrive
at no more than the rate of the limit, each is used, also if their times vary by half a period:
while intervals longer than half a period occur, states up to half a period before the due time are
used. A delay of less than a period does not move the due times; the next one may follow at once.
After a longer gap, or if the clock was set back, one state is used at once and the next after a
period: missed ones are not caught up.
"""

from __future__ import annotations

import time

import numpy as np

from screw_dynamics_ros.core.compile.typed.functions import Ints, typed
from screw_dynamics_ros.core.units import NANOSECONDS

LONG_AGO, MAX_PERIOD = -(2**62), 2**60  # [ns]

# Memory of a limit: times [ns], and a number of states.
DUE, PERIOD, LAST_TIME, TOLERANT = range(4)

TOLERANT_STATES = 16  # after an interval that is longer than half a period


class RateLimit:
    """Selects states at a mean rate, see the module.

    Parameters
    ----------
    rate : float
        Largest rate [Hz].

    Attributes
    ----------
    memory : (4,) array of int64
        Next due time, period, and time of the last state [ns]; number of next states that may be
        used before the due time.
    """

    def __init__(self, rate: float) -> None:
        period = round(min(NANOSECONDS / rate, MAX_PERIOD))
        self.memory = np.array([LONG_AGO, period, LONG_AGO, 0])

    def __call__(self) -> bool:
        """Whether to use a state that arrives now, on the monotonic clock."""
        return self.use(time.monotonic_ns())

    def use(self, now: int) -> bool:
        """Whether to use a state of the time `now` [ns]; call it once for each state."""
        return use(self.memory, now)


@typed
def is_due(memory: Ints, now: int) -> bool:
    """Whether a state of the time `now` [ns] is used; nothing is changed."""
    if restarts(memory, now):
        return True
    tolerance = memory[PERIOD] // 2 if tolerant_states(memory, now) > 0 else 0
    return now > memory[LAST_TIME] and now >= memory[DUE] - tolerance


@typed
def use(memory: Ints, now: int) -> bool:
    """Whether a state of the time `now` [ns] is used, which is counted; once for each state."""
    is_used = is_due(memory, now)
    if restarts(memory, now):
        memory[DUE] = now
        memory[TOLERANT] = 0
    else:
        memory[TOLERANT] = tolerant_states(memory, now)
    if is_used:
        memory[DUE] += memory[PERIOD]
    memory[LAST_TIME] = now
    return is_used


@typed
def restarts(memory: Ints, now: int) -> bool:
    """Whether due times restart: after a gap, or if the clock was set back."""
    return now < memory[LAST_TIME] or now - memory[DUE] >= memory[PERIOD]


@typed
def tolerant_states(memory: Ints, now: int) -> int:
    """Return the number of states from `now` on that may be used before the due time."""
    if 2 * (now - memory[LAST_TIME]) > memory[PERIOD]:
        return TOLERANT_STATES
    return max(memory[TOLERANT] - 1, 0)
