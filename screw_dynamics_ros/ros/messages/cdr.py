"""Common Data Representation, the bytes of serialized messages; needs no ROS.

Four bytes tell the encoding; alignment counts from their end. Source: OMG DDS-XTypes 1.3, 7.4.
"""

from __future__ import annotations

import struct

STAMP_FORMAT = struct.Struct('=iI')
STAMP = 4  # offset of the stamp, and of the origin that alignment counts from

#: First and last stamp that builtin_interfaces/Time can carry [ns].
EARLIEST, LATEST = -(2**31) * 1_000_000_000, 2**31 * 1_000_000_000 - 1

#: How counts are written in plain encodings, by the kind of encapsulation (CDR and XCDR2).
PLAIN = {
    b'\0\0': struct.Struct('>I'),
    b'\0\1': struct.Struct('<I'),
    b'\0\6': struct.Struct('>I'),
    b'\0\7': struct.Struct('<I'),
}


def align(offset: int, size: int) -> int:
    """Return the next multiple of `size`, counted from the end of the encapsulation header."""
    return offset + (STAMP - offset) % size


def packed(stamp: int) -> bytes:
    """Return a stamp [ns] as the bytes of builtin_interfaces/Time, the nearest that there is."""
    return STAMP_FORMAT.pack(*divmod(min(max(stamp, EARLIEST), LATEST), 1_000_000_000))
