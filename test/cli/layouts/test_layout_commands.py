# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""rviz, PlotJuggler and Foxglove for any robot: what layouts contain, how programs are started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml

pytest.importorskip('rclpy')

import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import ExternalShutdownException
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from screw_dynamics_ros.cli.layouts import command, foxglove, plotjuggler, rviz
from screw_dynamics_ros.cli.layouts.command import (
    MIN_EXTENT,
    LayoutNames,
    joint_plots,
    wrench_plots,
)
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.entry import UNUSABLE
from screw_dynamics_ros.nodes.model.running_model import leaf_links
from screw_dynamics_ros.nodes.model.scalar_joints import scalar_joints
from screw_dynamics_ros.ros.topics import qos
from support.robots import bundled_robots, robot_id, urdf_path

PLANAR = urdf_path('planar_2r').read_text()
DEADLINE = 300.0  # s; only a failing test waits that long

# Replaces rviz2 and the others, which no wheel has: prints its arguments and its layout, and waits.
PROGRAM = """#!{python}
import signal, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit(7))
print(' '.join(sys.argv[1:]), flush=True)
for word in sys.argv[1:]:
    if word.endswith(('.rviz', '.xml')):
        print(open(word).read(), flush=True)
while True:
    time.sleep(0.05)  # a signal just before signal.pause() would be slept through
"""


def manager_of(text):
    return yaml.safe_load(text)['Visualization Manager']


def display(manager, kind):
    return next(each for each in manager['Displays'] if each['Class'].endswith(f'/{kind}'))


def frames_of(robot, namespace='/', prefix='', fixed=''):
    return LayoutNames(namespace, prefix, fixed or robot.description.root)


def manager_for(robot, **more):
    return manager_of(rviz.layout(robot, frames_of(robot, **more)))


def made(name, **more):
    return manager_for(Robot.from_urdf(urdf_path(name)), **more)


def test_frames_of_the_robot():
    manager = made('panda', prefix='left/')
    assert manager['Global Options']['Fixed Frame'] == 'left/panda_link0'
    assert display(manager, 'TF')['Frames'] == {
        'All Enabled': False,
        'left/panda_link0': {'Value': True},
        'left/panda_hand_tcp': {'Value': True},
    }
    assert display(manager, 'RobotModel')['TF Prefix'] == 'left'
    assert 'TF Prefix' not in display(made('panda'), 'RobotModel')
    manager = made('panda', prefix='left/', fixed='odom')
    assert manager['Global Options']['Fixed Frame'] == 'left/odom'
    assert 'left/odom' in display(manager, 'TF')['Frames']
    assert 'panda' not in str(made('planar_2r'))


@pytest.mark.parametrize(('namespace', 'start'), [('/', '/'), ('/cell/left', '/cell/left/')])
def test_topics_in_a_namespace(namespace, start):
    manager = made('panda', namespace=namespace)
    topics = [
        each[key]['Value']
        for each in manager['Displays']
        for key in ('Topic', 'Description Topic')
        if key in each
    ]
    assert len(topics) == 4
    assert all(topic.startswith(start) and '//' not in topic for topic in topics)
    assert f'{start}robot_description' in topics


@pytest.mark.parametrize('path', bundled_robots(), ids=robot_id)
def test_every_robot_is_in_view(path):
    """All links are before the camera, and not farther apart than it is away."""
    robot = Robot.from_urdf(path)
    view = manager_for(robot)['Views']['Current']
    center = [view['Focal Point'][axis] for axis in 'XYZ']
    origins = robot.link_poses(robot.neutral())[:, :3, 3]
    assert abs(origins - center).max() <= 0.3 * view['Distance']


@pytest.mark.parametrize(('length', 'distance'), [(0.001, 2.2 * MIN_EXTENT), (25.0, 55.0)])
def test_small_and_large_robots(length, distance):
    text = (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="fixed">'
        f'<parent link="a"/><child link="b"/><origin xyz="{length} 0 0"/></joint></robot>'
    )
    manager = manager_for(Robot.from_urdf(text))
    assert manager['Views']['Current']['Distance'] == pytest.approx(distance)
    assert manager['Global Options']['Fixed Frame'] == 'a'


@pytest.mark.parametrize('path', bundled_robots(), ids=robot_id)
def test_every_robot_has_layouts(path):
    """Whatever joints it has: as many curves as joints with one coordinate."""
    robot = Robot.from_urdf(path)
    frames = frames_of(robot)
    tabs = ElementTree.fromstring(plotjuggler.layout(robot, frames)).iter('plot')
    panels = json.loads(foxglove.layout(robot, frames))['configById']
    assert {len(plot.findall('curve')) for plot in tabs} <= {len(scalar_joints(robot)), 3}
    assert panels['3D!robot']['followTf'] == robot.description.root
    assert panels['3D!robot']['layers']['robot']['topic'] == '/robot_description'


def test_panels_of_foxglove_are_placed_once():
    robot = Robot.from_urdf(PLANAR)
    content = json.loads(foxglove.layout(robot, frames_of(robot)))
    placed, pending = [], [content['layout']]
    while pending:
        place = pending.pop()
        if isinstance(place, str):
            placed.append(place)
        else:
            pending += place['first'], place['second']
    assert sorted(placed) == sorted(content['configById'])


def start_command(folder, domain, *arguments, name='rviz', program='rviz2'):
    if program:
        program = folder / program
        program.write_text(PROGRAM.format(python=sys.executable))
        program.chmod(0o755)
    with (folder / 'log').open('w') as log:
        return subprocess.Popen(
            [sys.executable, '-m', 'screw_dynamics_ros', name, *arguments],
            env={**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PATH': str(folder)},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )


def test_it_waits_for_a_robot_and_passes_signals_on(ros_domain, connect, tmp_path):
    """An invalid description is reported; the file is gone when rviz2 has ended."""
    arguments = ('--ros-args', '-r', '__ns:=/v', '-p', 'frame_prefix:=left_')
    process = start_command(tmp_path, ros_domain, *arguments)
    try:
        client = connect('v')
        client.describe('robot.urdf')
        client.wait(lambda: 'not XML' in (tmp_path / 'log').read_text(), what='a refusal')
        client.describe(PLANAR)
        command = process.stdout.readline().split()
        assert command[2:] == ['--ros-args', '-r', '__ns:=/v']
        while 'Fixed Frame' not in (line := process.stdout.readline()):
            assert line
        assert line.split()[-1] == f'left_{Robot.from_urdf(PLANAR).description.root}'
        assert os.path.exists(command[1])
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 7
        assert not os.path.exists(command[1])
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize('error', [KeyboardInterrupt, ExternalShutdownException])
def test_it_may_be_interrupted_while_it_waits(monkeypatch, error):
    def interrupted(*_):
        raise error

    monkeypatch.setattr(command, 'made_of', interrupted)
    assert command.run(rviz.RVIZ, '', ['--print']) == 130
    assert not rclpy.ok()


def test_a_layout_is_printed(monkeypatch, capsys):
    """No program is needed for it."""
    monkeypatch.setattr(command, 'made_of', lambda *_: ('a layout', 'r'))
    asked = []
    monkeypatch.setattr(command, 'program_path', lambda *names: asked.append(names))
    assert command.run(foxglove.FOXGLOVE, '', ['--print']) == 0
    assert capsys.readouterr().out == 'a layout'
    assert not rclpy.ok()
    changed = replace(foxglove.FOXGLOVE, package='a_package')
    assert command.run(changed, '', []) == UNUSABLE
    assert 'foxglove_bridge is not installed; install the package a_pack' in capsys.readouterr().err
    assert asked[-1] == ('a_package', 'foxglove_bridge')


def test_a_reminder_while_no_description_comes(ros_domain, monkeypatch):
    """One in each period; it ends with a description."""
    rclpy.init(domain_id=ros_domain)
    node, said, now = rclpy.create_node('waits'), [], [0.0]
    monkeypatch.setattr(node, 'get_logger', lambda: SimpleNamespace(info=said.append))
    monkeypatch.setattr(command, 'time', SimpleNamespace(monotonic=lambda: now[0]))

    def spin_once(node, timeout_sec):
        now[0] += command.REMINDER_PERIOD_S / 2.0
        if now[0] > 3.2 * command.REMINDER_PERIOD_S:
            (subscription,) = (s for s in node.subscriptions if 'description' in s.topic_name)
            subscription.callback(String(data=PLANAR))

    monkeypatch.setattr(rclpy, 'spin_once', spin_once)
    text, name = command.made_of(node, rviz.RVIZ)
    assert name == 'planar_2r'
    assert manager_of(text)['Displays']
    assert said == ['waiting for a description on /robot_description'] * 2
    node.destroy_node()
    rclpy.shutdown()


@pytest.mark.parametrize(
    ('name', 'program', 'expected'),
    [
        ('plotjuggler', 'plotjuggler', '--nosplash --layout '),
        ('foxglove', 'foxglove_bridge', '--ros-args -p address:=127.0.0.1'),
    ],
)
def test_the_program_is_started(ros_domain, connect, tmp_path, name, program, expected):
    """With a layout that is named for the robot and is gone when the program has ended."""
    namespace = f'start_{name}'
    arguments = ('--ros-args', '-r', f'__ns:=/{namespace}')
    process = start_command(tmp_path, ros_domain, *arguments, name=name, program=program)
    try:
        connect(namespace).describe(PLANAR)
        lines = [process.stdout.readline()]
        while not lines[-1].startswith('--'):
            assert lines[-1]
            lines.append(process.stdout.readline())
        assert lines[-1].startswith(expected)
        path = next(word for line in lines for word in line.split() if 'planar_2r' in word)
        assert os.path.exists(path)
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 7
        assert not os.path.exists(path)
    finally:
        process.kill()
        process.communicate()


def test_curves_are_published(start, connect):
    """Each curve is a number of a topic that `bringup` publishes, of the joint that it names."""
    start('bringup', None, ['-r', '__ns:=/curves'])
    client, robot = connect('curves'), Robot.from_urdf(PLANAR)
    client.describe(PLANAR)
    frames = frames_of(robot, namespace='/curves')
    plots = [*joint_plots(robot, frames), *wrench_plots(robot, frames)]
    curves = [curve for plot in plots for curve in plot.curves]
    types = {}

    def are_there():
        types.update(client.node.get_topic_names_and_types())
        return all(curve.topic in types for curve in curves)

    client.wait(are_there, what='all topics')
    efforts = sorted({curve.topic for curve in curves if curve.joint})
    client.subscribe(JointState, *efforts)
    zeros = [0.0] * len(scalar_joints(robot))
    state = scalar_joints(robot), zeros, zeros, zeros
    _, messages = client.ask_all(efforts, *state)
    received = dict(zip(efforts, messages))
    for curve in curves:
        (kind,) = types[curve.topic]
        if curve.joint:
            assert received[curve.topic].name[curve.index] == curve.joint
            assert len(received[curve.topic].effort) == len(zeros)
        else:
            assert kind == 'geometry_msgs/msg/WrenchStamped'
            value = WrenchStamped()
            for field in curve.fields:
                value = getattr(value, field)
            assert isinstance(value, float)


def test_the_layout_of_the_model_state_is_that_of_the_node(start, connect, ros_domain, tmp_path):
    """The command waits for it, and then has the elements that the node publishes."""
    messages = pytest.importorskip('screw_dynamics_msgs.msg')
    arguments = ('--print', '--model-state', '--ros-args', '-r', '__ns:=/curves')
    process = start_command(tmp_path, ros_domain, *arguments, name='foxglove')
    try:
        start('bringup', None, ['-r', '__ns:=/curves', '-p', 'model_state:=[all]'])
        client, received = connect('curves'), []
        client.node.create_subscription(
            messages.ModelStateLayout, 'bringup/model_state_layout', received.append, qos.LATCHED
        )
        client.describe(PLANAR)
        client.wait(lambda: received, what='the layout')
        out, _ = process.communicate(timeout=DEADLINE)
    finally:
        process.kill()
        process.communicate()
    offsets = {part.name: part.offset for part in received[-1].parts}
    panels = json.loads(out)['configById'].values()
    (external,) = (p for p in panels if p.get('foxglovePanelTitle') == 'External torques')
    first = offsets['external_torque']
    assert [path['value'] for path in external['paths']] == [
        f'/curves/bringup/model_state.data[{first + k}]'
        for k in range(len(scalar_joints(Robot.from_urdf(PLANAR))))
    ]


def test_names_of_numbers():
    """As PlotJuggler and Foxglove write them; PlotJuggler subscribes to all that it shows."""
    robot = Robot.from_urdf(PLANAR)
    frames = frames_of(robot, namespace='/left')
    first, tool = scalar_joints(robot)[0], leaf_links(robot)[0]
    root = ElementTree.fromstring(plotjuggler.layout(robot, frames))
    names = [curve.get('name') for curve in root.iter('curve')]
    assert f'/left/joint_states/{first}/effort' in names
    assert f'/left/wrench_estimator/external_torque/{first}/effort' in names
    assert f'/left/wrench_estimator/wrench/{tool}/wrench/force/x' in names
    topics = {topic.get('name') for topic in root.iter('topic')}
    assert all(any(name.startswith(f'{topic}/') for topic in topics) for name in names)
    text = foxglove.layout(robot, frames)
    assert '"/left/dynamics/gravity.effort[0]"' in text
    assert f'"/left/wrench_estimator/wrench/{tool}.wrench.torque.z"' in text
    assert 'joint_states' not in text  # whose order of joints is not known


def test_it_is_interrupted_while_it_waits(ros_domain, connect, tmp_path):
    process = start_command(tmp_path, ros_domain, '--print', '--ros-args', '-r', '__ns:=/nobody')
    client = connect('nobody')
    client.wait(lambda: 'rviz_configuration' in client.node.get_node_names(), what='the node')
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert out == ''
    assert (tmp_path / 'log').read_text() in ('', '\nrviz: interrupted\n')


@pytest.mark.parametrize('name', ['rviz', 'plotjuggler', 'foxglove'])
def test_a_missing_program_is_reported(ros_domain, tmp_path, name):
    process = start_command(tmp_path, ros_domain, name=name, program='')
    process.communicate(timeout=DEADLINE)
    assert process.returncode == 2
    text = (tmp_path / 'log').read_text()
    assert f'{name}: ' in text
    assert 'is not installed; install the package' in text
