# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings of every layout of rosbag2 as arrays; serialized by `rosbags`, read by our reader."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('rosbags')

from screw_dynamics_ros.core.errors import UnknownNameError
from screw_dynamics_ros.ros.joint_states.policies import Reason
from screw_dynamics_ros.ros.recordings import sources
from screw_dynamics_ros.ros.recordings.recording import read_recording, read_wrenches
from screw_dynamics_ros.ros.recordings.sources import RecordingError
from screw_dynamics_ros.ros.recordings.storage import RecordingReader
from support.recordings import (
    JOINT_STATE,
    STRING,
    WRENCH,
    joint_state,
    string,
    wrench,
    write_joint_states,
    writing,
)

NAMES = ('shoulder', 'ell-bow', 'Handgelenk_ä')
START = 1_700_000_000_123_456_789


@pytest.fixture
def motion():
    random = np.random.default_rng(4)
    t = START + np.arange(50) * 1_000_000
    return (t, *random.normal(size=(3, 50, 3)))


@pytest.mark.parametrize(
    ('kind', 'compression'),
    [
        ('mcap', 'none'),
        ('mcap', 'storage'),
        ('mcap', 'message'),
        ('mcap', 'file'),
        ('sqlite3', 'none'),
        ('sqlite3', 'message'),
        ('sqlite3', 'file'),
    ],
)
def test_all_storages_give_the_same_arrays(tmp_path, motion, kind, compression):
    t, q, v, tau = motion
    path = write_joint_states(
        tmp_path / 'bag', NAMES, t, q, v, tau, 'ein Text', storage=kind, compression=compression
    )
    read = read_recording(path)
    assert read.joint_names == NAMES
    np.testing.assert_array_equal(read.t, t)
    np.testing.assert_array_equal(read.received, t + 150_000)
    for given, found in zip((q, v, tau), (read.q, read.v, read.tau)):
        np.testing.assert_array_equal(found, given)
    assert read.robot_description == 'ein Text'
    assert read.left_out == {}


@pytest.mark.parametrize(('kind', 'suffix'), [('mcap', '.mcap'), ('sqlite3', '.db3')])
def test_a_single_file_without_metadata(tmp_path, motion, kind, suffix):
    path = write_joint_states(tmp_path / 'bag', NAMES, *motion, storage=kind)
    alone = shutil.copy(next(path.glob(f'*{suffix}')), tmp_path / f'alone{suffix}')
    read = read_recording(alone)
    np.testing.assert_array_equal(read.q, motion[1])
    assert read.robot_description is None


def test_a_recording_in_several_files(tmp_path, motion):
    """As rosbag2 splits them: one metadata.yaml names all files."""
    t, q, v, tau = motion
    first = write_joint_states(tmp_path / 'a', NAMES, t[:30], q[:30], v[:30], tau[:30], 'x')
    second = write_joint_states(tmp_path / 'b', NAMES, t[30:], q[30:], v[30:], tau[30:])
    shutil.copy(second / 'b.mcap', first / 'b.mcap')
    metadata = first / 'metadata.yaml'
    text = metadata.read_text()
    listed = text.replace('  - a.mcap', '  - a.mcap\n  - b.mcap', 1)
    assert listed != text
    metadata.write_text(listed)
    read = read_recording(first)
    np.testing.assert_array_equal(read.t, t)
    np.testing.assert_array_equal(read.tau, tau)


def test_what_is_missing_is_nan(tmp_path):
    """Two drivers with some of the joints each, fields that are empty or ragged, NaN, no stamp."""
    messages = [
        joint_state(START, 'ab', [1, 2], [3, 4], [5, 6]),
        joint_state(START + 1, 'c', [7]),
        joint_state(START + 2, 'ba', [1, 2], [3], []),
        joint_state(0, 'ab', [1, np.nan], [3, 4], [5, 6]),
        joint_state(START + 4, 'aa', [1, 2]),
        joint_state(START + 5, '', []),
        b'\0\1\0\0garbage',
    ]
    with writing(tmp_path / 'bag', {'/j': JOINT_STATE}) as write:
        for k, data in enumerate(messages):
            write('/j', START + 100 + k, data)
    read = read_recording(tmp_path / 'bag', '/j')
    nan = np.nan
    assert read.joint_names == ('a', 'b', 'c')
    assert read.t.tolist() == [START, START + 1, START + 2, START + 103]
    np.testing.assert_array_equal(read.q, [[1, 2, nan], [nan, nan, 7], [2, 1, nan], [1, nan, nan]])
    np.testing.assert_array_equal(read.v, [[3, 4, nan], [nan] * 3, [nan] * 3, [3, 4, nan]])
    np.testing.assert_array_equal(read.tau, [[5, 6, nan], [nan] * 3, [nan] * 3, [5, 6, nan]])
    assert read.left_out == {Reason.DUPLICATE_JOINT: 1, Reason.EMPTY: 1, Reason.UNREADABLE: 1}


def test_frames_that_change_are_layouts_of_their_own(tmp_path):
    with writing(tmp_path / 'bag', {'/joint_states': JOINT_STATE}) as write:
        for k in range(200):
            data = joint_state(START + k, 'ab', [k, -k], frame='f' * (k % 3) + str(k % 100))
            write('/joint_states', START + k, data)
    read = read_recording(tmp_path / 'bag')
    np.testing.assert_array_equal(read.q[:, 0], np.arange(200.0))
    assert np.isnan(read.tau).all()


def test_wrenches(tmp_path):
    random = np.random.default_rng(5)
    given = random.normal(size=(20, 6))
    with writing(tmp_path / 'bag', {'/ft': WRENCH, '/text': STRING}) as write:
        write('/text', START, string('x'))
        for k, row in enumerate(given):
            write('/ft', START + k, wrench(START + k, 'tool', force=row[3:], moment=row[:3]))
    read = read_wrenches(tmp_path / 'bag', '/ft')
    assert read.frame == 'tool'
    np.testing.assert_array_equal(read.wrenches, given)
    with pytest.raises(UnknownNameError, match=r"'/text' is of type std_msgs.*on '/ft'"):
        read_wrenches(tmp_path / 'bag', '/text')


def test_wrenches_of_two_frames_are_refused(tmp_path):
    with writing(tmp_path / 'bag', {'/ft': WRENCH}) as write:
        for frame in ('left', 'rite'):
            write('/ft', START, wrench(START, frame, [0] * 3, [0] * 3))
    with pytest.raises(RecordingError, match='several frames'):
        read_wrenches(tmp_path / 'bag', '/ft')


def test_files_are_closed(tmp_path, motion):
    path = write_joint_states(tmp_path / 'bag', NAMES, *motion)
    with RecordingReader(path) as reader:
        assert not reader.mcap._map.closed
    assert reader.mcap._map.closed


# --- what cannot be read --------------------------------------------------------------------------


def test_a_topic_that_is_not_recorded(tmp_path, motion):
    path = write_joint_states(tmp_path / 'bag', NAMES, *motion)
    with pytest.raises(UnknownNameError, match=r"'/joints' is not recorded.*'/joint_states'"):
        read_recording(path, '/joints')


def test_no_joint_states_that_can_be_used(tmp_path):
    with writing(tmp_path / 'bag', {'/joint_states': JOINT_STATE}) as write:
        write('/joint_states', START, joint_state(START, ''))
    with pytest.raises(RecordingError, match='1 messages: the message names no joint'):
        read_recording(tmp_path / 'bag')


@pytest.mark.parametrize('share', [0.0, 0.3, 0.999])
def test_truncated_files_are_named(tmp_path, motion, share):
    path = write_joint_states(tmp_path / 'bag', NAMES, *motion)
    data = (path / 'bag.mcap').read_bytes()
    (tmp_path / 'cut.mcap').write_bytes(data[: int(len(data) * share)])
    with pytest.raises(RecordingError, match=r'cannot read the recording .*cut\.mcap'):
        read_recording(tmp_path / 'cut.mcap')


@pytest.mark.parametrize('name', ['absent.mcap', 'text.txt', 'noise.mcap', 'noise.db3', 'folder'])
def test_other_files_are_named(tmp_path, name):
    (tmp_path / 'text.txt').write_text('no recording')
    (tmp_path / 'folder').mkdir()
    for kind in ('mcap', 'db3'):
        (tmp_path / f'noise.{kind}').write_bytes(np.random.default_rng(0).bytes(3000))
    with pytest.raises(RecordingError, match=name):
        RecordingReader(tmp_path / name)


def test_rosbags_is_named_when_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'rosbags.rosbag2', None)
    with pytest.raises(RecordingError, match=f'install it with "{sources.INSTALL}"'):
        RecordingReader(tmp_path)


def test_reading_needs_no_ros():
    """Neither rclpy nor a package of messages is imported."""
    code = (
        'import sys; import screw_dynamics_ros.ros.recordings.recording\n'
        'names = {"rclpy", "sensor_msgs", "builtin_interfaces", "tf_transformations"}\n'
        'sys.exit(", ".join(names & set(sys.modules)) or 0)'
    )
    subprocess.run([sys.executable, '-c', code], check=True)
