# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Delays of the messages of a subscription from sending to processing, and lost messages.

The middleware records the sending time of a message by the clock of the sender, independently of
the stamp in the message (replays, simulated time). Clocks of two machines differ, so the delay is
measured relative to the fastest earlier messages.
"""

from __future__ import annotations

import math

import numpy as np

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed

MAX_CLOCK_DRIFT = 1e-3  # s/s; largest relative drift of two clocks
MAX_GAP = 1000  # messages; a larger step of the sequence number means another publisher
CLOCK_RESET_TIME_S = (
    1.0  # s; if all messages are late for this time, the clock of the sender has been set back
)


# Memory of `delay_of`.
CLOCK_DIFFERENCE, TIME_BEFORE, LATE_SINCE = range(3)


class TransportDelay:
    """Delays of the messages of one subscription.

    Attributes
    ----------
    memory : (3,) array
        Smallest difference of the two clocks, time of the last message, and time since which all
        are late [s].
    """

    def __init__(self) -> None:
        self.memory = np.array([math.inf, -math.inf, math.inf])

    def of(self, sent: int, now: int, limit: float) -> float:
        """Return the delay of the next message [s]; parameters as for `delay_of`."""
        return delay_of(self.memory, sent, now, limit)


@typed
def delay_of(memory: Floats, sent: int, now: int, limit: float) -> float:
    """Return the delay of the next message [s].

    Parameters
    ----------
    memory : array
        Of a `TransportDelay`.
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
    elapsed = time - memory[TIME_BEFORE]
    memory[TIME_BEFORE] = time
    if elapsed > 0.0:  # negative if the local clock was set back
        memory[CLOCK_DIFFERENCE] += MAX_CLOCK_DRIFT * elapsed
    delay = 0.0
    if age <= memory[CLOCK_DIFFERENCE]:
        memory[CLOCK_DIFFERENCE] = age
    else:
        delay = age - memory[CLOCK_DIFFERENCE]
    if delay <= limit:
        memory[LATE_SINCE] = math.inf
    elif memory[LATE_SINCE] == math.inf or elapsed < 0.0:
        memory[LATE_SINCE] = time
    elif time - memory[LATE_SINCE] > CLOCK_RESET_TIME_S:
        memory[CLOCK_DIFFERENCE] = age
        memory[LATE_SINCE] = math.inf
        delay = 0.0
    return delay


class SequenceGaps:
    """Lost messages, detected by the sequence numbers of the middleware.

    Attributes
    ----------
    memory : (1,) array of int64
        The last sequence number.
    """

    def __init__(self) -> None:
        self.memory = np.zeros(1, dtype=np.int64)

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
        return gap_before(self.memory, number, is_only_publisher)


@typed
def gap_before(memory: Ints, number: int, is_only_publisher: bool) -> int:
    """Return the number of missing messages before the one with a sequence number.

    A number that is not positive is not one. `memory` is that of a `SequenceGaps`.
    """
    if number <= 0:
        return 0
    last = memory[0]
    memory[0] = number
    gap = number - last - 1
    return gap if is_only_publisher and last != 0 and 0 < gap <= MAX_GAP else 0
