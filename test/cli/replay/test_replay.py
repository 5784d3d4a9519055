# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`replay` publishes bit by bit what the node publishes for the same joint states."""

import os
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')

import rclpy
from rclpy.node import Node
from rclpy.signals import (
    get_current_signal_handlers_options,
    uninstall_signal_handlers,
)

from screw_dynamics_ros.cli.annotate.command import main as annotate
from screw_dynamics_ros.cli.replay import command
from screw_dynamics_ros.cli.replay.command import main
from screw_dynamics_ros.entry import DONE
from screw_dynamics_ros.nodes.hosting.statuses import OVERFLOW
from screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs import Dynamics
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.ros.joint_states.policies import Reason
from support.host_bench import Bench
from support.recordings import (
    JOINT_STATE,
    STORE,
    STRING,
    WRENCH,
    contents,
    joint_state,
    string,
    wrench,
    writing,
)
from support.robots import urdf_path
from support.xacro_files import needs_xacro, robot_file

PLANAR = urdf_path('planar_2r').read_text()
NAMES = ('joint2', 'joint1')
START = 1_700_000_000_000_000_000
PYTHON = ['-p', 'backend:=python']
PARTS = {'wrench_estimator': WrenchEstimator, 'dynamics': Dynamics}


def joint_states():
    """Return stamps and serialized joint states with everything that drivers do wrong."""
    random = np.random.default_rng(7)
    stamp, made = START, []
    for k in range(150):
        stamp += int(random.integers(2_000_000, 5_000_000))
        q, v, tau = random.normal(size=(3, 2))
        has_velocity, has_gripper = k % 41 != 7, k % 23 == 0
        if k == 60:
            stamp += 700_000_000  # a pause
        if k == 110:
            stamp -= 5_000_000_000  # the clock is set back
        if k % 37 == 5:
            tau[0] = np.nan
        if k % 29 == 3:
            made.append((stamp, made[-1][1]))  # twice
        names, more = ((*NAMES, 'gripper'), (0.5,)) if has_gripper else (NAMES, ())
        velocity = (*v, *more) if has_velocity else ()
        made.append((stamp, joint_state(stamp, names, (*q, *more), velocity, (*tau, *more))))
    return made


@pytest.fixture
def recorded(tmp_path):
    """Return a recording of them; the times of recording rise."""
    with writing(
        tmp_path / 'run', {'/joint_states': JOINT_STATE, '/robot_description': STRING}
    ) as put:
        put('/robot_description', START, string(PLANAR))
        for k, (_, data) in enumerate(joint_states()):
            put('/joint_states', START + k * 4_000_000, data)
    return tmp_path / 'run'


def published(path):
    """Return the messages of each topic of a recording."""
    return {topic: [data for _, data in pairs] for topic, pairs in contents(path).items()}


@pytest.mark.parametrize(
    ('name', 'parameters', 'topic'),
    [
        (
            'wrench_estimator',
            {'observer': 'momentum', 'observer_time_constant': 0.005},
            'external_torque',
        ),
        ('wrench_estimator', {'observer': 'kalman'}, 'external_torque_covariance'),
        (
            'wrench_estimator',
            {'velocity_policy': 'zero', 'effort_policy': 'hold'},
            'external_torque',
        ),
        ('dynamics', {'velocity_policy': 'reject'}, 'coriolis'),
    ],
)
def test_it_is_the_node(tmp_path, monkeypatch, ros_domain, recorded, name, parameters, topic):
    rclpy.init(domain_id=ros_domain)
    with monkeypatch.context() as patch:
        bench = Bench(patch, PARTS[name], name, max_delay=0.0, backend='python', **parameters)
        bench.describe(PLANAR)
        for _, data in joint_states():
            bench.host.states.receive(data, {})
        expected = {}
        for place, data in bench.sent:
            expected.setdefault(place.removeprefix('/life'), []).append(bytes(data))
        bench.close()
    rclpy.shutdown()
    options = ['-p', 'backend:=python']
    for key, value in parameters.items():
        options += ['-p', f'{key}:={value}']
    target = tmp_path / 'out.mcap'
    before = dict(os.environ)
    status = main([str(recorded), '-o', str(target), '--nodes', name, '--ros-args', *options])
    assert status == DONE
    assert dict(os.environ) == before  # nodes made later are found by others
    found = published(target)
    assert found.pop('/joint_states') == published(recorded)['/joint_states']
    found.pop('/robot_description')
    assert len(found[f'/{name}/{topic}']) > 50
    for place, messages in found.items():
        assert messages == expected[place], place


def test_the_clock_is_that_of_the_recording(tmp_path, monkeypatch, capsys):
    """States without stamps get the time of recording, at which their outputs are written."""
    shown = []

    @contextmanager
    def progress(name):
        yield lambda share: shown.append(share)

    monkeypatch.setattr(command, 'progress_bar', progress)
    times = START + np.cumsum(np.arange(1, 21)) * 1_000_000
    with writing(tmp_path / 'run', {'/state': JOINT_STATE, '/robot_description': STRING}) as put:
        put('/robot_description', START, string(PLANAR))
        for time in times.tolist():
            put('/state', time, joint_state(0, NAMES, [0.3, 0.2], [0.0, 0.0], [1.0, 2.0]))
    target = tmp_path / 'a.mcap'
    options = ['--topic', '/state', '--topics', 'external_torque', '--ros-args', *PYTHON]
    assert main([str(tmp_path / 'run'), '-o', str(target), *options]) == DONE
    pairs = contents(target)['/wrench_estimator/external_torque']
    assert [time for time, _ in pairs] == times.tolist()
    for time, data in pairs:
        stamp = STORE.deserialize_cdr(data, JOINT_STATE).header.stamp
        assert stamp.sec * 10**9 + stamp.nanosec == time
    assert shown == [k / 20 for k in range(20)]
    assert capsys.readouterr().out.splitlines() == [
        f'  20 times: {Reason.UNSTAMPED.value}',
        '      20 /wrench_estimator/external_torque',
    ]


def test_states_without_results_are_counted(tmp_path, said):
    """One is of another type, the velocities of another one are too large."""
    with writing(
        tmp_path / 'run', {'/joint_states': JOINT_STATE, '/robot_description': STRING}
    ) as put:
        put('/robot_description', START, string(PLANAR))
        for k, speed in enumerate((0.1, 1e300, 0.2)):
            stamp = START + k * 4_000_000
            rows = [0.3, 0.2], [speed, 0.0], [1.0, 2.0]
            put('/joint_states', stamp, joint_state(stamp, NAMES, *rows))
        put('/joint_states', stamp + 1, string('text'))
    options = ['--nodes', 'dynamics', '--topics', 'coriolis', '--ros-args', *PYTHON]
    assert said(main, tmp_path / 'run', '-o', tmp_path / 'a.mcap', *options).splitlines() == [
        f'  1 times: {Reason.UNREADABLE.value}',
        f'  1 times: {OVERFLOW}',
        '       2 /dynamics/coriolis',
    ]


def test_topics_without_messages_have_a_reason(tmp_path, refused):
    """Coriolis torques without velocities, of states of which one came twice."""
    with writing(
        tmp_path / 'run', {'/joint_states': JOINT_STATE, '/robot_description': STRING}
    ) as put:
        put('/robot_description', START, string(PLANAR))
        for k in (0, 1, 1, 2):
            stamp = START + k * 4_000_000
            put('/joint_states', stamp, joint_state(stamp, NAMES, [0.3, 0.2]))
    target = tmp_path / 'a.mcap'
    options = ['--nodes', 'dynamics', '--topics', 'coriolis', '--ros-args', *PYTHON]
    options += ['-p', 'velocity_policy:=reject']
    error = refused(main, tmp_path / 'run', '-o', target, *options)
    assert 'no message is published on any topic: ' in error
    assert f'{Reason.DUPLICATE_STAMP.value} (1 times, ' in error
    assert not target.exists()


@pytest.mark.parametrize(('observer', 'delay'), [('momentum', 0.0), ('filtered', 0.0123)])
def test_annotate_gives_the_same_but_for_rounding(tmp_path, recorded, observer, delay):
    """External torques, with restarts and missing fields; of delayed efforts, too."""
    values = {'observer': observer, 'observer_time_constant': 0.005, 'effort_delay': delay}
    options = ['--ros-args', *(w for k, v in values.items() for w in ('-p', f'{k}:={v}'))]
    assert main([str(recorded), '-o', str(tmp_path / 'a.mcap'), *options]) == DONE
    options = [word for k, v in values.items() for word in ('--set', f'{k}={v}')]
    options += ['--namespace', 'x']
    assert annotate([str(tmp_path / 'a.mcap'), '-o', str(tmp_path / 'b.mcap'), *options]) == 0
    found = published(tmp_path / 'b.mcap')
    pairs = [
        [
            STORE.deserialize_cdr(data, JOINT_STATE)
            for data in found[f'{space}/wrench_estimator/external_torque']
        ]
        for space in ('', '/x')
    ]
    assert len(pairs[0]) == len(pairs[1]) > 50
    for one, other in zip(*pairs):
        assert one.header == other.header
        assert one.name == other.name
        np.testing.assert_allclose(one.effort, other.effort, rtol=1e-9, atol=1e-9)


def test_what_is_published_is_not_recorded_over(tmp_path, recorded, refused):
    first, second = tmp_path / 'a.mcap', tmp_path / 'b.mcap'
    assert main([str(recorded), '-o', str(first)]) == DONE
    assert 'is already recorded' in refused(main, first, '-o', second)
    assert main([str(first), '-o', str(second), '--ros-args', '-r', '__ns:=/again']) == DONE
    assert not list(tmp_path.glob('.*'))


def test_some_topics_alone(tmp_path, recorded):
    options = ['--topics', 'external_torque']
    assert main([str(recorded), '-o', str(tmp_path / 'a.mcap'), *options]) == DONE
    found = published(tmp_path / 'a.mcap').keys() - {'/joint_states', '/robot_description'}
    assert found == {'/wrench_estimator/external_torque'}


def test_descriptions_that_are_refused(tmp_path, recorded, refused):
    (tmp_path / 'bad.urdf').write_text('<robot name="x"/>')
    options = ['--urdf', str(tmp_path / 'bad.urdf')]
    assert 'wrench_estimator: ' in refused(main, recorded, '-o', tmp_path / 'a.mcap', *options)
    assert not (tmp_path / 'a.mcap').exists()


def test_no_node_is_left(tmp_path, recorded, refused, monkeypatch):
    """Nor that of the services, also if a description is refused: Fast DDS finds 32 of them."""
    made, ended = [], []
    begin, end = Node.__init__, Node.destroy_node

    def noted(node, name, **options):
        begin(node, name, **options)
        made.append(name)

    def noted_end(node):
        ended.append(node.get_name())
        end(node)

    monkeypatch.setattr(Node, '__init__', noted)
    monkeypatch.setattr(Node, 'destroy_node', noted_end)
    (tmp_path / 'bad.urdf').write_text('<robot name="x"/>')
    options = ['-o', str(tmp_path / 'a.mcap'), '--topics', 'external_torque']
    refused(main, recorded, *options, '--urdf', str(tmp_path / 'bad.urdf'))
    assert main([str(recorded), *options]) == DONE
    assert made == ended == 2 * ['wrench_estimator', '_wrench_estimator_services']


@needs_xacro
def test_a_description_in_xacro(tmp_path, recorded, refused):
    """With an argument for the name of a joint, by default another one than in the recording."""
    elements = PLANAR[PLANAR.index('>', PLANAR.index('<robot')) + 1 : PLANAR.index('</robot>')]
    argument = '<xacro:arg name="first" default="shoulder"/>'
    elements = argument + elements.replace(NAMES[0], '$(arg first)')
    path = robot_file(tmp_path / 'xacro' / 'r.urdf.xacro', elements)
    options = ['--topics', 'external_torque', '--urdf', str(path)]
    assert 'shoulder' in refused(main, recorded, '-o', tmp_path / 'a.mcap', *options)
    options += ['--urdf-arguments', f'first:={NAMES[0]}']
    assert main([str(recorded), '-o', str(tmp_path / 'a.mcap'), *options]) == DONE


@pytest.mark.parametrize(
    ('options', 'text'),
    [
        (['--nodes', 'simulator'], "'simulator': choose from wrench_estimator"),
        (['--urdf', '/none.urdf'], 'argument --urdf: cannot read the description /none'),
        (['--topics', 'torqe'], 'no topic name contains torqe'),
        (['--ros-args', '-p', 'x'], 'arguments after --ros-args'),
    ],
)
def test_bad_arguments_are_named(tmp_path, recorded, unusable, options, text):
    assert text in unusable(main, recorded, '-o', tmp_path / 'a.mcap', *options)


def test_a_joint_that_is_not_recorded_is_named_before_the_first_message(tmp_path, refused):
    """Then it is left out; efforts that never come leave no topic with messages."""
    names, text = NAMES[1:], ('joint2', '--leave-out joint2')
    for name, has_effort in (('one', True), ('none', False)):
        topics = {'/joint_states': JOINT_STATE, '/robot_description': STRING}
        with writing(tmp_path / name, topics) as put:
            put('/robot_description', START, string(PLANAR))
            for stamp in range(START, START + 200_000_000, 4_000_000):
                effort = ([1.0] if stamp % 8_000_000 else [np.nan]) if has_effort else []
                put('/joint_states', stamp, joint_state(stamp, names, [0.3], [0.0], effort))
    target = tmp_path / 'out.mcap'
    options = [str(tmp_path / 'one'), '-o', str(target)]
    assert f'has positions of {text[0]}; {text[1]}' in refused(main, *options)
    assert not target.exists()
    assert main([*options, *text[1].split()]) == DONE
    assert published(target)['/wrench_estimator/external_torque']
    target.unlink()
    assert main([*options, '--rename', 'joint1:=joint2', '--leave-out', 'joint1']) == DONE
    (first, *_) = published(target)['/wrench_estimator/external_torque']
    assert STORE.deserialize_cdr(first, JOINT_STATE).name == ['joint2']
    target.unlink()
    assert 'has efforts of joint1' in refused(
        main, tmp_path / 'none', *options[1:], *text[1].split()
    )
    assert not list(tmp_path.glob('*.mcap'))


def test_signals_are_left_to_the_command(tmp_path, monkeypatch, recorded):
    """A handler of rclpy would shut down at the same time as the command, which then fails."""
    found = []
    uninstall_signal_handlers()  # of other tests in this process, where they can be removed
    before = get_current_signal_handlers_options()
    monkeypatch.setattr(
        command, 'check_coverage', lambda *_: found.append(get_current_signal_handlers_options())
    )
    assert main([str(recorded), '-o', str(tmp_path / 'out.mcap')]) == DONE
    assert set(found) == {before}


def test_drives_of_a_file(tmp_path, recorded):
    """As a parameter file of the nodes; what is left out has no drive and no scale."""
    text = """/**:
  ros__parameters:
    backend: python
    drive_joints: [joint1, joint2]
    drives: {joint1: {coulomb: 0.5}, joint2: {damping: 2.0}}
    effort_joints: [joint1, joint2]
    effort_scale: [3.0, -2.0]
"""
    (tmp_path / 'drives.yaml').write_text(text)
    drives = ['--drives', str(tmp_path / 'drives.yaml')]
    assert main([str(recorded), '-o', str(tmp_path / 'a.mcap'), *drives]) == DONE
    arguments = ['--ros-args', '--params-file', str(tmp_path / 'drives.yaml')]
    assert main([str(recorded), '-o', str(tmp_path / 'b.mcap'), *arguments]) == DONE
    assert published(tmp_path / 'a.mcap') == published(tmp_path / 'b.mcap')
    options = [str(recorded), '--leave-out', 'joint2', *drives]
    assert main([*options, '-o', str(tmp_path / 'c.mcap')]) == DONE


def test_a_force_torque_sensor(tmp_path, refused):
    """A point mass of 2 kg swings at the tip: nothing is left without contact, 5 N in contact."""
    period, mass, distance = 0.002, 2.0, 0.1
    t = 1.0 + period * np.arange(1500)
    angle, rate = 0.4 * np.sin(3.0 * (t - 1.0)), 1.2 * np.cos(3.0 * (t - 1.0))
    urdf = PLANAR.replace('tip', 'flange')
    (tmp_path / 'arm.urdf').write_text(urdf)
    # the second joint is at rest: the tip is 1.5 m from the first one
    radius = 1.5 + distance
    acceleration = -3.6 * np.sin(3.0 * (t - 1.0))
    # what the environment exerts on the robot: minus mass (a - g), in the axes of the tip
    gravity = 9.81 * np.stack([-np.sin(angle), -np.cos(angle)], axis=1)
    a = np.stack([-radius * rate**2, radius * acceleration], axis=1)
    force = np.zeros((len(t), 6))
    force[:, :2] = -mass * (a - gravity)
    force[:, 5] = distance * force[:, 1]
    contact = (t > 3.0) & (t < 3.5)
    force[contact, 2] += 5.0
    columns = {'t': t, 'joint1.position': angle, 'joint2.position': 0.0 * t}
    columns |= {'joint1.velocity': rate, 'joint2.velocity': 0.0 * t}
    names = [f'wrench.{vector}.{axis}' for vector in ('force', 'torque') for axis in 'xyz']
    columns |= dict(zip(names, force.T))
    rows = np.stack(list(columns.values()), axis=1)
    header = ','.join(columns)
    np.savetxt(tmp_path / 'run.csv', rows, '%.17g', delimiter=',', header=header, comments='')
    options = [str(tmp_path / 'run.csv'), '--urdf', str(tmp_path / 'arm.urdf')]
    options += ['--nodes', 'wrist_sensor', '-o', str(tmp_path / 'out.mcap')]
    tool = ['-p', 'tool_mass:=2.0', '-p', f'tool_center_of_mass:=[{distance}, 0.0, 0.0]']
    tool += ['-p', 'gravity:=[0.0, -9.81, 0.0]', '-p', 'acceleration_cutoff:=100.0']
    assert '-p sensor_frame:=LINK' in refused(main, *options, '--ros-args', *tool)
    assert main([*options, '--ros-args', *tool, '-p', 'sensor_frame:=flange']) == DONE
    messages = [
        STORE.deserialize_cdr(data, WRENCH)
        for data in published(tmp_path / 'out.mcap')['/wrist_sensor/wrench']
    ]
    assert len(messages) > 1400
    found = np.array(
        [[getattr(getattr(m.wrench, f), x) for f in ('force', 'torque') for x in 'xyz']
         for m in messages]
    )  # fmt: skip
    expected = np.zeros_like(found)
    expected[contact[-len(found) :], 2] = 5.0
    assert np.abs(found - expected).max() < 0.02 * np.abs(force).max()
    assert {m.header.frame_id for m in messages} == {'flange'}

    other = [*options[:-1], str(tmp_path / 'x.mcap'), '--ros-args', '-r', 'wrench:=/ft']
    error = refused(main, *other)
    assert "is recorded on '/wrench'; give the topic of the sensor with --ros-args -r" in error


def test_the_frame_of_a_recorded_sensor(tmp_path, refused):
    """That of its first message is the link of the sensor; another one is refused."""
    topics = {'/joint_states': JOINT_STATE, '/robot_description': STRING, '/ft': WRENCH}
    for name, frames in (('one', ['tip']), ('two', ['tip', 'link1'])):
        with writing(tmp_path / name, topics) as put:
            put('/robot_description', START, string(PLANAR))
            for k in range(100):
                stamp = START + k * 4_000_000
                put('/joint_states', stamp, joint_state(stamp, NAMES, [0.3, 0.2], [0.0, 0.0]))
                frame = frames[k // 50 % len(frames)]
                put(
                    '/ft', stamp + 1_000_000, wrench(stamp + 1_000_000, frame, [1, 2, 3], [4, 5, 6])
                )
    options = ['--nodes', 'wrist_sensor', '--ros-args', '-r', 'wrench:=/ft']
    out = ['-o', str(tmp_path / 'out.mcap')]
    assert main([str(tmp_path / 'one'), *out, *options]) == DONE
    messages = published(tmp_path / 'out.mcap')['/wrist_sensor/wrench']
    assert len(messages) > 70  # accelerations settle first
    last = STORE.deserialize_cdr(messages[-1], WRENCH)
    assert last.header.frame_id == 'tip'
    assert (last.wrench.force.y, last.wrench.torque.z) == (2.0, 6.0)
    out = ['-o', str(tmp_path / 'two.mcap')]
    assert "several frames, 'tip' and 'link1'" in refused(main, tmp_path / 'two', *out, *options)
    assert not (tmp_path / 'two.mcap').exists()
