# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The exit statuses are those of one table: in commands, their help and pages."""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module

import numpy as np
import pytest

from screw_dynamics_ros.cli.command_line import UnusableError, execute
from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.entry import DONE, INTERRUPTED, NEGATIVE, PARTIAL, UNUSABLE
from screw_dynamics_ros.registry import COMMANDS
from support.paths import ROOT

DESCRIPTION = 'missing.urdf'
RECORDING = ('states.npz', '--urdf', DESCRIPTION)

#: Arguments of each command that name a description that does not exist.
WITHOUT_DESCRIPTION = {
    'doctor': (DESCRIPTION,),
    'parity': (DESCRIPTION,),
    'calibrate': (DESCRIPTION, 'measurements.yaml', '--link', 'a', '--position-deviation', '1e-3'),
    'identify': RECORDING,
    'excite': (DESCRIPTION,),
    'annotate': (*RECORDING, '-o', 'annotated.mcap'),
    'replay': (*RECORDING, '-o', 'replayed.mcap'),
    'export': (DESCRIPTION, 'written.urdf'),
    'compile': (DESCRIPTION, 'gravity_torques'),
    'bench': (DESCRIPTION,),
    'view': (DESCRIPTION,),
}
#: Commands that read no file of a description.
OTHERS = ('demo', 'rviz', 'plotjuggler', 'foxglove')


def test_all_commands_are_here():
    assert {*WITHOUT_DESCRIPTION, *OTHERS} == set(COMMANDS)


@pytest.mark.parametrize('name', WITHOUT_DESCRIPTION)
def test_a_missing_description(name, tmp_path, monkeypatch, capsys):
    pytest.importorskip('rosbags')
    pytest.importorskip('rclpy')
    pytest.importorskip('viser')
    monkeypatch.chdir(tmp_path)
    np.savez('states.npz', t=np.arange(3) * 1e-3, q=np.zeros((3, 1)), joint_names=['joint'])
    (tmp_path / 'measurements.yaml').write_text('measurements: []\n')
    assert import_module(COMMANDS[name].module).main(WITHOUT_DESCRIPTION[name]) == UNUSABLE == 2
    error = capsys.readouterr().err
    assert f'{name}: ' in error
    assert DESCRIPTION in error


@pytest.mark.parametrize('name', [*WITHOUT_DESCRIPTION, 'demo'])
def test_a_wrong_command_line(name, capsys):
    with pytest.raises(SystemExit) as error:
        import_module(COMMANDS[name].module).main(['--no-such-option'])
    assert error.value.code == UNUSABLE
    with pytest.raises(SystemExit):
        import_module(COMMANDS[name].module).main(['--help'])
    assert f'exit status:\n  {DONE}    done\n' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('error', 'status', 'text'),
    [
        (ArgumentError('no link'), NEGATIVE, 'refused: no link\n'),
        (UnusableError('argument X'), UNUSABLE, 'tested: argument X\n'),
        (OSError('disk full'), UNUSABLE, 'tested: disk full\n'),
        (KeyboardInterrupt(), INTERRUPTED, '\ntested: interrupted\n'),
    ],
)
def test_errors(error, status, text, capsys):
    def fail(options):
        raise error

    assert execute('tested', lambda arguments: Namespace(), fail, []) == status
    assert capsys.readouterr().err == text


def test_arguments_of_ros_are_not_parsed():
    given, seen = ['-x', '--ros-args', '-r', 'a:=b'], []
    assert execute('tested', lambda own: Namespace(own=own), seen.append, given) is None
    assert (seen[0].own, seen[0].given) == (['-x'], given)


def test_the_page_has_the_table():
    text = (ROOT / 'doc/reference/nodes/index.md').read_text(encoding='utf-8')
    table = text[text.index('| exit status |') :]
    for status, begin in {
        DONE: 'the work is done',
        NEGATIVE: 'the result is negative',
        UNUSABLE: 'the input cannot be used',
        PARTIAL: 'the result is partial',
        '128 + n': 'signal n',
    }.items():
        assert f'\n| {status} | {begin}' in table
