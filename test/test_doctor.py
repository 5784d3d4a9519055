"""`doctor`: what it finds in descriptions, efforts and joint states, and its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from robots import UNIT_INERTIA, joint, robot, urdf_path

from screw_dynamics_ros.cli import doctor
from screw_dynamics_ros.cli.doctor import BROKEN, HEALTHY, ILL
from screw_dynamics_ros.cli.doctor_description import carried_masses
from screw_dynamics_ros.cli.doctor_efforts import efforts_section
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.simulation import middle_of_range

PANDA = urdf_path('panda')


def examine(*arguments: object) -> int:
    return doctor.main([str(argument) for argument in arguments])


def test_a_sound_description(capsys):
    pytest.importorskip('pinocchio')
    assert examine(PANDA, '--strict') == HEALTHY
    report = capsys.readouterr().out
    assert 'robot panda: 13 links' in report
    assert '19.1713 kg' in report
    assert 'relative difference' in report
    assert '0 errors, 0 warnings' in report
    row = next(line for line in report.splitlines() if 'panda_joint7' in line)
    assert row.split() == ['panda_joint7', 'revolute', '-2.897', '2.897', '2.61', '12', '1.448']


def test_what_pinocchio_cannot_take_is_left_out(capsys):
    """Its mimic joints are beyond Pinocchio 4.1, which is no fault of the description."""
    pytest.importorskip('pinocchio')
    assert examine(urdf_path('gripper_tree'), '--strict') == HEALTHY
    assert 'left out: Pinocchio cannot take this robot' in capsys.readouterr().out


def test_masses_that_joints_carry():
    panda = Robot.from_urdf(PANDA)
    carried = carried_masses(panda)
    assert carried['panda_link0'] == pytest.approx(panda.total_mass)
    hand = {link.name: link.inertia.mass for link in panda.description.links if link.inertia}
    assert carried['panda_hand'] == pytest.approx(
        hand['panda_hand'] + hand['panda_leftfinger'] + hand['panda_rightfinger'])


def test_doubtful_descriptions(tmp_path: Path, capsys):
    """Impossible inertias and limits of zero are warnings; they matter with --strict."""
    inertia = UNIT_INERTIA.replace('ixx="1', 'ixx="9')
    file = tmp_path / 'arm.urdf'
    file.write_text(robot(
        '<link name="base"/>',
        f'<link name="arm"><inertial><mass value="1"/>{inertia}</inertial></link>',
        joint('shoulder', 'base', 'arm', '<limit lower="-1" upper="1" effort="0" velocity="1"/>')))
    assert examine(file) == HEALTHY
    assert examine(file, '--strict') == ILL
    report = capsys.readouterr().out
    assert 'WARNING link arm: ' in report
    assert 'WARNING joint shoulder: its effort limit is 0 (set what the maker states)' in report


@pytest.mark.parametrize(('text', 'status', 'words'), [
    ('<robot', ILL, 'description refused'),
    (None, BROKEN, 'cannot read'),
])
def test_what_cannot_be_examined(text, status, words, tmp_path: Path, capsys):
    file = tmp_path / 'robot.urdf'
    if text is not None:
        file.write_text(text)
    assert examine(file) == status
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(('factor', 'findings'), [
    ([1.0, 1.0], []),
    ([1.2, 0.8], []),  # friction
    ([0.01, 0.0], ['near zero']),
    ([-1.0, 1.0], ['joint a: its effort is -1.00']),
    ([1.0, 8.0], ['joint b: its effort is 8.00']),
])
def test_efforts(factor, findings):
    """Efforts of joints that gravity hardly loads (c) say nothing."""
    model = np.tile([20.0, -5.0, 0.1], (10, 1))
    measured = model * [*factor, -77.0]
    found = efforts_section('abc', np.zeros((10, 3)), measured, model).findings
    assert len(found) == len(findings)
    assert all(words in str(finding) for words, finding in zip(findings, found))


def test_efforts_that_say_nothing():
    model = np.full((4, 2), 0.2)
    moving = efforts_section('ab', np.ones((4, 2)), model, model)
    assert not moving.findings
    assert 'hold it still' in moving.lines[0]
    unloaded = efforts_section('ab', np.zeros((4, 2)), -model, model)
    assert [finding.severity for finding in unloaded.findings] == ['info']


class TestRunningRobot:
    """Through DDS, in a process of its own."""

    @pytest.fixture
    def run(self, ros_domain):
        pytest.importorskip('rclpy')

        def start(namespace: str, *options: str) -> subprocess.Popen[str]:
            return subprocess.Popen(
                [sys.executable, '-m', 'screw_dynamics_ros.cli.doctor', '--seconds', '1',
                 '--wait', '30', *options, '--ros-args', '-r', f'__ns:={namespace}'],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env={**os.environ, 'ROS_DOMAIN_ID': str(ros_domain)})
        return start

    def test_simulator(self, run, start):
        start('simulator', {'rate': 100.0, 'motion_amplitude': 0.0}, ['-r', '__ns:=/sound'])
        process = run('/sound')
        report, _ = process.communicate(timeout=60.0)
        assert process.returncode == HEALTHY, report
        assert 'from /sound/simulator' in report, report
        assert 'efforts at rest' in report, report
        section = report.split('efforts at rest')[1]
        row = next(line for line in section.splitlines() if 'panda_joint2' in line)
        _, reported, model = row.split()
        assert float(reported) == pytest.approx(float(model), abs=2e-3)
        assert abs(float(model)) > 20.0

    def test_senders_are_named(self, run, start, connect):
        """At the first sight of a publisher, the name of its node is often not known yet.

        And if one message came only, there is no rate, but a sender.
        """
        pytest.importorskip('rclpy')
        from screw_dynamics_ros.cli.doctor_topics import senders
        start('simulator', {'rate': 1.0}, ['-r', '__ns:=/named'])
        topic = '/named/joint_states'
        for _ in range(6):
            client = connect()  # discovers everything anew
            client.wait(partial(client.node.get_publishers_info_by_topic, topic))
            assert senders(client.node, topic, 20.0) == ['/named/simulator']
            client.close()
        report, _ = run('/named', '--seconds', '0.01').communicate(timeout=60.0)
        assert 'from /named/simulator' in report, report

    def test_driver_with_faults(self, run, connect):
        """Another sign of the efforts, an unknown joint, and stamps that stand still."""
        panda, client = Robot.from_urdf(PANDA), connect('odd')
        q = middle_of_range(panda)
        process = run('/odd')
        client.describe(PANDA.read_text())
        while process.poll() is None:
            client.send(
                [*panda.joint_names, 'fan'], [*q, 1.0], [*np.zeros(panda.nv), 1.0],
                [*-panda.gravity_torques(q), 1.0], step=0.02)
            client.spin(0.01)
        report = process.stdout.read()
        assert process.returncode == HEALTHY, report
        assert 'names that are not in the description are ignored: fan' in report, report
        assert 'joint panda_joint2: its effort is -1.00 times' in report, report

    def test_nobody(self, run):
        process = run('/nobody', '--wait', '1')
        report, _ = process.communicate(timeout=60.0)
        assert process.returncode == BROKEN
        assert 'nothing came on robot_description' in report
