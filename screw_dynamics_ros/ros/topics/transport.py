# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Delays of the messages of a subscription from sending to processing, and lost messages.

The middleware records the sending time of a message by the clock of the sender, independently of
the stamp in the message (replays, simulated time). Clocks of two machines differ, so the delay is
measured relative to the fastest earlier messages.
"""

from __future__ import annotations

import math

from screw_dynamics_ros.core.compile.typed.functions import typed
from screw_dynamics_ros.core.compile.typed.records import Record

MAX_CLOCK_DRIFT = 1e-3  # s/s; largest relative drift of two clocks
MAX_GAP = 1000  # messages; a larger step of the sequence number means another publisher
CLOCK_RESET_TIME_S = (
    1.0  # s; if all messages are late for this time, the clock of the sender has been set back
)


class TransportDelay(Record):
    """Delays of the messages of one subscription.

    Attributes
    ----------
    clock_difference : float
        Smallest difference of the two clocks [s].
    time_before, late_since : float
        Time of the last message, and time since which all are late [s].
    """

    clock_difference: float
    time_before: float
    late_since: float

    def __init__(self) -> None:
        self.clock_difference = self.late_since = math.inf
        self.time_before = -math.inf

    def of(self, sent: int, now: int, limit: float) -> float:
        """Return the delay of the next message [s]; parameters as for `delay_of`."""
        return delay_of(self, sent, now, limit)


@typed
def delay_of(delays: TransportDelay, sent: int, now: int, limit: float) -> float:
    """Return the delay of the next message [s].

    Parameters
    ----------
    delays : TransportDelay
    sent : int
        Sending time by the clock of the sender [ns]; 0 if the middleware does not report it.
    now : int
        System time of this machine [ns].
    limit : float
        Delay from which a message is late [s]: if all messages are late for a second, the clock of
        the sender has been set back.
    """
    if sent == 0:
        return 0.0
    age = 1e-9 * float(now - sent)
    time = 1e-9 * float(now)
    elapsed = time - delays.time_before
    delays.time_before = time
    if elapsed > 0.0:  # negative if the local clock was set back
        delays.clock_difference += MAX_CLOCK_DRIFT * elapsed
    delay = 0.0
    if age <= delays.clock_difference:
        delays.clock_difference = age
    else:
        delay = age - delays.clock_difference
    if delay <= limit:
        delays.late_since = math.inf
    elif delays.late_since == math.inf or elapsed < 0.0:
        delays.late_since = time
    elif time - delays.late_since > CLOCK_RESET_TIME_S:
        delays.clock_difference = age
        delays.late_since = math.inf
        delay = 0.0
    return delay


class SequenceGaps(Record):
    """Lost messages, detected by the sequence numbers of the middleware.

    Attributes
    ----------
    last : int
        The last sequence number.
    """

    last: int

    def before(self, number: int | None, is_only_publisher: bool) -> int:
        """Return the number of missing messages before the next one.

        Parameters
        ----------
        number : int or None
            Its sequence number; None, 0 or 2^64 - 1 if the middleware does not report it.
        is_only_publisher : bool
            Whether the topic has one publisher; sequences of several cannot be distinguished.
        """
        if not number or number >= 2**63:
            return 0
        return gap_before(self, number, is_only_publisher)


@typed
def gap_before(gaps: SequenceGaps, number: int, is_only_publisher: bool) -> int:
    """Return the number of missing messages before the one with a sequence number.

    A number that is not positive is not one.
    """
    if number <= 0:
        return 0
    last = gaps.last
    gaps.last = number
    gap = number - last - 1
    return gap if is_only_publisher and last != 0 and 0 < gap <= MAX_GAP else 0
