# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings with single bytes changed: refused with their name, or read."""

import struct

import numpy as np
import pytest

pytest.importorskip('rosbags')

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.recordings import mcap_records
from screw_dynamics_ros.ros.recordings.mcap_records import McapError, decompressed
from screw_dynamics_ros.ros.recordings.recording import read_recording
from support.recordings import write_joint_states

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
    module = {'zstd': mcap_records.zstd, 'lz4': mcap_records.lz4}[compression]()
    bomb = module.compress(bytes(50_000_000))
    assert len(bomb) < 1_000_000
    monkeypatch.setattr(module, 'decompress', lambda data: pytest.fail('without a limit'))
    with pytest.raises(McapError, match='the size of a chunk is wrong'):
        decompressed(memoryview(bomb), compression, 1000)
    good = module.compress(struct.pack('<125d', *range(125)))
    content = decompressed(memoryview(good), compression, 1000)
    assert struct.unpack('<125d', content) == tuple(range(125))
