# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""~/model_state in recordings: of `replay`, which runs the nodes, and of `annotate`."""

import re

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')
pytest.importorskip('screw_dynamics_msgs.msg._model_state')

from rclpy.serialization import deserialize_message
from rosbags.rosbag2 import Reader

from screw_dynamics_msgs import msg
from screw_dynamics_ros.cli.annotate.command import main as annotate
from screw_dynamics_ros.cli.replay.command import main as replay
from screw_dynamics_ros.core.annotation import Annotator
from screw_dynamics_ros.entry import DONE
from screw_dynamics_ros.ros.model_state import ModelStateLayout, ModelStateReader
from screw_dynamics_ros.ros.recordings.forms import DEFINITIONS
from support.paths import ROOT
from support.recordings import JOINT_STATE, STRING, joint_state, string, writing
from support.robots import urdf_path

ARM = urdf_path('panda').read_text()
START = 1_700_000_000_000_000_000
NODES = ('kinematics', 'dynamics', 'wrench_estimator')
OUTPUTS = 'wrench,gravity,coriolis,energy,mass_matrix,twist,jacobian,singularity,transforms'
OUTPUTS += ',momentum,external_torque'


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    """Return a recording with states without velocities, and others without an effort."""
    path = tmp_path_factory.mktemp('recorded') / 'run'
    names = [*(f'panda_joint{k}' for k in range(1, 8)), 'panda_finger_joint1']
    random = np.random.default_rng(3)
    with writing(path, {'/joint_states': JOINT_STATE, '/robot_description': STRING}) as put:
        put('/robot_description', START, string(ARM))
        for k in range(60):
            stamp = START + k * 4_000_000
            q, v, tau = random.normal(size=(3, len(names)))
            tau[0] = np.nan if k % 17 in (0, 5, 6) else tau[0]
            fields = q, v if k % 13 else (), tau
            put('/joint_states', stamp, joint_state(stamp, names, *fields))
    return path


def model_states(path, node):
    """Return the layout, and all model states."""
    states = []
    with Reader(path) as reader:
        for connection, time, data in reader.messages():
            if connection.topic == f'/{node}/model_state_layout':
                layout = deserialize_message(bytes(data), msg.ModelStateLayout)
                layout = ModelStateLayout.from_message(layout)
                assert connection.msgtype == 'screw_dynamics_msgs/msg/ModelStateLayout'
                assert time == START
            elif connection.topic == f'/{node}/model_state':
                by_bytes = ModelStateReader(layout).read(bytes(data))
                by_object = deserialize_message(bytes(data), msg.ModelState)
                assert by_object.layout_id == layout.id
                np.testing.assert_array_equal(next(iter(by_bytes.values())), by_object.data[:8])
                states.append(by_bytes)
    return layout, states


def test_replay_and_annotate_agree(tmp_path, recorded, monkeypatch):
    """In parts, order, labels, frames, validity, age and numbers."""
    monkeypatch.setattr(Annotator.blocks, '__defaults__', (7, None))  # states in a block
    options = ['--set', 'velocity_policy=reject', '--model-state', '--outputs', OUTPUTS]
    assert annotate([str(recorded), '-o', str(tmp_path / 'a.mcap'), *options]) == 0
    annotated, ours = model_states(tmp_path / 'a.mcap', 'bringup')
    parts = {part.name: part for part in annotated.parts}
    compared, order = set(), []
    for node in NODES:
        target = tmp_path / f'{node}.mcap'
        options = ['--nodes', node, '--topics', 'model_state', '--ros-args']
        options += ['-p', 'model_state:=[all]', '-p', 'velocity_policy:=reject']
        assert replay([str(recorded), '-o', str(target), *options]) == DONE
        layout, theirs = model_states(target, node)
        assert [state.stamp for state in theirs] == [state.stamp for state in ours]
        common = [part for part in layout.parts if part.name in parts]
        order += [part.name for part in common if part.name not in order]
        for part in common:
            own = parts[part.name]
            assert (own.labels, own.frame_id, own.unit) == (part.labels, part.frame_id, part.unit)
            if part.name.startswith('singularity/'):
                continue  # of another process
            for one, other in zip(ours, theirs):
                assert one.is_valid(part.name) == other.is_valid(part.name), part.name
                assert one.age(part.name) == pytest.approx(other.age(part.name), abs=1e-12)
                np.testing.assert_allclose(
                    one[part.name], other[part.name], 1e-9, 1e-9, err_msg=part.name
                )
            compared.add(part.name)
    assert [part.name for part in annotated.parts] == order
    assert len(compared) == len(parts) - 1
    for name in ('velocity', 'effort', 'twist/panda_hand_tcp', 'external_torque'):
        assert {state.is_valid(name) for state in ours} == {True, False}, name
    measures = [state['singularity/panda_hand_tcp'] for state in ours]
    ages = [state.age('singularity/panda_hand_tcp') for state in ours]
    assert ages[:6] == pytest.approx([0.0, 0.004, 0.008, 0.012, 0.016, 0.0])
    assert all((measures[k] == measures[0]).all() for k in range(5))
    assert (measures[5] != measures[0]).any()


def test_definitions_are_those_of_the_package():
    for kind, text in DEFINITIONS.items():
        path = ROOT / 'screw_dynamics_msgs/msg' / f'{kind.rpartition("/")[2]}.msg'
        lines = re.sub('#.*', '', path.read_text()).splitlines()
        assert [line.strip() for line in lines if line.strip()] == text.splitlines()
