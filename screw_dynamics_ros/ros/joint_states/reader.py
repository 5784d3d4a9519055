"""Serialized sensor_msgs/JointState, read without creating message objects.

Drivers send messages of one layout again and again: only stamp and numbers are read then.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from screw_dynamics_ros.ros.joint_states.contents import JointStateLayout, JointStateMessage
from screw_dynamics_ros.ros.joint_states.policies import Reason
from screw_dynamics_ros.ros.messages.serialized import STAMP, STAMP_FORMAT

MOST_LAYOUTS = 8  # kept
MOST_NAMES, MOST_BYTES = 1000, 2**18  # of a message that is read

#: How counts are written in plain encodings, by the kind of encapsulation (CDR and XCDR2).
PLAIN = {
    b'\0\0': struct.Struct('>I'),
    b'\0\1': struct.Struct('<I'),
    b'\0\6': struct.Struct('>I'),
    b'\0\7': struct.Struct('<I'),
}


class Layout:
    """Where things stand in one kind of serialized JointState.

    Parameters
    ----------
    data : bytes
        A message of the kind.
    mask : bytes
        255 for the bytes that make the kind, 0 for stamp, numbers and the arbitrary padding.
    names : tuple of str
    arrays : three (count, offset)
        Position, velocity and effort.
    """

    def __init__(
        self, data: bytes, mask: bytes, names: tuple[str, ...], arrays: Sequence[tuple[int, int]]
    ) -> None:
        # All bytes as one number: comparing under a mask is two operations on long integers.
        self._size = len(data)
        self._mask = int.from_bytes(mask, 'little')
        self._fixed = int.from_bytes(data, 'little') & self._mask
        layout = JointStateLayout(names, *(count for count, _ in arrays))
        numbers = np.zeros(layout.size)
        ends = np.cumsum([0, *(count for count, _ in arrays)])
        self._target = numbers.data.cast('B')
        self._copies = [
            (8 * start, 8 * end, offset, offset + 8 * (end - start))
            for (start, end), (_, offset) in zip(pairwise(ends.tolist()), arrays)
        ]
        self._message = JointStateMessage(layout, numbers, 0)

    def matches(self, data: bytes) -> bool:
        """Whether `data` differs from what the layout was made for in stamp and numbers only."""
        return (
            len(data) == self._size and int.from_bytes(data, 'little') & self._mask == self._fixed
        )

    def parse(self, data: bytes) -> JointStateMessage:
        """Return the contents of data that match: valid until the next call."""
        sec, nanosec = STAMP_FORMAT.unpack_from(data, STAMP)
        if nanosec >= 1_000_000_000:
            return invalid_stamp(sec, nanosec)
        self._message.stamp = sec * 1_000_000_000 + nanosec
        for start, end, first, last in self._copies:
            self._target[start:end] = data[first:last]
        return self._message


class JointStateReader:
    """Reads serialized sensor_msgs/JointState; cheap as long as frame, names and lengths stay."""

    def __init__(self) -> None:
        self.layouts: list[Layout] = []  # those used last come first

    def read(self, data: bytes) -> JointStateMessage:
        """Return the contents, valid until the next call."""
        for layout in self.layouts:
            if layout.matches(data):
                if layout is not self.layouts[0]:
                    self.layouts.remove(layout)
                    self.layouts.insert(0, layout)
                return layout.parse(data)
        excess = too_large(data)
        return JointStateMessage.refused(Reason.TOO_LARGE, excess) if excess else self.learn(data)

    def learn(self, data: bytes) -> JointStateMessage:
        """Read by rclpy, and remember the layout if it gives the very same."""
        expected = from_message(deserialize_message(data, JointState))
        if expected.refusal is not None:
            return expected
        try:
            layout = find_layout(data, expected.names)
            if same(layout.parse(data), expected):
                del self.layouts[MOST_LAYOUTS - 1 :]
                self.layouts.insert(0, layout)
        except (struct.error, ValueError):
            pass  # not little-endian plain CDR: rclpy reads every message
        return expected


def too_large(data: bytes) -> str:
    """Return by what a serialized JointState exceeds the needs of a robot, empty if it does not.

    Converting such a message would take long: it is read as far as the number of its names.
    """
    if len(data) > MOST_BYTES:
        return f'{len(data)} bytes, at most {MOST_BYTES}'
    if data[:2] not in PLAIN:
        return ''
    count = PLAIN[data[:2]]
    try:
        (length,) = count.unpack_from(data, STAMP + 8)  # header.frame_id
        (names,) = count.unpack_from(data, align(STAMP + 12 + length, 4))
    except struct.error:
        return ''  # rclpy tells
    return f'{names} names, at most {MOST_NAMES}' if names > MOST_NAMES else ''


def find_layout(data: bytes, names: tuple[str, ...]) -> Layout:
    """Return the layout of a JointState in little-endian plain CDR; if it is not, anything."""
    mask = bytearray(len(data))

    def take(start: int, length: int) -> int:
        mask[start : start + length] = b'\xff' * length
        return start + length

    def count(offset: int) -> tuple[int, int]:
        offset = align(offset, 4)
        return struct.unpack_from('<I', data, offset)[0], take(offset, 4)

    take(0, STAMP)
    length, offset = count(STAMP + 8)  # header.frame_id
    offset = take(offset, length)
    _, offset = count(offset)
    for _ in names:
        length, offset = count(offset)
        offset = take(offset, length)
    arrays = []
    for _ in range(3):
        length, offset = count(offset)
        if length:
            offset = align(offset, 8)
        arrays.append((length, offset))
        offset += 8 * length
    if offset > len(data):
        raise ValueError('truncated')
    return Layout(data, bytes(mask), names, arrays)


def align(offset: int, size: int) -> int:
    """Return the next multiple of `size`, counted from the end of the encapsulation header."""
    return offset + (STAMP - offset) % size


def from_message(message: JointState) -> JointStateMessage:
    """Return the contents of a sensor_msgs/JointState object."""
    stamp = message.header.stamp
    if stamp.nanosec >= 1_000_000_000:
        return invalid_stamp(stamp.sec, stamp.nanosec)
    return JointStateMessage.of(
        tuple(message.name),
        message.position,
        message.velocity,
        message.effort,
        stamp.sec * 1_000_000_000 + stamp.nanosec,
    )


def invalid_stamp(sec: int, nanosec: int) -> JointStateMessage:
    """Return what is read of a message with a second or more of nanoseconds.

    That is no time, outputs cannot carry it, and at the end of the range none has the same value.
    """
    return JointStateMessage.refused(Reason.INVALID_STAMP, f'{sec} s and {nanosec} ns')


def same(a: JointStateMessage, b: JointStateMessage) -> bool:
    """Whether two messages have the same contents, bit by bit."""
    return (
        a.layout == b.layout and a.stamp == b.stamp and a.numbers.tobytes() == b.numbers.tobytes()
    )
