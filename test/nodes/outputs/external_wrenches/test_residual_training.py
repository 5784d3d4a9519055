# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Training of residuals: what is recorded, and random orders of all that can happen."""

import pickle
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot, ScrewDynamicsError
from screw_dynamics_ros.core.compile.typed.library import calls
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverState
from screw_dynamics_ros.core.estimation.observers.parameters import DEFAULTS
from screw_dynamics_ros.core.estimation.threshold_flag import ThresholdFlag
from screw_dynamics_ros.core.identification import residual_fit
from screw_dynamics_ros.nodes.outputs.external_wrenches.residual_training import (
    RecordedStates,
    ResidualTraining,
    record_state,
)
from screw_dynamics_ros.ros.diagnostics import Level, Status
from support.robots import urdf_path

MS = 1_000_000
SECOND = 1000 * MS
BEGIN = 1_700_000_000 * SECOND
THRESHOLD = 5.0
record = calls(record_state)[0]


def recorder(duration=30 * SECOND, size=10_000):
    made = RecordedStates(np.zeros(2), size, duration)
    made.flag = ThresholdFlag(np.full(2, THRESHOLD), np.ones(2), 0.0, 0.0)
    made.observer, made.is_active = ObserverState(), True
    return made


def give(made, stamps, torque=0.0, is_valid=True):
    """Give states, the numbers of which are their stamps after the first [ms]."""
    for stamp in stamps:
        made.torques[:] = 0.0, torque
        record(made, np.arange(6.0) + stamp / MS, BEGIN + stamp, is_valid)


def test_states_and_their_duration():
    made = recorder()
    give(made, range(0, 100 * MS, 10 * MS))
    give(made, range(100 * MS, 200 * MS, 10 * MS), is_valid=False)
    give(made, range(5 * SECOND, 5 * SECOND + 100 * MS, 10 * MS))  # after a pause
    t, q, v, tau = made.arrays
    np.testing.assert_allclose(t, np.r_[np.arange(10), 500 + np.arange(10)] * 0.01)
    np.testing.assert_array_equal([q[12], v[12], tau[12]], 5020 + np.arange(6.0).reshape(3, 2))
    assert made.recorded == 180 * MS


def test_nothing_around_a_contact():
    made = recorder()
    give(made, range(0, 2000 * MS, 10 * MS))
    give(made, [2000 * MS], torque=-THRESHOLD - 0.1)
    give(made, range(2010 * MS, 5000 * MS, 10 * MS))
    t = made.arrays[0]
    assert t[t < 2.0].max() == pytest.approx(1.5)
    assert t[t > 2.0].min() == pytest.approx(3.0)
    assert made.recorded == 1500 * MS + 1990 * MS


@pytest.mark.parametrize('torque', [np.nan, np.inf])
def test_a_torque_that_is_not_finite_is_no_free_motion(torque):
    made = recorder()
    give(made, [0], torque=torque)
    assert made.count == 0


def test_the_end():
    made = recorder(duration=100 * MS)
    give(made, range(0, 300 * MS, 10 * MS))
    assert (made.is_active, made.count, made.recorded) == (False, 11, 100 * MS)


def test_memory_is_bounded():
    """States are taken at regular times, and there are never more than fit."""
    made = recorder(duration=30 * SECOND, size=100)
    give(made, range(0, 40 * SECOND, 10 * MS))
    t = made.arrays[0]
    assert made.count <= 100
    np.testing.assert_allclose(np.diff(t), 0.3, atol=1e-9)


def test_stamps_that_go_back_start_again():
    made = recorder()
    give(made, [10 * MS, 20 * MS, 5 * MS, 30 * MS])
    np.testing.assert_allclose(made.arrays[0], [0.0, 0.025])
    assert (made.is_active, made.recorded) == (True, 25 * MS)


# --- the service ---------------------------------------------------------------------------------


class Offsets:
    """What fits, when the test says so."""

    def __init__(self):
        self.task, self.updates, self.foreign, self.saved = None, [], '', []

    def check_model_file(self, service):
        if self.task is not None:
            raise ScrewDynamicsError(f'busy: {service}')
        if self.foreign:
            raise ScrewDynamicsError(self.foreign)

    def model_writer(self):
        return self.saved.append

    def ask(self, task):
        assert self.task is None
        self.task = task

    def finish(self):
        if self.task is not None:
            self.updates.append(self.task())
            self.task = None


class Node:
    """The training of an arm, and its services."""

    def __init__(self, patch):
        patch.setattr(residual_fit, 'fit_residual', self._fit)
        self.robot, self.residuals = Robot.from_urdf(urdf_path('planar_2r')), Offsets()
        self.body = RigidBody(1.0, np.zeros(3), np.eye(3))
        self.bodies, self.stamp, self.fits = {}, 0, 0
        parameters = {**asdict(DEFAULTS), 'observer': 'kalman', 'training_duration': 30.0}
        self.host = SimpleNamespace(
            parameters={'effort_terms': ['gravity']},
            payloads=SimpleNamespace(active_bodies=lambda: dict(self.bodies)),
            gravity=np.array([0.0, 0.0, -9.81]),
            situation=lambda _: SimpleNamespace(
                robot=pickle.dumps(self.robot), gravity=np.array([0.0, 0.0, -1.6])
            ),
        )
        self.training = ResidualTraining(self._serve, parameters, self.host, self.residuals)
        self.bind()

    def _serve(self, kind, name, answer):
        self.answer = answer

    def _fit(self, robot, recordings, settings):
        self.fits += 1
        (self.recording,) = recordings
        assert settings.effort_terms == ('gravity',)
        assert settings.observer == 'kalman'
        assert settings.observer_effort_deviation == (0.2,)
        assert robot.gravity[2] == -1.6
        return SimpleNamespace(
            joint_names=('joint1', 'joint2'),
            before=np.array([2.0, np.nan]),
            after=np.array([0.5, np.nan]),
            findings=['joint joint2: nothing'],
            model=self.fits,
        )

    def bind(self):
        self.torques = np.zeros(2)
        model = SimpleNamespace(joints=('joint1', 'joint2'), robot=self.robot)
        flag = ThresholdFlag(np.full(2, THRESHOLD), np.ones(2), 0.0, 0.0)
        self.observer = ObserverState()
        self.observer.is_settled = True
        self.training.bind(model, self.torques, flag, self.observer)

    def call(self, wanted):
        """Return whether the service succeeds, and its message."""
        try:
            return True, self.answer(SimpleNamespace(data=wanted), None)
        except ScrewDynamicsError as error:
            return False, str(error)

    def move(self, seconds, torque=0.0):
        for _ in range(round(seconds / 0.1)):
            self.stamp += 100 * MS
            self.torques[:] = torque, 0.0
            if self.training.stage().is_needed():
                record(self.training.record, np.arange(6.0), BEGIN + self.stamp, True)
        self.torques[:] = 0.0

    @property
    def status(self):
        status = Status('outputs')
        self.training.report(status)
        return status

    @property
    def progress(self):
        return self.status.values.get('residual training', '')


@pytest.fixture
def node(monkeypatch):
    return Node(monkeypatch)


def test_a_training(node):
    node.bodies = {'tip': node.body}
    success, message = node.call(True)
    assert success
    assert message.startswith('recording 30 s')
    node.move(12.0)
    text = '12 of 30 s, 120 states, joint1 0.00 to 0.00, joint2 1.00 to 1.00'
    assert node.progress == text
    assert node.call(True) == (False, f'a training is active: {text}')
    node.move(1.0, torque=9.0)
    node.move(31.0)
    assert node.progress == ''
    assert node.call(True) == (False, 'busy: ~/train_residual')
    node.residuals.finish()
    (update,) = node.residuals.updates
    assert (update.model, update.text) == (1, 'joint1 2 to 0.5; joint joint2: nothing')
    assert node.residuals.saved == [1]
    assert node.recording.payloads == node.bodies
    assert node.recording.t[-1] >= 30.0
    assert node.status.level == Level.OK
    assert node.call(True)[0]


def test_what_is_refused(node):
    node.torques[0] = 2.0 * THRESHOLD
    assert 'above its contact threshold' in node.call(True)[1]
    node.torques[0], node.residuals.foreign = 0.0, 'another file'
    assert node.call(True) == (False, 'another file')
    node.residuals.foreign = ''
    assert node.call(False) == (True, 'nothing is recorded; the residual stays as it is')
    assert node.status.level == Level.OK
    assert node.call(True)[0]


@pytest.mark.parametrize('what', ['payload', 'terms', 'gravity'])
def test_other_conditions_end_it(node, what):
    node.call(True)
    node.move(31.0)
    if what == 'payload':
        node.bodies = {'tip': node.body}
    elif what == 'terms':
        node.host.parameters['effort_terms'] = ['gravity', 'friction']
    else:
        node.host.gravity[0] = 1.0
    assert 'payloads, gravity or effort_terms have changed' in node.status.summary
    assert node.residuals.task is None
    assert node.call(True)[0]
    assert node.status.level == Level.OK


def test_random_orders(node):
    """Beside a model of three states: each recording that nothing ends is fitted once."""
    random = np.random.default_rng(5)
    state, expected, counts = 'idle', 0, {}
    for _ in range(3000):
        event = random.choice(
            ['start', 'stop', 'bind', 'move', 'touch', 'back', 'finish', 'report'],
            p=[0.2, 0.02, 0.02, 0.4, 0.06, 0.02, 0.13, 0.15],
        )
        before = state
        if event == 'start':
            state = 'fitting' if state == 'over' else state
            assert node.call(True)[0] == (state == 'idle')
            state = 'recording' if state == 'idle' else state
        elif event in ('stop', 'bind'):
            if event == 'stop':
                node.call(False)
                state = 'fitting' if state == 'over' else state
            else:
                node.bind()
            state = 'idle' if state in ('recording', 'over') else state
        elif event == 'move':
            node.move(10.0)
            if state == 'recording' and node.training.record.recorded >= 30 * SECOND:
                state = 'over'
        elif event == 'touch':
            node.move(0.2, torque=9.0)
        elif event == 'back':
            node.stamp -= 3600 * SECOND
            node.move(0.1)
            assert state != 'recording' or node.training.record.count == 1
        elif event == 'finish':
            expected += state == 'fitting'
            node.residuals.finish()
            state = 'idle' if state == 'fitting' else state
        else:
            text = node.progress
            state = 'fitting' if state == 'over' else state
            assert (' of 30 s' in text) == (state == 'recording')
        counts[before, state] = counts.get((before, state), 0) + 1
        assert (node.residuals.task is not None) == (state == 'fitting')
        assert node.training.record.is_active == (state == 'recording')
        assert len(node.residuals.updates) == node.fits == expected
    assert expected > 10
    assert {('recording', 'idle'), ('over', 'idle'), ('over', 'fitting')} <= counts.keys()
