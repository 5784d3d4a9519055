# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Delays of the messages of a subscription until processing, and lost messages.

The middleware notes when a message was sent, by the clock of the sender, whatever its own stamp
says (replays, simulated time). Clocks of two machines differ: what counts is by how much a message
is later than the quickest ones before it.
"""

from __future__ import annotations

import math

MAX_CLOCK_DRIFT = 1e-3  # s per s by which two clocks may run apart
MAX_GAP = 1000  # messages; a larger step of the numbers is another publisher
CLOCK_RESET_TIME_S = (
    1.0  # s for which everything is late, after which the clock of the sender has been set
)


class TransportDelay:
    """Delays of the messages of one subscription."""

    def __init__(self) -> None:
        self._least = math.inf  # of the differences of the two clocks [s]
        self._before = -math.inf
        self._late_since = math.inf

    def of(self, sent: int, now: int, limit: float) -> float:
        """Return the delay of the next message [s].

        Parameters
        ----------
        sent : int
            When it was sent, by the clock of the sender [ns]; 0 if the middleware does not tell.
        now : int
            The time of day here [ns].
        limit : float
            Delay from which a message is late [s]: if all of them are late for a second, the clock
            of the sender has been set back.
        """
        if not sent:
            return 0.0
        age, time = 1e-9 * (now - sent), 1e-9 * now
        elapsed = time - self._before
        self._before = time
        if elapsed > 0.0:  # the clock here may be set, too
            self._least += MAX_CLOCK_DRIFT * elapsed
        if age <= self._least:
            self._least, delay = age, 0.0
        else:
            delay = age - self._least
        if delay <= limit:
            self._late_since = math.inf
        elif self._late_since == math.inf or elapsed < 0.0:
            self._late_since = time
        elif time - self._late_since > CLOCK_RESET_TIME_S:
            self._least, self._late_since, delay = age, math.inf, 0.0
        return delay


class SequenceGaps:
    """Messages that did not come, by the numbers that the middleware gives them."""

    def __init__(self) -> None:
        self._last = 0

    def before(self, number: int | None, is_only_publisher: bool) -> int:
        """Return how many messages are missing before the next one.

        Parameters
        ----------
        number : int or None
            Its number, counted by its publisher; None or 0 if the middleware does not tell.
        is_only_publisher : bool
            Whether the topic has one publisher; the numbers of several cannot be distinguished.
        """
        if not number:
            return 0
        if number == self._last + 1:
            self._last = number
            return 0
        gap = number - self._last - 1
        known = is_only_publisher and self._last
        self._last = number
        return gap if known and 0 < gap <= MAX_GAP else 0
