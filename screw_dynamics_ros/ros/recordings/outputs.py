# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Output recordings: copies of the input with additional topics.

`McapOutput` writes one MCAP file, in chunks of arrays; `FolderOutput` a folder with SQLite and
metadata.yaml, by `rosbags`, message by message. Both write to a temporary name and rename at the
end: an output with its final name is complete.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array

from .forms import Form, column, definition, is_known, packed_stamps, type_store
from .mcap import HEAD, MESSAGE, MESSAGE_HEAD, McapChannel, McapWriter, Schema, sized
from .sources import RecordingError, readable, rosbags_module
from .storage import RecordingReader

MAX_CHUNK = 4_000_000  # bytes
MAX_RUNS = 8  # runs of states with the same topics in a block, written as rows

#: QoS of transient-local publishers, in the format of rosbag2.
LATCHED = """- history: keep_last
  depth: 1
  reliability: reliable
  durability: transient_local
  deadline:
    sec: 9223372036
    nsec: 854775807
  lifespan:
    sec: 9223372036
    nsec: 854775807
  liveliness: automatic
  liveliness_lease_duration:
    sec: 9223372036
    nsec: 854775807
  avoid_ros_namespace_conventions: false"""


class OutputError(OSError):
    """An output cannot be written, for example on a full disk; the message names it."""


class Stack(NamedTuple):
    """Messages of one topic: numbers (k, count) for the form, and the indices of their states."""

    topic: str
    form: Form
    numbers: Array
    present: NDArray[np.bool_]


class Output(Protocol):
    """Interface of outputs for additional topics."""

    def add_topic(self, topic: str, kind: str, *, latched: bool = False) -> None:
        """Add a topic before anything is written on it."""

    def write(
        self, received: NDArray[np.int64], stamps: NDArray[np.int64], stacks: Sequence[Stack]
    ) -> None:
        """Write messages of several topics for some states, in order of time."""

    def write_message(self, topic: str, received: int, data: bytes) -> None:
        """Write one message."""

    def finish(self) -> None:
        """Write the remaining messages, and rename to the final name."""

    def abandon(self) -> None:
        """Close the files, which may be incomplete."""


@contextmanager
def open_output(
    path: Path, reader: RecordingReader, compression: str, prefix: str
) -> Iterator[Output]:
    """Yield the output for a path: a file NAME.mcap, or a folder; without `finish` it is removed.

    The messages of `reader` are copied up to the time of each written message. `prefix` makes
    temporary names unique to this process.

    Raises
    ------
    RecordingError
        The output exists.
    OutputError
        The output cannot be written.
    """
    if path.exists():
        raise RecordingError(f'{path} already exists; choose another output, or remove it')
    with writable(path), TemporaryFile(path, prefix) as place:
        output = (
            McapOutput(place, reader, compression)
            if path.suffix == '.mcap'
            else FolderOutput(place, reader)
        )
        try:
            yield output
        finally:
            with suppress(OSError, sqlite3.Error):  # of a full disk, reported already
                output.abandon()


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Convert exceptions while an output is written to an `OutputError`."""
    try:
        yield
    except OutputError:
        raise
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise OutputError(
            f'cannot write {path}: {reason}; nothing is left of it; name an output in a folder '
            'that can be written and has space'
        ) from error


class TemporaryFile:
    """A temporary path in the same folder, renamed at the end; leaving `with` removes it."""

    def __init__(self, path: Path, prefix: str) -> None:
        self.path = path
        self.temporary = path.with_name(f'.{path.name}.{prefix}.part')
        self.remove()
        path.parent.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> TemporaryFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the temporary file or folder."""
        if self.temporary.is_dir():
            shutil.rmtree(self.temporary)
        else:
            self.temporary.unlink(missing_ok=True)

    def take_name(self) -> None:
        """Rename the file or folder to its final name."""
        self.temporary.rename(self.path)


class McapOutput:
    """One MCAP file with the input and additional topics; chunks are copied if possible."""

    def __init__(self, place: TemporaryFile, reader: RecordingReader, compression: str) -> None:
        self._reader, self._place = reader, place
        self._file = self._place.temporary.open('wb', buffering=1 << 20)
        self._writer = McapWriter(self._file, compression)
        self._channels: dict[str, int] = {}
        self._rows: dict[tuple[str, ...], Rows] = {}
        self._pending = Pending(self._writer)
        if reader.mcap is not None:
            for key, schema in reader.mcap.schemas.items():
                self._writer.add_schema(schema, key)
            for key, channel in reader.mcap.channels.items():
                self._writer.add_channel(channel, key)
            self._chunks = list(reader.mcap.chunks)
        else:
            self._chunks = []
            for topic, each in reader.definitions().items():
                text = each.text or definition_or_nothing(each.kind)
                self._add(topic, each.kind, text, dumped(each.qos))
            self._messages = reader.messages()
            self._next = next(self._messages, None)

    def add_topic(self, topic: str, kind: str, *, latched: bool = False) -> None:
        """Add a topic before anything is written on it."""
        self._add(topic, kind, definition(kind), LATCHED if latched else '')

    def _add(self, topic: str, kind: str, text: str, qos: str) -> None:
        encoding = 'ros2idl' if text.startswith('=' * 80 + '\nIDL:') else 'ros2msg'
        schema = self._writer.add_schema(Schema(kind, encoding, text.encode()))
        metadata = sized(b'offered_qos_profiles') + sized(qos.encode())
        self._channels[topic] = self._writer.add_channel(
            McapChannel(schema, topic, 'cdr', metadata)
        )

    def _copy_until(self, time: float) -> None:
        """Copy the messages recorded before a time."""
        mcap = self._reader.mcap
        while self._chunks and self._chunks[0].first_time <= time:
            assert mcap is not None
            chunk = self._chunks.pop(0)
            self._pending.flush()
            with readable(self._reader.path):
                counts = {channel: mcap.count(chunk, channel) for channel in chunk.lists}
            self._writer.copy(mcap.raw(chunk), chunk, counts)
        if mcap is None:
            while self._next is not None and self._next[1] <= time:
                topic, received, data = self._next
                self._pending.add(self._channels[topic], received, data)
                self._next = next(self._messages, None)

    def write(
        self, received: NDArray[np.int64], stamps: NDArray[np.int64], stacks: Sequence[Stack]
    ) -> None:
        """Write messages of several topics for some states."""
        self._copy_until(float(received[-1]))
        self._pending.flush()
        packed = packed_stamps(stamps)
        for group, chosen in grouped(stacks):
            rows = self._rows_of(group)
            step = max(1, MAX_CHUNK // rows.size)
            for first in range(0, len(chosen), step):
                part = chosen[first : first + step]
                numbers = [stack.numbers[part] for stack in group]
                self._writer.write(*rows.chunk(received[part], packed[part], numbers))

    def write_message(self, topic: str, received: int, data: bytes) -> None:
        """Write one message."""
        self._copy_until(received)
        self._pending.add(self._channels[topic], received, data)

    def finish(self) -> None:
        """Write the remaining messages, and rename to the final name."""
        self._copy_until(np.inf)
        self._pending.flush()
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._place.take_name()

    def abandon(self) -> None:
        """Close the file, which may be incomplete."""
        self._file.close()

    def _rows_of(self, group: Sequence[Stack]) -> Rows:
        key = tuple(stack.topic for stack in group)
        if key not in self._rows:
            self._rows[key] = Rows([(self._channels[stack.topic], stack.form) for stack in group])
        return self._rows[key]


class Pending:
    """Single messages that wait until a chunk is full."""

    def __init__(self, writer: McapWriter) -> None:
        self._writer = writer
        self._clear()

    def _clear(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._lists: dict[int, list[tuple[int, int]]] = {}

    def add(self, channel: int, received: int, data: bytes) -> None:
        """Add a message."""
        self._lists.setdefault(channel, []).append((received, self._size))
        self._pieces.append(message_head(channel, len(data), received) + data)
        self._size += len(self._pieces[-1])
        if self._size > MAX_CHUNK:
            self.flush()

    def flush(self) -> None:
        """Write the chunk unless it is empty."""
        if self._pieces:
            lists = {
                channel: np.array(sorted(pairs), dtype=np.int64)
                for channel, pairs in self._lists.items()
            }
            self._writer.write([b''.join(self._pieces)], lists)
            self._clear()


class Rows:
    """The records of one state on several topics, as a row of bytes.

    Parameters
    ----------
    forms : sequence of (int, Form)
        Channels and their messages.
    """

    def __init__(self, forms: Sequence[tuple[int, Form]]) -> None:
        records = [message_head(key, len(form.data), 0) + form.data for key, form in forms]
        self._row = np.frombuffer(b''.join(records), np.uint8)
        self.size = len(self._row)
        starts = np.cumsum([0, *(len(record) for record in records)]).tolist()
        self._forms = [(key, form, start) for (key, form), start in zip(forms, starts)]
        self._buffer = np.zeros((0, self.size), np.uint8)

    def chunk(
        self, received: NDArray[np.int64], stamps: Array, numbers: Sequence[Array]
    ) -> tuple[list[Any], dict[int, Array]]:
        """Return the records of k states, and times and offsets by channel, for `McapWriter`.

        Valid until the next call.
        """
        count = len(received)
        if count > len(self._buffer):
            self._buffer = np.tile(self._row, (count, 1))
        rows, places = self._buffer[:count], np.arange(count) * self.size
        times = np.repeat(received[:, None], 2, axis=1)  # log time and publish time
        lists = {}
        for (key, form, start), values in zip(self._forms, numbers):
            column(rows, start + MESSAGE_HEAD.size - 16, '<i8', 2)[:] = times
            form.fill(rows, start + MESSAGE_HEAD.size, stamps, values)
            lists[key] = np.stack([received, places + start], axis=1)
        return [rows.data.cast('B')], lists


def message_head(channel: int, size: int, received: int) -> bytes:
    """Return the header of a message in a chunk."""
    length = size + MESSAGE_HEAD.size - HEAD.size
    return MESSAGE_HEAD.pack(MESSAGE, length, channel, 0, received, received)


def grouped(stacks: Sequence[Stack]) -> Iterator[tuple[list[Stack], NDArray[np.intp]]]:
    """Yield topics that are written together, and the indices of their states.

    Topics that occur in the same states are grouped: their rows have one layout. If the topics
    change often, or a topic is in few states, it is written separately.
    """
    total = len(stacks[0].present) if stacks else 0
    shares = {id(stack): stack.present.mean() if total else 0.0 for stack in stacks}
    dense = [stack for stack in stacks if shares[id(stack)] > 0.5]
    sparse = [stack for stack in stacks if 0.0 < shares[id(stack)] <= 0.5]
    if dense:
        present = np.stack([stack.present for stack in dense], axis=1)
        edges = np.flatnonzero((present[1:] != present[:-1]).any(axis=1)) + 1
        if len(edges) < MAX_RUNS:
            for first, end in zip([0, *edges], [*edges, total]):
                group = [stack for stack in dense if stack.present[first]]
                if group:
                    yield group, np.arange(first, end)
        else:
            sparse = dense + sparse
    for stack in sparse:
        yield [stack], np.flatnonzero(stack.present)


class FolderOutput:
    """A folder with SQLite and metadata.yaml, written by `rosbags`."""

    def __init__(self, place: TemporaryFile, reader: RecordingReader) -> None:
        rosbag2 = rosbags_module('rosbags.rosbag2')
        self._place = place
        self._writer = rosbag2.Writer(
            self._place.temporary, version=9, storage_plugin=rosbag2.StoragePlugin.SQLITE3
        )
        self._writer.open()
        self._connections: dict[str, Any] = {}
        for topic, each in reader.definitions().items():
            self._connections[topic] = self._writer.add_connection(
                topic,
                each.kind,
                msgdef=each.text or definition_or_nothing(each.kind),
                rihs01=each.digest or 'unknown',
                offered_qos_profiles=each.qos,
            )
        self._messages = reader.messages()
        self._next = next(self._messages, None)

    def add_topic(self, topic: str, kind: str, *, latched: bool = False) -> None:
        """Add a topic before anything is written on it."""
        profiles: Sequence[Any] = ()
        if latched:
            metadata = rosbags_module('rosbags.rosbag2.metadata')
            profiles = metadata.parse_qos(LATCHED)
        self._connections[topic] = self._writer.add_connection(
            topic, kind, typestore=type_store(), offered_qos_profiles=profiles
        )

    def _copy_until(self, time: float) -> None:
        while self._next is not None and self._next[1] <= time:
            topic, received, data = self._next
            self._writer.write(self._connections[topic], received, data)
            self._next = next(self._messages, None)

    def write(
        self, received: NDArray[np.int64], stamps: NDArray[np.int64], stacks: Sequence[Stack]
    ) -> None:
        """Write messages of several topics for some states."""
        packed, rows = packed_stamps(stamps), []
        for stack in stacks:
            filled = np.tile(np.frombuffer(stack.form.data, np.uint8), (len(received), 1))
            stack.form.fill(filled, 0, packed, stack.numbers)
            rows.append(filled)
        for k, time in enumerate(received.tolist()):
            self._copy_until(time)
            for stack, filled in zip(stacks, rows):
                if stack.present[k]:
                    self._writer.write(self._connections[stack.topic], time, filled[k].tobytes())

    def write_message(self, topic: str, received: int, data: bytes) -> None:
        """Write one message."""
        self._copy_until(received)
        self._writer.write(self._connections[topic], received, data)

    def finish(self) -> None:
        """Write the remaining messages, and rename to the final name."""
        self._copy_until(np.inf)
        self._writer.close()
        name = self._place.temporary.name
        data, wanted = self._place.temporary / f'{name}.db3', f'{self._place.path.name}.db3'
        metadata = self._place.temporary / 'metadata.yaml'
        metadata.write_text(metadata.read_text().replace(data.name, wanted))
        data.rename(data.with_name(wanted))
        self._place.take_name()

    def abandon(self) -> None:
        """Close the files, which may be incomplete."""
        self._writer.abort()


def definition_or_nothing(kind: str) -> str:
    """Return the definition of a type that is missing in a recording; '' if it is unknown."""
    return definition(kind) if is_known(kind) else ''


def dumped(qos: Any) -> str:
    """Return quality of service as text in the format of rosbag2."""
    if not qos:
        return ''
    text = rosbags_module('rosbags.rosbag2.metadata').dump_qos_v8(list(qos))
    return text if isinstance(text, str) else ''
