# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commands on the introspection of controller_manager: as on the same joint states."""

import numpy as np
import pytest

pytest.importorskip('rosbags')


from screw_dynamics_ros.cli.annotate.command import main as annotate
from screw_dynamics_ros.cli.doctor.command import main as doctor
from screw_dynamics_ros.cli.identify.command import main as identify
from screw_dynamics_ros.entry import DONE
from support.introspection import BASE, TOPICS, names_message, use_definitions, values_message
from support.recordings import JOINT_STATE, STRING, contents, joint_state, string, writing
from support.robots import urdf_path

ARM = urdf_path('planar_2r')
NAMES = ['joint1', 'joint2']
START, STEP = 1_700_000_000_000_000_000, 55_000_000


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Return two recordings of one motion: joint states, and names and values in another order."""
    use_definitions(monkeypatch)
    t = np.arange(400) * STEP * 1e-9
    random = np.random.default_rng(4)
    a, w, phase = random.uniform(0.2, 0.6, (3, len(NAMES)))
    s = 6.0 * w * t[:, None] + phase
    q, v = a * np.sin(s), a * 6.0 * w * np.cos(s)
    tau, commanded = random.normal(size=(2, *q.shape))
    columns = {'x.cycles': t}
    for k, name in reversed([*enumerate(NAMES)]):
        for kind, quantity, values in (
            ('command', 'effort', commanded),
            ('state', 'velocity', v),
            ('state', 'effort', tau),
            ('state', 'position', q),
        ):
            columns[f'{kind}_interface.{name}/{quantity}'] = values[:, k]
    paths = [tmp_path / name for name in ('measured', 'commanded', 'introspection')]
    for path, efforts in zip(paths, (tau, commanded)):
        with writing(path, {'/joint_states': JOINT_STATE, '/robot_description': STRING}) as put:
            put('/robot_description', START, string(ARM.read_text()))
            for k in range(len(t)):
                stamp = START + k * STEP
                put('/joint_states', stamp, joint_state(stamp, NAMES, q[k], v[k], efforts[k]))
    with writing(paths[2], {**TOPICS, '/robot_description': STRING}) as put:
        put('/robot_description', START, string(ARM.read_text()))
        put(f'{BASE}/names', START, names_message(columns, 5))
        for k in range(len(t)):
            row = np.array([each[k] for each in columns.values()])
            put(f'{BASE}/values', START + k * STEP, values_message(row, 5, START + k * STEP))
    return paths


@pytest.mark.parametrize('which', ['measured', 'commanded'])
def test_annotate_has_the_same_outputs(recorded, tmp_path, which):
    """Recorded messages remain, and those that are derived are not written."""
    measured, commanded, introspection = recorded
    outputs = ['--outputs', 'gravity,external_torque', '--set', 'observer=momentum']
    made = []
    for path, topic in (
        (measured if which == 'measured' else commanded, '/joint_states'),
        (introspection, f'{BASE}/{which}'),
    ):
        target = tmp_path / f'{len(made)}.mcap'
        assert annotate([str(path), '-o', str(target), '--topic', topic, *outputs]) == DONE
        made.append(contents(target))
    for topic in ('/dynamics/gravity', '/wrench_estimator/external_torque'):
        assert len(made[0][topic]) > 300
        assert made[0][topic] == made[1][topic]
    assert set(made[1]) == set(contents(introspection)) | (set(made[0]) - {'/joint_states'})
    assert made[1][f'{BASE}/values'] == contents(introspection)[f'{BASE}/values']


@pytest.mark.parametrize('command', [doctor, identify])
def test_reports_are_those_of_the_joint_states(recorded, tmp_path, capsys, command):
    commanded, introspection = recorded[1:]
    texts = []
    for path, topic in ((commanded, '/joint_states'), (introspection, f'{BASE}/commanded')):
        output = ['-o', str(tmp_path / f'{len(texts)}')] if command is identify else []
        command([str(path), '--topic', topic, *output])
        said = capsys.readouterr()
        text = said.out + said.err
        for name in (str(path), *output[1:], topic, path.name):
            text = text.replace(name, '...')
        texts.append([line for line in text.splitlines() if 'first 0.' not in line])
    assert len(texts[0]) > 5
    assert texts[0] == texts[1]


def test_replay_publishes_the_same(recorded, tmp_path):
    pytest.importorskip('rclpy')
    from screw_dynamics_ros.cli.replay.command import main as replay

    measured, _, introspection = recorded
    made = []
    for path, topic in ((measured, '/joint_states'), (introspection, f'{BASE}/measured')):
        target = tmp_path / f'{len(made)}.mcap'
        options = ['--topic', topic, '--nodes', 'dynamics', '--topics', 'gravity']
        assert replay([str(path), '-o', str(target), *options]) == DONE
        made.append(contents(target)['/dynamics/gravity'])
    assert len(made[0]) == 400
    assert made[0] == made[1]
