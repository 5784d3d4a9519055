"""Joint states that wait in the subscription: answered after a pause, passed over in an overload.

After a pause of the process all states that came meanwhile are answered, which takes a moment. But
if they come faster than they can be answered, the queue stays full, and every output would be late
by its length for ever: a controller had better get the newest.
"""

from __future__ import annotations

import math

LATE, PATIENCE = 0.1, 1.0  # s behind, and for how long, from which states are passed over
STRICT = 0.02  # s behind that is allowed in the time after an overload
STRAINED = 10.0  # s that this time lasts
FRESH = 0.005  # s behind up to which states are passed over
IDLE = 5e-4  # s between two states, from which none can have waited


class Backlog:
    """Tells which joint states to pass over.

    Attributes
    ----------
    passed_over : int
        States that were not answered, in all.
    last : float
        When that happened last, -inf if never [s].
    """

    def __init__(self) -> None:
        self.passed_over = 0
        self.last = -math.inf
        self._least_age = math.inf
        self._late_since = math.inf
        self._done = -math.inf
        self._catching_up = False

    def passes_over(self, age: float, arrival: float) -> bool:
        """Return whether a state is to be left without an answer.

        Parameters
        ----------
        age : float
            Clock minus stamp [s]; the clocks may differ.
        arrival : float
            When the state was taken out of the subscription, monotonic clock [s].
        """
        none_waited = arrival - self._done > IDLE
        late_for = arrival - self._late_since
        if self._catching_up and (none_waited or late_for > 2.0 * PATIENCE):
            self._least_age = age  # the newest is as old: a clock was set, or time began anew
        self._least_age = min(self._least_age, age)
        behind = age - self._least_age
        strained = arrival - self.last < STRAINED
        if behind < (FRESH if self._catching_up else STRICT if strained else LATE):
            self._late_since = math.inf
            self._catching_up = False
        else:
            self._late_since = min(self._late_since, arrival)
            self._catching_up |= (strained or late_for > PATIENCE) and not none_waited
        if self._catching_up:
            self.passed_over += 1
            self.last = arrival
        return self._catching_up

    def done(self, now: float) -> None:
        """Note when the work on a state has ended [s]."""
        self._done = now
