# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`annotate`: outputs as topics of recordings, read back by `rosbags`, an independent reader."""

import re
import shutil
import sqlite3
import sys
from contextlib import closing

import numpy as np
import pytest
import yaml

pytest.importorskip('rosbags')

from rosbags.rosbag2 import Reader, StoragePlugin, Writer

from screw_dynamics_ros.cli.annotate import tables
from screw_dynamics_ros.cli.annotate.command import main
from screw_dynamics_ros.cli.annotate.request import Request
from screw_dynamics_ros.core import AnnotationSettings, Robot, annotate_arrays
from screw_dynamics_ros.entry import DONE, NEGATIVE, PARTIAL
from support.recordings import JOINT_STATE, STORE, STRING, joint_state, string, writing
from support.robots import urdf_path

PANDA = urdf_path('panda').read_text()
TIP = 'panda_hand_tcp'
START = 1_700_000_000_000_000_000
COUNT = 120
OBSERVER = ('--set', 'observer=momentum', '--set', 'observer_time_constant=0.01')


@pytest.fixture(scope='module')
def motion():
    """Return names, stamps, positions, velocities and efforts of a motion of the arm."""
    robot = Robot.from_urdf(PANDA)
    random = np.random.default_rng(2)
    t = START + np.cumsum(random.integers(900_000, 1_100_000, COUNT))
    s = (t - START)[:, None] * 1e-9 * 3.0 + np.arange(robot.nv)
    q, v, a = 0.3 * np.sin(s), 0.9 * np.cos(s), -2.7 * np.sin(s)
    return robot.joint_names, t, q, v, robot.drive_torques(q, v, a) + random.normal(size=q.shape)


@pytest.fixture
def recorded(tmp_path, motion):
    """Return a function that writes the motion with a text on the side; joints in reverse order."""

    def write(name='run', drop=(), description=PANDA, **options):
        names, t, q, v, tau = motion
        topics = {'/joint_states': JOINT_STATE, '/robot_description': STRING, '/log': STRING}
        fields = dict(zip(('position', 'velocity', 'effort'), (q, v, tau)))
        with writing(tmp_path / name, topics, **options) as put:
            if description:
                put('/robot_description', START, string(description))
            for k, stamp in enumerate(t.tolist()):
                values = {key: each[k, ::-1] for key, each in fields.items() if key not in drop}
                put('/joint_states', stamp + 70_000, joint_state(stamp, names[::-1], **values))
                if k % 10 == 0:
                    put('/log', stamp + 80_000, string(f'line {k}'))
        return tmp_path / name

    return write


def contents(path):
    """Return times and serialized messages of each topic, by rosbags."""
    found = {}
    with Reader(path) as reader:
        for connection, time, data in reader.messages():
            found.setdefault(connection.topic, []).append((time, bytes(data), connection.msgtype))
    return found


def numbers_of(messages):
    """Return stamps and numbers of the messages of a topic."""
    stamps, numbers = [], []
    for _, data, kind in messages:
        message = STORE.deserialize_cdr(data, kind)
        if kind.endswith('Float64MultiArray'):
            stamps.append(None)
            numbers.append(message.data)
            continue
        if kind.endswith('TFMessage'):
            stamps.append(message.transforms[0].header.stamp)
            parts = [
                [getattr(each, axis) for axis in axes]
                for one in message.transforms
                for each, axes in (
                    (one.transform.translation, 'xyz'),
                    (one.transform.rotation, 'xyzw'),
                )
            ]
            numbers.append(np.concatenate(parts))
            continue
        stamps.append(message.header.stamp)
        if kind == JOINT_STATE:
            numbers.append(message.effort)
        else:
            content = getattr(message, 'twist', None) or message.wrench
            first, second = (
                (content.linear, content.angular)
                if 'Twist' in kind
                else (content.force, content.torque)
            )
            numbers.append([first.x, first.y, first.z, second.x, second.y, second.z])
    return [s and s.sec * 10**9 + s.nanosec for s in stamps], np.array(numbers)


@pytest.mark.parametrize('compression', ['none', 'lz4', 'zstd'])
def test_all_outputs_are_those_of_the_core(tmp_path, motion, recorded, compression):
    """Byte for byte what was recorded, and the outputs with the stamps of the states."""
    source, target = recorded(), tmp_path / 'out.mcap'
    outputs = (
        'gravity,coriolis,friction,inertia,payload,energy,momentum,mass_matrix,transforms,'
        'external_torque,twist,jacobian,singularity,wrench'
    )
    options = ['--outputs', outputs, '--compression', compression, *OBSERVER]
    options += ['--set', 'singularity_rate=inf', '--set', 'payload_mass=1.5']
    options += ['--set', f'payload_link={TIP}', '--set', 'payload_center_of_mass=0,0,0.1']
    assert main([str(source), '-o', str(target), *options]) == DONE
    before, after = contents(source), contents(target)
    for topic, messages in before.items():
        assert after[topic] == messages

    from screw_dynamics_ros.core.description.rigid_body import RigidBody

    _, t, q, v, tau = motion
    robot = Robot.from_urdf(PANDA)
    expected = annotate_arrays(
        robot, t, q, v, tau, outputs=outputs.split(','), frames=[TIP],
        payloads={TIP: RigidBody(1.5, np.array([0.0, 0.0, 0.1]), np.zeros((3, 3)))},
        settings=AnnotationSettings(observer='momentum', observer_time_constant=0.01),
    )  # fmt: skip
    linear_first = [3, 4, 5, 0, 1, 2]
    moving = [
        k
        for k, name in enumerate(robot.transform_joints)
        if not name.endswith(('joint8', 'hand_joint', 'tcp_joint'))
    ]
    orders = {
        'momentum': linear_first,
        f'twist/{TIP}': linear_first,
        f'jacobian/{TIP}': linear_first,
        f'wrench/{TIP}': linear_first,
        'transforms': moving,
    }
    nodes = {'external_torque': 'wrench_estimator', 'wrench': 'wrench_estimator'}
    nodes |= dict.fromkeys(('twist', 'jacobian', 'singularity'), 'kinematics')
    for name, values in expected.items():
        node = nodes.get(name.split('/')[0], 'dynamics')
        topic = '/tf' if name == 'transforms' else f'/{node}/{name}'
        stamps, found = numbers_of(after[topic])
        values = values[:, orders.get(name, slice(None))].reshape(COUNT, -1)
        present = np.isfinite(values).all(axis=1)
        assert found.shape[0] == present.sum()
        np.testing.assert_allclose(found, values[present], rtol=1e-12, atol=1e-12, err_msg=topic)
        assert set(stamps) in ({None}, set(t[present].tolist()))
        assert [time for time, _, _ in after[topic]] == (t[present] + 70_000).tolist()
    assert 40 < len(after['/wrench_estimator/external_torque']) < COUNT  # it has to settle first
    assert set(after) == {
        *before, '/tf_static', '/tf',
        *(f'/{nodes.get(n.split("/")[0], "dynamics")}/{n}' for n in expected if n != 'transforms'),
    }  # fmt: skip


@pytest.mark.parametrize(
    ('kind', 'compression', 'output'),
    [
        ('mcap', 'storage', 'a.mcap'),
        ('mcap', 'message', 'a.mcap'),
        ('sqlite3', 'none', 'folder'),
    ],
)
def test_all_kinds_of_recordings_give_the_same_messages(
    tmp_path, recorded, kind, compression, output
):
    main([str(recorded()), '-o', str(tmp_path / 'plain.mcap'), *OBSERVER])
    expected = contents(tmp_path / 'plain.mcap')
    source = recorded('other', storage=kind, compression=compression)
    assert main([str(source), '-o', str(tmp_path / output), *OBSERVER]) == DONE
    assert contents(tmp_path / output) == expected


def test_repeated_it_is_identical(tmp_path, recorded):
    source = recorded()
    for name in ('a.mcap', 'b.mcap'):
        assert main([str(source), '-o', str(tmp_path / name)]) == DONE
    assert (tmp_path / 'a.mcap').read_bytes() == (tmp_path / 'b.mcap').read_bytes()
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith('.')]


def test_an_annotated_recording_can_be_annotated_again(tmp_path, recorded, refused):
    first, second = tmp_path / 'a.mcap', tmp_path / 'b.mcap'
    main([str(recorded()), '-o', str(first), '--outputs', 'gravity'])
    assert '/dynamics/gravity is already recorded' in refused(
        main, first, '-o', second, '--outputs', 'gravity'
    )
    options = ['--outputs', 'gravity', '--namespace', 'again']
    assert main([str(first), '-o', str(second), *options]) == DONE
    found = contents(second)
    assert found['/again/dynamics/gravity'] == found['/dynamics/gravity']


def test_without_efforts_nothing_is_said_of_them(tmp_path, recorded):
    """And velocities are differentiated, as by the nodes."""
    target = tmp_path / 'out.mcap'
    main([str(recorded(drop=('velocity', 'effort'))), '-o', str(target)])
    found = contents(target)
    assert len(found['/dynamics/gravity']) == COUNT
    assert len(found['/dynamics/coriolis']) == COUNT - 1
    assert '/wrench_estimator/external_torque' not in found


@pytest.mark.parametrize(('value', 'is_met'), [('false', True), ('true', False)])
def test_efforts_by_a_condition_on_the_description(tmp_path, recorded, capsys, value, is_met):
    """Efforts that are something else are not used, and the report states it."""
    tag = f'<hardware><param name="currents">{value}</param></hardware>'
    described = f'<ros2_control name="arm" type="system">{tag}</ros2_control></robot>'
    source = recorded(description=PANDA.replace('</robot>', described))
    target = tmp_path / 'out.mcap'
    main([str(source), '-o', str(target), '--set', 'effort_condition=currents=false'])
    assert ('/wrench_estimator/external_torque' in contents(target)) == is_met
    assert ("currents is 'true' in the description" in ''.join(capsys.readouterr())) != is_met


def test_transforms_of_somebody_else_are_left_alone(tmp_path, motion):
    names, t, q, v, tau = motion
    topics = {'/joint_states': JOINT_STATE, '/tf': 'tf2_msgs/msg/TFMessage'}
    with writing(tmp_path / 'run', topics) as put:
        put('/joint_states', t[0], joint_state(t[0], names, q[0], v[0], tau[0]))
    options = ['--urdf', str(urdf_path('panda'))]
    assert main([str(tmp_path / 'run'), '-o', str(tmp_path / 'out.mcap'), *options]) == DONE
    assert {'/tf', '/tf_static'}.isdisjoint(contents(tmp_path / 'out.mcap'))


def test_a_table(tmp_path, recorded, motion):
    parquet = pytest.importorskip('pyarrow.parquet')
    table = tmp_path / 'out.parquet'
    options = ['--parquet', str(table), '--outputs', 'gravity,acceleration,mass_matrix']
    assert main([str(recorded()), *options]) == DONE
    read = parquet.read_table(table)
    names, t, q, _, _ = motion
    assert read.column('stamp').to_pylist() == t.tolist()
    seconds = [float(each - t[0]) / 1_000_000_000 for each in t]
    np.testing.assert_allclose(read.column('timestamp').to_pylist(), seconds, atol=1e-9)
    np.testing.assert_array_equal(read.column('observation.state').to_pylist(), q)
    robot = Robot.from_urdf(PANDA)
    np.testing.assert_allclose(
        read.column('annotation.gravity').to_pylist(), robot.gravity_torques(q), atol=1e-12
    )
    assert len(read.column('annotation.mass_matrix').to_pylist()[0]) == robot.nv**2
    assert read.schema.metadata[b'joint_names'].decode().split(',') == list(names)


def test_a_table_that_is_not_completed_is_removed(
    tmp_path, recorded, monkeypatch, refused, unusable
):
    """Neither is one that exists replaced."""
    pytest.importorskip('pyarrow')
    table, source = tmp_path / 'out.parquet', recorded()
    before = set(tmp_path.iterdir())
    add = tables.ParquetTable.add
    for first in (True, False):

        def fail(*given, first=first):
            if not first:
                add(*given)
            raise OSError('disk full')

        monkeypatch.setattr(tables.ParquetTable, 'add', fail)
        for target in ([], ['-o', str(tmp_path / 'out.mcap')]):
            assert 'disk full' in unusable(main, source, '--parquet', table, *target)
            assert set(tmp_path.iterdir()) == before
    monkeypatch.setattr(tables.ParquetTable, 'add', add)
    table.write_text('precious')
    assert f'{table} already exists' in refused(main, source, '--parquet', table)
    assert table.read_text() == 'precious'


def test_a_table_beside_an_annotated_recording(tmp_path, recorded, motion):
    parquet = pytest.importorskip('pyarrow.parquet')
    table = tmp_path / 'out.parquet'
    options = ['-o', str(tmp_path / 'out.mcap'), '--parquet', str(table), '--outputs', 'gravity']
    assert main([str(recorded()), *options]) == DONE
    read = parquet.read_table(table)
    _, t, _, v, tau = motion
    assert read.column('stamp').to_pylist() == t.tolist()
    np.testing.assert_array_equal(read.column('observation.velocity').to_pylist(), v)
    np.testing.assert_array_equal(read.column('observation.effort').to_pylist(), tau)
    _, torques = numbers_of(contents(tmp_path / 'out.mcap')['/dynamics/gravity'])
    np.testing.assert_array_equal(read.column('annotation.gravity').to_pylist(), torques)


def test_a_payload_is_read_in_the_order_of_its_parameter():
    """payload_inertia is xx, xy, xz, yy, yz, zz about the center of mass."""
    values = {
        'payload_link': 'tip',
        'payload_mass': 2.0,
        'payload_center_of_mass': [0.1, 0.0, 0.0],
        'payload_inertia': [2.0, 0.1, 0.2, 3.0, 0.3, 4.0],
    }
    body = Request(values=values).payloads['tip']
    expected = [[2.0, 0.1, 0.2], [0.1, 3.0, 0.3], [0.2, 0.3, 4.0]]
    np.testing.assert_array_equal(body.matrix, expected)


# --- what cannot be used --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('kind', 'data', 'text'),
    [
        (JOINT_STATE, string('text'), ' is of type sensor_msgs/msg/JointState; give --urdf, or'),
        (
            STRING,
            b'\0\1\0\0\xff\xff\xff\x7f<robot',
            ': a std_msgs/String cannot be read: truncated',
        ),
    ],
)
def test_a_topic_that_is_no_description(tmp_path, refused, kind, data, text):
    topics = {'/joint_states': JOINT_STATE, '/robot_description': kind}
    with writing(tmp_path / 'run', topics) as put:
        put('/robot_description', START, data)
    error = refused(main, tmp_path / 'run', '-o', tmp_path / 'out.mcap')
    assert f'{tmp_path / "run"}: ' in error
    assert f'/robot_description{text}' in error


def test_no_description(tmp_path, recorded, refused):
    source = recorded(description=None)
    assert '/robot_description has no message; give --urdf' in refused(
        main, source, '-o', tmp_path / 'out.mcap'
    )
    options = ['--urdf', str(urdf_path('panda'))]
    assert main([str(source), '-o', str(tmp_path / 'out.mcap'), *options]) == DONE


def test_a_description_of_another_robot(tmp_path, recorded, refused):
    options = ['--urdf', str(urdf_path('planar_2r'))]
    assert 'names no joint of this robot' in refused(
        main, recorded(), '-o', tmp_path / 'out.mcap', *options
    )
    assert not (tmp_path / 'out.mcap').exists()


@pytest.mark.parametrize('share', [0.4, 0.95])
def test_truncated_recordings_are_named(tmp_path, recorded, share, refused):
    data = (recorded() / 'run.mcap').read_bytes()
    (tmp_path / 'cut.mcap').write_bytes(data[: int(share * len(data))])
    assert 'cut.mcap' in refused(main, tmp_path / 'cut.mcap', '-o', tmp_path / 'out.mcap')
    assert not list(tmp_path.glob('*out*'))


@pytest.mark.parametrize('what', ['joint states', 'log', 'checksum'])
def test_a_broken_chunk_leaves_nothing(tmp_path, recorded, what, refused):
    """The list of messages of some topic, or a chunk that is not what its checksum says."""
    source = recorded() / 'run.mcap'
    data = bytearray(source.read_bytes())
    with Reader(source) as reader:
        chunk = reader.storage.chunks[0]
        topics = {each.topic: each.id for each in reader.connections}
    assert chunk.compression == ''
    if what == 'checksum':
        place = chunk.chunk_start_offset + 9 + 24
        data[place : place + 4] = b'1234'
    else:
        topic = '/log' if what == 'log' else '/joint_states'
        place = chunk.message_index_offsets[topics[topic]]
        data[place : place + 9] = bytes(9)
    (tmp_path / 'broken.mcap').write_bytes(data)
    assert 'broken.mcap' in refused(main, tmp_path / 'broken.mcap', '-o', tmp_path / 'out.mcap')
    assert not list(tmp_path.glob('*out*'))
    assert not list(tmp_path.glob('.*'))


def test_outputs_are_not_overwritten(tmp_path, recorded, refused):
    (tmp_path / 'out.mcap').write_text('precious')
    assert 'already exists' in refused(main, recorded(), '-o', tmp_path / 'out.mcap')
    assert (tmp_path / 'out.mcap').read_text() == 'precious'


@pytest.mark.parametrize(
    ('options', 'text'),
    [
        (['--outputs', 'grafity'], 'grafity: choose from acceleration'),
        (['--set', 'observer=kalmann'], "no observer 'kalmann'"),
        (['--set', 'observr=kalman'], 'not NAME=VALUE with one of '),
        (['--set', 'gravity=0,0'], '3 numbers separated by commas'),
        (['--set', 'payload_mass=heavy'], 'is not a number'),
        (['--set', 'effort_condition=currents'], "'currents' is not a condition NAME=VALUE"),
        (['--urdf', '/none.urdf'], 'argument --urdf: cannot read the description /none'),
        (['--set', 'release_ratio=1'], 'release_ratio must be less than 1'),
        (['--set', 'contact_thresholds=1,x'], 'is not numbers separated by commas'),
        (['--set', 'state_timeout=-1'], 'state_timeout must be a finite number >= 0'),
    ],
)
def test_bad_arguments_are_named(tmp_path, recorded, unusable, options, text):
    assert text in unusable(main, recorded(), '-o', tmp_path / 'out.mcap', *options)


def test_without_an_output_contacts_are_reported(tmp_path, recorded, capsys, refused):
    """Thresholds as parameters; noise of the efforts has a deviation of 1 N m."""
    source = recorded()
    before = sorted(tmp_path.iterdir())
    assert main([str(source)]) == DONE
    assert f'contacts: none in {COUNT} states with external torques' in capsys.readouterr().out
    joint = Robot.from_urdf(PANDA).joint_names[1]
    given = {'flag_joints': joint, 'contact_thresholds': '0.2', 'contact_duration': '0',
             'release_duration': '0', 'release_ratio': '0.9', 'contact_share': '0'}  # fmt: skip
    words = [word for pair in given.items() for word in ('--set', '='.join(pair))]
    assert main([str(source), *words]) == DONE
    lines = re.findall(r'contact from .*', capsys.readouterr().out)
    shape = rf'contact from \d+\.\d\d to \d+\.\d\d s: {joint} -?\S+ N m \(threshold 0\.2\)'
    assert lines
    assert all(re.fullmatch(shape, each) for each in lines)
    without = recorded('without', drop=('effort',))
    assert main([str(without)]) == DONE
    expected = 'contacts: none in 0 states with external torques: no state has all efforts'
    assert expected in capsys.readouterr().out
    shutil.rmtree(without)
    assert main([str(source), '--outputs', 'gravity']) == DONE
    assert 'contact' not in capsys.readouterr().out
    assert main([str(source), '--set', 'contact_share=0']) == DONE
    assert 'contacts: no joint has an effort limit; set flag_joints' in capsys.readouterr().out
    words[1] = 'flag_joints=elbow'
    assert "flag_joints: the robot has no joint 'elbow'" in refused(main, source, *words)
    assert sorted(tmp_path.iterdir()) == before


def test_more_messages_than_the_metadata_states(tmp_path, recorded, refused):
    source = recorded(storage='sqlite3')
    metadata = source / 'metadata.yaml'
    text = metadata.read_text()
    assert text.count(f'message_count: {COUNT}\n') == 1
    metadata.write_text(text.replace(f'message_count: {COUNT}\n', 'message_count: 100\n'))
    assert 'more messages on /joint_states than its metadata states: 100' in refused(
        main, source, '-o', tmp_path / 'out.mcap'
    )


def test_no_valid_state(tmp_path, motion, refused):
    """Messages that name a joint twice are invalid."""
    names, _, q, _, _ = motion
    topics = {'/joint_states': JOINT_STATE, '/robot_description': STRING}
    with writing(tmp_path / 'run', topics) as put:
        put('/robot_description', START, string(PANDA))
        for row in q[:3]:
            twice = joint_state(START, [*names, names[0]], np.append(row, row[0]))
            put('/joint_states', START, twice)
    options = ['--outputs', 'gravity']
    assert 'no valid state of the robot: ' in refused(
        main, tmp_path / 'run', '-o', tmp_path / 'out.mcap', *options
    )


def test_frames_that_do_not_exist(tmp_path, recorded, refused):
    options = ['--frames', 'tip']
    assert "no link named 'tip'" in refused(main, recorded(), '-o', tmp_path / 'out.mcap', *options)


def test_pyarrow_is_named_when_it_is_missing(tmp_path, recorded, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, 'pyarrow', None)
    assert 'install it with "pip install pyarrow"' in refused(
        main, recorded(), '--parquet', tmp_path / 'a.parquet'
    )


def test_a_full_disk_leaves_nothing(tmp_path, recorded, monkeypatch, unusable):
    from screw_dynamics_ros.ros.recordings.mcap import McapWriter

    def fail(*_):
        raise OSError(28, 'No space left on device')

    source = recorded()
    monkeypatch.setattr(McapWriter, 'close', fail)
    assert f'cannot write {tmp_path / "out.mcap"}: No space left' in unusable(
        main, source, '-o', tmp_path / 'out.mcap'
    )
    assert not list(tmp_path.glob('*out*'))


def arm_alone(folder, motion):
    """Return a recording without the joint of the fingers, which the description has."""
    names, t, q, v, tau = motion
    arm = [i for i, name in enumerate(names) if 'finger' not in name]
    topics = {'/joint_states': JOINT_STATE, '/robot_description': STRING}
    with writing(folder / 'arm', topics) as put:
        put('/robot_description', START, string(PANDA))
        for k, stamp in enumerate(t.tolist()):
            some = [names[i] for i in arm]
            values = [x[k, arm] for x in (q, v, tau)]
            put('/joint_states', stamp, joint_state(stamp, some, *values))
    return folder / 'arm'


def test_joints_that_no_message_reports_are_named_at_once(tmp_path, motion, capsys, refused):
    """Before anything is computed, with what helps; then this helps."""
    source, target = str(arm_alone(tmp_path, motion)), tmp_path / 'out.mcap'
    options = [source, '-o', str(target), '--outputs', 'external_torque,gravity']
    assert main(options) == NEGATIVE
    remedy = '--leave-out panda_finger_joint1'
    assert f'has positions of panda_finger_joint1; {remedy}' in capsys.readouterr().err
    zero = [*options[:-1], 'external_torque', '--set', 'position_policy=zero']
    assert f'has efforts of panda_finger_joint1; {remedy}' in refused(main, *zero)
    assert not target.exists()
    assert main([*options, *remedy.split()]) == DONE
    found = contents(target)
    for topic in ('/dynamics/gravity', '/wrench_estimator/external_torque'):
        assert len(found[topic]) == COUNT
    assert "no joint named 'panda_joint9'" in refused(
        main, *options[:2], 'x.mcap', '--leave-out', 'panda_joint9'
    )


def test_topics_without_messages_have_a_reason(tmp_path, recorded, motion, said, refused):
    """Some without: status and reason; all without: nothing is written."""
    target = tmp_path / 'out.mcap'
    options = ['-o', str(target), '--outputs']
    none = str(recorded(drop=('effort',)))
    out = said(main, none, *options, 'external_torque,gravity', status=PARTIAL)
    assert f'{COUNT} /dynamics/gravity' in out
    reason = 'no state has all efforts, as effort_policy requires'
    assert f'no message on /wrench_estimator/external_torque: {reason}' in out
    target.unlink()

    names, t, q, v, tau = motion
    gaps = tau.copy()
    gaps[::2, 3] = gaps[1::2, 4] = np.nan
    with writing(tmp_path / 'gaps', {'/joint_states': JOINT_STATE}) as put:
        for k, stamp in enumerate(t.tolist()):
            put('/joint_states', stamp, joint_state(stamp, names, q[k], v[k], gaps[k]))
    urdf = ['--urdf', str(urdf_path('panda'))]
    err = refused(main, tmp_path / 'gaps', *options, 'external_torque', *urdf)
    assert reason in err
    assert names[4] in err
    assert not target.exists()


def test_joints_of_other_names(tmp_path, recorded, motion, refused):
    """The same outputs; what was recorded is copied as it is."""
    names, t, q, v, tau = motion
    topics = {'/joint_states': JOINT_STATE, '/robot_description': STRING}
    strange = ['left_gripper' if 'finger' in name else f'le{name}' for name in names]
    with writing(tmp_path / 'other', topics) as put:
        put('/robot_description', START, string(PANDA))
        for k, stamp in enumerate(t.tolist()):
            put('/joint_states', stamp + 70_000, joint_state(stamp, strange, q[k], v[k], tau[k]))
    options = ['--outputs', 'gravity,external_torque', *OBSERVER]
    assert main([str(recorded()), '-o', str(tmp_path / 'a.mcap'), *options]) == DONE
    for old, new in zip(strange, names):
        options += ['--rename', f'{old}:={new}']
    source = tmp_path / 'other'
    assert main([str(source), '-o', str(tmp_path / 'b.mcap'), *options]) == DONE
    expected, found = contents(tmp_path / 'a.mcap'), contents(tmp_path / 'b.mcap')
    for topic in ('/dynamics/gravity', '/wrench_estimator/external_torque'):
        assert found[topic] == expected[topic]
    assert found['/joint_states'] == contents(source)['/joint_states']
    assert f"other has no joint 'elbow'; it has {strange[0]}, " in refused(
        main, source, '-o', tmp_path / 'c.mcap', '--rename', 'elbow:=x'
    )


@pytest.mark.parametrize('name', ['out.mcap', 'out'])
def test_a_table_of_joint_states(tmp_path, recorded, motion, name):
    """The outputs of a bag with the same states, beside the joint states of the table."""
    names, t, q, v, tau = motion
    rows = {'t': t * 1e-9}
    for field, values in (('position', q), ('velocity', v), ('effort', tau)):
        rows |= {f'{joint}.{field}': x for joint, x in zip(names, values.T)}
    table = tmp_path / 'run.csv'
    lines = [','.join(rows), *(','.join(map(repr, map(float, x))) for x in zip(*rows.values()))]
    table.write_text('\n'.join(lines))
    options = ['--outputs', 'gravity']
    assert main([str(recorded()), '-o', str(tmp_path / 'a.mcap'), *options]) == DONE
    target = tmp_path / name
    assert main([str(table), '-o', str(target), *options, '--urdf', str(urdf_path('panda'))]) == 0
    expected, found = contents(tmp_path / 'a.mcap'), contents(target)
    assert found.keys() == {'/joint_states', '/dynamics/gravity'}
    stamps, torques = numbers_of(found['/dynamics/gravity'])
    np.testing.assert_array_equal(torques, numbers_of(expected['/dynamics/gravity'])[1])
    assert stamps == numbers_of(found['/joint_states'])[0]
    assert np.abs(np.array(stamps) - t).max() < 500  # ns, of seconds as float64
    np.testing.assert_array_equal(numbers_of(found['/joint_states'])[1], tau)


def test_drives_of_a_file(tmp_path, recorded, motion):
    """Currents by their scales are the torques that were recorded; a rotor takes part of them."""
    import yaml

    names, t, q, v, tau = motion
    arm, scale = list(names[:7]), np.array([5.0, -8.0, 6.0, 12.0, 3.0, 4.0, 2.0])
    currents = tau.copy()
    currents[:, :7] = (tau[:, :7] - 0.5) / scale
    parameters = {
        'effort_joints': arm,
        'effort_scale': scale.tolist(),
        'effort_offset': [0.5] * 7,
        'drive_joints': arm[:1],
        'drives': {arm[0]: {'damping': 2.0, 'coulomb': 0.3}},
        'effort_terms': ['gravity', 'coriolis', 'inertia', 'payload'],
    }
    (tmp_path / 'drives.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
    with writing(tmp_path / 'currents', {'/joint_states': JOINT_STATE}) as put:
        for k, stamp in enumerate(t.tolist()):
            put('/joint_states', stamp, joint_state(stamp, names, q[k], v[k], currents[k]))
    options = ['--outputs', 'external_torque,friction', *OBSERVER]
    terms = ['--set', 'effort_terms=gravity,coriolis,inertia,payload']
    assert main([str(recorded()), '-o', str(tmp_path / 'a.mcap'), *options, *terms]) == DONE
    options += ['--urdf', str(urdf_path('panda')), '--drives', str(tmp_path / 'drives.yaml')]
    source, target = str(tmp_path / 'currents'), str(tmp_path / 'b.mcap')
    assert main([source, '-o', target, *options]) == DONE
    expected, found = contents(tmp_path / 'a.mcap'), contents(target)
    topic = '/wrench_estimator/external_torque'
    np.testing.assert_allclose(
        numbers_of(found[topic])[1], numbers_of(expected[topic])[1], rtol=1e-9, atol=1e-9
    )
    friction = numbers_of(found['/dynamics/friction'])[1][:, 0]
    expected = 2.0 * v[:, 0] + 0.3 * v[:, 0] / np.hypot(v[:, 0], 0.01)
    np.testing.assert_allclose(friction, expected, rtol=1e-9)


@pytest.mark.parametrize('name', ['out.mcap', 'out'])
@pytest.mark.parametrize('defines', [True, False])
def test_definitions_and_quality_of_service(tmp_path, motion, name, defines):
    """Those of the recording stay; where it has no definitions, known ones."""
    names, t, q, v, tau = motion
    source = tmp_path / 'run'
    with Writer(source, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        states = writer.add_connection('/joint_states', JOINT_STATE, typestore=STORE)
        text = writer.add_connection('/robot_description', STRING, typestore=STORE)
        writer.write(text, START, string(PANDA))
        for k, stamp in enumerate(t[:5].tolist()):
            writer.write(states, stamp, joint_state(stamp, names, q[k], v[k], tau[k]))
    if not defines:  # as recorders of older distributions
        with closing(sqlite3.connect(source / 'run.db3')) as database:
            database.execute('DELETE FROM message_definitions')
            database.commit()
    target = tmp_path / name
    assert main([str(source), '-o', str(target), '--outputs', 'gravity,transforms']) == DONE
    with Reader(target) as reader:
        found = {each.topic: each for each in reader.connections}
    assert set(found) == {
        '/joint_states', '/robot_description', '/dynamics/gravity', '/tf', '/tf_static',
    }  # fmt: skip
    for topic, each in found.items():
        assert each.msgdef.data == STORE.generate_msgdef(each.msgtype, ros_version=2)[0], topic
        profiles = each.ext.offered_qos_profiles
        latched = [p.durability.name == 'TRANSIENT_LOCAL' for p in profiles]
        assert latched == ([True] if topic == '/tf_static' else []), topic


def test_a_recorded_motion_becomes_a_goal(recorded, motion, tmp_path, capsys):
    """Of a trajectory controller, with joints by their names; faster than the joints can be."""
    names, t, q, _, _ = motion
    path, wide = tmp_path / 'goal.yaml', re.sub('(lower|upper)="(-?)[^"]*"', r'\1="\g<2>3"', PANDA)
    wide = wide.replace('lower="3"', 'lower="-3"').replace('upper="-3"', 'upper="3"')
    arguments = '--trajectory', str(path)
    assert main([str(recorded()), *arguments]) == NEGATIVE
    assert "position of joint 'panda_joint" in capsys.readouterr().err
    assert not path.exists()
    assert main([str(recorded('wide', description=wide)), *arguments]) == DONE
    out = capsys.readouterr().out
    assert f'written: {path}' in out
    goal = yaml.safe_load(path.read_text())['trajectory']
    assert tuple(goal['joint_names']) == names
    first, last = goal['points'][0], goal['points'][-1]
    np.testing.assert_allclose([first['positions'], last['positions']], q[[0, -1]], atol=1e-9)
    assert not np.any([first['velocities'], last['velocities']])
    duration = last['time_from_start']
    duration = duration['sec'] + 1e-9 * duration['nanosec']
    assert 1.0 <= duration - (t[-1] - t[0]) * 1e-9 < 1.1
    assert 'trajectory: effort of joint' in out or 'trajectory: velocity of joint' in out
    goal = tmp_path / 'part.yaml'
    arguments = '--trajectory', str(goal), '--leave-out', 'panda_joint1'
    assert main([str(recorded('other', description=wide)), *arguments]) == DONE
    assert 'panda_joint1' not in yaml.safe_load(goal.read_text())['trajectory']['joint_names']
