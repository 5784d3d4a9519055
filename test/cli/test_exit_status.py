# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Every command has the same exit status for input that it cannot use."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from screw_dynamics_ros.cli.command_line import UNUSABLE
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
    assert import_module(COMMANDS[name].module).main(WITHOUT_DESCRIPTION[name]) == UNUSABLE == 3
    error = capsys.readouterr().err
    assert f'{name}: ' in error
    assert DESCRIPTION in error


def test_pages_state_it():
    for page, sentence in {
        'nodes/index': f'| {UNUSABLE} | the input cannot be used: ',
        'parity': f', {UNUSABLE} if the input cannot be used',
        'doctor': f', {UNUSABLE} if there was nothing to examine',
    }.items():
        text = (ROOT / f'doc/reference/{page}.md').read_text(encoding='utf-8')
        assert sentence in ' '.join(text.split())
