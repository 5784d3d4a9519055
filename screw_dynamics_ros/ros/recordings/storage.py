# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The messages of a recording, topic by topic, in blocks of serialized messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from screw_dynamics_ros.core.errors import UnknownNameError

from ..joint_states.serialization import renamed
from .blocks import Block, joined
from .introspection import JOINT_STATE, introspections
from .mcap import MESSAGE_HEAD, ChunkIndex, McapError, McapFile, sizes_at
from .sources import (
    BAG_FILES,
    METADATA,
    ROS_1,
    Definition,
    RecordingError,
    Ros1Bag,
    Ros2Bag,
    Source,
    readable,
)
from .tables import TABLES, Table

BLOCK_SIZE = 8192  # messages
SUFFIXES = (*BAG_FILES, ROS_1, *TABLES)  # of recordings that are files


class RecordingReader:
    """The topics of a recording; to be used in a `with` statement.

    Parameters
    ----------
    path : Path
        Of ROS 2 a .mcap or .db3 file or a folder with metadata.yaml, of ROS 1 a .bag file; .csv and
        .npz files as in `tables`.

    Attributes
    ----------
    types : dict
        The type of each topic, such as 'sensor_msgs/msg/JointState', those of `introspections` as
        well.
    counts : dict
        Number of messages of each topic.

    Raises
    ------
    RecordingError
        The file is absent, empty, truncated or none of these, or `rosbags` is not installed.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        with readable(self.path):
            self._source = opened(self.path)
        self.types, self.counts = dict(self._source.types), dict(self._source.counts)
        self._introspections = introspections(self.types)
        for topic, each in self._introspections.items():
            self.types[topic], self.counts[topic] = JOINT_STATE, self.counts[each.values]
        self.mcap = self._indexed_file()
        self._renamings: dict[str, Mapping[str, str]] = {}

    def __enter__(self) -> RecordingReader:
        return self

    def __exit__(self, *_: object) -> None:
        if self.mcap is not None:
            self.mcap.close()
        self._source.close()

    def _indexed_file(self) -> McapFile | None:
        """Return the file if it is a single MCAP file with a chunk index."""
        if not isinstance(self._source, Ros2Bag) or self._source.is_compressed:
            return None
        files = [self.path] if self.path.is_file() else sorted(self.path.glob('*.mcap'))
        if len(files) != 1 or files[0].suffix != '.mcap':
            return None
        try:
            return McapFile(files[0])
        except McapError:
            return None

    def topics_of(self, kind: str) -> list[str]:
        """Return the topics of a type."""
        return [name for name, each in self.types.items() if each == kind]

    def check(self, topic: str, kind: str) -> None:
        """Raise `UnknownNameError` if there is no such topic of this type."""
        if self.types.get(topic) == kind:
            return
        others = self.topics_of(kind)
        what = f'is of type {self.types[topic]}' if topic in self.types else 'is not recorded'
        raise UnknownNameError(
            f'{self.path}: topic {topic!r} {what}; {kind} is recorded on '
            + (', '.join(map(repr, others)) or 'no topic')
        )

    def rename_joints(self, topic: str, names: Mapping[str, str]) -> None:
        """Rename the joints of a topic in the result of `blocks`, {recorded: name}."""
        self._renamings[topic] = names

    def blocks(self, topic: str) -> Iterator[Block]:
        """Yield the messages of a topic in order of recording."""
        names = self._renamings.get(topic)
        for block in self._recorded_blocks(topic):
            if not names:
                yield block
                continue
            messages = [renamed(block.message(k), names) for k in range(len(block.sizes))]
            yield joined(block.received, messages)

    def _recorded_blocks(self, topic: str) -> Iterator[Block]:
        derived = self._introspections.get(topic)
        if derived is not None:
            yield from derived.blocks(self._recorded_blocks)
            return
        chunks = self._chunks(topic)
        if chunks is not None:
            yield from self._blocks_of_chunks(*chunks)
            return
        messages = self._source.messages(topic)
        while True:
            with readable(self.path):
                some = list(islice(messages, BLOCK_SIZE))
            if not some:
                return
            received = np.array([received for _, received, _ in some], dtype=np.int64)
            yield joined(received, [data for _, _, data in some])

    def _chunks(self, topic: str) -> tuple[int, list[ChunkIndex]] | None:
        """Return the channel of a topic and its chunks, None if they cannot be read in order."""
        if self.mcap is None:
            return None
        channels = [key for key, each in self.mcap.channels.items() if each.topic == topic]
        if len(channels) != 1:
            return None
        chunks = [chunk for chunk in self.mcap.chunks if channels[0] in chunk.lists]
        chunks.sort(key=lambda chunk: chunk.first_time)
        overlap = any(after.first_time < chunk.last_time for chunk, after in pairwise(chunks))
        return None if overlap else (channels[0], chunks)

    def _blocks_of_chunks(self, channel: int, chunks: list[ChunkIndex]) -> Iterator[Block]:
        assert self.mcap is not None
        for chunk in chunks:
            with readable(self.path):
                content = self.mcap.content(chunk)
                received, places = self.mcap.messages(chunk, channel)
                sizes = sizes_at(content, places)
            yield Block(received, content, places + MESSAGE_HEAD.size, sizes)

    def messages(self) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic, recording time [ns] and content of each message."""
        messages = self._source.messages()
        while True:
            with readable(self.path):
                some = list(islice(messages, BLOCK_SIZE))
            if not some:
                return
            yield from some

    def definitions(self) -> dict[str, Definition]:
        """Return the definition of each topic."""
        return self._source.definitions()

    def last(self, topic: str) -> bytes | None:
        """Return the last message of a topic, None if there is none."""
        found = None
        for block in self.blocks(topic):
            found = block.message(len(block.sizes) - 1)
        return found


def opened(path: Path) -> Source:
    """Return the content of a recording; raises what its reader raises."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise RecordingError(f'{path} is a pipe or a device; name a file or folder')
    if path.suffix in TABLES:
        return Table(path)
    return Ros1Bag(path) if path.suffix == ROS_1 else Ros2Bag(path)


def is_recording(path: Path) -> bool:
    """Whether a path has the name of a recording, or is a folder with one."""
    return path.suffix in SUFFIXES or (path / METADATA).is_file()
