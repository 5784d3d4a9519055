# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages as bytes: converting message objects is too slow for a control loop in Python.

A `Template` is a message serialized once by the middleware itself; afterwards only its stamps and
numbers are written. Its assumptions are checked with rclpy before it is used, so that it works with
every middleware and distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message, serialize_message

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages.cdr import (
    STAMP_FORMAT,
    STAMP_OFFSET,
    find_all,
    number_offsets,
    packed,
    runs,
)

MAX_LEFT = 16  # bytes at the end of a message that the middleware did not need

#: Returns a message that carries a stamp wherever it has one, and the given numbers.
Build = Callable[[Time, list[float]], Any]


class Template:
    """A serialized message whose stamps and numbers can be exchanged.

    Parameters
    ----------
    build : callable
        ``build(stamp, numbers)`` returns the message with these contents.
    count : int
        How many numbers (float64) the message carries.
    layout : sequence of str, optional
        The fields of the message, see `padding`. Gaps between them, in which the middleware leaves
        whatever was in memory, are zero then, and none is left at the end: equal messages are equal
        bytes.

    Raises
    ------
    ScrewDynamicsError
        If writing into the bytes does not give what the middleware makes of the same message.
    """

    def __init__(self, build: Build, count: int, layout: Sequence[str] = ()) -> None:
        # Numbers and a stamp that do not occur in names or lengths.
        stamp = Time(sec=0x5EC05EC0, nanosec=0x2A0B1C0D)
        numbers = -1.7e-200 * np.arange(1.0, count + 1.0)
        data = serialize_message(build(stamp, numbers.tolist()))
        if layout:
            gaps = padding(data, layout)
            data = bytes(0 if k in gaps else x for k, x in enumerate(data))
            while len(data) - 1 in gaps:  # strict readers refuse what is too long
                data = data[:-1]
        stamps = find_all(data, STAMP_FORMAT.pack(stamp.sec, stamp.nanosec))
        self._place(data, stamps, number_offsets(data, numbers))
        self._check(build, count)

    def copy(self) -> Template:
        """Return a template for the same message, with numbers of its own."""
        made = Template.__new__(Template)
        made._place(*self._layout)
        return made

    def _place(self, data: bytes, stamps: Sequence[int], offsets: Sequence[int]) -> None:
        """Place a message in memory so that its numbers are aligned: a kernel can write there."""
        self._layout = data, stamps, offsets
        storage = np.zeros(len(data) + 8, dtype=np.uint8)
        start = -(storage.ctypes.data + (offsets[0] if offsets else 0)) % 8
        storage[start : start + len(data)] = np.frombuffer(data, dtype=np.uint8)
        self._storage = storage.data
        self._data = storage.data[start : start + len(data)]
        self._stamps = [start + offset for offset in stamps]
        self._places = [start + offset for offset in offsets]
        self._runs = [
            (first, last, self.array(first, last - first)) for first, last in runs(offsets)
        ]

    def _check(self, build: Build, count: int) -> None:
        """Let rclpy read what `fill` writes."""
        message = build(Time(sec=7, nanosec=654321), np.linspace(-1.0, 1.0, count).tolist())
        data = self.fill(np.linspace(-1.0, 1.0, count), 7_000_654_321)
        if deserialize_message(data, type(message)) != message:
            raise ScrewDynamicsError(
                f'the middleware serializes {type(message).__name__} in a way that cannot be '
                'filled in place; set RMW_IMPLEMENTATION to rmw_fastrtps_cpp or rmw_cyclonedds_cpp'
            )

    def array(self, first: int, count: int | None = None) -> Array:
        """Return some or all further numbers as an array (count,): what is written there is sent.

        Numbers of one array of the message, or of one vector or pose, are contiguous.
        """
        places = self._places[first : None if count is None else first + count]
        if any(b - a != 8 for a, b in pairwise(places)):
            raise ScrewDynamicsError('these numbers are not contiguous in the message')
        return np.frombuffer(self._storage, np.float64, len(places), places[0] if places else 0)

    def encode(self, stamp: bytes) -> bytes:
        """Return the message with a stamp, as `packed` makes it, and the numbers it has now."""
        storage = self._storage
        for place in self._stamps:
            storage[place : place + 8] = stamp
        return self._data.tobytes()

    def fill(self, numbers: Array, stamp: int = 0) -> bytes:
        """Return the message with other contents.

        Parameters
        ----------
        numbers : array of `count` elements
            In the order in which they were given to `build`.
        stamp : int
            In ns.
        """
        flat = numbers.reshape(-1)
        for first, last, view in self._runs:
            view[:] = flat[first:last]
        return self.encode(packed(stamp))


def padding(data: bytes, layout: Sequence[str]) -> set[int]:
    """Return where a message in CDR (little endian) has gaps: for alignment, and at its end.

    `layout` are its fields: 'time', 'string', 'strings' and 'doubles', the last two sequences.
    Empty if the message is much longer than these fields, or shorter.

    Examples
    --------
    >>> text_and_no_numbers = bytes([0, 1, 0, 0, 2, 0, 0, 0, 65, 0, 7, 7, 0, 0, 0, 0])
    >>> sorted(padding(text_and_no_numbers, ['string', 'doubles']))
    [10, 11]
    """
    place, gaps = STAMP_OFFSET, set[int]()

    def align(size: int) -> None:
        nonlocal place
        end = place + (STAMP_OFFSET - place) % size
        gaps.update(range(place, end))
        place = end

    def length() -> int:
        nonlocal place
        align(4)
        place += 4
        return int.from_bytes(data[place - 4 : place], 'little')

    for field in layout:
        if field == 'time':
            align(4)
            place += 8
        elif field == 'doubles':
            count = length()
            align(8 if count else 1)
            place += 8 * count
        else:
            for _ in range(length() if field == 'strings' else 1):
                size = length()
                place += size
    return {*gaps, *range(place, len(data))} if 0 <= len(data) - place <= MAX_LEFT else set()
