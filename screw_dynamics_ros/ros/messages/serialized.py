"""Messages as bytes: what a control loop in Python cannot afford is converting message objects.

Output: a `Template` is a message serialized once by the middleware itself; afterwards only its
stamps and numbers are written. Input: a `JointStateReader` remembers where the numbers of a message
stand as long as nothing but the numbers changes. Both check what they believe against rclpy before
they use it, so they hold for every middleware and distribution.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.joint_states.contents import JointStateLayout, JointStateMessage
from screw_dynamics_ros.ros.joint_states.policies import Reason
from screw_dynamics_ros.ros.messages.conversions import EARLIEST, LATEST

STAMP_FORMAT = struct.Struct('=iI')
STAMP = 4  # offset of the stamp, and of the origin that alignment counts from
MOST_LAYOUTS = 8  # kept
MOST_NAMES, MOST_BYTES = 1000, 2**18  # of a message that is read

#: How counts are written in plain encodings, by the kind of encapsulation (CDR and XCDR2).
PLAIN = {
    b'\0\0': struct.Struct('>I'),
    b'\0\1': struct.Struct('<I'),
    b'\0\6': struct.Struct('>I'),
    b'\0\7': struct.Struct('<I'),
}

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


def packed(stamp: int) -> bytes:
    """Return a stamp [ns] as the bytes of builtin_interfaces/Time, the nearest that there is."""
    return STAMP_FORMAT.pack(*divmod(min(max(stamp, EARLIEST), LATEST), 1_000_000_000))


def find_all(data: bytes, pattern: bytes) -> list[int]:
    """Return the offsets of `pattern` in `data`."""
    found, offset = [], data.find(pattern)
    while offset >= 0:
        found.append(offset)
        offset = data.find(pattern, offset + len(pattern))
    return found


def number_offsets(data: bytes, numbers: Array) -> list[int]:
    """Return where each of the numbers stands in `data`."""
    offsets: list[int] = []
    after = 0
    for number in numbers:
        offset = data.find(number.tobytes(), after)
        if offset < 0 or (offsets and (offset - offsets[0]) % 8):
            raise ScrewDynamicsError('the middleware does not store float64 in the usual way (CDR)')
        offsets.append(offset)
        after = offset + 8
    return offsets


def runs(offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Return the contiguous stretches (first, last + 1) of numbers at some offsets."""
    edges = [i for i in range(1, len(offsets)) if offsets[i] != offsets[i - 1] + 8]
    return list(zip([0, *edges], [*edges, len(offsets)])) if offsets else []


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
        self._layouts: list[Layout] = []  # those used last come first

    def read(self, data: bytes) -> JointStateMessage:
        """Return the contents, valid until the next call."""
        for layout in self._layouts:
            if layout.matches(data):
                if layout is not self._layouts[0]:
                    self._layouts.remove(layout)
                    self._layouts.insert(0, layout)
                return layout.parse(data)
        excess = too_large(data)
        return JointStateMessage.refused(Reason.TOO_LARGE, excess) if excess else self._learn(data)

    def _learn(self, data: bytes) -> JointStateMessage:
        """Read by rclpy, and remember the layout if it gives the very same."""
        expected = from_message(deserialize_message(data, JointState))
        if expected.refusal is not None:
            return expected
        try:
            layout = find_layout(data, expected.names)
            if same(layout.parse(data), expected):
                del self._layouts[MOST_LAYOUTS - 1 :]
                self._layouts.insert(0, layout)
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
