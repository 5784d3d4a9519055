# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""~/record_residual and ~/fit_residual_map: what the map subtracts, its file, what is refused."""

import threading
import time

import numpy as np
import pytest
import yaml
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.estimation.effort_terms import TERMS as NAMES_OF_TERMS
from screw_dynamics_ros.core.estimation.residual_map import fitted
from screw_dynamics_ros.core.estimation.residual_model import add_covariance, set_doubts
from screw_dynamics_ros.nodes.outputs.external_wrenches import (
    residual_offsets,
    residual_recordings,
    tare,
)
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.ros.diagnostics import Level
from support.host_bench import DEADLINE, Bench, serialized
from support.residual_models import some_model
from support.robots import urdf_path

JOINTS = ['joint1', 'joint2']
PLANAR = urdf_path('planar_2r').read_text()
POSES = [np.array([a, b]) for a in (-0.5, 0.0, 0.5) for b in (-0.4, 0.3, 1.0)]
STEP = 2_000_000  # ns


def bias(q):
    """What is wrong with the model, [N m]."""
    return np.array([1.0 + np.sin(q[0]), 0.5 * np.cos(q[0] + q[1])])


class Arm:
    """The node in this process, and an arm whose efforts have a bias that depends on the pose."""

    def __init__(self, patch, **parameters):
        parameters = {'max_delay': 10.0, 'backend': 'python', 'tare_samples': 4, **parameters}
        self.bench = Bench(patch, WrenchEstimator, 'wrench_estimator', **parameters)
        patch.setattr(tare, 'time', self.bench.clock)
        self.take(PLANAR)
        self.robot = Robot.from_urdf(PLANAR, backend='reference')
        self.stamp = self.bench.clock.time_ns() + 10**9
        self.tare = self.bench.part._tare
        self.settle()

    def take(self, text):
        self.bench.describe(text)

    def come(self, q, v=(0.0, 0.0), push=(0.0, 0.0)):
        """Let a state come; return what is published, by topic."""
        bench = self.bench
        self.stamp += STEP
        bench.clock.offset += (self.stamp - bench.clock.time_ns()) * 1e-9
        bench.sent.clear()
        tau = self.robot.gravity_torques(q) - bias(q) - np.array(push)
        bench.host.states.receive(serialized(JOINTS, q, self.stamp, v, tau), {})
        return {topic.removeprefix('/life/wrench_estimator/'): data for topic, data in bench.sent}

    def torque(self, q, push=(0.0, 0.0)):
        return effort(self.come(q, push=push), 'external_torque')

    def rest(self, q):
        """Rest for a while; what was before has been at another pose."""
        self.tare._states.forget()
        for _ in range(4):
            self.come(q)

    def call(self, name):
        """Return success and message of a service."""
        name = {'record': 'record_residual', 'fit': 'fit_residual_map'}.get(name, name)
        (found,) = (s for s in self.bench.node.services if s.srv_name.endswith(f'/{name}'))
        response = found.callback(Trigger.Request(), Trigger.Response())
        return response.success, response.message

    def record(self, poses=POSES):
        for q in poses:
            self.rest(q)
            success, message = self.call('record')
            assert success, message

    def settle(self):
        """Wait until the background has finished, and adopt its result."""
        end = time.monotonic() + DEADLINE
        while self.tare.residuals._background.is_busy:
            assert time.monotonic() < end
            time.sleep(0.001)
        self.tare.residuals.adopt()

    def fit(self):
        assert self.call('fit')[0]
        self.settle()

    def set(self, **values):
        result = self.bench.set(**values)
        self.settle()
        return result.successful, result.reason

    @property
    def status(self):
        return self.bench.part.status()


def effort(sent, topic):
    return np.array(deserialize_message(sent[topic], JointState).effort)


@pytest.fixture
def make(monkeypatch, keep):
    return lambda **parameters: keep(Arm(monkeypatch, **parameters))


def expected():
    return fitted(np.array(POSES), np.array([bias(q) for q in POSES]), np.array([True, True]))


def test_the_map_takes_off_what_the_pose_adds(make):
    """Without another compilation; between recorded poses, and with a push that remains."""
    arm = make()
    arm.record()
    np.testing.assert_allclose(arm.torque(POSES[0]), bias(POSES[0]), atol=1e-9)
    arm.bench.host.source.loader.build = None
    arm.fit()
    q, fitted = np.array([0.2, 0.6]), expected()
    np.testing.assert_allclose(arm.torque(q), bias(q) - fitted.residual(q), atol=1e-7)
    np.testing.assert_allclose(arm.torque(q, (3.0, -1.0)), [3.0, -1.0], atol=0.02)
    sent = arm.come(q)
    np.testing.assert_allclose(effort(sent, 'residual'), fitted.residual(q), atol=1e-7)
    confidence = deserialize_message(sent['residual_confidence'], Float64MultiArray)
    assert confidence.layout.dim[0].label == 'confidence,joint1,joint2'
    np.testing.assert_allclose(
        confidence.data, [fitted.confidence(q), *fitted.deviation(q)], atol=1e-6
    )
    assert arm.status.values['residual map'].startswith('active')
    far = np.array([2.9, -2.5])
    np.testing.assert_allclose(arm.torque(far), bias(far) - fitted.residual(far), atol=1e-7)
    assert 'far from recorded poses' in arm.status.summary


def test_its_uncertainty_is_in_the_covariance(make):
    arm = make()
    arm.record()
    arm.fit()
    for q in (POSES[4], np.array([2.9, -2.5])):
        data = deserialize_message(
            arm.come(q)['external_torque_covariance'], Float64MultiArray
        ).data
        noise = 0.2**2 * np.eye(2) + np.diag(expected().deviation(q) ** 2)
        np.testing.assert_allclose(np.array(data).reshape(2, 2), noise, atol=1e-6)


def test_the_next_state_adopts_a_map_that_is_ready(make):
    """Whether or not the status is reported meanwhile."""
    arm = make()
    arm.record()
    assert abs(arm.torque(POSES[0])).max() > 0.1
    assert arm.call('fit')[0]
    arm.bench.wait(lambda: not arm.tare.residuals._background.is_busy)
    assert abs(arm.torque(POSES[0])).max() < 0.02


def test_tare_beside_the_map_and_reset(make):
    arm = make()
    q = np.array([0.2, 0.6])
    arm.rest(q)
    assert arm.call('tare')[0]
    arm.record()
    arm.fit()  # has what the tare before has removed
    assert abs(arm.torque(q)).max() < 0.02
    arm.tare._states.forget()
    for _ in range(4):
        arm.come(q, push=(2.0, 2.0))
    assert arm.call('tare')[0]
    np.testing.assert_allclose(arm.torque(q, (2.0, 2.0)), 0.0, atol=1e-9)
    assert abs(arm.torque(POSES[0], (2.0, 2.0))).max() < 0.02
    arm.tare._forget()
    np.testing.assert_allclose(arm.torque(q), bias(q), atol=1e-9)
    arm.fit()  # what was recorded is still there
    assert abs(arm.torque(q)).max() < 0.02


def test_the_file_is_written_and_read_at_the_next_start(make, tmp_path):
    folder = tmp_path / 'data'
    path = folder / 'residuals.yaml'
    arm = make(residual_map=path.name, data_folder=str(folder))
    assert arm.status.values['recorded residuals'] == '0 poses'
    arm.record()
    arm.fit()
    content = yaml.safe_load(path.read_text())
    assert content['joints'] == JOINTS
    assert len(content['poses']) == len(POSES)
    assert [each.name for each in folder.iterdir()] == [path.name]
    q = np.array([0.2, 0.6])
    first = arm.torque(q)
    other = make(residual_map=path.name, data_folder=str(folder))
    np.testing.assert_allclose(other.torque(q), first, atol=1e-9)
    content['joints'].reverse()  # by name, whatever the order
    for pose in content['poses']:
        pose['positions'].reverse()
        pose['residuals'].reverse()
    swapped = folder / 'swapped.yaml'
    swapped.write_text(yaml.safe_dump(content))
    assert other.set(residual_map=swapped.name)[0]
    np.testing.assert_allclose(other.torque(q), first, atol=1e-9)
    assert other.set(residual_map='')[0]
    np.testing.assert_allclose(other.torque(q), bias(q), atol=1e-9)


BAD_FILES = {
    'joints: [a, b]\neffort_terms: []\nposes: []\n': 'is for other joints; the robot has joint1',
    'joints: [joint1, joint2]\neffort_terms: [gravity]\nposes: []\n': 'record it again',
    'poses: 3\n': 'is not a file of residuals',
    '{': 'it is not YAML',
    'a: &a [1]\nb: *a\n': 'ROS 2 does not support aliases',
}
TERMS = 'effort_terms: [gravity, coriolis, inertia, friction, payload]'
for numbers in ('[1.0]', '[1.0, .nan]', '[a, b]', '{}'):
    pose = f'{{positions: [0.0, 0.0], residuals: {numbers}}}'
    text = f'joints: [joint1, joint2]\n{TERMS}\nposes: [{pose}]\n'
    BAD_FILES[text] = 'residuals of pose 1 must be 2 finite numbers'


def test_bad_files(make, tmp_path):
    """No map, torques as they are, and the reason."""
    arm = make(data_folder=str(tmp_path))
    for k, (text, reason) in enumerate(BAD_FILES.items()):
        path = tmp_path / f'{k}.yaml'
        path.write_text(text)
        assert arm.set(residual_map=path.name)[0]
        status = arm.status
        assert status.level == Level.ERROR
        assert reason in status.summary
        np.testing.assert_allclose(arm.torque(POSES[0]), bias(POSES[0]), atol=1e-9)
    arm.record(POSES[:5])
    success, message = arm.call('fit')
    assert not success
    assert 'is not overwritten' in message
    assert path.read_text() == text
    success, text = arm.set(residual_map=str(tmp_path / 'map.yaml'))
    assert not success
    assert 'plain name' in text


def test_a_path_is_refused_at_the_start(make, tmp_path):
    with pytest.raises(ArgumentError, match='residual_map must be a plain name'):
        make(residual_map=str(tmp_path / 'map.yaml'))


def test_a_file_that_cannot_be_written_is_told(make, tmp_path):
    folder = tmp_path / 'folder'
    arm = make(residual_map='map.yaml', data_folder=str(folder))
    arm.record()
    folder.write_text('')
    arm.fit()
    assert 'cannot be written' in arm.status.summary
    assert abs(arm.torque(POSES[0])).max() < 0.02  # active all the same


def test_refusals(make):
    arm = make()
    for name in ('record', 'fit'):
        success, message = arm.call(name)
        assert not success
    arm.rest(POSES[0])
    arm.come(POSES[0], v=(0.3, 0.0))
    success, message = arm.call('record')
    assert not success
    assert 'joint1 moved at 0.3 rad/s' in message
    assert '~/record_residual again' in message
    arm.record(POSES[:4])
    success, message = arm.call('fit')
    assert not success
    assert '4 poses are recorded, but a map needs at least 5' in message
    arm.set(effort_terms=['gravity'])
    arm.rest(POSES[0])
    assert 'recorded with effort_terms' in arm.call('record')[1]


def test_a_reset_while_the_file_is_read_keeps_what_is_in_it(make, monkeypatch, tmp_path):
    arm = make(residual_map='map.yaml', data_folder=str(tmp_path))
    arm.record()
    arm.fit()
    gate, read = threading.Event(), residual_offsets.read

    def slow(*arguments):
        assert gate.wait(DEADLINE)
        return read(*arguments)

    monkeypatch.setattr(residual_offsets, 'read', slow)
    arm.tare.residuals.load()
    arm.tare._forget()
    assert 'read or fitted' in arm.call('fit')[1]
    gate.set()
    arm.settle()
    assert arm.status.values['residual map'] == 'none'
    assert arm.status.values['recorded residuals'] == f'{len(POSES)} poses'
    arm.fit()
    assert abs(arm.torque(POSES[0])).max() < 0.02


def test_what_is_asked_for_last_counts(make, monkeypatch):
    """A fit that is overtaken by a reset or another robot does not come into force."""
    arm = make()
    arm.record()
    gate, q = threading.Event(), POSES[0]

    def slow(*arguments):
        assert gate.wait(DEADLINE)
        return fitted(*arguments)

    monkeypatch.setattr(residual_recordings, 'fitted', slow)
    for overtake in (
        lambda: arm.tare._forget(),
        lambda: arm.take(PLANAR.replace('planar_2r', 'another')),
    ):
        gate.clear()
        assert arm.call('fit')[0]
        assert 'read or fitted' in arm.call('fit')[1]
        threads = [each for each in threading.enumerate() if each.name == 'residuals']
        overtake()
        gate.set()
        for thread in threads:
            thread.join(DEADLINE)
        arm.stamp += 10**9
        np.testing.assert_allclose(arm.torque(q), bias(q), atol=1e-9)
        assert arm.status.values['residual map'] == 'none'
    assert arm.status.values['recorded residuals'] == '0 poses'  # those of another robot


def test_a_model_of_identify(make, tmp_path):
    """Its torques are subtracted, its variances replace those of the parameters.

    Another observer than that of its variances is reported.
    """
    model = some_model(n=2, turning=(1, 1))
    model.observer = 'static'
    text = residual_recordings.model_text(JOINTS, NAMES_OF_TERMS, model)
    (tmp_path / 'model.yaml').write_text(text)
    arm = make(residual_map='model.yaml', data_folder=str(tmp_path), observer_model_deviation=[9.0])
    q, v = POSES[0], np.array([0.1, -0.2])
    for k in range(20):
        found = arm.come(q + 0.002 * k, v)
    state = np.r_[q + 0.038, v, arm.robot.gravity_torques(q + 0.038) - bias(q + 0.038)]
    mine = arm.tare.residuals.model
    assert abs(mine.memory[0]) > 0.9
    np.testing.assert_allclose(effort(found, 'residual'), mine.residual(state[:2]))
    np.testing.assert_allclose(
        effort(found, 'external_torque'),
        bias(q + 0.038) + coriolis(arm, q + 0.038, v) - mine.residual(state[:2]),
        atol=1e-9,
    )
    set_doubts(mine)
    square = np.array(
        deserialize_message(found['external_torque_covariance'], Float64MultiArray).data
    )
    expected = np.zeros(4)
    add_covariance(mine, state, expected)
    noise = arm.bench.part._observer.noise_deviations[0] ** 2
    np.testing.assert_allclose(square, expected + np.diag(noise).ravel())
    assert arm.status.values['residual map'] == 'active, a model of states'
    assert 'variances' not in arm.status.summary
    mine.observer = 'momentum, observer_time_constant 0.02'
    assert f'are for observer {mine.observer}, not for static: set' in arm.status.summary


def coriolis(arm, q, v):
    return arm.robot.coriolis_torques(q, v) + arm.robot.friction_torques(v)


def test_poses_are_not_added_to_a_model(make, tmp_path):
    """~/reset removes the model, ~/fit_residual_map reads it again; its file remains."""
    path = tmp_path / 'model.yaml'
    path.write_text(
        residual_recordings.model_text(JOINTS, NAMES_OF_TERMS, some_model(n=2, turning=(1, 1)))
    )
    text = path.read_text()
    arm = make(residual_map=path.name, data_folder=str(tmp_path))
    arm.rest(POSES[0])
    success, reason = arm.call('record')
    assert not success
    assert 'model.yaml is a model by identify --residual: set residual_map to another' in reason
    assert arm.call('reset')[0]
    assert arm.status.values['residual map'] == 'none'
    arm.fit()
    assert arm.status.values['residual map'].startswith('active')
    assert path.read_text() == text
    path.write_text(text.replace('weights', 'heights'))
    assert arm.set(residual_map='')[0]
    assert arm.set(residual_map=path.name)[0]
    assert arm.tare.residuals.model is None
    assert 'model.yaml: weights must be 50 finite numbers; run identify' in arm.status.summary
