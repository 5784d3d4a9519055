# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Records of an output for the compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from screw_dynamics_ros.core.compile.typed.functions import Bytes, Floats, Ints
from screw_dynamics_ros.core.compile.typed.records import Opaque, Record

from ..process.rate_limit import RateLimit

VELOCITY, EFFORT = 1, 2
NOT_VALID, VALID = range(2)
POSITIVE, TRUE, BEFORE, CALL = range(4)


class Gate(Record):
    """A condition for publishing, for the compiled loop.

    Attributes
    ----------
    kind : int
        POSITIVE: all numbers are greater than 0. TRUE: the integer is VALID. BEFORE: the number is
        a time on the monotonic clock [s] that has not passed. CALL: the function returns VALID or
        NOT_VALID for the record.
    numbers : array or None
        Of POSITIVE and BEFORE.
    state : (1,) array of int or None
        Of TRUE.
    record, code : Opaque or None
        Of CALL.
    function : callable or None
        A `compiled_step`, whose machine code is `code`.

    Parameters
    ----------
    kind : int
    given : array or Record
        Always the same array; float64, for TRUE int64.
    function : callable, optional
    """

    kind: int
    numbers: Floats | None
    state: Ints | None
    record: Opaque | None
    code: Opaque | None

    def __init__(
        self,
        kind: int,
        given: Any,
        function: Callable[..., int] | None = None,
    ) -> None:
        self.kind, self.function = kind, function
        if isinstance(given, Record):
            self.record = given
        elif kind == TRUE:
            self.state = given
        else:
            self.numbers = given


class MessageStamp(Record):
    """The bytes of a stamp in a message."""

    data: Bytes

    def __init__(self, data: Bytes) -> None:
        self.data = data


class ChannelRecord(Record):
    """The part of a `Channel` that the compiled loop uses.

    Attributes
    ----------
    is_published : bool
        Whether the topic has subscribers.
    handle : Opaque or None
        The rcl_publisher_t, None if Python publishes.
    serialized : Opaque
        The rcl_serialized_message_t.
    sender : Opaque
        A function of Python that publishes.
    stamps : tuple of MessageStamp
    needs : int
        VELOCITY | EFFORT.
    conditions : tuple of Gate
    first_part, end_part : int
        Its parts are those of the loop from `first_part` on, before `end_part`.
    rate : RateLimit or None
    topic_rate : RateLimit or None
        Of the messages on the topic, by stamps.
    state : int
        NOT_VALID or VALID: whether the numbers are valid for the current joint state.
    valid_stamp : int
        Stamp of the last joint state for which they were [ns], `NEVER_STAMP` without one.
    published : int
        Number of published messages.
    """

    is_published: bool
    handle: Opaque | None
    serialized: Opaque
    sender: Opaque
    stamps: tuple[MessageStamp, ...]
    needs: int
    conditions: tuple[Gate, ...]
    first_part: int
    end_part: int
    rate: RateLimit | None
    topic_rate: RateLimit | None
    state: int
    valid_stamp: int
    published: int
