# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages as bytes: serializing message objects is too slow for a control loop in Python.

A `Template` is a message serialized once by the middleware itself; afterwards only its stamps and
numbers are overwritten. Its assumptions are checked with rclpy before use, so it works with every
middleware and distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message

from screw_dynamics_ros.core.compile.typed.external import address_of
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.types import Array

from .cdr import STAMP_FORMAT, STAMP_OFFSET, find_all, number_offsets, packed, runs

MAX_LEFT = 16  # unused bytes at the end of a serialized message

#: Returns a message with this stamp in all its time fields, and these numbers.
Build = Callable[[Time, list[float]], Any]


class Contents(NamedTuple):
    """What the numbers of a message are.

    Attributes
    ----------
    labels : tuple of tuples of str
        Labels along each dimension.
    frame_id : str
        The frame in which they are expressed, if it is one.
    """

    labels: tuple[tuple[str, ...], ...] = ()
    frame_id: str = ''


class Template:
    """A serialized message whose stamps and numbers can be overwritten.

    Parameters
    ----------
    build : callable
        ``build(stamp, numbers)`` returns the message with these contents.
    count : int
        Number of float64 values in the message.
    layout : sequence of str, optional
        The fields of the message, see `padding`. With it, padding bytes, which the middleware does
        not initialize, are set to zero, and those at the end are removed: equal messages are equal
        bytes.
    contents : Contents, optional

    Attributes
    ----------
    contents : Contents
    arrays : list of arrays
        All numbers, as views of the message; one array for each contiguous range.
    message : array of uint8
        The serialized message.
    stamps : list of arrays of uint8
        Its stamps, views of it.

    Raises
    ------
    ScrewDynamicsError
        If overwriting does not give the same message as the middleware.
    """

    def __init__(
        self, build: Build, count: int, layout: Sequence[str] = (), contents: Contents | None = None
    ) -> None:
        self.contents = contents or Contents()
        # Numbers and a stamp that do not occur in names or lengths.
        stamp = Time(sec=0x5EC05EC0, nanosec=0x2A0B1C0D)
        numbers = -1.7e-200 * np.arange(1.0, count + 1.0)
        data = serialize_message(build(stamp, numbers.tolist()))
        if layout:
            gaps = padding(data, layout)
            data = bytes(0 if k in gaps else x for k, x in enumerate(data))
            while len(data) - 1 in gaps:  # strict readers refuse extra bytes
                data = data[:-1]
        stamps = find_all(data, STAMP_FORMAT.pack(stamp.sec, stamp.nanosec))
        self._place(data, stamps, number_offsets(data, numbers))
        self._check(build, count)

    @classmethod
    def constant(cls, data: bytes) -> Template:
        """Return a template for a serialized message without stamps and numbers."""
        made = cls.__new__(cls)
        made.contents = Contents()
        made._place(data, (), ())
        return made

    def copy(self) -> Template:
        """Return a template for the same message, with separate numbers."""
        made = Template.__new__(Template)
        made.contents = self.contents
        made._place(*self._layout)
        return made

    def _place(self, data: bytes, stamps: Sequence[int], offsets: Sequence[int]) -> None:
        """Place a message in memory with aligned numbers, so that a kernel can write them."""
        self._layout = data, stamps, offsets
        storage = np.zeros(len(data) + 8, dtype=np.uint8)
        start = -(address_of(storage) + (offsets[0] if offsets else 0)) % 8
        storage[start : start + len(data)] = np.frombuffer(data, dtype=np.uint8)
        self._storage = storage.data
        self._data = storage.data[start : start + len(data)]
        self._stamps = [start + offset for offset in stamps]
        self._places = [start + offset for offset in offsets]
        self._runs = [
            (first, last, self.array(first, last - first)) for first, last in runs(offsets)
        ]
        self.arrays = [array for _, _, array in self._runs]
        self.message = self.bytes_at(0, len(data))
        self.stamps = [self.bytes_at(offset, STAMP_FORMAT.size) for offset in stamps]

    def _check(self, build: Build, count: int) -> None:
        """Check the result of `fill` with rclpy."""
        message = build(Time(sec=7, nanosec=654321), np.linspace(-1.0, 1.0, count).tolist())
        data = self.fill(np.linspace(-1.0, 1.0, count), 7_000_654_321)
        if deserialize_message(data, type(message)) != message:
            raise ScrewDynamicsError(
                f'the middleware serializes {type(message).__name__} in a way that cannot be '
                'filled in place; set RMW_IMPLEMENTATION to rmw_fastrtps_cpp or rmw_cyclonedds_cpp'
            )

    def array(self, first: int, count: int | None = None) -> Array:
        """Return some or all following numbers as an array (count,), a view of the message.

        Numbers of one array of the message, or of one vector or pose, are contiguous.
        """
        places = self._places[first : None if count is None else first + count]
        if any(b - a != 8 for a, b in pairwise(places)):
            raise ScrewDynamicsError('these numbers are not contiguous in the message')
        return np.frombuffer(self._storage, np.float64, len(places), places[0] if places else 0)

    def encode(self, stamp: bytes) -> bytes:
        """Return the message with a stamp (from `packed`) and its current numbers."""
        storage = self._storage
        for place in self._stamps:
            storage[place : place + 8] = stamp
        return self._data.tobytes()

    def bytes_at(self, offset: int, count: int) -> NDArray[np.uint8]:
        """Return bytes of the serialized message, a view of it."""
        return np.frombuffer(self._data, np.uint8, count, offset)

    def fill(self, numbers: Array, stamp: int) -> bytes:
        """Return the message with this stamp and these numbers.

        Parameters
        ----------
        numbers : array of `count` elements
            In the order of the argument of `build`.
        stamp : int
            [ns].
        """
        flat = numbers.reshape(-1)
        for first, last, view in self._runs:
            view[:] = flat[first:last]
        return self.encode(packed(stamp))


def padding(data: bytes, layout: Sequence[str]) -> set[int]:
    """Return the offsets of padding bytes in a message in CDR (little endian).

    `layout` lists its fields: 'time', 'count' (uint32), 'string', and the sequences 'strings',
    'flags' and 'doubles'.
    The result is empty if the message is shorter than these fields, or much longer.

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
        if field in ('time', 'count'):
            align(4)
            place += 8 if field == 'time' else 4
        elif field == 'flags':
            size = length()
            place += size
        elif field == 'doubles':
            count = length()
            align(8 if count else 1)
            place += 8 * count
        else:
            for _ in range(length() if field == 'strings' else 1):
                size = length()
                place += size
    return {*gaps, *range(place, len(data))} if 0 <= len(data) - place <= MAX_LEFT else set()
