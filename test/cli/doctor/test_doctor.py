# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`doctor`: what it finds in descriptions, efforts and joint states, and its exit status."""

from __future__ import annotations

import signal
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.cli.doctor import command as doctor
from screw_dynamics_ros.cli.doctor.description_report import carried_masses
from screw_dynamics_ros.cli.doctor.efforts import RecordedEfforts, efforts_section
from screw_dynamics_ros.cli.doctor.session_data import Configuration
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.motion.control.joint_gains import middle_of_range
from screw_dynamics_ros.entry import DONE, INTERRUPTED, NEGATIVE, UNUSABLE
from support.robots import UNIT_INERTIA, joint, robot, urdf_path
from support.xacro_files import needs_xacro

PANDA = urdf_path('panda')
OK = 0  # of diagnostics
DEADLINE = 300.0  # s; only a failing test waits that long


def examine(*arguments: object) -> int:
    return doctor.main([str(argument) for argument in arguments])


def test_a_sound_description(said):
    pytest.importorskip('pinocchio')
    report = said(doctor.main, PANDA, '--strict')
    assert 'robot panda: 13 links' in report
    assert '19.1713 kg' in report
    assert 'agrees to 1e-06' in report
    assert '0 errors, 0 warnings' in report
    row = next(line for line in report.splitlines() if 'panda_joint7' in line)
    assert row.split() == ['panda_joint7', 'revolute', '-2.897', '2.897', '2.61', '12', '1.448']


def test_mimic_joints_of_pinocchio_are_coupled(said):
    pytest.importorskip('pinocchio')
    assert 'mimic joints are read as independent joints' in said(
        doctor.main, urdf_path('gripper_tree'), '--strict'
    )


def test_coriolis_torques_of_zero_agree(tmp_path, said):
    """Cubes on their axes have none; those of Pinocchio are differences of rounded torques."""
    pytest.importorskip('pinocchio')
    mass = '<inertial><origin xyz="0 0 .1"/><mass value="1"/>{}</inertial>'.format(
        UNIT_INERTIA.replace('"1"', '"0.0017"')
    )
    limit = '<origin xyz="0 0 .2"/><limit lower="-2" upper="2" velocity="2" effort="9"/>'
    path = tmp_path / 'arm.urdf'
    path.write_text(
        robot(
            *(f'<link name="{name}">{mass}</link>' for name in 'xyz'),
            joint('a', 'x', 'y', f'<axis xyz="0 1 0"/>{limit}'),
            joint('b', 'y', 'z', f'<axis xyz="0 0 1"/>{limit}'),
        )
    )
    assert 'agrees to 1e-06' in said(doctor.main, path, '--strict')


def test_masses_that_joints_carry():
    panda = Robot.from_urdf(PANDA)
    carried = carried_masses(panda)
    assert carried['panda_link0'] == pytest.approx(panda.total_mass)
    hand = {link.name: link.inertia.mass for link in panda.description.links if link.inertia}
    assert carried['panda_hand'] == pytest.approx(
        hand['panda_hand'] + hand['panda_leftfinger'] + hand['panda_rightfinger']
    )


def test_doubtful_descriptions(tmp_path: Path, capsys):
    """Impossible inertias and limits of zero are warnings; they matter with --strict."""
    inertia = UNIT_INERTIA.replace('ixx="1', 'ixx="9')
    file = tmp_path / 'arm.urdf'
    file.write_text(
        robot(
            '<link name="base"/>',
            f'<link name="arm"><inertial><mass value="1"/>{inertia}</inertial></link>',
            joint(
                'shoulder', 'base', 'arm', '<limit lower="-1" upper="1" effort="0" velocity="1"/>'
            ),
        )
    )
    assert examine(file) == DONE
    assert examine(file, '--strict') == NEGATIVE
    report = capsys.readouterr().out
    assert 'WARNING link arm: ' in report
    assert (
        'WARNING joint shoulder: its effort limit is 0: where ros2_control enforces limits, every '
        'effort command becomes 0 (set the value given by the manufacturer)'
    ) in report


@pytest.mark.parametrize(('effort', 'is_exceeded'), [(19.0, True), (20.0, False)])
def test_gravity_beyond_an_effort_limit(effort, is_exceeded, tmp_path: Path, capsys):
    """A rod of 2 kg with its center of mass at 1 m needs 19.62 N m where it is horizontal."""
    file = tmp_path / 'rod.urdf'
    inertial = f'<inertial><origin xyz="1 0 0"/><mass value="2"/>{UNIT_INERTIA}</inertial>'
    file.write_text(
        robot(
            '<link name="base"/>',
            f'<link name="rod">{inertial}</link>',
            joint(
                'shoulder',
                'base',
                'rod',
                f'<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="{effort}" velocity="1"/>',
            ),
        )
    )
    assert examine(file) == DONE
    report = capsys.readouterr().out
    found = (
        f'in some pose, its effort limit is {effort:g} N m: without a spring it cannot' in report
    )
    assert found == is_exceeded


@pytest.mark.parametrize(
    ('text', 'status', 'words'),
    [('<robot', NEGATIVE, 'refused: '), (None, UNUSABLE, 'cannot read')],
)
def test_what_cannot_be_examined(text, status, words, tmp_path: Path, said):
    file = tmp_path / 'robot.urdf'
    if text is not None:
        file.write_text(text)
    assert words in said(doctor.main, file, status=status)


@pytest.mark.parametrize('option', ['--seconds', '--wait'])
@pytest.mark.parametrize('value', ['-1', 'nan', 'inf', '-inf', '601', 'long'])
def test_impossible_times_are_refused_with_the_range(option, value, capsys):
    with pytest.raises(SystemExit):
        examine(f'{option}={value}')
    message = capsys.readouterr().err
    assert f"argument {option}: '{value}' is not between 0 and 600 s" in message


def test_a_missing_file_is_named_with_its_argument(tmp_path, unusable):
    assert unusable(doctor.main, tmp_path / 'none.urdf') == (
        f'doctor: argument FILE: cannot read the description {tmp_path / "none.urdf"}: there is no '
        'such file; name the URDF or xacro file of a robot\n'
    )


@needs_xacro
def test_xacro_files_are_expanded(tmp_path, said, unusable):
    path = tmp_path / 'robot.xacro'
    path.write_text(
        '<robot name="$(arg name)" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
        '<xacro:arg name="name" default="arm"/><link name="a"/></robot>'
    )
    message = unusable(doctor.main, path)
    assert message.startswith(f'doctor: argument FILE: {path}: xacro cannot expand it because')
    assert "\nset them by --description-arguments 'name:=arm'\n" in message
    assert 'robot arm: 1 links' in said(doctor.main, path, '--description-arguments', 'name:=arm')
    assert "argument --description-arguments: 'name' assigns nothing" in unusable(
        doctor.main, path, '--description-arguments', 'name'
    )


GRAVITY = np.array([20.0, -5.0, 0.1])
PAYLOAD = np.array([8.0, -4.0, 0.0])
NONE = np.zeros(3)


def efforts_at_rest(measured, payload=NONE, **configured):
    owners = dict.fromkeys(configured, '/arm/bringup')
    same = np.ones((10, 1))
    return efforts_section(
        RecordedEfforts(
            list('abc'),
            np.zeros((10, 3)),
            measured * same,
            GRAVITY * same,
            payload * same,
            Configuration(configured, owners),
        )
    )


@pytest.mark.parametrize(
    ('factor', 'findings'),
    [
        ([1.0, 1.0], []),
        ([1.2, 0.8], []),  # friction
        ([0.01, 0.0], ['near zero']),
        ([-1.0, 1.0], ['joint a: its effort is -1.00']),
        ([1.0, 8.0], ['joint b: its effort is 8.00']),
    ],
)
def test_efforts(factor, findings):
    """Efforts of joints that gravity hardly loads (c) say nothing."""
    found = efforts_at_rest(GRAVITY * [*factor, -77.0]).findings
    assert len(found) == len(findings)
    assert all(words in str(finding) for words, finding in zip(findings, found))


def test_efforts_that_say_nothing():
    model = np.full((4, 2), 0.2)
    moving, unloaded = (
        efforts_section(
            RecordedEfforts(
                list('ab'), np.full((4, 2), speed), model, model * 0.3, model * 0.0, Configuration()
            )
        )
        for speed in (1.0, 0.0)
    )
    assert not moving.findings
    assert 'stop it for the comparison' in moving.lines[0]
    assert [finding.severity for finding in unloaded.findings] == ['info']


ALL = ['gravity', 'coriolis', 'friction', 'inertia', 'payload']
NO_PAYLOAD = ['gravity', 'coriolis', 'friction', 'inertia']
NO_GRAVITY = ['coriolis', 'friction', 'inertia', 'payload']
NO_WEIGHT = ['coriolis', 'friction', 'inertia']


@pytest.mark.parametrize(
    ('measured', 'terms', 'words', 'lines'),
    [
        (
            GRAVITY,
            ALL,
            'contain the weight of the robot, but according to effort_terms they contain the '
            'weight of the robot and of its payload',
            ['[gravity, coriolis, friction, inertia]', 'another payload_mass, if the robot'],
        ),
        (
            GRAVITY + PAYLOAD,
            NO_PAYLOAD,
            'contain the weight of the robot and of its payload',
            ['[gravity, coriolis, friction, inertia, payload]'],
        ),
        (
            PAYLOAD,
            ALL,
            'contain the weight of the payload, but',
            ['[coriolis, friction, inertia, payload]', "[''] for a driver of external torques"],
        ),
        (
            NONE,
            ALL,
            'are near zero, although gravity requires up to 20 N m or N, but',
            ['[coriolis, friction, inertia]', "[''] for a driver of external torques"],
        ),
        (
            GRAVITY + PAYLOAD,
            [''],
            'but according to effort_terms they contain no weight',
            ['[gravity, coriolis, friction, inertia, payload]'],
        ),
        (GRAVITY, NO_WEIGHT, 'contain the weight of the robot, but', ['inertia]']),
    ],
)
def test_the_content_of_efforts_that_fits_is_named_with_the_line_to_set(
    measured, terms, words, lines
):
    (finding,) = efforts_at_rest(
        measured, PAYLOAD, effort_terms=terms, payload_mass=2.0, payload_link='c'
    ).findings
    assert finding.severity == 'warning'
    assert words in finding.message
    for line in lines:
        assert line in finding.remedy
    assert finding.remedy.startswith('set effort_terms: [')


@pytest.mark.parametrize(
    ('measured', 'terms'),
    [
        (GRAVITY + PAYLOAD, ALL),
        (GRAVITY, NO_PAYLOAD),
        (PAYLOAD, NO_GRAVITY),
        (NONE, NO_WEIGHT),
        (NONE, ['']),
    ],
)
def test_what_is_configured_is_no_fault(measured, terms):
    section = efforts_at_rest(
        measured * 1.1, PAYLOAD, effort_terms=terms, payload_mass=2.0, payload_link='c'
    )
    assert section.findings == []
    assert section.lines[0].startswith('effort_terms: [')
    assert section.lines[0].endswith('in /arm/bringup')


def test_contents_that_fit_equally_are_told():
    """Without a payload nobody can tell whether it is in the efforts."""
    section = efforts_at_rest(GRAVITY)
    assert not section.findings
    assert 'no payload is configured: it cannot be determined whether they contain its weight' in (
        section.lines
    )
    assert 'default: ' in section.lines[0]
    (finding,) = efforts_at_rest(
        GRAVITY, 0.1 * PAYLOAD, payload_mass=0.2, payload_link='c'
    ).findings
    assert finding.severity == 'info'
    assert (
        'whether they contain the weight of the robot and of its payload or the weight of the robot'
    ) in finding.message


def test_without_a_payload_a_line_keeps_what_it_says_of_it():
    for terms, line in ((ALL, NO_GRAVITY), (NO_PAYLOAD, NO_WEIGHT)):
        (finding,) = efforts_at_rest(NONE, effort_terms=terms).findings
        assert f'set effort_terms: [{", ".join(line)}], or' in finding.remedy


def test_efforts_that_should_contain_no_weight_and_have_something():
    (finding,) = efforts_at_rest(-GRAVITY, effort_terms=['']).findings
    assert 'are up to 20 N m or N' in finding.message


def test_configured_scales_count():
    configuration = Configuration(
        {'effort_joints': ['b', 'x', 'a'], 'effort_scale': [2.0, 3.0, -1.0], 'effort_offset': []}
    )
    np.testing.assert_array_equal(
        configuration.calibrated(['a', 'b'], np.array([[1.0, 2.0], [3.0, 4.0]])),
        [[-1.0, 4.0], [-3.0, 8.0]],
    )


class TestRunningRobot:
    """Through DDS, in a process of its own."""

    @pytest.fixture
    def run(self, ros_domain, tmp_path):
        pytest.importorskip('rclpy')
        from support.warm_processes import Command

        def start(namespace: str, *options: str) -> Command:
            words = ['doctor', '--seconds', '1', '--wait', str(DEADLINE), *options]
            return Command(words, tmp_path, ros_domain, ['-r', f'__ns:={namespace}'])

        return start

    def test_simulator(self, run, start):
        leaning = {'initial_joints': "['panda_joint2']", 'initial_positions': '[0.8]'}
        still = {'rate': 100.0, 'motion_amplitude': 0.0}
        start('simulator', {**still, **leaning}, ['-r', '__ns:=/sound'])
        status, report = run('/sound').end()
        assert status == DONE, report
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
        from screw_dynamics_ros.cli.doctor.session import senders

        start('simulator', {'rate': 1.0}, ['-r', '__ns:=/named'])
        topic = '/named/joint_states'
        for _ in range(6):
            client = connect()  # discovers everything again
            client.wait(partial(client.node.get_publishers_info_by_topic, topic))
            turns = iter(partial(client.spin, 0.02), object())
            assert senders(client.node, topic, turns) == ['/named/simulator']
            client.close()
        _, report = run('/named', '--seconds', '0.01').end()
        assert 'from /named/simulator' in report, report

    def test_driver_with_faults(self, run, connect):
        """Another sign of the efforts, an unknown joint, and stamps that stand still."""
        panda, client = Robot.from_urdf(PANDA), connect('odd')
        q = middle_of_range(panda)
        command = run('/odd')
        client.describe(PANDA.read_text())
        while command.process.poll() is None:
            client.send(
                [*panda.joint_names, 'fan'],
                [*q, 1.0],
                [*np.zeros(panda.nv), 1.0],
                [*-panda.gravity_torques(q), 1.0],
                step=0.02,
            )
            client.spin(0.01)
        status, report = command.end()
        assert status == DONE, report
        assert 'names that are not in the description are ignored: fan' in report, report
        assert 'joint panda_joint2: its effort is -1.00 times' in report, report

    def test_a_payload_that_is_configured_is_no_fault(
        self, ros_domain, start, connect, monkeypatch, capsys
    ):
        """It is asked of whichever node has it; so are the scales of efforts.

        In a thread of this process, which asks when it has discovered that node.
        """
        from screw_dynamics_ros.cli.doctor import session
        from screw_dynamics_ros.cli.doctor.running_parameters import (
            parameter_services,
            read_configuration,
        )

        def read_when_known(node, turns, patience):
            for _ in turns(patience):
                if '/loaded/bringup' in parameter_services(node):
                    break
            return read_configuration(node, turns, patience)

        monkeypatch.setattr(session, 'read_configuration', read_when_known)
        monkeypatch.setenv('ROS_DOMAIN_ID', str(ros_domain))
        panda, client = Robot.from_urdf(PANDA), connect('loaded')
        start(
            'bringup',
            {
                'nodes': "['dynamics']",
                'payload_link': 'panda_hand',
                'payload_mass': 3.0,
                'payload_center_of_mass': '[0.0, 0.0, 0.1]',
                'effort_joints': "['panda_joint2']",
                'effort_scale': '[-1.0]',
            },
            ['-r', '__ns:=/loaded'],
        )
        client.expect('loaded/dynamics: outputs', OK)
        q, rest = middle_of_range(panda), np.zeros(panda.nv)
        body = RigidBody(3.0, np.array([0.0, 0.0, 0.1]), np.zeros((3, 3)))
        efforts = panda.gravity_torques(q) + panda.payload_torques(
            q, rest, rest, {'panda_hand': body}
        )
        efforts[list(panda.joint_names).index('panda_joint2')] *= -1.0
        options = ['--seconds', '0.1', '--wait', str(DEADLINE)]
        given, statuses = [*options, '--ros-args', '-r', '__ns:=/loaded'], []
        thread = threading.Thread(target=lambda: statuses.append(doctor.main(given)))
        thread.start()
        while thread.is_alive():
            # Between participants of one process a latched message may be lost while they match.
            client.describe(PANDA.read_text())
            client.send(panda.joint_names, q, rest, efforts, stamp=time.time_ns())
            client.spin(0.01)
        report, faults = capsys.readouterr()
        assert statuses == [DONE], report + faults
        assert 'payload: 3 kg on panda_hand, configured in /loaded/' in report, report
        assert 'panda_joint2 corrected as configured in /loaded/bringup' in report, report
        assert 'WARNING' not in report.split('efforts at rest')[1].split('transforms')[0], report

    def test_a_node_that_hangs_does_not_hold_it_up(self, run, start, connect):
        """The middleware of such a node does not even make it known."""
        node = start('dynamics', arguments=['-r', '__ns:=/still'])
        start('simulator', {'rate': 100.0, 'motion_amplitude': 0.0}, ['-r', '__ns:=/still'])
        connect('still').expect('still/dynamics: outputs', OK)
        node.process.send_signal(signal.SIGSTOP)
        try:
            _, report = run('/still').end()
        finally:
            node.process.send_signal(signal.SIGCONT)
        assert 'no node or file has effort_terms; default: [gravity, ' in report
        assert '0 errors' in report

    def test_interrupted_while_it_listens(self, run, connect):
        client, command = connect('interrupted'), run('/interrupted')
        client.wait(
            lambda: ('doctor', '/interrupted') in client.node.get_node_names_and_namespaces(),
            what='doctor',
        )
        for _ in range(2):
            command.process.send_signal(signal.SIGINT)
        assert command.end() == (INTERRUPTED, '\ndoctor: interrupted\n')

    def test_a_namespace_that_is_none_is_refused(self, run):
        _, report = run('/my-arm').end()
        assert report.startswith("doctor: -r __ns:=/my-arm: '/my-arm' cannot be the namespace of")

    def test_nobody(self, run):
        status, report = run('/nobody', '--wait', '1').end()
        assert status == UNUSABLE
        assert 'no message arrived on robot_description' in report


@pytest.mark.parametrize(
    ('measured', 'is_found'),
    [
        (GRAVITY / [11.0, 12.0, 10.0], True),  # other constants for each joint
        (-0.1 * GRAVITY, True),
        ([1.5, 1.5, 0.3], False),  # friction
        (0.001 * GRAVITY, False),
    ],
)
def test_currents_are_not_taken_for_torques_without_gravity(measured, is_found):
    found = efforts_at_rest(np.array(measured), effort_terms=NO_WEIGHT).findings
    assert any('motor currents?' in str(finding) for finding in found) == is_found


def test_efforts_that_the_nodes_do_not_use():
    rows = np.zeros((10, 3)), *(GRAVITY * np.ones((10, 1)) for _ in range(2)), np.zeros((10, 3))
    section = efforts_section(
        RecordedEfforts(list('abc'), *rows, Configuration(), 'currents is true')
    )
    (finding,) = section.findings
    assert 'effort_condition is not met: currents is true' in finding.message
