# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Offsets of names, stamp and numbers in serialized sensor_msgs/JointState; needs no ROS."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from screw_dynamics_ros.core.units import NANOSECONDS

from ..messages.cdr import PLAIN, STAMP_FORMAT, STAMP_OFFSET, align
from .contents import JointStateLayout, JointStateMessage
from .policies import Reason

MAX_NAMES = 1000  # of a message that is read
LITTLE_ENDIAN = b'\0\1'  # kind of encapsulation: CDR, little endian
COUNT = PLAIN[LITTLE_ENDIAN]


class Layout:
    """Offsets of the fields in serialized JointState messages with the same names and lengths.

    Parameters
    ----------
    data : bytes
        A message with this layout.
    mask : bytes
        255 for the bytes that define the layout, 0 for stamp, numbers and undefined padding.
    names : tuple of str
    arrays : three (count, offset)
        Position, velocity and effort.

    Attributes
    ----------
    size : int
        Length of the messages [bytes].
    mask, fixed : bytes
        `mask`, and the bytes of all messages under it.
    contents : JointStateLayout
    number_offsets : array of int64
        Offset of each number of `contents`.
    """

    def __init__(
        self, data: bytes, mask: bytes, names: tuple[str, ...], arrays: Sequence[tuple[int, int]]
    ) -> None:
        # All bytes as one integer: a masked comparison takes two operations.
        self.size, self.mask = len(data), mask
        self._mask = int.from_bytes(mask, 'little')
        self._fixed = int.from_bytes(data, 'little') & self._mask
        self.fixed = self._fixed.to_bytes(self.size, 'little')
        self.contents = layout = JointStateLayout(names, *(count for count, _ in arrays))
        self.number_offsets = np.concatenate(
            [offset + 8 * np.arange(count, dtype=np.int64) for count, offset in arrays]
        )
        numbers = np.zeros(layout.size)
        ends = np.cumsum([0, *(count for count, _ in arrays)])
        self._target = numbers.data.cast('B')
        self._copies = [
            (8 * start, 8 * end, offset, offset + 8 * (end - start))
            for (start, end), (_, offset) in zip(pairwise(ends.tolist()), arrays)
        ]
        self._message = JointStateMessage(layout, numbers, 0)

    def matches(self, data: bytes) -> bool:
        """Whether `data` has this layout: it differs in stamp and numbers only."""
        return len(data) == self.size and int.from_bytes(data, 'little') & self._mask == self._fixed

    def parse(self, data: bytes) -> JointStateMessage:
        """Return the contents of data with this layout: valid until the next call."""
        sec, nanosec = STAMP_FORMAT.unpack_from(data, STAMP_OFFSET)
        if nanosec >= NANOSECONDS:
            return invalid_stamp(sec, nanosec)
        self._message.stamp = sec * NANOSECONDS + nanosec
        for start, end, first, last in self._copies:
            self._target[start:end] = data[first:last]
        return self._message


def find_layout(data: bytes, names: tuple[str, ...]) -> Layout:
    """Return the layout of a JointState with these names; raises as `located`."""
    _, fixed, places = located(data)
    mask = bytearray(len(data))
    for part in fixed:
        mask[part.start : part.stop] = b'\xff' * len(part)
    return Layout(data, bytes(mask), names, [(count, offset) for offset, count in places])


def located(data: bytes) -> tuple[JointStateLayout, list[range], list[tuple[int, int]]]:
    """Return names and counts, the ranges of bytes that define the layout, and those of numbers.

    The latter are (offset, count) of positions, velocities and efforts. Raises ValueError if `data`
    is not a JointState in plain CDR, little endian.
    """
    if data[:2] != LITTLE_ENDIAN:
        raise ValueError('not plain CDR, little endian')
    fixed = [range(STAMP_OFFSET)]

    def end(offset: int) -> int:
        if offset > len(data):
            raise ValueError('truncated')
        return offset

    def count(offset: int) -> tuple[int, int]:
        offset = align(offset, 4)
        fixed.append(range(offset, end(offset + 4)))
        return COUNT.unpack_from(data, offset)[0], offset + 4

    def text(offset: int) -> tuple[str, int]:
        size, offset = count(offset)
        fixed.append(range(offset, end(offset + size)))
        return data[offset : offset + size].removesuffix(b'\0').decode(), offset + size

    _, offset = text(STAMP_OFFSET + 8)  # header.frame_id
    total, offset = count(offset)
    if total > MAX_NAMES:
        raise ValueError(f'{total} names, at most {MAX_NAMES}')
    names = []
    for _ in range(total):
        name, offset = text(offset)
        names.append(name)
    places = []
    for _ in range(3):
        length, offset = count(offset)
        offset = align(offset, 8) if length else offset
        places.append((offset, length))
        offset = end(offset + 8 * length)
    return JointStateLayout(tuple(names), *(length for _, length in places)), fixed, places


def invalid_stamp(sec: int, nanosec: int) -> JointStateMessage:
    """Return the refusal of a message whose nanoseconds exceed a second.

    Such a stamp is not a valid time, and outputs could not repeat it.
    """
    return JointStateMessage.refused(Reason.INVALID_STAMP, f'{sec} s and {nanosec} ns')
