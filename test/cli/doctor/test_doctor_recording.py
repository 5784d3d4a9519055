# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`doctor` on recordings: a table of poses at rest, with torques of Pinocchio."""

from collections import Counter

import numpy as np
import pytest
import yaml

from screw_dynamics_ros.cli.doctor.command import main
from screw_dynamics_ros.cli.doctor.session_data import counted
from screw_dynamics_ros.cli.identify.command import main as identify
from screw_dynamics_ros.cli.replay.command import main as replay
from screw_dynamics_ros.entry import NEGATIVE, UNUSABLE
from screw_dynamics_ros.ros.recordings.storage import RecordingReader
from support.recordings import JOINT_STATE, joint_state, writing
from support.robots import urdf_path

PANDA = urdf_path('panda')
CURRENT = np.array([5.0, -8.0, 6.0, 12.0, 3.0, 4.0, 2.0, 1.0])  # N m/A
ARM = [f'panda_joint{k}' for k in range(1, 8)]
NAMES = [*ARM, 'panda_finger_joint1']


@pytest.fixture(scope='module')
def rest():
    """Return t, q and torques of gravity of a robot that rests in six poses for 20 samples each."""
    pinocchio = pytest.importorskip('pinocchio')
    model = pinocchio.buildModelFromUrdf(str(PANDA))
    data, random = model.createData(), np.random.default_rng(3)
    q, g = [], []
    for _ in range(6):
        arm = random.uniform(-1.0, 1.0, 7) + [0, 0, 0, -1.5, 0, 1.5, 0]
        torque = pinocchio.computeGeneralizedGravity(model, data, np.r_[arm, 0.02, 0.02])
        q.append(np.r_[arm, 0.02])
        g.append(np.r_[torque[:7], torque[7] + torque[8]])  # a mimic joint follows
    return np.arange(120) * 0.02, *(np.repeat(each, 20, axis=0) for each in (q, g))


def table(path, t, q, effort, names=NAMES, skip=()):
    """Write a CSV with semicolons."""
    columns = {'t': t}
    for k, name in enumerate(names):
        columns[f'{name}.position'] = q[:, k]
        if name not in skip:
            columns[f'{name}.effort'] = effort[:, k]
    rows = [';'.join(columns), *(';'.join(map(str, row)) for row in zip(*columns.values()))]
    path.write_text('\n'.join(rows).replace('.', ',').replace(',position', '.position')
                    .replace(',effort', '.effort'))  # fmt: skip
    return str(path)


def mean(q, g):
    """Return the mean torques of the samples in which the robot has not jumped."""
    return g[~np.r_[False, np.diff(q, axis=0).any(axis=1)]].mean(axis=0)


def efforts_of(text):
    """Return {joint: (reported, model)} of the printed table."""
    rows = [line.split() for line in text.split('efforts at rest')[1].splitlines()]
    return {row[0]: tuple(map(float, row[1:])) for row in rows if row and row[0] in NAMES}


def test_torques_at_rest(tmp_path, rest, said):
    t, q, g = rest
    path = table(tmp_path / 'run.csv', t, q, g)
    text = said(main, path, '--urdf', PANDA)
    assert '50.0 Hz, longest gap 20.0 ms' in text
    assert '120 states of 8 joints out of 120 messages' in text
    assert '/tf' not in text
    for k, name in enumerate(NAMES):
        assert efforts_of(text)[name] == pytest.approx((mean(q, g)[k],) * 2, abs=1e-3)


def test_currents_become_torques_by_a_suggested_file(tmp_path, rest, said):
    t, q, g = rest
    path = table(tmp_path / 'run.csv', t, q, g / CURRENT)
    options = [path, '--urdf', str(PANDA)]
    assert 'efforts: are near zero' in said(main, *options, '--suggest', tmp_path / 'p.yaml')
    content = yaml.safe_load((tmp_path / 'p.yaml').read_text())['/**']['ros__parameters']
    found = dict(zip(content['effort_joints'], content['effort_scale']))
    for name, scale in zip(ARM[1:4], CURRENT[1:4]):  # gravity loads no others enough
        assert found[name] == pytest.approx(scale, rel=1e-3)
    assert (
        'publish_tf'
        not in yaml.safe_load((tmp_path / 'p.yaml').read_text()).get(
            '/**/kinematics', {'ros__parameters': {}}
        )['ros__parameters']
    )
    text = said(main, *options, '--drives', tmp_path / 'p.yaml')
    assert 'WARNING joint panda_joint' not in text
    for k, name in enumerate(ARM[1:4], 1):
        assert efforts_of(text)[name] == pytest.approx((mean(q, g)[k],) * 2, abs=5e-3)


def test_joints_without_states_are_left_out(tmp_path, rest, capsys, said, refused):
    t, q, g = rest
    names = [f'left_{name}' for name in ARM]
    path = table(tmp_path / 'run.csv', t, q, g, names)
    options = [path, '--urdf', str(PANDA)]
    for name in ARM:
        options += ['--rename', f'left_{name}:={name}']
    assert main(options) == NEGATIVE
    text = capsys.readouterr().out
    assert 'never reported: panda_finger_joint1' in text
    assert efforts_of(said(main, *options, '--leave-out', 'panda_finger_joint1')).keys() == set(ARM)
    assert "no joint 'elbow'" in refused(main, *options, '--rename', 'elbow:=x')


def test_numbers_that_are_missing_are_counted(tmp_path):
    """By field and joint, in messages of several layouts; arrivals are those of the recording."""
    nan, start = np.nan, 10**18
    with writing(tmp_path / 'run', {'/joint_states': JOINT_STATE}) as put:
        for k, (names, v, tau) in enumerate(
            [
                ('ab', [1.0, nan], [1.0, 2.0]),
                ('ab', [1.0, np.inf], [nan, 2.0]),
                ('ab', [], [1.0, 2.0]),
                ('b', [1.0], []),
            ]
        ):
            data = joint_state(start, list(names), [0.0] * len(names), v, tau)
            put('/joint_states', start + k * 10**6, data)
    arrivals, lacking = [], {'velocity': Counter(), 'effort': Counter()}
    with RecordingReader(tmp_path / 'run') as reader:
        assert list(counted(reader.blocks('/joint_states'), arrivals, lacking))
    assert arrivals == pytest.approx([1e9 + 1e-3 * k for k in range(4)])
    assert {name: dict(each) for name, each in lacking.items()} == {
        'velocity': {'a': 1, 'b': 3},
        'effort': {'a': 1, 'b': 1},
    }


def test_what_cannot_be_examined(tmp_path, rest, capsys, refused):
    t, q, g = rest
    assert 'refused: cannot read' in refused(main, tmp_path / 'none.csv', '--urdf', PANDA)
    path = table(tmp_path / 'run.csv', t, q, g)
    assert 'give --urdf' in refused(main, path)
    assert main([path, '--urdf', str(tmp_path / 'none.urdf')]) == UNUSABLE
    assert '--drives: ' in refused(main, path, '--urdf', PANDA, '--drives', tmp_path / 'none.yaml')
    with pytest.raises(SystemExit):
        main([str(PANDA), '--rename', 'a:=b'])
    assert '--rename requires a recording' in capsys.readouterr().err


@pytest.mark.parametrize('command', [main, identify, replay])
def test_a_folder_without_metadata(tmp_path, command, capsys):
    """As after a recording that was interrupted; a folder with no bag is no recording."""
    (tmp_path / 'none').mkdir()
    with writing(tmp_path / 'bag', {'/joint_states': JOINT_STATE}) as put:
        put('/joint_states', 1, joint_state(1, ['a'], [0.0]))
    (tmp_path / 'bag' / 'metadata.yaml').unlink()
    for name, words in (('bag', f'ros2 bag reindex {tmp_path}'), ('none', 'is no recording; name')):
        options = [str(tmp_path / name), '--urdf', str(PANDA)]
        output = ['-o', str(tmp_path / 'out.mcap')] if command is replay else []
        assert command([*options, *output]) == NEGATIVE
        message = capsys.readouterr().err
        assert f'{name} has no metadata.yaml: ' in message
        assert words in message
        assert ('bag.mcap' in message) == (name == 'bag')


@pytest.mark.parametrize(
    'line', ['1764300000,0,,shoulder,elbow,0.5,0.1', '0,0,0', '"0,5";1', 'nan,1,2']
)
def test_a_table_without_names_of_columns(tmp_path, line, refused):
    """As "ros2 topic echo --csv" writes it."""
    path = tmp_path / 'echo.csv'
    path.write_text(f'{line}\n{line}\n')
    message = refused(main, path, '--urdf', PANDA)
    assert 'the first line has numbers instead of the names of the columns' in message
    assert 'record with "ros2 bag record"' in message
