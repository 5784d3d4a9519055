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
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.joint_state_message import JointStateMessage

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
        offsets = number_offsets(data, numbers)
        # Placed in memory so that the numbers are aligned: they are views a kernel can write into.
        storage = np.zeros(len(data) + 8, dtype=np.uint8)
        start = -(storage.ctypes.data + (offsets[0] if offsets else 0)) % 8
        storage[start:start + len(data)] = np.frombuffer(data, dtype=np.uint8)
        self._storage = storage.data
        self._data = storage.data[start:start + len(data)]
        self._stamps = [start + k for k in find_all(
            data, STAMP_FORMAT.pack(stamp.sec, stamp.nanosec))]
        self._places = [start + offset for offset in offsets]
        self._runs = [(first, last, self.array(first, last - first))
                      for first, last in runs(offsets)]
        self._check(build, count)

    def _check(self, build: Build, count: int) -> None:
        """Let rclpy read what `fill` writes."""
        message = build(Time(sec=7, nanosec=654321), np.linspace(-1.0, 1.0, count).tolist())
        data = self.fill(np.linspace(-1.0, 1.0, count), 7_000_654_321)
        if deserialize_message(data, type(message)) != message:
            raise ScrewDynamicsError(
                f'the middleware serializes {type(message).__name__} in a way that cannot be '
                'filled in place; set RMW_IMPLEMENTATION to rmw_fastrtps_cpp or rmw_cyclonedds_cpp')

    def array(self, first: int, count: int | None = None) -> Array:
        """Return some or all further numbers as an array (count,): what is written there is sent.

        Numbers of one array of the message, or of one vector or pose, are contiguous.
        """
        places = self._places[first:None if count is None else first + count]
        if any(b - a != 8 for a, b in pairwise(places)):
            raise ScrewDynamicsError('these numbers are not contiguous in the message')
        return np.frombuffer(self._storage, np.float64, len(places), places[0] if places else 0)

    def encode(self, stamp: bytes) -> bytes:
        """Return the message with a stamp, as `packed` makes it, and the numbers it has now."""
        storage = self._storage
        for place in self._stamps:
            storage[place:place + 8] = stamp
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
    """Return a stamp in ns as the bytes of builtin_interfaces/Time."""
    return STAMP_FORMAT.pack(*divmod(stamp, 1_000_000_000))


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

    def __init__(self, data: bytes, mask: bytes, names: tuple[str, ...],
                 arrays: Sequence[tuple[int, int]]) -> None:
        # All bytes as one number: comparing under a mask is two operations on long integers.
        self._mask = int.from_bytes(mask, 'little')
        self._fixed = int.from_bytes(data, 'little') & self._mask
        numbers = np.zeros(sum(count for count, _ in arrays))
        ends = np.cumsum([0, *(count for count, _ in arrays)])
        self._target = numbers.data.cast('B')
        self._copies = [(8 * start, 8 * end, offset, offset + 8 * (end - start))
                        for (start, end), (_, offset) in zip(pairwise(ends.tolist()), arrays)]
        position, velocity, effort = (numbers[start:end] for start, end in pairwise(ends))
        self._message = JointStateMessage(names, position, velocity, effort, 0, numbers)

    def matches(self, data: bytes) -> bool:
        """Whether `data` differs from what the layout was made for in stamp and numbers only."""
        return int.from_bytes(data, 'little') & self._mask == self._fixed

    def parse(self, data: bytes) -> JointStateMessage:
        """Return the contents of data that match: always the same object."""
        sec, nanosec = STAMP_FORMAT.unpack_from(data, STAMP)
        self._message.stamp = sec * 1_000_000_000 + nanosec
        for start, end, first, last in self._copies:
            self._target[start:end] = data[first:last]
        return self._message


class JointStateReader:
    """Reads serialized sensor_msgs/JointState; cheap as long as frame, names and lengths stay."""

    def __init__(self) -> None:
        self._layouts: dict[int, list[Layout]] = {}  # by length of the message

    def read(self, data: bytes) -> JointStateMessage:
        """Return the contents, valid until the next call."""
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
    return Layout(data, bytes(mask), names, arrays)


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
