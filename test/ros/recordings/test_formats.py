# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""CSV, NPZ and bags of ROS 1, written and deserialized by csv, NumPy and `rosbags`."""

import csv

import numpy as np
import pytest

pytest.importorskip('rosbags')

from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.ros.recordings.coverage import rename_joints
from screw_dynamics_ros.ros.recordings.recording import read_recording, read_wrenches
from screw_dynamics_ros.ros.recordings.sources import RecordingError
from screw_dynamics_ros.ros.recordings.storage import RecordingReader
from support.recordings import JOINT_STATE, STORE, WRENCH

NAMES = ('shoulder', 'left/ell-bow', 'Handgelenk_ä')
FIELDS = ('position', 'velocity', 'effort')
AXES = [f'{vector}.{axis}' for vector in ('force', 'torque') for axis in 'xyz']


@pytest.fixture
def motion():
    """Return t [s] and q, v, tau (50, 3), wrenches (50, 6)."""
    random = np.random.default_rng(4)
    t = 10.0 + np.arange(50) * 0.001
    return t, *random.normal(size=(3, 50, 3)), random.normal(size=(50, 6))


def write_csv(path, columns, **options):
    with path.open('w', newline='', encoding=options.pop('encoding', 'utf-8')) as file:
        writer = csv.writer(file, **options)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))
    return path


def columns_of(t, q, v, tau, wrench):
    columns = {'t': t}
    for field, values in zip(FIELDS, (q, v, tau)):
        columns |= {f'{name}.{field}': x for name, x in zip(NAMES, values.T)}
    return columns | {f'wrench.{name}': x for name, x in zip(AXES, wrench.T)}


def write_ros1(path, t, q, v, tau, wrench):
    store = get_typestore(Stores.ROS1_NOETIC)
    text = 'geometry_msgs/TransformStamped[] transforms'
    store.register(get_types_from_msg(text, 'tf/msg/tfMessage'))
    make = store.types
    kinds = {'/joint_states': JOINT_STATE, '/wrench': WRENCH, '/tf': 'tf/msg/tfMessage'}
    with Writer(path) as writer:
        connections = {
            topic: writer.add_connection(topic, kind, typestore=store)
            for topic, kind in kinds.items()
        }

        def put(kind, topic, stamp, **fields):
            data = store.serialize_ros1(make[kind](**fields), kind)
            writer.write(connections[topic], stamp + 150_000, data)

        for k, stamp in enumerate(np.round(t * 1e9).astype(int).tolist()):
            time = make['builtin_interfaces/msg/Time'](*divmod(stamp, 10**9))
            header = make['std_msgs/msg/Header'](seq=k, stamp=time, frame_id='tool')
            state = dict(zip(FIELDS, (q[k], v[k], tau[k])))
            put(JOINT_STATE, '/joint_states', stamp, header=header, name=list(NAMES), **state)
            force, torque = (make['geometry_msgs/msg/Vector3'](*x) for x in np.split(wrench[k], 2))
            content = make['geometry_msgs/msg/Wrench'](force, torque)
            put(WRENCH, '/wrench', stamp, header=header, wrench=content)
            put('tf/msg/tfMessage', '/tf', stamp, transforms=[])
    return path


def write_npz(path, t, q, v, tau, wrench):
    np.savez(path, joint_names=np.array(NAMES), t=t, q=q, v=v, tau=tau, wrench=wrench)
    return path


def written(folder, kind, motion):
    if kind == 'npz':
        return write_npz(folder / 'run.npz', *motion)
    if kind == 'bag':
        return write_ros1(folder / 'run.bag', *motion)
    return write_csv(folder / 'run.csv', columns_of(*motion))


@pytest.mark.parametrize('kind', ['csv', 'npz', 'bag'])
def test_all_formats_give_the_same(tmp_path, motion, kind):
    """Also message by message, deserialized by rosbags, as it is copied into other recordings."""
    t, q, v, tau, wrench = motion
    path = written(tmp_path, kind, motion)
    stamps, delay = np.round(t * 1e9).astype(np.int64), 150_000 if kind == 'bag' else 0
    read = read_recording(path)
    assert read.joint_names == NAMES
    np.testing.assert_array_equal(read.t, stamps)
    np.testing.assert_array_equal(read.received, stamps + delay)
    for given, found in zip((q, v, tau), (read.q, read.v, read.tau)):
        np.testing.assert_array_equal(found, given)
    assert read.left_out == {}
    assert read.robot_description is None
    wrenches = read_wrenches(path, '/wrench')
    np.testing.assert_array_equal(wrenches.wrenches, np.roll(wrench, 3, axis=1))
    with RecordingReader(path) as reader:
        assert reader.counts['/joint_states'] == reader.counts['/wrench'] == len(t)
        definitions = reader.definitions()
        assert reader.types.get('/tf', 'tf2_msgs/msg/TFMessage') == 'tf2_msgs/msg/TFMessage'
        messages = list(reader.messages())
    for topic, kind in (('/joint_states', JOINT_STATE), ('/wrench', WRENCH)):
        assert definitions[topic].text == STORE.generate_msgdef(kind, ros_version=2)[0]
        data = [data for name, _, data in messages if name == topic]
        assert len(data) == len(t)
        message = STORE.deserialize_cdr(data[7], kind)
        assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == stamps[7]
        if topic == '/wrench':
            assert message.wrench.torque.y == wrench[7, 4]
        else:
            assert message.name == list(NAMES)
            np.testing.assert_array_equal(message.effort, tau[7])
    assert [received for _, received, _ in messages] == sorted(each[1] for each in messages)


def test_csv_of_spreadsheets(tmp_path, motion):
    """Semicolons with decimal commas, a byte order mark, comments, empty lines, spaces."""
    plain = read_recording(write_csv(tmp_path / 'a.csv', columns_of(*motion)))
    path = write_csv(tmp_path / 'b.csv', columns_of(*motion), delimiter=';', encoding='utf-8-sig')
    text = path.read_text(encoding='utf-8').replace('.', ',').split('\n')
    text[0] = text[0].replace(',', '.').replace(';', ' ; ')
    text[3] = f'# a comment\n\n{text[3]}'
    path.write_text('\n'.join(text), encoding='utf-8')
    read = read_recording(path)
    assert read.joint_names == plain.joint_names
    np.testing.assert_array_equal(read.tau, plain.tau)
    np.testing.assert_array_equal(read.t, plain.t)


def test_csv_of_plotjuggler(tmp_path, motion):
    """Topics with times of their own: rows have the numbers of one of them only."""
    t, q, _, _, wrench = motion
    times = np.sort(np.concatenate([t, t + 0.0004]))
    columns = {'__time': times}
    for name, x in zip(NAMES, q.T):
        column = [x[k // 2] if k % 2 == 0 else '' for k in range(len(times))]
        columns[f'/left/joint_states/{name}/position'] = column
    for name, x in zip(AXES, wrench.T):
        column = [x[k // 2] if k % 2 else '' for k in range(len(times))]
        columns[f'/ft/wrench/{name.replace(".", "/")}'] = column
    columns['/tf/header/stamp'] = times
    path = write_csv(tmp_path / 'run.csv', columns)
    # a joint with a slash in its name looks like a topic
    with RecordingReader(path) as reader:
        assert reader.counts == {
            '/left/joint_states': 50, '/left/joint_states/left': 50, '/ft': 50,
        }  # fmt: skip
    read = read_recording(path, '/left/joint_states')
    np.testing.assert_array_equal(read.q, q[:, [0, 2]])
    assert np.isnan(read.tau).all()
    wrenches = read_wrenches(path, '/ft')
    np.testing.assert_array_equal(wrenches.wrenches, np.roll(wrench, 3, axis=1))
    np.testing.assert_array_equal(wrenches.t, np.round((t + 0.0004) * 1e9).astype(np.int64))


def test_missing_values_and_times_from_zero(tmp_path):
    path = tmp_path / 'run.csv'
    path.write_text('time,a.position,b.position,b.effort\n-0.5,1,2,3\n0.25,,2,nan\n0.5,,,\n')
    read = read_recording(path)
    assert read.joint_names == ('a', 'b')
    np.testing.assert_array_equal(read.q, [[1, 2], [np.nan, 2]])
    np.testing.assert_array_equal(read.tau, [[np.nan, 3], [np.nan, np.nan]])
    assert np.isnan(read.v).all()
    assert read.t.tolist() == [1_500_000_000, 2_250_000_000]


@pytest.mark.parametrize(
    ('text', 'match'),
    [
        ('', 'is empty'),
        ('t,a.position\n', 'no rows'),
        ('a.position\n1\n', 'one column with times'),
        ('t,time,a.position\n1,1,1\n', 'one column with times'),
        ('t,a.position,a.position\n1,1,1\n', 'named twice: a.position'),
        ('t,a.positon\n1,1\n', "column 'a.positon' is neither"),
        ('t,/tf/x\n1,1\n', 'no column is of a joint'),
        ('t,a.position\n1,1\n2,x\n', "row 2, a.position: 'x' is not a number"),
        ('t,a.position\n1,1\n2\n', 'row 2 has 1 cells under 2 columns'),
        ('t,a.position\n,1\n', 'row 1 has no time'),
        ('t,a.position\n1700000000000,1\n', 'milliseconds or nanoseconds'),
    ],
)
def test_tables_that_are_refused(tmp_path, text, match):
    path = tmp_path / 'run.csv'
    path.write_text(text)
    with pytest.raises(RecordingError, match=match):
        read_recording(path)


def test_arrays_and_bags_that_are_refused(tmp_path, motion):
    t, q, _, _, _ = motion
    for wrong, match in (
        ({'t': t, 'q': q}, "no array 'joint_names'"),
        ({'joint_names': np.array(NAMES), 't': t, 'q': q[:, :2]}, r'shape \(50, 2\); \(50, 3\)'),
        ({'joint_names': np.array(['a'] * 3), 't': t, 'q': q}, 'a joint twice'),
        ({'joint_names': np.array(NAMES), 't': t, 'q': q, 'wrench': q}, r'\(50, 6\)'),
    ):
        np.savez(tmp_path / 'run.npz', **wrong)
        with pytest.raises(RecordingError, match=match):
            read_recording(tmp_path / 'run.npz')
    for name in ('a.npz', 'a.bag', 'a.csv'):
        with pytest.raises(RecordingError, match='there is no such file'):
            read_recording(tmp_path / name)
        (tmp_path / name).write_bytes(b'nothing of it\0')
        with pytest.raises(RecordingError, match=f'{name}'):
            read_recording(tmp_path / name)


def test_joints_to_rename_are_recorded(tmp_path, motion):
    path = write_csv(tmp_path / 'run.csv', columns_of(*motion))
    with RecordingReader(path) as reader:
        with pytest.raises(UnknownNameError, match="no joint 'elbow'; it has shoulder, left/ell-b"):
            rename_joints(reader, '/joint_states', {'shoulder': 'a', 'elbow': 'b'})
        with pytest.raises(ArgumentError, match="are 'shoulder' then"):
            rename_joints(reader, '/joint_states', {'left/ell-bow': 'shoulder'})
    read = read_recording(path, renamed={'shoulder': 'left/ell-bow', 'left/ell-bow': 'shoulder'})
    assert read.joint_names == ('left/ell-bow', 'shoulder', 'Handgelenk_ä')
