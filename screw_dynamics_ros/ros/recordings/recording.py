# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contents of a recording as arrays: joint states, robot description, wrenches.

Messages are neither merged nor differentiated, and missing values are NaN. `states` computes the
states that a node would compute from the same messages.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array

from ..joint_states.contents import JointStateLayout
from ..joint_states.policies import Reason
from ..messages.cdr import PLAIN, STAMP_OFFSET
from .blocks import Block
from .coverage import rename_joints
from .sources import RecordingError
from .stacks import JointStateStack, joint_state_stacks
from .stamped import WRENCH, read_stamped
from .storage import RecordingReader

JOINT_STATE, STRING = 'sensor_msgs/msg/JointState', 'std_msgs/msg/String'


@dataclass(frozen=True, eq=False)
class Recording:
    """The joint states of one topic, one row per message.

    Attributes
    ----------
    path : Path
    topic : str
    joint_names : tuple of str
        All joints in the messages, in the order of their first appearance.
    t : (N,) array of int
        header.stamp [ns], or the time of recording of messages without stamp.
    received : (N,) array of int
        Time at which each message was recorded [ns].
    q, v, tau : (N, n) arrays
        Positions [rad, m], velocities [rad/s, m/s] and efforts [N m, N] of `joint_names`. NaN for
        joints that a message does not name, and for fields whose length differs from that of the
        names.
    robot_description : str or None
        The last recorded description, None without one.
    left_out : dict
        Numbers of excluded messages, by `Reason`: duplicate or no names, invalid stamps, data that
        is not a JointState.
    """

    path: Path
    topic: str
    joint_names: tuple[str, ...]
    t: NDArray[np.int64]
    received: NDArray[np.int64]
    q: Array
    v: Array
    tau: Array
    robot_description: str | None = None
    left_out: dict[Reason, int] = field(default_factory=dict)


def read_recording(
    path: Path | str,
    topic: str = '/joint_states',
    description_topic: str = '/robot_description',
    renamed: Mapping[str, str] | None = None,
) -> Recording:
    """Return the joint states of a topic, and the description of the robot.

    Joints have the names of `renamed`, {recorded: name}, if they are in it.

    Raises
    ------
    RecordingError
        The file cannot be read, or has no usable joint states.
    UnknownNameError
        The topic is not recorded, or is of another type; a joint of `renamed` is not recorded.
    ArgumentError
        Two joints have the same name.
    """
    with RecordingReader(path) as reader:
        reader.check(topic, JOINT_STATE)
        if renamed:
            rename_joints(reader, topic, renamed)
        left_out: dict[Reason, int] = {}
        columns: dict[str, int] = {}
        parts: list[tuple[Block, list[JointStateStack]]] = []
        for block in reader.blocks(topic):
            kept = []
            for stack in joint_state_stacks(block):
                reason = stack.refusal or fault(stack.layout)
                if reason is not None:
                    left_out[reason] = left_out.get(reason, 0) + len(stack.rows)
                    continue
                for name in stack.layout.names:
                    columns.setdefault(name, len(columns))
                kept.append(stack)
            parts.append((block._replace(data=b''), kept))
        description = read_description(reader, description_topic)
    if not columns:
        raise RecordingError(
            f'{path}: topic {topic!r} has no usable joint states'
            + ''.join(f'; {count} messages: {why.value}' for why, count in left_out.items())
        )
    tables = [table(block, stacks, columns) for block, stacks in parts]
    t, received, values = (np.concatenate(each) for each in zip(*tables))
    q, v, tau = np.moveaxis(values, 1, 0)
    return Recording(
        Path(path), topic, tuple(columns), t, received, q, v, tau, description, left_out
    )


def fault(layout: JointStateLayout) -> Reason | None:
    """Return why joint states with this layout cannot be used, None if they can."""
    if not layout.names:
        return Reason.EMPTY
    return Reason.DUPLICATE_JOINT if len(set(layout.names)) < len(layout.names) else None


def table(
    block: Block, stacks: list[JointStateStack], columns: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Return stamps (k,), recording times (k,) and values (k, 3, n) of the usable messages."""
    total = len(block.received)
    stamps, usable = np.zeros(total, np.int64), np.zeros(total, dtype=bool)
    values = np.full((total, 3, len(columns)), np.nan)
    for stack in stacks:
        layout = stack.layout
        places = np.array([columns[name] for name in layout.names], dtype=np.intp)
        stamps[stack.rows], usable[stack.rows] = stack.stamps, True
        lengths = layout.positions, layout.velocities, layout.efforts
        ends = np.cumsum(lengths)
        for kind, (length, end) in enumerate(zip(lengths, ends)):
            if length == len(places):
                values[stack.rows[:, None], kind, places] = stack.numbers[:, end - length : end]
    received = block.received
    stamps = np.where(stamps == 0, received, stamps)
    return stamps[usable], received[usable], values[usable]


def read_description(reader: RecordingReader, topic: str = '/robot_description') -> str | None:
    """Return the last text on a std_msgs/String topic, None without one.

    Raises RecordingError if the message is invalid.
    """
    if reader.types.get(topic) != STRING:
        return None
    data = reader.last(topic)
    if data is None:
        return None
    try:
        return text_of(data)
    except RecordingError as error:
        raise RecordingError(f'{reader.path}: {topic}: {error}') from None


def text_of(data: bytes) -> str:
    """Return the text of a serialized std_msgs/String; raises `RecordingError`."""
    try:
        (size,) = PLAIN[data[:2]].unpack_from(data, STAMP_OFFSET)
        if STAMP_OFFSET + 4 + size > len(data):
            raise ValueError('truncated')
        return data[STAMP_OFFSET + 4 : STAMP_OFFSET + 4 + size].removesuffix(b'\0').decode()
    except (KeyError, ValueError, struct.error) as error:
        raise RecordingError(f'a std_msgs/String cannot be read: {error}') from None


@dataclass(frozen=True, eq=False)
class RecordedWrenches:
    """The messages of a geometry_msgs/WrenchStamped topic.

    Attributes
    ----------
    frame : str
        frame_id of the first message.
    t, received : (N,) arrays of int
        As in `Recording`.
    wrenches : (N, 6) array
        Moment, then force [N m, N]; signs as in the messages.
    """

    frame: str
    t: NDArray[np.int64]
    received: NDArray[np.int64]
    wrenches: Array


def read_wrenches(path: Path | str, topic: str) -> RecordedWrenches:
    """Return the wrenches of a topic.

    Raises
    ------
    RecordingError
        The file cannot be read, has no wrench, or wrenches of several frames.
    UnknownNameError
        The topic is not recorded, or is of another type.
    """
    read = read_stamped(path, topic, WRENCH, 6)
    if (read.frames != read.frames[:1]).any():
        raise RecordingError(f'{path}: topic {topic!r} has wrenches of several frames')
    wrenches = read.values[:, [3, 4, 5, 0, 1, 2]]
    return RecordedWrenches(next(iter(read.frames), ''), read.t, read.received, wrenches)
