# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers behind headers of every length, serialized by `rosbags`; faults are named."""

import numpy as np
import pytest

pytest.importorskip('rosbags')

from screw_dynamics_ros.ros.recordings.recording import text_of
from screw_dynamics_ros.ros.recordings.sources import RecordingError
from screw_dynamics_ros.ros.recordings.stamped import (
    ARRAY,
    MAX_DIMENSIONS,
    WRENCH,
    read_arrays,
    read_stamped,
)
from support.recordings import message, serialized, string, wrench, writing

START = 1_700_000_000_123_456_789
NUMBERS = np.random.default_rng(0).normal(size=(6, 6))


def array(numbers, labels=()):
    """Return a serialized std_msgs/Float64MultiArray."""
    rows = [
        message('std_msgs/msg/MultiArrayDimension', label=label, size=1, stride=1)
        for label in labels
    ]
    layout = message('std_msgs/msg/MultiArrayLayout', dim=rows, data_offset=0)
    return serialized(ARRAY, message(ARRAY, layout=layout, data=np.array(numbers)))


def recorded(path, kind, messages):
    with writing(path, {'/topic': kind}) as write:
        for k, data in enumerate(messages):
            write('/topic', START + k, data)
    return path


def test_stamped_messages_of_several_frames(tmp_path):
    """In the order of the recording; without a stamp at the time of recording."""
    frames = ['tool', '', 'left/tool', 'tool', 'arm', 'äöü']
    stamps = [START + 100, 0, START + 300, START + 400, START + 500, START + 600]
    path = recorded(
        tmp_path / 'bag',
        WRENCH,
        [wrench(t, f, w[:3], w[3:]) for t, f, w in zip(stamps, frames, NUMBERS)],
    )
    read = read_stamped(path, '/topic', WRENCH, 6)
    assert read.frames.tolist() == frames
    assert read.t.tolist() == [stamps[0], START + 1, *stamps[2:]]
    assert read.received.tolist() == [START + k for k in range(6)]
    np.testing.assert_array_equal(read.values, NUMBERS)


def test_arrays_with_labels(tmp_path):
    """Each with a time of recording only."""
    labels = [(), ('a',), ('ab', 'c'), ('', ''), ('abc',), ('x',) * MAX_DIMENSIONS]
    path = recorded(tmp_path / 'bag', ARRAY, [array(*each) for each in zip(NUMBERS, labels)])
    read = read_arrays(path, '/topic', 6)
    np.testing.assert_array_equal(read.values, NUMBERS)
    assert read.t.tolist() == read.received.tolist() == [START + k for k in range(6)]
    assert read.frames.tolist() == [''] * 6


def test_messages_that_cannot_be_read(tmp_path):
    good, pressed = array(NUMBERS[0]), wrench(START, 'tool', [1.0] * 3, [2.0] * 3)
    for k, (kind, data, reason) in enumerate(
        (
            (ARRAY, array(NUMBERS[0][:5]), 'it has 5 numbers instead of 6'),
            (ARRAY, array(NUMBERS[0], ['x'] * (MAX_DIMENSIONS + 1)), '17 dimensions'),
            (ARRAY, good[:-1], 'truncated'),
            (ARRAY, good[:10], 'requires a buffer'),
            (ARRAY, b'\0\0' + good[2:], 'not plain CDR, little endian'),
            (WRENCH, pressed[:-1], 'truncated'),
            (WRENCH, b'\0\0' + pressed[2:], 'not plain CDR, little endian'),
        )
    ):
        path = recorded(tmp_path / f'bag{k}', kind, [data])
        count = (6,) if kind == ARRAY else (WRENCH, 6)
        read = read_arrays if kind == ARRAY else read_stamped
        with pytest.raises(RecordingError, match=f"topic '/topic': a message .*: .*{reason}"):
            read(path, '/topic', *count)


def test_a_topic_without_messages(tmp_path):
    with writing(tmp_path / 'bag', {'/topic': ARRAY, '/other': ARRAY}) as write:
        write('/other', START, array(NUMBERS[0]))
    with pytest.raises(RecordingError, match="topic '/topic' has no messages"):
        read_arrays(tmp_path / 'bag', '/topic', 6)


def test_texts():
    data = string('ein längerer Text')
    assert text_of(data) == 'ein längerer Text'
    assert text_of(string('')) == ''
    for wrong, reason in (
        (data[:-1], 'truncated'),
        (data[:6], 'requires a buffer'),
        (b'\7\7' + data[2:], ''),
        (data[:8] + b'\xff' + data[9:], "codec can't decode"),
    ):
        with pytest.raises(RecordingError, match=f'a std_msgs/String cannot be read: .*{reason}'):
            text_of(wrong)
