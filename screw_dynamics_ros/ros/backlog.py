"""Joint states that wait in the subscription: answered after a pause, passed over in an overload.

After a pause of the process all states that came meanwhile are answered, which takes a moment. But
if they come faster than they can be answered, the queue stays full, and every output would be late
by its length for ever: a controller had better get the newest.
"""

from __future__ import annotations

import math

PATIENCE = 1.0  # s of work with little rest, and
LATE = 0.1  # s that states have become older, from which they are passed over
STRICT = 0.02  # s, the same in the time after an overload, without patience
STRAINED = 10.0  # s that this time lasts
FRESH = 0.005  # s up to which states are passed over
PAUSE = 1e-3  # s between two states that count as rest
REST = 0.5  # of the time: more of it, and the process keeps up, whatever the stamps say


class Backlog:
    """Tells which joint states to pass over.

    Attributes
    ----------
    passed_over : int
        States that were not answered, in all.
    last : float
        When that happened last, -inf if never [s].
    older : float
        By how much the latest state was older than others were when they came [s].
    """

    def __init__(self) -> None:
        self.passed_over = 0
        self.last = -math.inf
        self.older = 0.0
        self._least_age = math.inf
        self._since = -math.inf  # time in which rest is counted, or states are passed over
        self._rest = 0.0
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
        pause, time = arrival - self._done, arrival - self._since
        self._least_age = min(self._least_age, age)
        self.older = older = age - self._least_age
        if pause > PAUSE:
            self._rest += pause
        keeps_up = self._rest > REST * time
        strained = arrival - self.last < STRAINED
        if self._catching_up:
            if time > PATIENCE:  # the newest is as old: a clock was set
                self._least_age, older = age, 0.0
            if older < FRESH or pause > PAUSE:
                self._begin(arrival, catching_up=False, rest=min(pause, PATIENCE))
        elif older > STRICT and strained and not keeps_up:
            self._begin(arrival, catching_up=True)
        elif time > PATIENCE:
            self._begin(arrival, catching_up=older > LATE and not keeps_up)
            if keeps_up:
                self._least_age = age
        if self._catching_up:
            self.passed_over += 1
            self.last = arrival
        return self._catching_up

    def _begin(self, now: float, catching_up: bool, rest: float = 0.0) -> None:
        self._since, self._rest, self._catching_up = now - rest, rest, catching_up

    def done(self, now: float) -> None:
        """Note when the work on a state has ended [s]."""
        self._done = now
