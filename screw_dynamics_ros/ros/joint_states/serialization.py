# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Serialized joint states, created from names and numbers or with renamed joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..messages.cdr import STAMP_OFFSET, align
from .layouts import COUNT, LITTLE_ENDIAN, located

#: A header without stamp and frame.
NO_HEADER = LITTLE_ENDIAN + bytes(10) + COUNT.pack(1) + b'\0'


def serialized(header: bytes, names: Sequence[str], fields: Sequence[bytes]) -> bytes:
    """Return a sensor_msgs/JointState in plain CDR, little endian.

    Parameters
    ----------
    header : bytes
        Bytes of the message up to the end of its frame_id.
    names : sequence of str
    fields : three of bytes
        Positions, velocities and efforts, eight bytes for each number.
    """
    made = bytearray(header)

    def add(content: bytes, alignment: int) -> None:
        made.extend(bytes(align(len(made), alignment) - len(made)) + content)

    add(COUNT.pack(len(names)), 4)
    for name in names:
        text = name.encode() + b'\0'
        add(COUNT.pack(len(text)) + text, 4)
    for content in fields:
        add(COUNT.pack(len(content) // 8), 4)
        if content:
            add(content, 8)
    return bytes(made)


def renamed(data: bytes, names: Mapping[str, str]) -> bytes:
    """Return a serialized JointState with other names, {name in the message: name}.

    Data that is not a JointState in plain CDR, little endian, is returned unchanged.
    """
    try:
        layout, _, places = located(data)
    except ValueError:
        return data
    (size,) = COUNT.unpack_from(data, STAMP_OFFSET + 8)  # header.frame_id
    return serialized(
        data[: STAMP_OFFSET + 12 + size],
        [names.get(name, name) for name in layout.names],
        [data[offset : offset + 8 * count] for offset, count in places],
    )
