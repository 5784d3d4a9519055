# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MCAP files read chunk by chunk: thousands of messages in one step.

A loop over single messages takes some microseconds per message. Files without a chunk index are
read by `rosbags`.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .mcap_records import (
    CHANNEL,
    CHUNK,
    CHUNK_INDEX,
    FOOTER,
    FOOTER_FORMAT,
    HEAD,
    MAGIC,
    MESSAGE,
    MESSAGE_HEAD,
    MESSAGE_INDEX,
    SCHEMA,
    STATISTICS,
    ChunkIndex,
    Fields,
    McapChannel,
    McapError,
    Schema,
    chunk_index,
    decompressed,
)

CHECKSUM = struct.Struct('<I')


class McapFile:
    """An MCAP file with a chunk index.

    Raises `McapError` for a file without one, and for files that are truncated or not MCAP.

    Attributes
    ----------
    schemas, channels : dict
        By their IDs.
    chunks : list of ChunkIndex
        In the order of the file.
    counts : dict
        Number of messages of each channel.
    """

    def __init__(self, path: Path) -> None:
        with path.open('rb') as file:
            if path.stat().st_size < 2 * len(MAGIC) + HEAD.size + FOOTER_FORMAT.size:
                raise McapError('too short')
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._data = memoryview(self._map)
        self.schemas: dict[int, Schema] = {}
        self.channels: dict[int, McapChannel] = {}
        self.chunks: list[ChunkIndex] = []
        self.counts: dict[int, int] = {}
        try:
            self._read_summary()
        except (struct.error, ValueError, IndexError) as error:  # with UnicodeDecodeError
            raise McapError(f'the summary cannot be read: {error}') from None
        self.chunks.sort(key=lambda chunk: chunk.offset)

    def _read_summary(self) -> None:
        data, end = self._data, len(self._data) - len(MAGIC)
        if data[: len(MAGIC)] != MAGIC or data[end:] != MAGIC:
            raise McapError('not a complete MCAP file')
        place = end - HEAD.size - FOOTER_FORMAT.size
        kind, length = HEAD.unpack_from(data, place)
        start, _, _ = FOOTER_FORMAT.unpack_from(data, place + HEAD.size)
        if (kind, length) != (FOOTER, FOOTER_FORMAT.size) or not 0 < start <= place:
            raise McapError('no summary')
        found = 0
        for kind, record in self._records(start, place):
            fields = Fields(record)
            if kind == SCHEMA:
                key = fields.number('H')
                self.schemas[key] = Schema(fields.text(), fields.text(), fields.bytes())
            elif kind == CHANNEL:
                key = fields.number('H')
                self.channels[key] = McapChannel(
                    fields.number('H'), fields.text(), fields.text(), fields.bytes()
                )
            elif kind == CHUNK_INDEX:
                self.chunks.append(chunk_index(fields))
            elif kind == STATISTICS:
                found = fields.number('Q')
                fields.number('H')
                for _ in range(4):
                    fields.number('I')
                fields.number('Q')
                fields.number('Q')
                counts = np.frombuffer(fields.bytes(), np.dtype([('k', '<u2'), ('n', '<u8')]))
                self.counts = dict(zip(counts['k'].tolist(), counts['n'].tolist()))
        listed = all(chunk.lists for chunk in self.chunks)
        if not (self.chunks and listed and found and self.channels):
            raise McapError('no index of all messages')

    def _records(self, start: int, end: int) -> Iterator[tuple[int, memoryview]]:
        while start < end:
            kind, length = HEAD.unpack_from(self._data, start)
            start += HEAD.size
            if start + length > end:
                raise McapError('a record is truncated')
            yield kind, self._data[start : start + length]
            start += length

    def close(self) -> None:
        """Close the file."""
        with suppress(BufferError):  # arrays still refer to it: closed with the last of them
            self._data.release()
            self._map.close()

    def raw(self, chunk: ChunkIndex) -> memoryview:
        """Return a chunk and its message indexes as raw bytes."""
        return self._data[chunk.offset : chunk.offset + chunk.length + chunk.lists_length]

    def content(self, chunk: ChunkIndex) -> Any:
        """Return the records in a chunk; raises `McapError`."""
        record = self._data[chunk.offset : chunk.offset + chunk.length]
        start = chunk.length - chunk.compressed_size
        if record[0] != CHUNK or start < 0:
            raise McapError('the index of chunks is wrong')
        content = decompressed(record[start:], chunk.compression, chunk.size)
        (wanted,) = CHECKSUM.unpack_from(record, HEAD.size + 24)
        if wanted and crc32(content) != wanted:
            raise McapError('the checksum of a chunk is wrong')
        return content

    def count(self, chunk: ChunkIndex, channel: int) -> int:
        """Return the number of messages of a channel in a chunk."""
        return len(self.messages(chunk, channel)[0])

    def messages(
        self, chunk: ChunkIndex, channel: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return log times and offsets of the messages of a channel in a chunk, sorted by time."""
        place = chunk.lists.get(channel)
        if place is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        kind, length = HEAD.unpack_from(self._data, place)
        if kind != MESSAGE_INDEX:
            raise McapError('the index of messages is wrong')
        entries = self._data[place + HEAD.size + 6 : place + HEAD.size + length]
        pairs = np.frombuffer(entries, '<i8').reshape(-1, 2)
        pairs = pairs[np.argsort(pairs[:, 0], kind='stable')]
        return pairs[:, 0], pairs[:, 1]


def sizes_at(content: Any, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sizes of messages at these offsets of a chunk."""
    data = np.frombuffer(content, np.uint8)
    if len(places) and not 0 <= places.min() <= places.max() <= len(data) - MESSAGE_HEAD.size:
        raise McapError('the index of messages is wrong')
    heads = np.ascontiguousarray(data[places[:, None] + np.arange(9)])
    if (heads[:, 0] != MESSAGE).any():
        raise McapError('the index of messages is wrong')
    lengths = np.ascontiguousarray(heads[:, 1:]).view('<i8')[:, 0]
    sizes: NDArray[np.int64] = lengths - (MESSAGE_HEAD.size - HEAD.size)
    if (places + MESSAGE_HEAD.size + sizes > len(data)).any() or (sizes < 0).any():
        raise McapError('a message is truncated')
    return sizes
