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

from screw_dynamics_ros.core.compile.typed.functions import typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.units import NANOSECONDS

LONG_AGO, MAX_PERIOD = -(2**62), 2**60  # [ns]

TOLERANT_STATES = 16  # after an interval that is longer than half a period


class RateLimit(Record):
    """Selects states at a mean rate, see the module.

    Parameters
    ----------
    rate : float
        Largest rate [Hz].

    Attributes
    ----------
    due, period, last_time : int
        Next due time, period, and time of the last state [ns].
    tolerant : int
        Number of next states that may be used before the due time.
    """

    due: int
    period: int
    last_time: int
    tolerant: int

    def __init__(self, rate: float) -> None:
        self.period = round(min(NANOSECONDS / rate, MAX_PERIOD))
        self.due = self.last_time = LONG_AGO

    def __call__(self) -> bool:
        """Whether to use a state that arrives now, on the monotonic clock."""
        return self.use(time.monotonic_ns())

    def use(self, now: int) -> bool:
        """Whether to use a state of the time `now` [ns]; call it once for each state."""
        return use(self, now)


@typed
def is_due(limit: RateLimit, now: int) -> bool:
    """Whether a state of the time `now` [ns] is used; nothing is changed."""
    if restarts(limit, now):
        return True
    tolerance = limit.period // 2 if tolerant_states(limit, now) > 0 else 0
    return now > limit.last_time and now >= limit.due - tolerance


@typed
def use(limit: RateLimit, now: int) -> bool:
    """Whether a state of the time `now` [ns] is used, which is counted; once for each state."""
    is_used = is_due(limit, now)
    if restarts(limit, now):
        limit.due = now
        limit.tolerant = 0
    else:
        limit.tolerant = tolerant_states(limit, now)
    if is_used:
        limit.due += limit.period
    limit.last_time = now
    return is_used


@typed
def restarts(limit: RateLimit, now: int) -> bool:
    """Whether due times restart: after a gap, or if the clock was set back."""
    return now < limit.last_time or now - limit.due >= limit.period


@typed
def tolerant_states(limit: RateLimit, now: int) -> int:
    """Return the number of states from `now` on that may be used before the due time."""
    if 2 * (now - limit.last_time) > limit.period:
        return TOLERANT_STATES
    return max(limit.tolerant - 1, 0)
