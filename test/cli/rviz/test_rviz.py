# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""rviz for any robot: what its configuration has, and how it is started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
import yaml

pytest.importorskip('rclpy')

from screw_dynamics_ros.cli.rviz.configuration import MIN_EXTENT, configuration
from screw_dynamics_ros.core import Robot
from support.paths import ROOT
from support.robots import bundled_robots, robot_id, urdf_path

TEMPLATE = (ROOT / 'rviz' / 'model.rviz').read_text()
PLANAR = urdf_path('planar_2r').read_text()
DEADLINE = 300.0  # s; only a failing test waits that long

# Stands for rviz2, which no wheel has: tells what it gets, and waits for the end.
PROGRAM = """#!{python}
import signal, sys
signal.signal(signal.SIGINT, lambda *_: sys.exit(7))
print(' '.join(sys.argv[1:]))
print(open(sys.argv[2]).read(), flush=True)
signal.pause()
"""


def manager_of(text):
    return yaml.safe_load(text)['Visualization Manager']


def display(manager, kind):
    return next(each for each in manager['Displays'] if each['Class'].endswith(f'/{kind}'))


def made(name, **more):
    return manager_of(configuration(TEMPLATE, Robot.from_urdf(urdf_path(name)), **more))


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
    assert len(topics) == 3
    assert all(topic.startswith(start) and '//' not in topic for topic in topics)
    assert f'{start}robot_description' in topics


@pytest.mark.parametrize('path', bundled_robots(), ids=robot_id)
def test_every_robot_is_in_view(path):
    """All links are before the camera, and not farther apart than it is away."""
    robot = Robot.from_urdf(path)
    view = manager_of(configuration(TEMPLATE, robot))['Views']['Current']
    center = [view['Focal Point'][axis] for axis in 'XYZ']
    origins = robot.link_poses(robot.neutral())[:, :3, 3]
    assert abs(origins - center).max() <= 0.3 * view['Distance']


@pytest.mark.parametrize(('length', 'distance'), [(0.001, 2.2 * MIN_EXTENT), (25.0, 55.0)])
def test_small_and_large_robots(length, distance):
    text = (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="fixed">'
        f'<parent link="a"/><child link="b"/><origin xyz="{length} 0 0"/></joint></robot>'
    )
    manager = manager_of(configuration(TEMPLATE, Robot.from_urdf(text)))
    assert manager['Views']['Current']['Distance'] == pytest.approx(distance)
    assert manager['Global Options']['Fixed Frame'] == 'a'


def start(folder, domain, *arguments, has_rviz=True):
    if has_rviz:
        program = folder / 'rviz2'
        program.write_text(PROGRAM.format(python=sys.executable))
        program.chmod(0o755)
    with (folder / 'log').open('w') as log:
        return subprocess.Popen(
            [sys.executable, '-m', 'screw_dynamics_ros', 'rviz', *arguments],
            env={**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PATH': str(folder)},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )


def test_it_waits_for_a_robot_and_passes_signals_on(ros_domain, connect, tmp_path):
    """An invalid description is reported; the file is gone when rviz2 has ended."""
    arguments = ('--ros-args', '-r', '__ns:=/v', '-p', 'frame_prefix:=left_')
    process = start(tmp_path, ros_domain, *arguments)
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


def test_it_is_interrupted_while_it_waits(ros_domain, connect, tmp_path):
    process = start(tmp_path, ros_domain, '--print', '--ros-args', '-r', '__ns:=/nobody')
    client = connect('nobody')
    client.wait(lambda: 'rviz_configuration' in client.node.get_node_names(), what='the node')
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert out == ''
    assert (tmp_path / 'log').read_text() in ('', '\nrviz: interrupted\n')


def test_rviz_that_is_not_installed_is_told(ros_domain, tmp_path):
    process = start(tmp_path, ros_domain, has_rviz=False)
    process.communicate(timeout=DEADLINE)
    assert process.returncode == 3
    assert 'rviz2 is not installed' in (tmp_path / 'log').read_text()
