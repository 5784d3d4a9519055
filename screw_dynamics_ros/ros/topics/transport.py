# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Delays of the messages of a subscription from sending to processing, and lost messages.

The middleware records the sending time of a message by the clock of the sender, independently of
the stamp in the message (replays, simulated time). Clocks of two machines differ, so the delay is
measured relative to the fastest earlier messages.
"""

from __future__ import annotations

import math

MAX_CLOCK_DRIFT = 1e-3  # s/s; largest relative drift of two clocks
MAX_GAP = 1000  # messages; a larger step of the sequence number means another publisher
CLOCK_RESET_TIME_S = (
    1.0  # s; if all messages are late for this time, the clock of the sender has been set back
)


class TransportDelay:
    """Delays of the messages of one subscription."""

    def __init__(self) -> None:
        self._least = math.inf  # smallest difference of the two clocks [s]
        self._before = -math.inf
        self._late_since = math.inf

    def of(self, sent: int, now: int, limit: float) -> float:
        """Return the delay of the next message [s].

        Parameters
        ----------
        sent : int
            Sending time by the clock of the sender [ns]; 0 if the middleware does not report it.
        now : int
            System time of this machine [ns].
        limit : float
            Delay from which a message is late [s]: if all messages are late for a second, the clock
            of the sender has been set back.
        """
        if not sent:
            return 0.0
        age, time = 1e-9 * (now - sent), 1e-9 * now
        elapsed = time - self._before
        self._before = time
        if elapsed > 0.0:  # negative if the local clock was set back
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
    """Lost messages, detected by the sequence numbers of the middleware."""

    def __init__(self) -> None:
        self._last = 0

    def before(self, number: int | None, is_only_publisher: bool) -> int:
        """Return the number of missing messages before the next one.

        Parameters
        ----------
        number : int or None
            Its sequence number; None or 0 if the middleware does not report it.
        is_only_publisher : bool
            Whether the topic has one publisher; sequences of several cannot be distinguished.
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
