# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings that are damaged, and disks that are full: refused by name, or read; never half."""

import os
import resource
import struct
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip('rosbags')

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.recordings import mcap
from screw_dynamics_ros.ros.recordings.mcap import McapError, decompressed
from screw_dynamics_ros.ros.recordings.outputs import OutputError, open_output
from screw_dynamics_ros.ros.recordings.recording import read_recording
from screw_dynamics_ros.ros.recordings.sources import RecordingError
from screw_dynamics_ros.ros.recordings.storage import RecordingReader
from support.recordings import JOINT_STATE, joint_state, write_joint_states

NAMES = ('a', 'b')
COUNT = 20


@pytest.mark.parametrize('compression', ['none', 'storage'])
def test_changed_bytes(tmp_path, compression):
    random = np.random.default_rng(7)
    t = 10**18 + np.arange(COUNT) * 1_000_000
    arrays = random.normal(size=(3, COUNT, 2))
    folder = write_joint_states(
        tmp_path / 'bag', NAMES, t, *arrays, storage='mcap', compression=compression
    )
    data = next(folder.glob('*.mcap')).read_bytes()
    path, refusals = tmp_path / 'changed.mcap', []
    for place in np.concatenate([random.integers(0, len(data), 150), np.arange(-60, 0)]):
        changed = bytearray(data)
        changed[place] = random.choice([0, 1, 127, 128, 255, changed[place] ^ 1])
        path.write_bytes(changed)
        try:
            read = read_recording(path)
        except ScrewDynamicsError as error:
            refusals.append(str(error))
        else:  # the recorder wrote no checksum: a changed number is a number
            assert 0 < len(read.t) <= COUNT
            assert read.q.shape == read.v.shape == read.tau.shape
    assert len(refusals) > 30
    named = ('changed.mcap', '/joint_states')
    assert [text for text in refusals if not any(name in text for name in named)] == []


@pytest.mark.parametrize('compression', ['zstd', 'lz4'])
def test_a_chunk_that_expands_beyond_its_size(compression, monkeypatch):
    """A small file does not fill the memory: decompression ends at the size of the index."""
    module = {'zstd': mcap.zstd, 'lz4': mcap.lz4}[compression]()
    bomb = module.compress(bytes(50_000_000))
    assert len(bomb) < 1_000_000
    monkeypatch.setattr(module, 'decompress', lambda data: pytest.fail('without a limit'))
    with pytest.raises(McapError, match='the size of a chunk is wrong'):
        decompressed(memoryview(bomb), compression, 1000)
    good = module.compress(struct.pack('<125d', *range(125)))
    content = decompressed(memoryview(good), compression, 1000)
    assert struct.unpack('<125d', content) == tuple(range(125))


@pytest.mark.parametrize(
    ('name', 'content', 'text'),
    [
        ('cut.mcap', b'\x89MCAP0\r\n', '"mcap recover FILE" restores its messages'),
        ('run', b'rosbag2_bagfile_information: [1,', '"ros2 bag reindex FOLDER" its metadata.yaml'),
        ('run.db3', b'text', 'file is not a database; name a .mcap or .db3 file'),
        ('run.npz', b'text', 'run.npz is not an NPZ file; write it with numpy.savez'),
        ('pipe.mcap', None, 'pipe.mcap is a pipe or a device; name a file or folder'),
    ],
)
def test_what_is_not_a_recording(tmp_path, name, content, text):
    """The message has the remedy for its kind; nothing waits for a writer of a pipe."""
    path = tmp_path / name
    if content is None:
        os.mkfifo(path)
    elif path.suffix:
        path.write_bytes(content)
    else:
        path.mkdir()
        (path / 'metadata.yaml').write_bytes(content)
    with pytest.raises(RecordingError) as caught:
        read_recording(path)
    assert text in str(caught.value)
    assert str(path) in str(caught.value)


@contextmanager
def full_disk():
    """Let files not grow beyond some size: writing fails as on a full disk.

    Within a test only: what measures coverage writes between its phases.
    """
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def write_many(path, reader, start):
    """Write ten times what the disk can hold."""
    data = joint_state(0, [f'joint{k}' for k in range(100)])
    with open_output(path, reader, 'none', 'x') as output:
        output.add_topic('/more', JOINT_STATE)
        for k in range(1000):
            output.write_message('/more', start + k, data)
        output.finish()


@pytest.mark.parametrize('name', ['out.mcap', 'out'])
def test_nothing_is_left_on_a_full_disk(tmp_path, name):
    """Neither a file that looks complete nor a temporary one; the output is named."""
    t = 10**18 + np.arange(COUNT) * 1_000_000
    source = write_joint_states(tmp_path / 'bag', NAMES, t, *np.zeros((3, COUNT, 2)))
    folder = tmp_path / 'outputs'
    text = rf'cannot write {folder / name}: .*nothing is left'
    with RecordingReader(source) as reader, pytest.raises(OutputError, match=text), full_disk():
        write_many(folder / name, reader, int(t[-1]))
    assert list(folder.iterdir()) == []
