# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Options and exit status of `doctor`, and its parameter file."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from screw_dynamics_ros.cli.command_line import UnusableError
from screw_dynamics_ros.cli.doctor import suggestion
from screw_dynamics_ros.cli.doctor.command import parse, verdict
from screw_dynamics_ros.cli.doctor.suggestion import BRINGUP, SHARED, Suggestion
from screw_dynamics_ros.cli.report import Section
from screw_dynamics_ros.core.description.robot_description import Finding
from screw_dynamics_ros.entry import DONE, NEGATIVE


def sections(*severities):
    """Return two sections with findings of these severities."""
    findings = [Finding(each, 'x', 'y') for each in severities]
    return [Section('a', [], findings[:1]), Section('b', [], findings[1:])]


@pytest.mark.parametrize(
    ('severities', 'status', 'strict', 'line'),
    [
        ([], DONE, DONE, '0 errors, 0 warnings'),
        (['info'], DONE, DONE, '0 errors, 0 warnings'),
        (['info', 'warning', 'warning'], DONE, NEGATIVE, '0 errors, 2 warnings'),
        (['warning', 'error'], NEGATIVE, NEGATIVE, '1 errors, 1 warnings'),
    ],
)
def test_exit_status(severities, status, strict, line, capsys):
    assert verdict(sections(*severities), False) == status
    assert verdict(sections(*severities), True) == strict
    assert capsys.readouterr().out == f'{line}\n{line}\n'


def test_options(tmp_path, capsys):
    """Those of recordings are refused for a description, and for a running robot."""
    bare = parse([])
    assert (bare.description, bare.seconds, bare.wait) == (None, 3.0, 5.0)
    assert (bare.strict, bare.suggest) == (False, None)
    assert parse(['--suggest']).suggest == Path('suggested.yaml')
    recording = tmp_path / 'run.csv'
    recording.touch()
    of_recording = [
        ['--urdf', 'r.urdf'], ['--drives', 'd.yaml'], ['--leave-out', 'a'], ['--rename', 'a:=b'],
    ]  # fmt: skip
    for words in of_recording:
        assert parse([str(recording), '--suggest', 'x.yaml', *words]).suggest == Path('x.yaml')
        for description in ([], ['robot.urdf']):
            with pytest.raises(SystemExit):
                parse([*description, *words])
            assert f'{words[0]} requires a recording' in capsys.readouterr().err
    with pytest.raises(SystemExit):
        parse(['robot.urdf', '--suggest'])
    assert '--suggest requires a running robot or a recording' in capsys.readouterr().err


def test_parameter_file(tmp_path):
    """Values as ROS 2 reads them; reasons and what is unknown are comments of 100 columns."""
    made = Suggestion()
    made.set(BRINGUP, 'nodes', ['a', "it's"], 'a reason of many words ' * 9)
    made.set(SHARED, 'gravity', (0, 0, -9.81), 'measured')
    made.set(SHARED, 'publish_tf', False, 'text\n  with: lines')
    made.set(SHARED, 'effort_joints', [], 'none')
    made.leave('state_timeout', 'too few messages ' * 9)
    made.notes.append('a note')
    path = tmp_path / 'p.yaml'
    suggestion.write(made, 'ro\nbot', path)
    text = path.read_text()
    content = yaml.safe_load(text)
    assert list(content) == ['/**', '/**/bringup']
    assert content['/**/bringup']['ros__parameters'] == {'nodes': ['a', "it's"]}
    assert content['/**']['ros__parameters'] == {
        'gravity': [0.0, 0.0, -9.81], 'publish_tf': False, 'effort_joints': [''],
    }  # fmt: skip
    assert {type(x) for x in content['/**']['ros__parameters']['gravity']} == {float}
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert sum('too few messages' in line for line in lines) == 2
    assert '# * state_timeout: too few messages' in text
    assert '# * a note' in text
    place = next(k for k, line in enumerate(lines) if line.startswith('    nodes: '))
    assert lines[place - 1].startswith('    # ')
    assert text.endswith('\n')
    with pytest.raises(UnusableError, match='already exists and is not overwritten'):
        suggestion.write(made, 'r', path)
    with pytest.raises(UnusableError, match=r'--suggest: cannot write .*none'):
        suggestion.write(made, 'r', tmp_path / 'none' / 'p.yaml')
    assert suggestion.written(2) == '2.0'


def test_numbers_that_are_missing_in_a_message():
    session = pytest.importorskip('screw_dynamics_ros.cli.doctor.session')
    names = ['a', 'b', 'c', 'd']
    assert list(session.without(names, [1.0, math.nan, np.inf])) == ['b', 'c', 'd']
    assert list(session.without(names, [0.0] * 4)) == []
    assert list(session.without([], [])) == []
