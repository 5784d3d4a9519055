# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The outputs of a model node for one joint state, in one message: layout and reader.

`~/model_state` has the numbers of all chosen outputs, `~/model_state_layout` their names, shapes,
units and frames. In a node:

    def use(state: ModelState) -> None:
        if state.is_valid('external_torque'):
            torque = state['external_torque']    # (n,) array, a view of the message

    subscribe_to_model_state(node, use, '/bringup')
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.errors import ArgumentError, UnknownNameError
from ..core.types import Array
from ..core.units import NANOSECONDS
from .messages.cdr import PLAIN, STAMP_OFFSET, align

if TYPE_CHECKING:
    from rclpy.node import Node

Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True)
class StatePart:
    """One array of a model state.

    Attributes
    ----------
    name : str
        The quantity, or quantity/link.
    labels : tuple of tuples of str
        Labels of the elements along each dimension.
    frame_id : str
        The frame in which it is expressed; empty for quantities of joints.
    offset : int
        Index of its first element among the numbers of the message.
    unit : str
        Unit of the elements, see `OutputRow`.
    """

    name: str
    labels: tuple[tuple[str, ...], ...]
    frame_id: str = ''
    offset: int = 0
    unit: str = ''

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each dimension."""
        return tuple(map(len, self.labels))

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of screw_dynamics_msgs/ModelStatePart."""
        return {
            'name': self.name,
            'frame_id': self.frame_id,
            'unit': self.unit,
            'offset': self.offset,
            'shape': np.array(self.shape, np.uint32),
            'labels': [','.join(labels) for labels in self.labels],
        }


@dataclass(frozen=True)
class ModelStateLayout:
    """The parts of a model state.

    Attributes
    ----------
    robot : str
        Name of the robot.
    root : str
        Frame of the root link.
    parts : tuple of StatePart
        In order, without gaps; see `of`.
    """

    robot: str
    root: str
    parts: tuple[StatePart, ...]

    @classmethod
    def of(cls, robot: str, root: str, parts: Sequence[StatePart]) -> ModelStateLayout:
        """Return the layout in which parts follow one another."""
        offsets = accumulate((part.size for part in parts), initial=0)
        return cls(robot, root, tuple(replace(part, offset=at) for part, at in zip(parts, offsets)))

    @classmethod
    def from_message(cls, message: Any) -> ModelStateLayout:
        """Return the layout in a screw_dynamics_msgs/ModelStateLayout.

        Raises `ArgumentError` if its parts do not fit together.
        """
        parts = []
        for each in message.parts:
            labels = tuple(tuple(text.split(',')) if text else () for text in each.labels)
            part = StatePart(each.name, labels, each.frame_id, each.offset, each.unit)
            if list(part.shape) != list(each.shape):
                raise ArgumentError(f'{each.name}: shape {list(each.shape)}, labels {part.shape}')
            parts.append(part)
        made = cls(message.robot, message.header.frame_id, tuple(parts))
        if made != cls.of(made.robot, made.root, made.parts) or made.size != message.size:
            raise ArgumentError('the parts of the layout do not follow one another')
        return made

    @property
    def size(self) -> int:
        """Number of elements of all parts."""
        return sum(part.size for part in self.parts)

    @property
    def id(self) -> int:
        """Checksum of the layout, equal for equal layouts."""
        return zlib.crc32(repr((self.robot, self.root, self.parts)).encode())

    def message(self, stamp: Any) -> Any:
        """Return the screw_dynamics_msgs/ModelStateLayout with a builtin_interfaces/Time."""
        from std_msgs.msg import Header

        from screw_dynamics_msgs import msg

        return msg.ModelStateLayout(
            header=Header(stamp=stamp, frame_id=self.root),
            id=self.id,
            robot=self.robot,
            size=self.size,
            parts=[msg.ModelStatePart(**part.fields) for part in self.parts],
        )


class Places(NamedTuple):
    """Offsets of the fields of a serialized ModelState, and its layout and numbers of elements."""

    layout_id: int
    parts: int
    size: int
    valid: int
    age: int
    data: int


def located(message: Buffer) -> Places:
    """Return where the fields of a serialized ModelState are.

    Raises `ArgumentError` if it is not one in plain CDR.
    """
    kind = bytes(message[:2])
    if kind not in PLAIN:
        raise ArgumentError('the message is not in plain CDR')
    count, widest = PLAIN[kind], 4 if kind[1] >= 6 else 8
    try:
        (length,) = count.unpack_from(message, STAMP_OFFSET + 8)
        at = align(STAMP_OFFSET + 12 + length, 4)
        layout_id, parts = struct.unpack_from(f'{count.format[0]}II', message, at)
        valid = at + 8
        at = align(valid + parts, 4)
        (ages,) = count.unpack_from(message, at)
        age = align(at + 4, widest)
        at = age + 8 * ages
        (size,) = count.unpack_from(message, at)
        data = align(at + 4, widest) if size else at + 4
    except struct.error:
        raise ArgumentError('the message is shorter than its fields') from None
    if ages != parts or data + 8 * size > len(message):
        raise ArgumentError('the message is shorter than its fields, or its flags and ages differ')
    return Places(layout_id, parts, size, valid, age, data)


class ModelState(Mapping[str, Array]):
    """One model state: the arrays of its parts by name, without a copy.

    Attributes
    ----------
    layout : ModelStateLayout
    stamp : int
        Stamp of the joint state [ns].
    """

    def __init__(
        self,
        layout: ModelStateLayout,
        stamp: int,
        valid: NDArray[np.bool_],
        age: Array,
        data: Array,
        numbers: Mapping[str, int],
    ) -> None:
        self.layout, self.stamp = layout, stamp
        self._valid, self._age, self._data, self._numbers = valid, age, data, numbers

    def __getitem__(self, name: str) -> Array:
        part = self.layout.parts[self._number(name)]
        return self._data[part.offset : part.offset + part.size].reshape(part.shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def is_valid(self, name: str) -> bool:
        """Whether the numbers of a part can be used; otherwise they are NaN."""
        return bool(self._valid[self._number(name)])

    def age(self, name: str) -> float:
        """Return the time since the joint state from which a part was computed [s]."""
        return float(self._age[self._number(name)])

    def _number(self, name: str) -> int:
        try:
            return self._numbers[name]
        except KeyError:
            raise UnknownNameError(
                f'the model state has no part {name!r}; it has {", ".join(self._numbers)}: see the '
                'parameter model_state'
            ) from None


class ModelStateReader:
    """Reads model states with one layout.

    Parameters
    ----------
    layout : ModelStateLayout
    """

    def __init__(self, layout: ModelStateLayout) -> None:
        self.layout, self._id = layout, layout.id
        self._numbers = {part.name: k for k, part in enumerate(layout.parts)}

    def read(self, message: Buffer | Any) -> ModelState | None:
        """Return a message or serialized message, None if it has another layout.

        Raises `ArgumentError` if it is not a ModelState.
        """
        if not isinstance(message, (bytes, bytearray, memoryview)):
            stamp = message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec
            arrays = (
                np.array(message.valid, bool),
                np.asarray(message.age),
                np.asarray(message.data),
            )
            return self._state(message.layout_id, stamp, *arrays)
        places = located(message)
        order = PLAIN[bytes(message[:2])].format[0]
        sec, nanosec = struct.unpack_from(f'{order}iI', message, STAMP_OFFSET)
        return self._state(
            places.layout_id,
            sec * NANOSECONDS + nanosec,
            np.frombuffer(message, np.bool_, places.parts, places.valid),
            np.frombuffer(message, f'{order}f8', places.parts, places.age),
            np.frombuffer(message, f'{order}f8', places.size, places.data),
        )

    def _state(
        self, layout_id: int, stamp: int, valid: NDArray[np.bool_], age: Array, data: Array
    ) -> ModelState | None:
        if layout_id != self._id:
            return None
        if len(valid) != len(self._numbers) or len(data) != self.layout.size:
            raise ArgumentError('the message does not have the numbers of its layout')
        return ModelState(self.layout, stamp, valid, age, data, self._numbers)


def subscribe_to_model_state(
    node: Node, use: Callable[[ModelState], None], name: str = '~'
) -> tuple[Any, Any]:
    """Call `use` with each model state of a node; return the two subscriptions.

    Messages that precede their layout, and those of another layout, are omitted.

    Parameters
    ----------
    node : rclpy.node.Node
    use : callable
    name : str
        Name of the node that publishes, such as '/bringup'.
    """
    from rclpy.serialization import deserialize_message

    from screw_dynamics_msgs import msg

    from .topics import qos

    readers: list[ModelStateReader] = []

    def adopt(data: bytes) -> None:
        layout = ModelStateLayout.from_message(deserialize_message(data, msg.ModelStateLayout))
        readers[:] = [ModelStateReader(layout)]

    def receive(data: bytes) -> None:
        state = readers[0].read(data) if readers else None
        if state is not None:
            use(state)

    return (
        node.create_subscription(
            msg.ModelStateLayout, f'{name}/model_state_layout', adopt, qos.LATCHED, raw=True
        ),
        node.create_subscription(
            msg.ModelState, f'{name}/model_state', receive, qos.OUTPUT, raw=True
        ),
    )
