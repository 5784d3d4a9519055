# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Common Data Representation, the bytes of serialized messages; needs no ROS.

The first four bytes define the encoding; alignment is relative to their end. Source: OMG
DDS-XTypes 1.3, 7.4.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from screw_dynamics_ros.core.compile.typed.functions import typed
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

STAMP_FORMAT = struct.Struct('=iI')
STAMP_OFFSET = 4  # offset of the stamp, and origin of alignment

#: First and last stamp that builtin_interfaces/Time can represent [ns].
MIN_STAMP, MAX_STAMP = -(2**31) * NANOSECONDS, 2**31 * NANOSECONDS - 1
STAMP_RANGE = 2**32 * NANOSECONDS

#: Format of counts in plain encodings, by the kind of encapsulation (CDR and XCDR2).
PLAIN = {
    b'\0\0': struct.Struct('>I'),
    b'\0\1': struct.Struct('<I'),
    b'\0\6': struct.Struct('>I'),
    b'\0\7': struct.Struct('<I'),
}


def align(offset: int, size: int) -> int:
    """Return the next aligned offset: a multiple of `size` from the end of the encapsulation."""
    return offset + (STAMP_OFFSET - offset) % size


def packed(stamp: int) -> bytes:
    """Return a stamp [ns] as the bytes of builtin_interfaces/Time, clipped to its range."""
    return STAMP_FORMAT.pack(*divmod(min(max(stamp, MIN_STAMP), MAX_STAMP), NANOSECONDS))


@typed
def stamp_of_clock(time: int) -> int:
    """Return the stamp [ns] at a time of a clock [ns].

    Seconds of stamps have 32 bits: those of 2038 continue in 1901, as in rclcpp and rclpy.
    """
    return (time - MIN_STAMP) % STAMP_RANGE + MIN_STAMP


def find_all(data: bytes, pattern: bytes) -> list[int]:
    """Return the offsets of `pattern` in `data`."""
    found, offset = [], data.find(pattern)
    while offset >= 0:
        found.append(offset)
        offset = data.find(pattern, offset + len(pattern))
    return found


def number_offsets(data: bytes, numbers: Array) -> list[int]:
    """Return the offset of each of the numbers in `data`."""
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
    """Return the contiguous ranges (first, last + 1) of numbers at these offsets."""
    edges = [i for i in range(1, len(offsets)) if offsets[i] != offsets[i - 1] + 8]
    return list(zip([0, *edges], [*edges, len(offsets)])) if offsets else []
