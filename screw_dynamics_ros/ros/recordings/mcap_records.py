# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The records of MCAP files.

Source: MCAP file format specification (mcap.dev/spec): record types and their fields.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

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
