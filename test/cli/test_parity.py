# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`parity`: the report as text and as JSON, refusals and exit status."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from screw_dynamics_ros.cli import parity
from screw_dynamics_ros.entry import DONE, NEGATIVE, UNUSABLE
from support.peer_programs import SOUND
from support.robots import joint, links, robot, urdf_path


def run(*arguments: object) -> int:
    return parity.main([str(argument) for argument in arguments])


def test_the_report(said):
    pytest.importorskip('mujoco', SOUND)
    pytest.importorskip('pinocchio')
    out = said(parity.main, urdf_path('panda'), '--states', 2, '--require', 'mujoco,pinocchio')
    assert 'robot panda: largest differences in 2 random states (seed 0)' in out
    (row,) = (line.split() for line in out.splitlines() if 'gravity torques' in line)
    assert row[2:4] == ['N', 'm']
    assert 10.0 < float(row[4]) < 100.0
    assert all(float(each) < 1e-9 for each in row[5:7])
    assert 'agrees to 1e-06' in out
    assert out.splitlines()[-1] == 'version 1.0 of URDF is read by every ROS distribution'
    assert said(parity.main, urdf_path('panda'), '--states', 2) == out  # seeded


def test_differences_in_json_and_text(tmp_path, capsys):
    pytest.importorskip('mujoco', SOUND)
    ours = urdf_path('panda')
    other = tmp_path / 'other.urdf'
    other.write_text(ours.read_text(encoding='utf-8').replace('3.587895', '3.62377395'))
    options = (ours, '--against', other, '--only', 'mujoco', '--states', 2)
    assert run(*options, '--json') == NEGATIVE
    report = json.loads(capsys.readouterr().out)
    assert (report['robot'], report['states'], report['seed']) == ('panda', 2, 0)
    assert report['version'] == 'version 1.0 of URDF is read by every ROS distribution'
    (program,) = report['programs']
    assert program['name'] == 'MuJoCo'
    assert not program['agrees']
    assert program['explained']
    (cause,) = program['causes']
    assert (cause['subject'], cause['field']) == ('link panda_link4', 'mass')
    assert (cause['ours'], cause['theirs']) == ('3.5879', '3.62377')
    assert cause['changes']['gravity torques'] > 0.01
    assert program['differences']['mass']['absolute'] == pytest.approx(0.03587895)
    assert run(*options) == NEGATIVE
    text = capsys.readouterr().out
    assert 'DIFFERS, as explained by:' in text
    assert '3.6e-02*' in text
    assert 'link panda_link4: mass: here 3.5879, there 3.62377; changes ' in text
    assert run(*options, '--tolerance', 0.5) == DONE


def test_impossible_inertias_are_compared(tmp_path, capsys):
    """In either file: the programs say whether they take them."""
    pytest.importorskip('pinocchio')
    ours = urdf_path('panda')
    other = tmp_path / 'other.urdf'
    text = ours.read_text(encoding='utf-8')
    assert 'ixx="0.025853"' in text
    other.write_text(text.replace('ixx="0.025853"', 'ixx="-0.5"'))
    options = ('--only', 'pinocchio', '--states', 1)
    assert run(ours, '--against', other, *options) == NEGATIVE
    assert 'link panda_link4' in capsys.readouterr().out
    assert run(other, *options) == DONE


def test_a_missing_program_is_told(monkeypatch, said, refused):
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    options = (urdf_path('planar_2r'), '--only', 'mujoco', '--states', 1)
    assert 'MuJoCo: skipped: is not installed (pip install mujoco)' in said(parity.main, *options)
    assert 'parity: MuJoCo is required: is not installed' in refused(
        parity.main, *options, '--require', 'mujoco'
    )


def test_a_program_that_refuses_is_told(said):
    """MuJoCo wants a mass on each moving link; the reason is its own, with the link."""
    pytest.importorskip('mujoco', SOUND)
    out = said(parity.main, urdf_path('planar_2r'), '--only', 'mujoco', '--states', 1)
    assert 'MuJoCo: skipped: refuses the description: ' in out
    assert "Element name 'link1'" in out


def test_joints_that_move_no_mass(capsys):
    """Accelerations are not defined then; the rest is compared."""
    pytest.importorskip('pinocchio')
    assert run(urdf_path('planar_2r'), '--only', 'pinocchio', '--states', 1, '--json') == DONE


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('<robot name="r"><link name="a"/></robot>', 'no joint of this robot moves'),
        (robot(links('a b'), joint('j', 'a', 'b', kind='floating')), 'joint j is floating'),
        (robot(links('a b'), joint('j', 'a', 'b', kind='planar')), 'joint j is planar'),
        ('<html/>', 'the root element is <html>'),
        ('no XML', 'no XML'),
    ],
)
def test_refused_descriptions(text, reason, tmp_path, refused):
    file = tmp_path / 'robot.urdf'
    file.write_text(text)
    assert reason in refused(parity.main, file)


@pytest.mark.parametrize(
    ('arguments', 'status', 'reason'),
    [
        (('/nowhere.urdf',), UNUSABLE, 'there is no such file'),
        (
            (urdf_path('panda'), '--against', '/nowhere.urdf'),
            UNUSABLE,
            'argument --against: cannot read the',
        ),
        ((urdf_path('panda'), '--against', Path(__file__)), NEGATIVE, 'not well-formed XML'),
        ((urdf_path('panda'), '--mjcf', '/nowhere.xml'), UNUSABLE, 'there is no file /nowhere.xml'),
        ((urdf_path('panda'), '--tip', 'nose'), NEGATIVE, 'there is no link nose'),
    ],
)
def test_unusable_arguments(arguments, status, reason, said):
    assert reason in said(parity.main, *arguments, status=status)


@pytest.mark.parametrize(
    'arguments',
    [
        ('--only', 'bullet'),
        ('--require', ''),
        ('--states', '0'),
        ('--states', 'many'),
        ('--tolerance', '-1'),
        ('--tolerance', 'nan'),
        ('--gravity', '0', '0', 'inf'),
    ],
)
def test_arguments_of_the_wrong_kind(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        run(urdf_path('panda'), *arguments)
    assert end.value.code == UNUSABLE
    assert f'argument {arguments[0]}' in capsys.readouterr().err
