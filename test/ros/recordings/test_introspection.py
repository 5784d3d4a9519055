# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states from the introspection of controller_manager, in bags written by definition."""

import numpy as np
import pytest

pytest.importorskip('rosbags')

from screw_dynamics_ros.core.errors import UnknownNameError
from screw_dynamics_ros.ros.joint_states.policies import Reason
from screw_dynamics_ros.ros.recordings.introspection import introspections
from screw_dynamics_ros.ros.recordings.recording import read_recording
from screw_dynamics_ros.ros.recordings.sources import RecordingError
from screw_dynamics_ros.ros.recordings.storage import RecordingReader
from support.introspection import (
    BASE,
    PACKAGE,
    TOPICS,
    full_message,
    names_message,
    use_definitions,
    values_message,
)
from support.recordings import writing

JOINTS = ('shoulder', 'elbow', 'wrist')
START, STEP = 1_700_000_000_000_000_000, 1_000_000
OTHERS = (
    'state_interface.tool/force.x',
    'command_interface.elbow/effort.is_limited',
    'state_interface.law/elbow/position',
    'joint_trajectory_controller.cycles',
)


@pytest.fixture(autouse=True)
def definitions(monkeypatch):
    use_definitions(monkeypatch)


def motion(count, seed=1):
    """Return the values of all names (count,) by name, random."""
    random = np.random.default_rng(seed)
    names = [
        *(f'state_interface.{j}/{q}' for j in JOINTS for q in ('position', 'velocity', 'effort')),
        *(f'command_interface.{j}/effort' for j in JOINTS),
        *OTHERS,
    ]
    return {name: random.uniform(-1.0, 1.0, count) for name in names}


def shuffled(names, seed):
    return [list(names)[k] for k in np.random.default_rng(seed).permutation(len(names))]


def check(recording, values, rows=slice(None), command=False):
    """Compare the joint states with the values."""
    joints = recording.joint_names
    assert set(joints) == set(JOINTS)
    efforts = 'command_interface' if command else 'state_interface'
    for found, kind, quantity in (
        (recording.q, 'state_interface', 'position'),
        (recording.v, 'state_interface', 'velocity'),
        (recording.tau, efforts, 'effort'),
    ):
        expected = np.array([values[f'{kind}.{joint}/{quantity}'] for joint in joints]).T
        np.testing.assert_array_equal(found, expected[rows])


def write(path, values, orders, versions, *, lost=(), names_after=(), storage='mcap'):
    """Write values in changing orders; `versions` is the version of each row.

    Names of versions in `lost` are not recorded, those in `names_after` at the end.
    """
    with writing(path, TOPICS, storage=storage) as put:
        known = None
        for k, version in enumerate(versions):
            now = START + k * STEP
            if version != known and version not in (*lost, *names_after):
                put(f'{BASE}/names', now, names_message(orders[version], version))
            known = version
            row = np.array([values[name][k] for name in orders[version]])
            put(f'{BASE}/values', now + 300_000, values_message(row, version, now))
        for version in names_after:
            put(f'{BASE}/names', now + STEP, names_message(orders[version], version))
    return path


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_measured_and_commanded_efforts_of_all_joints(tmp_path, storage):
    values = motion(300)
    orders = {3: shuffled(values, 7)}
    path = write(tmp_path / 'run', values, orders, [3] * 300, storage=storage)
    for topic, command in (('measured', False), ('commanded', True)):
        recording = read_recording(path, f'{BASE}/{topic}')
        check(recording, values, command=command)
        np.testing.assert_array_equal(recording.t, START + STEP * np.arange(300))
        np.testing.assert_array_equal(recording.received, recording.t + 300_000)
        assert not recording.left_out


def test_names_change_between(tmp_path):
    """Three orders, which alternate; the names of one come at the end only."""
    values = motion(400)
    orders = {version: shuffled(values, version) for version in (1, 2, 9)}
    versions = np.random.default_rng(3).choice([1, 2, 9], 400).tolist()
    path = write(tmp_path / 'run', values, orders, versions, names_after=(9,))
    check(read_recording(path, f'{BASE}/measured'), values)


def test_values_without_names_are_no_joint_states(tmp_path):
    values = motion(50)
    orders = {version: shuffled(values, version) for version in (1, 2)}
    versions = np.array([1, 2] * 25)
    path = write(tmp_path / 'run', values, orders, versions.tolist(), lost=(2,))
    recording = read_recording(path, f'{BASE}/measured')
    check(recording, values, versions == 1)
    assert recording.left_out == {Reason.UNREADABLE: 25}
    path = write(tmp_path / 'lost', values, orders, [2] * 50, lost=(2,))
    with pytest.raises(RecordingError, match='50 messages'):
        read_recording(path, f'{BASE}/measured')


def test_a_version_has_other_names_after_a_restart(tmp_path):
    """Those before a value; without names before it, it cannot be assigned."""
    values = motion(60)
    first, second = shuffled(values, 1), shuffled(values, 2)
    with writing(tmp_path / 'run', TOPICS) as put:
        for k in range(60):
            now, names = START + k * STEP, first if k < 30 else second
            if k in (10, 30):
                put(f'{BASE}/names', now, names_message(names, 1))
            row = np.array([values[name][k] for name in names])
            put(f'{BASE}/values', now + 1, values_message(row, 1, now))
    recording = read_recording(tmp_path / 'run', f'{BASE}/measured')
    check(recording, values, slice(10, None))
    assert recording.left_out == {Reason.UNREADABLE: 10}


@pytest.mark.parametrize('fault', ['fewer', 'more', 'twice', 'no joints'])
def test_names_that_do_not_fit_are_refused(tmp_path, fault):
    """Neither positions of other joints, nor a guess."""
    values = motion(5)
    names = shuffled(values, 1)
    given = {
        'fewer': names[:-1],
        'more': [*names, 'x'],
        'twice': [*names[:-1], names[0]],
        'no joints': list(map(str, range(len(names)))),
    }[fault]
    with writing(tmp_path / 'run', TOPICS) as put:
        put(f'{BASE}/names', START, names_message(given, 1))
        for k in range(5):
            row = np.array([values[name][k] for name in names])
            put(f'{BASE}/values', START + 1 + k, values_message(row, 1, START + k))
    with pytest.raises(RecordingError, match='5 messages'):
        read_recording(tmp_path / 'run', f'{BASE}/measured')


def test_damaged_messages_are_refused(tmp_path):
    """A length may be anything; the other messages remain."""
    values, random = motion(100), np.random.default_rng(5)
    names = shuffled(values, 1)
    damaged = set(random.choice(100, 40, replace=False).tolist())
    with writing(tmp_path / 'run', TOPICS) as put:
        put(f'{BASE}/names', START - 2, names_message(names, 1)[:-9])
        put(f'{BASE}/names', START - 1, names_message(names, 1))
        for k in range(100):
            row = np.array([values[name][k] for name in names])
            data = bytearray(values_message(row, 1, START + k * STEP))
            if k in damaged:
                place = 12 + 8 * int(random.integers(0, 2))  # of the frame, of the values
                data[place : place + 4] = int(random.integers(2**20, 2**32)).to_bytes(4, 'little')
            put(f'{BASE}/values', START + k * STEP, bytes(data))
    recording = read_recording(tmp_path / 'run', f'{BASE}/measured')
    check(recording, values, [k for k in range(100) if k not in damaged])
    assert recording.left_out == {Reason.UNREADABLE: 40}


def test_the_whole_statistics_in_one_message(tmp_path):
    """Names may change with each message."""
    values = motion(60)
    with writing(tmp_path / 'run', {f'{BASE}/full': f'{PACKAGE}/Statistics'}) as put:
        for k in range(60):
            names = shuffled(values, k % 3)
            row = [values[name][k] for name in names]
            put(f'{BASE}/full', START + k * STEP, full_message(names, row, START + k * STEP))
    check(read_recording(tmp_path / 'run', f'{BASE}/commanded'), values, command=True)


def test_a_joint_without_an_interface_has_no_number(tmp_path):
    values = motion(20)
    del values['state_interface.elbow/effort'], values['command_interface.wrist/effort']
    for joint in JOINTS:
        del values[f'state_interface.{joint}/velocity']
    path = write(tmp_path / 'run', values, {1: shuffled(values, 1)}, [1] * 20)
    recording = read_recording(path, f'{BASE}/measured')
    assert np.isnan(recording.v).all()
    elbow = recording.joint_names.index('elbow')
    assert np.isnan(recording.tau[:, elbow]).all()
    assert np.isfinite(np.delete(recording.tau, elbow, axis=1)).all()
    tau = read_recording(path, f'{BASE}/commanded').tau
    assert np.isnan(tau[:, recording.joint_names.index('wrist')]).all()


def test_topics_that_are_derived():
    """Names are required, unless all is in one message; a recorded topic is not hidden."""
    kinds = {**TOPICS, f'{BASE}/full': f'{PACKAGE}/Statistics'}
    both = {f'{BASE}/measured', f'{BASE}/commanded'}
    assert set(introspections(kinds)) == set(introspections(TOPICS)) == both
    assert introspections(kinds)[f'{BASE}/measured'].values == f'{BASE}/values'
    assert introspections({f'{BASE}/values': TOPICS[f'{BASE}/values']}) == {}
    assert set(introspections({f'{BASE}/full': f'{PACKAGE}/Statistics'})) == both
    recorded = {**TOPICS, f'{BASE}/measured': 'std_msgs/msg/String'}
    assert set(introspections(recorded)) == {f'{BASE}/commanded'}


def test_the_reader_lists_them(tmp_path):
    values = motion(3)
    path = write(tmp_path / 'run', values, {1: list(values)}, [1] * 3)
    with RecordingReader(path) as reader:
        assert reader.counts[f'{BASE}/commanded'] == 3
        with pytest.raises(UnknownNameError, match='introspection_data/measured'):
            reader.check('/joint_states', 'sensor_msgs/msg/JointState')
