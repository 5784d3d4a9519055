# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MCAP files: records, reader and writer.

Source: MCAP file format specification (mcap.dev/spec): record types and their fields.
"""

from __future__ import annotations

import mmap
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.errors import ScrewDynamicsError

MAGIC = b'\x89MCAP0\r\n'
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(1, 9)
STATISTICS, SUMMARY_OFFSET, DATA_END = 0x0B, 0x0E, 0x0F

#: Header of a record: opcode and length of the content.
HEAD = struct.Struct('<BQ')
#: Header of a message: record header, channel, sequence number, log time and publish time.
MESSAGE_HEAD = struct.Struct('<BQHIQQ')
FOOTER_FORMAT = struct.Struct('<QQI')

COMPRESSIONS = ('none', 'lz4', 'zstd')

#: A third faster than level 0, and 5 % larger; smaller than any LZ4.
LZ4_LEVEL, ZSTD_LEVEL = -10, 1


class McapError(ScrewDynamicsError):
    """An MCAP file is invalid or lacks an index."""


@dataclass(frozen=True)
class Schema:
    """A type of messages."""

    name: str
    encoding: str
    data: bytes


@dataclass(frozen=True)
class McapChannel:
    """A topic."""

    schema: int
    topic: str
    encoding: str
    metadata: bytes


@dataclass(frozen=True)
class ChunkIndex:
    """Offset of a chunk, and offsets of its message indexes by channel."""

    first_time: int
    last_time: int
    offset: int
    length: int
    lists: dict[int, int]
    lists_length: int
    compression: str
    compressed_size: int
    size: int

    def with_offset(self, offset: int) -> ChunkIndex:
        """Return the index of the same chunk at another offset."""
        moved = offset - self.offset
        lists = {channel: place + moved for channel, place in self.lists.items()}
        return ChunkIndex(**{**self.__dict__, 'offset': offset, 'lists': lists})


class Fields:
    """Reads the fields of a record in order."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._place = data, 0

    def number(self, code: str) -> int:
        """Return a number: 'H', 'I' or 'Q'."""
        (value,) = struct.unpack_from(f'<{code}', self._data, self._place)
        self._place += struct.calcsize(f'<{code}')
        return int(value)

    def bytes(self) -> bytes:
        """Return length-prefixed bytes."""
        size = self.number('I')
        if self._place + size > len(self._data):
            raise McapError('a record is truncated')
        self._place += size
        return bytes(self._data[self._place - size : self._place])

    def text(self) -> str:
        """Return a text."""
        return self.bytes().decode()


def chunk_index(fields: Fields) -> ChunkIndex:
    """Return a ChunkIndex from the content of its record."""
    first, last, offset, length = (fields.number('Q') for _ in range(4))
    pairs = np.frombuffer(fields.bytes(), np.dtype([('k', '<u2'), ('place', '<u8')]))
    lists = dict(zip(pairs['k'].tolist(), pairs['place'].tolist()))
    lists_length, compression = fields.number('Q'), fields.text()
    return ChunkIndex(
        first, last, offset, length, lists, lists_length, compression,
        fields.number('Q'), fields.number('Q'),
    )  # fmt: skip


def decompressed(data: memoryview, compression: str, size: int) -> Any:
    """Return the content of a chunk; raises `McapError`."""
    if compression == '':
        content: Any = data
    elif compression == 'zstd':
        content = zstd().ZstdDecompressor().decompress(bytes(data), size + 1)
    elif compression == 'lz4':
        content = lz4().LZ4FrameDecompressor().decompress(bytes(data), size + 1)
    else:
        raise McapError(f'unknown compression {compression!r}')
    if len(content) != size:  # no more than one byte too many: it may expand to any size
        raise McapError('the size of a chunk is wrong')
    return content


def compressed(content: Any, compression: str) -> bytes:
    """Return the content of a chunk, compressed with a fast level of 'lz4' or 'zstd'."""
    if compression == 'zstd':
        return bytes(zstd().compress(content, ZSTD_LEVEL))
    return bytes(lz4().compress(content, compression_level=LZ4_LEVEL, store_size=False))


def zstd() -> Any:
    """Return the module for zstd of Python or `rosbags`."""
    return import_module('compression.zstd' if sys.version_info >= (3, 14) else 'backports.zstd')


def lz4() -> Any:
    """Return the module for LZ4 of `rosbags`."""
    return import_module('lz4.frame')


def sized(data: bytes) -> bytes:
    """Return bytes with a length prefix."""
    return struct.pack('<I', len(data)) + data


def schema_fields(number: int, schema: Schema) -> bytes:
    """Return the fields of a Schema record."""
    names = sized(schema.name.encode()) + sized(schema.encoding.encode())
    return struct.pack('<H', number) + names + sized(schema.data)


def channel_fields(number: int, channel: McapChannel) -> bytes:
    """Return the fields of a Channel record."""
    names = sized(channel.topic.encode()) + sized(channel.encoding.encode())
    return struct.pack('<HH', number, channel.schema) + names + sized(channel.metadata)


def index_fields(chunk: ChunkIndex) -> bytes:
    """Return the fields of a ChunkIndex record."""
    places = b''.join(struct.pack('<HQ', *item) for item in chunk.lists.items())
    times = chunk.first_time, chunk.last_time, chunk.offset, chunk.length
    return (
        struct.pack('<QQQQ', *times)
        + sized(places)
        + struct.pack('<Q', chunk.lists_length)
        + sized(chunk.compression.encode())
        + struct.pack('<QQ', chunk.compressed_size, chunk.size)
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
