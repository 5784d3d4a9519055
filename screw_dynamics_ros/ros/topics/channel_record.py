# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Memory of an output that Python and the compiled loop share.

A record is an array of int64 words; those marked `->` are addresses, 0 if there is no such thing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.types import Array

(
    PUBLISHER,  # -> rcl_publisher_t, 0 if the topic has no subscribers
    SERIALIZED,  # -> rcl_serialized_message_t
    STAMPS,  # -> addresses of its stamps
    STAMP_COUNT,
    NEEDS,  # VELOCITY | EFFORT
    GATES,  # -> gate records
    GATE_COUNT,
    IS_NATIVE,  # whether the loop processes it, or Python
    IS_MODEL_STATE,
    LIMIT,  # -> memory of a `RateLimit`
    CURRENT,  # NOT_VALID, VALID, or FOR_PYTHON
    VALID_STAMP,  # of the last valid numbers [ns]
    PUBLISHED,  # number of messages
) = range(CHANNEL_WORDS := 13)

VELOCITY, EFFORT = 1, 2
NOT_VALID, VALID, FOR_PYTHON = range(3)

#: A gate record: kind, -> numbers, their count, and -> function.
GATE_KIND, GATE_NUMBERS, GATE_SIZE, GATE_FUNCTION = range(GATE_WORDS := 4)
FINITE, POSITIVE, TRUE, BEFORE, CALL = range(5)


class Gate(NamedTuple):
    """A condition for publishing, for the compiled loop.

    Attributes
    ----------
    kind : int
        FINITE: all numbers are finite, otherwise Python reports it. POSITIVE: all are greater than
        0. TRUE: the integer is one of NOT_VALID, VALID and FOR_PYTHON. BEFORE: the number is a time
        on the monotonic clock [s] that has not passed. CALL: the function returns one of NOT_VALID,
        VALID and FOR_PYTHON for the record `numbers`.
    numbers : array or Record
        Always the same array; float64, for TRUE int64.
    function : callable, optional
        A `compiled_step` for CALL.
    """

    kind: int
    numbers: Array | NDArray[np.int64] | Record
    function: Callable[..., int] | None = None
