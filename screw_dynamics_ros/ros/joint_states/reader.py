# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Serialized sensor_msgs/JointState, read without creating message objects.

Drivers repeat messages of one layout: then only stamp and numbers are read.
"""

from __future__ import annotations

import struct

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core.units import NANOSECONDS

from ..messages.cdr import PLAIN, STAMP_OFFSET, align
from .contents import JointStateMessage
from .layouts import MAX_NAMES, Layout, find_layout, invalid_stamp
from .policies import Reason

MAX_LAYOUTS = 8  # kept
MAX_BYTES = 2**18  # of a message that is read


class JointStateReader:
    """Reads serialized sensor_msgs/JointState; fast while frame, names and lengths are the same."""

    def __init__(self) -> None:
        self.layouts: list[Layout] = []  # most recently used first

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
        """Deserialize with rclpy, and store the layout if reading by it gives the same result."""
        expected = from_message(deserialize_message(data, JointState))
        if expected.refusal is not None:
            return expected
        try:
            layout = find_layout(data, expected.names)
            if same(layout.parse(data), expected):
                del self.layouts[MAX_LAYOUTS - 1 :]
                self.layouts.insert(0, layout)
        except ValueError:
            pass  # not little-endian plain CDR: rclpy reads every message
        return expected


def too_large(data: bytes) -> str:
    """Return how a serialized JointState exceeds the limits of size, empty if it does not.

    Deserializing a huge message would take long: only its number of names is read.
    """
    if len(data) > MAX_BYTES:
        return f'{len(data)} bytes, at most {MAX_BYTES}'
    if data[:2] not in PLAIN:
        return ''
    count = PLAIN[data[:2]]
    try:
        (length,) = count.unpack_from(data, STAMP_OFFSET + 8)  # header.frame_id
        (names,) = count.unpack_from(data, align(STAMP_OFFSET + 12 + length, 4))
    except struct.error:
        return ''  # rclpy reports the fault
    return f'{names} names, at most {MAX_NAMES}' if names > MAX_NAMES else ''


def from_message(message: JointState) -> JointStateMessage:
    """Return the contents of a sensor_msgs/JointState object."""
    stamp = message.header.stamp
    if stamp.nanosec >= NANOSECONDS:
        return invalid_stamp(stamp.sec, stamp.nanosec)
    return JointStateMessage.of(
        tuple(message.name),
        message.position,
        message.velocity,
        message.effort,
        stamp.sec * NANOSECONDS + stamp.nanosec,
    )


def same(a: JointStateMessage, b: JointStateMessage) -> bool:
    """Whether two messages have bitwise equal contents."""
    return (
        a.layout == b.layout and a.stamp == b.stamp and a.numbers.tobytes() == b.numbers.tobytes()
    )
