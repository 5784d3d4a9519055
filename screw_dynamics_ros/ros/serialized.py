"""Messages as bytes: what a control loop in Python cannot afford is converting message objects.

Output: a `Template` is a message serialized once by the middleware itself; afterwards only its
stamps and numbers are written. Input: a `JointStateReader` remembers where the numbers of a message
stand as long as nothing but the numbers changes. Both check what they believe against rclpy before
they use it, so they hold for every middleware and distribution.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.joint_states import JointStateMessage

Array = NDArray[np.float64]

STAMP_FORMAT = struct.Struct('=iI')
STAMP = 4  # offset of the stamp, and of the origin that alignment counts from
MOST_LAYOUTS = 4  # kept for each length of message

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

    Raises
    ------
    ScrewDynamicsError
        If writing into the bytes does not give what the middleware makes of the same message.
    """

    def __init__(self, build: Build, count: int) -> None:
        # Numbers and a stamp that do not occur in names or lengths.
        stamp = Time(sec=0x5EC05EC0, nanosec=0x2A0B1C0D)
        numbers = -1.7e-200 * np.arange(1.0, count + 1.0)
        data = serialize_message(build(stamp, numbers.tolist()))
        self._length = len(data)
        self._buffer = bytearray(data) + bytes(-len(data) % 4)
        self._words = np.frombuffer(self._buffer, dtype=np.uint32)
        self._stamps = find_all(data, STAMP_FORMAT.pack(stamp.sec, stamp.nanosec))
        self._numbers = number_offsets(data, numbers)
        # A block of numbers is copied as bytes, scattered ones as words: they are aligned to 4.
        self._block = bool((np.diff(self._numbers) == 8).all())
        self._start, self._stop = (self._numbers[0], self._numbers[-1] + 8) if count else (0, 0)
        self._scatter = (np.array(self._numbers, dtype=np.intp)[:, None] // 4 + (0, 1)).reshape(-1)
        self._check(build, count)

    def _check(self, build: Build, count: int) -> None:
        """Let rclpy read what `fill` writes."""
        message = build(Time(sec=7, nanosec=654321), np.linspace(-1.0, 1.0, count).tolist())
        data = self.fill(np.linspace(-1.0, 1.0, count), (7, 654321))
        if deserialize_message(data, type(message)) != message:
            raise ScrewDynamicsError(
                f'the middleware serializes {type(message).__name__} in a way that cannot be '
                'filled in place; set RMW_IMPLEMENTATION to rmw_fastrtps_cpp or rmw_cyclonedds_cpp')

    def fill(self, numbers: Array, stamp: tuple[int, int] = (0, 0)) -> bytes:
        """Return the message with other contents.

        Parameters
        ----------
        numbers : array of `count` elements
            C-contiguous float64, in the order in which they were given to `build`.
        stamp : (int, int)
            Seconds and nanoseconds.
        """
        buffer = self._buffer
        for offset in self._stamps:
            STAMP_FORMAT.pack_into(buffer, offset, *stamp)
        if self._block:
            buffer[self._start:self._stop] = numbers.tobytes()
        else:
            self._words[self._scatter] = numbers.reshape(-1).view(np.uint32)
        return bytes(memoryview(buffer)[:self._length])


def find_all(data: bytes, pattern: bytes) -> list[int]:
    """Return the offsets of `pattern` in `data`."""
    found, offset = [], data.find(pattern)
    while offset >= 0:
        found.append(offset)
        offset = data.find(pattern, offset + len(pattern))
    return found


def number_offsets(data: bytes, numbers: Array) -> list[int]:
    """Return where each of the numbers stands in `data`."""
    offsets, after = [], 0
    for number in numbers:
        pattern = number.tobytes()
        offset = data.find(pattern, after)
        if offset < 0 or offset % 4:
            raise ScrewDynamicsError('the middleware does not store float64 in the usual way (CDR)')
        offsets.append(offset)
        after = offset + 8
    return offsets


@dataclass
class Layout:
    """Where things stand in one kind of serialized JointState.

    Attributes
    ----------
    mask, fixed : int
        The bytes of a message as one number, `mask` taken of it, must equal `fixed`: everything but
        stamp, numbers, and the padding between, which is arbitrary.
    arrays : three (count, offset)
        Position, velocity and effort.
    message : JointStateMessage
        Reused for each message.
    """

    mask: int
    fixed: int
    arrays: tuple[tuple[int, int], ...]
    message: JointStateMessage

    def matches(self, data: bytes) -> bool:
        """Whether `data` differs from what the layout was made for in stamp and numbers only."""
        return int.from_bytes(data, 'little') & self.mask == self.fixed

    def parse(self, data: bytes) -> JointStateMessage:
        """Return the contents of data that match."""
        message = self.message
        sec, nanosec = STAMP_FORMAT.unpack_from(data, STAMP)
        message.stamp = sec * 1_000_000_000 + nanosec
        message.position, message.velocity, message.effort = (
            np.frombuffer(data, '<f8', count, offset) for count, offset in self.arrays)
        return message


class JointStateReader:
    """Reads serialized sensor_msgs/JointState; cheap as long as frame, names and lengths stay."""

    def __init__(self) -> None:
        self._layouts: dict[int, list[Layout]] = {}  # by length of the message

    def read(self, data: bytes) -> JointStateMessage:
        """Return the contents; valid until the next call, the arrays are read-only."""
        for layout in self._layouts.get(len(data), ()):
            if layout.matches(data):
                return layout.parse(data)
        return self._learn(data)

    def _learn(self, data: bytes) -> JointStateMessage:
        """Read by rclpy, and remember the layout if it gives the very same."""
        expected = from_message(deserialize_message(data, JointState))
        try:
            layout = find_layout(data, expected.names)
            if same(layout.parse(data), expected):
                kept = self._layouts.setdefault(len(data), [])
                del kept[MOST_LAYOUTS - 1:]
                kept.insert(0, layout)
        except (struct.error, ValueError):
            pass  # not little-endian plain CDR: rclpy reads every message
        return expected


def find_layout(data: bytes, names: tuple[str, ...]) -> Layout:
    """Return the layout of a JointState in little-endian plain CDR; if it is not, anything."""
    mask = bytearray(len(data))

    def take(start: int, length: int) -> int:
        mask[start:start + length] = b'\xff' * length
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
    number = int.from_bytes(mask, 'little')
    none = np.zeros(0)
    return Layout(number, int.from_bytes(data, 'little') & number, tuple(arrays),
                  JointStateMessage(names, none, none, none, 0))


def align(offset: int, size: int) -> int:
    """Return the next multiple of `size`, counted from the end of the encapsulation header."""
    return offset + (STAMP - offset) % size


def from_message(message: JointState) -> JointStateMessage:
    """Return the contents of a sensor_msgs/JointState object."""
    position, velocity, effort = (np.array(values, dtype=float) for values in (
        message.position, message.velocity, message.effort))
    stamp = message.header.stamp
    return JointStateMessage(tuple(message.name), position, velocity, effort,
                             stamp.sec * 1_000_000_000 + stamp.nanosec)


def same(a: JointStateMessage, b: JointStateMessage) -> bool:
    """Whether two messages have the same contents, bit by bit."""
    return a.names == b.names and a.stamp == b.stamp and all(
        getattr(a, name).tobytes() == getattr(b, name).tobytes()
        for name in ('position', 'velocity', 'effort'))
