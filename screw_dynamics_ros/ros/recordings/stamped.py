# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers of recorded messages: stamped ones in a frame, such as wrenches and poses, and arrays.

The numbers follow a header without a gap. A header is read once for all messages that share it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array

from ..joint_states.layouts import LITTLE_ENDIAN
from ..messages.cdr import PLAIN, STAMP_OFFSET, align
from .blocks import Block
from .sources import RecordingError
from .stacks import Bytes, doubles, rows_of, stamps_of
from .storage import RecordingReader

WRENCH = 'geometry_msgs/msg/WrenchStamped'
POSE = 'geometry_msgs/msg/PoseWithCovarianceStamped'
ARRAY = 'std_msgs/msg/Float64MultiArray'
FRAME_OFFSET = STAMP_OFFSET + 8  # of header.frame_id
MAX_DIMENSIONS = 16  # of an array


class StampedNumbers(NamedTuple):
    """The messages of a topic.

    Attributes
    ----------
    frames : (N,) array of str
        header.frame_id; empty for arrays.
    t, received : (N,) arrays of int
        As in `Recording`; arrays have no stamp, and `t` is `received`.
    values : (N, k) array
    """

    frames: NDArray[np.object_]
    t: NDArray[np.int64]
    received: NDArray[np.int64]
    values: Array


class Header(NamedTuple):
    """What precedes the numbers of a message.

    Attributes
    ----------
    frame : str
    same : slice
        The bytes that determine the layout.
    start : int
        Offset of the numbers.
    """

    frame: str
    same: slice
    start: int


def read_stamped(path: Path | str, topic: str, kind: str, count: int) -> StampedNumbers:
    """Return the first numbers of stamped messages, `count` each.

    Raises
    ------
    RecordingError
        The file or a message cannot be read, or there is no message.
    UnknownNameError
        The topic is not recorded, or is of another type.
    """
    return read_numbers(path, topic, kind, count, stamped_header)


def read_arrays(path: Path | str, topic: str, count: int) -> StampedNumbers:
    """Return the numbers of std_msgs/Float64MultiArray; raises as `read_stamped`."""
    return read_numbers(path, topic, ARRAY, count, lambda data: array_header(data, count))


def read_numbers(
    path: Path | str, topic: str, kind: str, count: int, header_of: Callable[[bytes], Header]
) -> StampedNumbers:
    """Return the numbers that follow the headers of all messages with a valid stamp."""
    parts = []
    with RecordingReader(path) as reader:
        reader.check(topic, kind)
        for block in reader.blocks(topic):
            frames = np.full(len(block.sizes), '', dtype=object)
            t, values = block.received.copy(), np.zeros((len(block.sizes), count))
            valid = np.ones(len(block.sizes), dtype=bool)
            for places, rows, header in alike(block, topic, count, header_of):
                frames[places] = header.frame
                values[places] = doubles(rows, header.start, count)
                if kind != ARRAY:
                    stamps, valid[places] = stamps_of(rows)
                    t[places] = np.where(stamps == 0, t[places], stamps)
            parts.append((frames[valid], t[valid], block.received[valid], values[valid]))
    if not parts:
        raise RecordingError(f'{path}: topic {topic!r} has no messages')
    return StampedNumbers(*(np.concatenate(each) for each in zip(*parts)))


def alike(
    block: Block, topic: str, count: int, header_of: Callable[[bytes], Header]
) -> Iterator[tuple[NDArray[np.intp], Bytes, Header]]:
    """Yield the indices of messages with the same header, these messages, and the header."""
    for size in np.unique(block.sizes).tolist():
        places = np.flatnonzero(block.sizes == size)
        while len(places):
            rows = rows_of(block, places, size)
            try:
                header = header_of(bytes(rows[0]))
                if header.start + 8 * count > size:
                    raise ValueError('truncated')
            except (ValueError, struct.error) as error:
                raise RecordingError(
                    f'topic {topic!r}: a message cannot be read: {error}'
                ) from None
            same = (rows[:, :2] == rows[0, :2]).all(axis=1)
            same &= (rows[:, header.same] == rows[0, header.same]).all(axis=1)
            yield places[same], rows[same], header
            places = places[~same]


def stamped_header(data: bytes) -> Header:
    """Return the std_msgs/Header of a message; raises ValueError, `struct.error`."""
    check_encoding(data)
    (size,) = PLAIN[LITTLE_ENDIAN].unpack_from(data, FRAME_OFFSET)
    end = FRAME_OFFSET + 4 + size
    frame = data[FRAME_OFFSET + 4 : end].removesuffix(b'\0').decode()
    return Header(frame, slice(FRAME_OFFSET, end), align(end, 8))


def array_header(data: bytes, count: int) -> Header:
    """Return the header of the numbers of a Float64MultiArray; raises as `stamped_header`."""
    check_encoding(data)
    read = PLAIN[LITTLE_ENDIAN].unpack_from
    (dimensions,) = read(data, STAMP_OFFSET)
    if dimensions > MAX_DIMENSIONS:
        raise ValueError(f'{dimensions} dimensions')
    offset = STAMP_OFFSET + 4
    for _ in range(dimensions):
        (size,) = read(data, offset)
        offset = align(offset + 4 + size, 4) + 8  # label, size and stride
    end = offset + 8  # data_offset, and the number of elements
    start = align(end, 8)
    (length,) = read(data, offset + 4)
    if length != count:
        raise ValueError(f'it has {length} numbers instead of {count}')
    return Header('', slice(STAMP_OFFSET, end), start)


def check_encoding(data: bytes) -> None:
    """Raise ValueError for an encoding other than plain CDR, little endian."""
    if data[:2] != LITTLE_ENDIAN:
        raise ValueError('not plain CDR, little endian')
