# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MCAP files written chunk by chunk, from arrays of bytes."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .mcap_records import (
    CHANNEL,
    CHUNK,
    CHUNK_INDEX,
    DATA_END,
    FOOTER,
    FOOTER_FORMAT,
    HEAD,
    HEADER,
    MAGIC,
    MESSAGE_INDEX,
    SCHEMA,
    STATISTICS,
    SUMMARY_OFFSET,
    ChunkIndex,
    McapChannel,
    Schema,
    channel_fields,
    compressed,
    index_fields,
    schema_fields,
    sized,
)


class McapWriter:
    """Writes chunks of messages from arrays of bytes.

    Parameters
    ----------
    file : binary file
    compression : {'none', 'lz4', 'zstd'}
        Compression of new chunks; copied chunks are unchanged.
    """

    def __init__(self, file: BinaryIO, compression: str = 'none') -> None:
        self._file, self._place = file, 0
        self._compression = compression
        self.schemas: dict[int, Schema] = {}
        self.channels: dict[int, McapChannel] = {}
        self._chunks: list[ChunkIndex] = []
        self.counts: dict[int, int] = {}
        self._put(MAGIC)
        self._record(HEADER, sized(b'ros2') + sized(b'screw_dynamics_ros'))

    def add_schema(self, schema: Schema, key: int | None = None) -> int:
        """Add a message type; return its ID."""
        for known, other in self.schemas.items():
            if key is None and other == schema:
                return known
        number = max(self.schemas, default=0) + 1 if key is None else key
        self.schemas[number] = schema
        self._record(SCHEMA, schema_fields(number, schema))
        return number

    def add_channel(self, channel: McapChannel, key: int | None = None) -> int:
        """Add a topic; return its channel ID."""
        number = max(self.channels, default=0) + 1 if key is None else key
        self.channels[number] = channel
        self.counts[number] = 0
        self._record(CHANNEL, channel_fields(number, channel))
        return number

    def copy(self, raw: memoryview, chunk: ChunkIndex, counts: Mapping[int, int]) -> None:
        """Copy a chunk of another file with the same channels."""
        self._chunks.append(chunk.with_offset(self._place))
        self._put(raw)
        for channel, count in counts.items():
            self.counts[channel] += count

    def write(self, pieces: list[Any], lists: Mapping[int, NDArray[np.int64]]) -> None:
        """Write a chunk.

        Parameters
        ----------
        pieces : list of bytes-like
            Its records in order.
        lists : mapping
            For each channel the times and offsets of its messages, (k, 2), sorted by time.
        """
        lists = {channel: pairs for channel, pairs in lists.items() if len(pairs)}
        first = min(int(pairs[0, 0]) for pairs in lists.values())
        last = max(int(pairs[-1, 0]) for pairs in lists.values())
        size = sum(memoryview(piece).nbytes for piece in pieces)
        name, packed = '', pieces
        if self._compression != 'none':
            name = self._compression
            content = pieces[0] if len(pieces) == 1 else b''.join(pieces)
            packed = [compressed(content, name)]
        packed_size = sum(memoryview(piece).nbytes for piece in packed)
        offset = self._place
        fields = struct.pack('<QQQI', first, last, size, 0) + sized(name.encode())
        fields += struct.pack('<Q', packed_size)
        self._put(HEAD.pack(CHUNK, len(fields) + packed_size) + fields)
        for piece in packed:
            self._put(piece)
        length, places = self._place - offset, {}
        for channel, pairs in lists.items():
            places[channel] = self._place
            self._record(
                MESSAGE_INDEX,
                struct.pack('<HI', channel, 16 * len(pairs))
                + np.ascontiguousarray(pairs, '<i8').tobytes(),
            )
            self.counts[channel] += len(pairs)
        rest = self._place - offset - length
        self._chunks.append(
            ChunkIndex(first, last, offset, length, places, rest, name, packed_size, size)
        )

    def close(self) -> None:
        """Write the summary; the file stays open."""
        self._record(DATA_END, struct.pack('<I', 0))
        start, groups = self._place, []
        for kind, records in (
            (SCHEMA, [schema_fields(*item) for item in self.schemas.items()]),
            (CHANNEL, [channel_fields(*item) for item in self.channels.items()]),
            (CHUNK_INDEX, [index_fields(chunk) for chunk in self._chunks]),
            (STATISTICS, [self._statistics()]),
        ):
            group = self._place
            for record in records:
                self._record(kind, record)
            if records:
                groups.append((kind, group, self._place - group))
        offsets = self._place
        for each in groups:
            self._record(SUMMARY_OFFSET, struct.pack('<BQQ', *each))
        self._record(FOOTER, FOOTER_FORMAT.pack(start, offsets, 0))
        self._put(MAGIC)

    def _statistics(self) -> bytes:
        first = min((chunk.first_time for chunk in self._chunks), default=0)
        last = max((chunk.last_time for chunk in self._chunks), default=0)
        counts = b''.join(struct.pack('<HQ', *item) for item in self.counts.items())
        sizes = len(self.schemas), len(self.channels), 0, 0, len(self._chunks)
        return struct.pack('<QHIIIIQQ', sum(self.counts.values()), *sizes, first, last) + sized(
            counts
        )

    def _record(self, kind: int, fields: bytes) -> None:
        self._put(HEAD.pack(kind, len(fields)) + fields)

    def _put(self, data: Any) -> None:
        self._file.write(data)
        self._place += memoryview(data).nbytes
