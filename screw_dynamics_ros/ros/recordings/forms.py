# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Serialized messages that differ in stamps and numbers only, written as the rows of an array.

The equivalent of `ros.messages.templates` for recordings. `rosbags` serializes a message once,
without ROS; then stamps and numbers are overwritten for all messages of a stack at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.lie import quaternions
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

from ..messages.cdr import STAMP_FORMAT, find_all, number_offsets, runs
from .sources import rosbags_module

#: Types of `~/model_state`, and their definitions: `rosbags` knows those of ROS 2 alone.
MODEL_STATE, MODEL_STATE_LAYOUT, MODEL_STATE_PART = (
    f'screw_dynamics_msgs/msg/{name}'
    for name in ('ModelState', 'ModelStateLayout', 'ModelStatePart')
)
DEFINITIONS = {
    MODEL_STATE: """std_msgs/Header header
uint32 layout_id
bool[] valid
float64[] age
float64[] data
""",
    MODEL_STATE_LAYOUT: """std_msgs/Header header
uint32 id
string robot
uint32 size
ModelStatePart[] parts
""",
    MODEL_STATE_PART: """string name
string frame_id
string unit
uint32 offset
uint32[] shape
string[] labels
""",
}

#: Stamp and numbers that do not occur in names or lengths.
STAMP = 0x5EC05EC0 * NANOSECONDS + 0x2A0B1C0D


@cache
def type_store() -> Any:
    """Return a type store of `rosbags` with the message types of ROS 2 and `DEFINITIONS`."""
    typesys = rosbags_module('rosbags.typesys')
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    for kind, text in DEFINITIONS.items():
        store.register(typesys.get_types_from_msg(text, kind))
    return store


def make(kind: str, **fields: Any) -> Any:
    """Return a message object of `rosbags`."""
    return type_store().types[kind](**fields)


def is_known(kind: str) -> bool:
    """Whether `rosbags` has the definition of a type."""
    return kind in type_store().types


def definition(kind: str) -> str:
    """Return the text of the definition of a type, including the types of its fields."""
    return str(type_store().generate_msgdef(kind, ros_version=2)[0])


class Form:
    """A message type with fixed contents except stamps and numbers.

    Parameters
    ----------
    kind : str
        Such as 'sensor_msgs/msg/JointState'.
    build : callable
        ``build(stamp, numbers)`` returns the message object with a stamp [ns] and numbers (count,).
    count : int

    Attributes
    ----------
    kind : str
    data : bytes
        A serialized message with placeholder numbers.
    """

    def __init__(self, kind: str, build: Callable[[int, Array], Any], count: int) -> None:
        self.kind, self.count = kind, count
        numbers = -1.7e-200 * np.arange(1.0, count + 1.0)
        self.data = bytes(type_store().serialize_cdr(build(STAMP, numbers), kind))
        self._stamps = find_all(self.data, STAMP_FORMAT.pack(*divmod(STAMP, NANOSECONDS)))
        self._offsets = number_offsets(self.data, numbers)

    def fill(self, rows: NDArray[np.uint8], start: int, stamps: Array, numbers: Array) -> None:
        """Write stamps and numbers into messages.

        Parameters
        ----------
        rows : (k, size) array
            Each row contains `data` at the offset `start`.
        start : int
        stamps : (k,) array
            From `packed_stamps`.
        numbers : (k, count) array
        """
        for offset in self._stamps:
            column(rows, start + offset, '<u8', 1)[:, 0] = stamps
        for first, last in runs(self._offsets):
            column(rows, start + self._offsets[first], '<f8', last - first)[:] = numbers[
                :, first:last
            ]


def column(rows: NDArray[np.uint8], offset: int, kind: str, count: int) -> Array:
    """Return a writable view (k, count) of the numbers at an offset of each row of bytes."""
    size = np.dtype(kind).itemsize
    return np.ndarray(
        (len(rows), count), kind, rows.data, offset, (rows.strides[0], size)
    )  # aligned or not


def packed_stamps(stamps: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return stamps [ns] as the bytes of builtin_interfaces/Time, little endian."""
    seconds, nanoseconds = np.divmod(stamps, NANOSECONDS)
    return (seconds & 0xFFFFFFFF).astype(np.uint64) | (
        nanoseconds.astype(np.uint64) << np.uint64(32)
    )


# --- the messages of the nodes ------------------------------------------------------------------


def header(stamp: int, frame: str = '') -> Any:
    """Return a std_msgs/Header."""
    sec, nanosec = divmod(stamp, NANOSECONDS)
    time = make('builtin_interfaces/msg/Time', sec=sec, nanosec=nanosec)
    return make('std_msgs/msg/Header', stamp=time, frame_id=frame)


def xyz(kind: str, numbers: Array, names: str = 'xyz') -> Any:
    """Return a geometry_msgs Vector3 or Quaternion."""
    return make(f'geometry_msgs/msg/{kind}', **dict(zip(names, map(float, numbers))))


def joint_efforts(names: Sequence[str]) -> Form:
    """sensor_msgs/JointState with `name` and `effort`."""
    kind, nothing = 'sensor_msgs/msg/JointState', np.zeros(0)

    def build(stamp: int, numbers: Array) -> Any:
        fields = {'position': nothing, 'velocity': nothing, 'effort': numbers}
        return make(kind, header=header(stamp), name=list(names), **fields)

    return Form(kind, build, len(names))


def matrix(*labels: Sequence[str]) -> Form:
    """std_msgs/Float64MultiArray, row-major; labels as in `templates.matrix`."""
    kind = 'std_msgs/msg/Float64MultiArray'
    sizes = [len(names) for names in labels]
    strides = np.cumprod([1, *reversed(sizes)])[1:][::-1].tolist()
    dimensions = [
        make('std_msgs/msg/MultiArrayDimension', label=','.join(names), size=size, stride=stride)
        for names, size, stride in zip(labels, sizes, strides)
    ]
    layout = make('std_msgs/msg/MultiArrayLayout', dim=dimensions, data_offset=0)
    return Form(
        kind, lambda stamp, numbers: make(kind, layout=layout, data=numbers), int(np.prod(sizes))
    )


def twist(frame: str) -> Form:
    """geometry_msgs/TwistStamped; numbers: linear, then angular."""
    return two_vectors('Twist', 'linear', 'angular', frame)


def wrench(frame: str) -> Form:
    """geometry_msgs/WrenchStamped; numbers: force, then torque."""
    return two_vectors('Wrench', 'force', 'torque', frame)


def two_vectors(kind: str, first: str, second: str, frame: str) -> Form:
    """Return the form of a stamped twist or wrench."""

    def build(stamp: int, numbers: Array) -> Any:
        vectors = {first: xyz('Vector3', numbers[:3]), second: xyz('Vector3', numbers[3:])}
        content = make(f'geometry_msgs/msg/{kind}', **vectors)
        fields = {'header': header(stamp, frame), kind.lower(): content}
        return make(f'geometry_msgs/msg/{kind}Stamped', **fields)

    return Form(f'geometry_msgs/msg/{kind}Stamped', build, 6)


def transforms(frames: Sequence[tuple[str, str]]) -> Form:
    """tf2_msgs/TFMessage of (parent, child); numbers (x, y, z, qx, qy, qz, qw) each."""
    kind = 'tf2_msgs/msg/TFMessage'

    def build(stamp: int, numbers: Array) -> Any:
        listed = [
            make(
                'geometry_msgs/msg/TransformStamped',
                header=header(stamp, parent),
                child_frame_id=child,
                transform=make(
                    'geometry_msgs/msg/Transform',
                    translation=xyz('Vector3', pose[:3]),
                    rotation=xyz('Quaternion', pose[3:], 'xyzw'),
                ),
            )
            for (parent, child), pose in zip(frames, numbers.reshape(-1, 7))
        ]
        return make(kind, transforms=listed)

    return Form(kind, build, 7 * len(frames))


def pose(matrix: Array) -> Array:
    """Return a pose (4, 4) as (x, y, z, qx, qy, qz, qw)."""
    return np.concatenate([matrix[:3, 3], quaternions.from_matrix(matrix[:3, :3])])
