# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states from the introspection of controller_manager (pal_statistics).

`~/introspection_data/values` has all state and command interfaces of one cycle, under one stamp;
`~/introspection_data/names` has their names, called state_interface.<joint>/<interface> and
command_interface.<joint>/<interface>, whenever they change; `~/introspection_data/full` has both.
Values refer to names by a version. Versions begin at 1 again when controller_manager restarts.

Two topics of joint states are derived: `~/introspection_data/measured`, and
`~/introspection_data/commanded` with commanded instead of measured efforts.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array

from ..joint_states.layouts import COUNT, LITTLE_ENDIAN
from ..messages.cdr import STAMP_OFFSET, align
from . import forms
from .blocks import Block, joined
from .forms import Form, packed_stamps
from .stacks import alike_in, doubles, rows_of, stamps_of

NAMES, VALUES, FULL = (
    f'pal_statistics_msgs/msg/Statistics{kind}' for kind in ('Names', 'Values', '')
)
JOINT_STATE = 'sensor_msgs/msg/JointState'
MAX_NAMES = 100_000
MAX_LAYOUTS = 64  # in one block that are read in stacks
QUANTITIES = ('position', 'velocity', 'effort')
MEASURED, COMMANDED = {
    'measured': ('state_interface',) * 3,
    'commanded': ('state_interface', 'state_interface', 'command_interface'),
}.items()

#: Yields the messages of a topic.
Blocks = Callable[[str], Iterable[Block]]


class StatisticsLayout(NamedTuple):
    """What messages with the same names have in common.

    Attributes
    ----------
    fixed : sequence of range
        The bytes that define it.
    places : sequence of (offset, count)
        Of the values.
    names : tuple of str or None
        None if they are those of the version.
    version : int
    """

    fixed: Sequence[range]
    places: Sequence[tuple[int, int]]
    names: tuple[str, ...] | None
    version: int = 0


class Names(NamedTuple):
    """Names that were recorded at a time [ns]."""

    received: int
    names: tuple[str, ...]


class JointStateColumns(NamedTuple):
    """Form of the joint states with these names, and the columns of their numbers in the values."""

    form: Form
    columns: NDArray[np.intp]


@dataclass(frozen=True)
class Introspection:
    """A derived topic of joint states.

    Attributes
    ----------
    values : str
        Topic of the values.
    kind : str
        Type of its messages: `VALUES` or `FULL`.
    names : str
        Topic of the names; empty for `FULL`.
    interfaces : tuple of str
        Kinds of the interfaces with position, velocity and effort.
    """

    values: str
    kind: str
    names: str
    interfaces: tuple[str, ...]
    _known: dict[int, list[Names]] = field(default_factory=dict)

    def blocks(self, recorded: Blocks) -> Iterator[Block]:
        """Yield the joint states; values that have no names or no joints are no joint states."""
        if self.names and not self._known:
            self._read_names(recorded(self.names))
        for block in recorded(self.values):
            messages = [b''] * len(block.sizes)
            left, count = np.arange(len(block.sizes)), 0
            while len(left):
                count += 1
                done = self._convert(block, left, messages, count <= MAX_LAYOUTS)
                left = np.setdiff1d(left, done, assume_unique=True)
            yield joined(block.received, messages)

    def _convert(
        self, block: Block, left: NDArray[np.intp], messages: list[bytes], is_stack: bool
    ) -> NDArray[np.intp]:
        """Convert the first message, in a stack with all of its layout; return which are done."""
        data = block.message(int(left[0]))
        try:
            layout = (values_layout if self.kind == VALUES else full_layout)(data)
        except (ValueError, struct.error):
            return left[:1]
        places = left[block.sizes[left] == len(data)] if is_stack else left[:1]
        rows = rows_of(block, places, len(data))
        same = alike_in(rows, np.frombuffer(data, np.uint8), layout.fixed)
        places, rows = places[same], rows[same]
        stamps, valid = stamps_of(rows)
        values = np.hstack([doubles(rows, *place) for place in layout.places] or [np.zeros(0)])
        listed = [
            layout.names if layout.names is not None else self._names_at(layout.version, received)
            for received in block.received[places].tolist()
        ]
        for names in set(filter(None, listed)):
            made = columns_of(names, self.interfaces)
            if made is None or len(names) != values.shape[1]:
                continue
            chosen = np.array([each == names for each in listed]) & valid
            numbers = values[chosen][:, made.columns]
            numbers[:, made.columns < 0] = np.nan
            filled = np.tile(np.frombuffer(made.form.data, np.uint8), (len(numbers), 1))
            made.form.fill(filled, 0, packed_stamps(stamps[chosen]), numbers)
            for place, row in zip(places[chosen].tolist(), filled):
                messages[place] = row.tobytes()
        return places

    def _read_names(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            for k, received in enumerate(block.received.tolist()):
                try:
                    version, names = names_of(block.message(k))
                except (ValueError, struct.error):
                    continue
                self._known.setdefault(version, []).append(Names(received, names))

    def _names_at(self, version: int, received: int) -> tuple[str, ...]:
        """Return the names of a version at a time [ns], empty if they are unknown.

        After a restart a version has other names: those recorded last are valid.
        """
        known = self._known.get(version, [])
        if len({each.names for each in known}) == 1:
            return known[0].names
        before = [each for each in known if each.received <= received]
        return max(before).names if before else ()


def introspections(types: Mapping[str, str]) -> dict[str, Introspection]:
    """Return the topics of joint states that follow from the topics of a recording, by name."""
    found: dict[str, Introspection] = {}
    for topic, kind in types.items():
        base, _, last = topic.rpartition('/')
        names = f'{base}/names' if kind == VALUES else ''
        if (last, kind) not in (('values', VALUES), ('full', FULL)):
            continue
        if names and types.get(names) != NAMES:
            continue
        if kind == FULL and types.get(f'{base}/names') == NAMES and f'{base}/values' in types:
            continue
        for name, interfaces in (MEASURED, COMMANDED):
            if f'{base}/{name}' not in types:
                found[f'{base}/{name}'] = Introspection(topic, kind, names, interfaces)
    return found


@lru_cache(maxsize=64)
def columns_of(names: tuple[str, ...], interfaces: tuple[str, ...]) -> JointStateColumns | None:
    """Return the joint states of values with names; None without joints, or if a name is repeated.

    Quantities of all joints that the names lack are omitted; of single joints they are column -1.
    """
    place = {name: k for k, name in enumerate(names)}
    first = f'{interfaces[0]}.'
    joints = [
        name.removeprefix(first).removesuffix('/position')
        for name in names
        if name.startswith(first) and name.endswith('/position') and name.count('/') == 1
    ]
    if not joints or len(place) < len(names):
        return None
    columns = [
        [place.get(f'{kind}.{joint}/{quantity}', -1) for joint in joints]
        for kind, quantity in zip(interfaces, QUANTITIES)
    ]
    lengths = [len(joints) if max(each) >= 0 else 0 for each in columns]

    def build(stamp: int, numbers: Array) -> object:
        arrays = np.split(numbers, np.cumsum(lengths)[:-1])
        content = dict(zip(QUANTITIES, arrays))
        return forms.make(JOINT_STATE, header=forms.header(stamp), name=joints, **content)

    used = [each for each, length in zip(columns, lengths) if length]
    return JointStateColumns(
        Form(JOINT_STATE, build, sum(lengths)), np.array(used, dtype=np.intp).ravel()
    )


# --- messages in plain CDR ----------------------------------------------------------------------


class Cursor:
    """A place in a message in plain CDR, little endian; raises ValueError, `struct.error`."""

    def __init__(self, data: bytes) -> None:
        if data[:2] != LITTLE_ENDIAN:
            raise ValueError('not plain CDR, little endian')
        self._data, self.offset = data, STAMP_OFFSET + 8
        self.text()  # header.frame_id

    def count(self) -> int:
        """Return a uint32."""
        offset = align(self.offset, 4)
        self.offset = offset + 4
        return int(COUNT.unpack_from(self._data, offset)[0])

    def text(self) -> str:
        """Return a string."""
        size = self.count()
        self.doubles(0, size)
        return self._data[self.offset - size : self.offset].removesuffix(b'\0').decode()

    def length(self) -> int:
        """Return the length of a sequence."""
        count = self.count()
        if count > MAX_NAMES:
            raise ValueError(f'{count} elements')
        return count

    def doubles(self, count: int, more: int = 0) -> tuple[int, int]:
        """Return offset and count of float64 numbers, and pass them and further bytes."""
        start = align(self.offset, 8) if count else self.offset
        self.offset = start + 8 * count + more
        if self.offset > len(self._data):
            raise ValueError('truncated')
        return start, count


def names_of(data: bytes) -> tuple[int, tuple[str, ...]]:
    """Return version and names of a StatisticsNames; raises as `Cursor`."""
    cursor = Cursor(data)
    names = tuple(cursor.text() for _ in range(cursor.length()))
    return cursor.count(), names


def values_layout(data: bytes) -> StatisticsLayout:
    """Return the layout of a StatisticsValues; raises as `Cursor`."""
    cursor = Cursor(data)
    values = cursor.doubles(cursor.length())
    version = cursor.count()
    ends = values[0], values[0] + 8 * values[1]
    fixed = range(STAMP_OFFSET), range(STAMP_OFFSET + 8, ends[0]), range(ends[1], cursor.offset)
    return StatisticsLayout(fixed, [values], None, version)


def full_layout(data: bytes) -> StatisticsLayout:
    """Return the layout of a Statistics; raises as `Cursor`."""
    cursor = Cursor(data)
    names, places, fixed = [], [], [range(STAMP_OFFSET)]
    start = STAMP_OFFSET + 8
    for _ in range(cursor.length()):
        names.append(cursor.text())
        places.append(cursor.doubles(1))
        fixed.append(range(start, places[-1][0]))
        start = cursor.offset
    return StatisticsLayout(fixed, places, tuple(names))
