# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MCAP files that `rosbags` writes: their index, and each fault of it that is named."""

import struct

import numpy as np
import pytest

pytest.importorskip('rosbags')

from screw_dynamics_ros.ros.recordings.mcap import (
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
    STATISTICS,
    Fields,
    McapError,
    McapFile,
    decompressed,
    sizes_at,
)
from support.recordings import JOINT_STATE, STRING, joint_state, string, writing

START = 10**18
TEXTS = [f'line {k}' * (k + 1) for k in range(5)]


@pytest.fixture(scope='module')
def written(tmp_path_factory):
    """Return a file with 5 texts and 20 joint states, and the bytes of each message."""
    folder, sent = tmp_path_factory.mktemp('mcap') / 'run', {'/log': [], '/joint_states': []}
    with writing(folder, {'/log': STRING, '/joint_states': JOINT_STATE}) as put:
        for k in range(20):
            stamp = START + k * 1000
            for topic, data in (
                ('/joint_states', joint_state(stamp, ['a', 'b'], [k, -k])),
                *([('/log', string(TEXTS[k // 4]))] if k % 4 == 0 else []),
            ):
                put(topic, stamp, data)
                sent[topic].append((stamp, data))
    (path,) = folder.glob('*.mcap')
    return path, sent


def changed(path, folder, change):
    """Return a copy of a file of which `change` has changed the bytes."""
    data = bytearray(path.read_bytes())
    data = change(data) or data
    (folder / 'changed.mcap').write_bytes(data)
    return folder / 'changed.mcap'


def records(data):
    """Return kind, place and size of each record outside of chunks."""
    place, found = len(MAGIC), []
    while place < len(data) - len(MAGIC):
        kind, size = HEAD.unpack_from(data, place)
        found.append((kind, place, size))
        place += HEAD.size + size
    return found


def place_of(data, kind, which=-1):
    """Return the place of a record of a kind."""
    return [place for each, place, _ in records(data) if each == kind][which]


def test_index_and_messages(written):
    path, sent = written
    file = McapFile(path)
    names = {channel.topic: key for key, channel in file.channels.items()}
    assert set(names) == set(sent)
    assert {topic: file.counts[key] for topic, key in names.items()} == {
        '/joint_states': 20,
        '/log': 5,
    }
    for topic, kind in (('/joint_states', JOINT_STATE), ('/log', STRING)):
        schema = file.schemas[file.channels[names[topic]].schema]
        assert (schema.name, file.channels[names[topic]].encoding) == (kind, 'cdr')
        found = []
        for chunk in file.chunks:
            content = file.content(chunk)
            times, places = file.messages(chunk, names[topic])
            assert file.count(chunk, names[topic]) == len(times)
            for time, place, size in zip(times, places, sizes_at(content, places)):
                begin = place + MESSAGE_HEAD.size
                found.append((time, bytes(content[begin : begin + size])))
        assert found == sent[topic]
        times, places = file.messages(file.chunks[0], 99)
        assert (len(times), len(places)) == (0, 0)
    file.close()


@pytest.mark.parametrize('order', [[3, 2, 1, 0], [1, 0, 0, 1]])
def test_messages_that_were_not_written_in_order(tmp_path, order):
    """They are sorted by time; those of one time keep their order."""
    with writing(tmp_path / 'run', {'/log': STRING}) as put:
        for time in order:
            put('/log', START + time, string(f'line {time}'))
    file = McapFile(tmp_path / 'run' / 'run.mcap')
    (chunk,), (key,) = file.chunks, file.channels
    times, places = file.messages(chunk, key)
    assert (times - START).tolist() == sorted(order)
    step = min(np.diff(sorted(places)))
    sent = ((places - min(places)) // step).tolist()
    assert sent == sorted(range(4), key=order.__getitem__)


def test_files_that_are_not_complete(written, tmp_path):
    path, _ = written
    least = 2 * len(MAGIC) + HEAD.size + FOOTER_FORMAT.size

    def fault(change):
        with pytest.raises(McapError) as error:
            McapFile(changed(path, tmp_path, change))
        return str(error.value)

    def at(kind, offset, value):
        def change(data):
            place = place_of(data, kind) + offset
            data[place : place + len(value)] = value

        return change

    assert fault(lambda data: data[: least - 1]) == 'too short'
    assert fault(lambda data: data[:least]) == 'not a complete MCAP file'
    assert fault(lambda data: data[:-1]) == 'not a complete MCAP file'
    assert fault(lambda data: b'x' + data[1:]) == 'not a complete MCAP file'
    assert fault(at(FOOTER, 0, b'\x7f')) == 'no summary'
    assert fault(at(FOOTER, HEAD.size, bytes(8))) == 'no summary'
    beyond = path.stat().st_size - len(MAGIC) - HEAD.size - FOOTER_FORMAT.size + 1
    assert fault(at(FOOTER, HEAD.size, struct.pack('<Q', beyond))) == 'no summary'
    assert fault(at(CHUNK_INDEX, 1, struct.pack('<Q', 2**40))) == 'a record is truncated'
    assert fault(at(CHANNEL, HEAD.size + 4, b'\xff' * 4)) == 'a record is truncated'
    assert fault(at(STATISTICS, 0, b'\x7f')) == 'no index of all messages'
    assert fault(at(STATISTICS, HEAD.size, bytes(8))) == 'no index of all messages'
    assert fault(at(CHUNK_INDEX, 0, b'\x7f')) == 'no index of all messages'
    text = fault(at(CHANNEL, HEAD.size + 8, b'\xff'))
    assert text.startswith("the summary cannot be read: 'utf-8' codec can't decode byte 0xff")


def test_chunks_that_are_wrong(written, tmp_path):
    path, _ = written
    (chunk,) = McapFile(path).chunks
    (key, *_) = chunk.lists

    def kind_of_chunk(data):
        data[chunk.offset] = CHUNK + 100

    def kind_of_index(data):
        data[chunk.lists[key]] = MESSAGE_INDEX + 100

    def checksum(data):
        place = chunk.offset + HEAD.size + 24
        data[place : place + 4] = b'\1\2\3\4'

    with pytest.raises(McapError, match='the index of chunks is wrong'):
        McapFile(changed(path, tmp_path, kind_of_chunk)).content(chunk)
    with pytest.raises(McapError, match='the index of messages is wrong'):
        McapFile(changed(path, tmp_path, kind_of_index)).messages(chunk, key)
    with pytest.raises(McapError, match='the checksum of a chunk is wrong'):
        McapFile(changed(path, tmp_path, checksum)).content(chunk)
    with pytest.raises(McapError, match="unknown compression 'bz2'"):
        decompressed(memoryview(b''), 'bz2', 0)


def test_messages_beyond_their_chunk():
    head = bytes([MESSAGE]) + struct.pack('<q', MESSAGE_HEAD.size - HEAD.size + 8)
    content = (head + bytes(MESSAGE_HEAD.size - len(head)) + b'12345678') * 2
    step = len(content) // 2
    assert sizes_at(content, np.array([0, step])).tolist() == [8, 8]
    assert sizes_at(content, np.zeros(0, np.int64)).tolist() == []
    with pytest.raises(McapError, match='a message is truncated'):
        sizes_at(content[:-1], np.array([0, step]))
    short = content.replace(head, bytes([MESSAGE]) + struct.pack('<q', 21))
    with pytest.raises(McapError, match='a message is truncated'):
        sizes_at(short, np.array([0]))
    for places in ([-1], [0, 1], [0, len(content) - MESSAGE_HEAD.size + 1]):
        with pytest.raises(McapError, match='the index of messages is wrong'):
            sizes_at(content, np.array(places))


def test_fields_of_a_record():
    data = struct.pack('<HIQ', 1, 2, 3) + struct.pack('<I', 2) + 'ä'.encode() + b'\xff\0\0\0'
    fields = Fields(memoryview(data))
    assert [fields.number(code) for code in 'HIQ'] == [1, 2, 3]
    assert fields.text() == 'ä'
    with pytest.raises(McapError, match='a record is truncated'):
        fields.bytes()
