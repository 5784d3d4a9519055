# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Serialized joint states with other names of joints."""

from __future__ import annotations

from collections.abc import Mapping

from screw_dynamics_ros.ros.joint_states.layouts import COUNT, located
from screw_dynamics_ros.ros.messages.cdr import STAMP_OFFSET, align


def renamed(data: bytes, names: Mapping[str, str]) -> bytes:
    """Return a serialized JointState with other names, {name in the message: name}.

    What is no JointState in plain CDR, little endian, is returned as it is.
    """
    try:
        layout, _, places = located(data)
    except ValueError:
        return data
    (size,) = COUNT.unpack_from(data, STAMP_OFFSET + 8)  # header.frame_id
    made = bytearray(data[: STAMP_OFFSET + 12 + size])

    def add(content: bytes, alignment: int) -> None:
        made.extend(bytes(align(len(made), alignment) - len(made)) + content)

    add(COUNT.pack(len(layout.names)), 4)
    for name in layout.names:
        text = names.get(name, name).encode() + b'\0'
        add(COUNT.pack(len(text)) + text, 4)
    for offset, count in places:
        add(COUNT.pack(count), 4)
        if count:
            add(data[offset : offset + 8 * count], 8)
    return bytes(made)
