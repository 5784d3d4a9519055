# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Training of residuals: what is recorded, and random orders of all that can happen."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.core import ArgumentError, Robot, ScrewDynamicsError
from screw_dynamics_ros.core.compile.typed.library import calls
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverState
from screw_dynamics_ros.core.estimation.threshold_flag import ThresholdFlag
from screw_dynamics_ros.nodes.outputs.external_wrenches import residual_training
from screw_dynamics_ros.nodes.outputs.external_wrenches.recorded_states import (
    RecordedStates,
    record_state,
)
from screw_dynamics_ros.nodes.outputs.external_wrenches.residual_training import ResidualTraining
from screw_dynamics_ros.ros.diagnostics import Level, Status
from support.robots import urdf_path

MS = 1_000_000
SECOND = 1000 * MS
BEGIN = 1_700_000_000 * SECOND
THRESHOLD = 5.0
record = calls(record_state)[0]


def recorder(duration=30 * SECOND, size=10_000):
    made = RecordedStates(2, size, duration)
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
    t, states = made.arrays
    np.testing.assert_allclose(t, np.r_[np.arange(10), 500 + np.arange(10)] * 0.01)
    np.testing.assert_array_equal(states[12], (5020 + np.arange(6.0)).reshape(3, 2))
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
    assert made.contacts == 100


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


def test_stamps_that_go_back():
    made = recorder()
    give(made, [10 * MS, 20 * MS, 5 * MS, 30 * MS])
    assert (made.is_active, made.went_back, made.count) == (False, True, 2)


# --- the service ---------------------------------------------------------------------------------


class Controlled:
    """A background task that runs when the test says so."""

    def __init__(self, name):
        self.waiting = self.outcome = None

    @property
    def is_busy(self):
        return self.waiting is not None

    def ask(self, task):
        self.waiting, self.outcome = task, None

    def cancel(self):
        self.waiting = self.outcome = None

    def poll(self):
        found, self.outcome = self.outcome, None
        return found

    def finish(self):
        if self.waiting is not None:
            self.waiting, self.outcome = None, self.waiting()


class Node:
    """The training of an arm, its services and what it has activated."""

    def __init__(self, patch):
        patch.setattr(residual_training, 'Latest', Controlled)
        patch.setattr(residual_training, 'fit_residual', self._fit)
        self.fails, self.bodies, self.activated, self.saved = '', {}, [], []
        self.save_fault, self.robot = '', Robot.from_urdf(urdf_path('planar_2r'))
        self.parameters = {
            'training_duration': 30.0,
            'observer_time_constant': 0.02,
            'effort_delay': 0.0,
        }
        self.host = SimpleNamespace(
            parameters={'effort_terms': ['gravity']},
            payloads=SimpleNamespace(active_bodies=lambda: self.bodies),
            gravity=np.array([0.0, 0.0, -9.81]),
            situation=lambda _: SimpleNamespace(
                robot=pickle.dumps(self.robot), gravity=np.array([0.0, 0.0, -1.6])
            ),
        )
        self.foreign = ''
        residuals = SimpleNamespace(
            check_model_file=self._check_file,
            model_writer=lambda: self._save,
            use_model=self.activated.append,
        )
        self.training = ResidualTraining(self._serve, self.parameters, self.host, residuals)
        self.stamp, self.fits = 0, 0
        self.bind()

    def _serve(self, kind, name, answer):
        self.answer = answer

    def _fit(self, robot, recordings, settings):
        self.fits += 1
        assert settings.effort_terms == ('gravity',)
        assert robot.gravity[2] == -1.6
        self.recording = recordings[0]
        if self.fails:
            raise {'short': ArgumentError, 'crash': ZeroDivisionError}[self.fails](self.fails)
        return SimpleNamespace(
            joint_names=('joint1', 'joint2'),
            before=np.array([2.0, np.nan]),
            after=np.array([0.5, np.nan]),
            findings=[],
            model=self.fits,
        )

    def _save(self, model):
        self.saved.append(model)
        if self.save_fault:
            raise ArgumentError(self.save_fault)

    def _check_file(self):
        if self.foreign:
            raise ScrewDynamicsError(self.foreign)

    def bind(self):
        self.training.release()
        self.torques = np.zeros(2)
        model = SimpleNamespace(
            joints=('joint1', 'joint2'), robot=self.robot, results={'torques': self.torques}
        )
        flag = ThresholdFlag(np.full(2, THRESHOLD), np.ones(2), 0.0, 0.0)
        observer = ObserverState()
        observer.is_settled = True
        self.training.bind(model, 'torques', flag, observer)

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
            made = self.training.record
            if self.training.stage().is_needed():
                record(made, np.ones(6), BEGIN + self.stamp, True)
        self.torques[:] = 0.0

    @property
    def status(self):
        status = Status('outputs')
        self.training.report(status)
        return status


@pytest.fixture
def node(monkeypatch):
    return Node(monkeypatch)


def test_a_training(node):
    success, message = node.call(True)
    assert success
    assert message.startswith('recording 30 s')
    node.move(12.0)
    assert node.status.values['residual training'] == '12 of 30 s, 120 states'
    assert node.call(True) == (False, 'a training is active, 12 of 30 s, 120 states')
    node.move(1.0, torque=9.0)
    assert 'in contact' in node.status.values['residual training']
    node.move(30.0)
    assert node.status.values['residual training'].startswith('fitting ')
    assert not node.activated
    node.training._background.finish()
    values = node.status.values
    assert values['residual training'] == 'done, joint1 2 to 0.5'
    assert 'residual training range' not in values
    assert node.status.level == Level.OK
    assert node.activated == [1]
    assert node.saved == node.activated
    assert node.recording.t[-1] - node.recording.t[0] >= 30.0


def test_what_is_refused(node):
    node.torques[0] = 2.0 * THRESHOLD
    assert 'above its contact threshold' in node.call(True)[1]
    node.torques[0], node.bodies = 0.0, {'tip': None}
    assert node.call(True) == (False, 'tip carries a payload: detach it')
    node.bodies, node.foreign = {}, 'another file'
    assert node.call(True) == (False, 'another file')
    node.foreign = ''
    assert node.call(False) == (True, 'no training; the residual stays as it is')
    assert node.call(True)[0]


@pytest.mark.parametrize(
    ('fails', 'save', 'text'),
    [('short', '', 'short'), ('crash', '', 'ZeroDivisionError: crash'), ('', 'full', 'full')],
)
def test_a_fit_that_fails_changes_nothing(node, fails, save, text):
    node.fails, node.save_fault = fails, save
    node.call(True)
    node.move(31.0)
    node.training.advance()
    node.training._background.finish()
    assert node.status.summary == f'the training of the residual has ended: {text}'
    assert not node.activated
    node.fails = node.save_fault = ''
    assert node.call(True)[0]
    assert node.status.level == Level.OK


@pytest.mark.parametrize('when', ['recording', 'fitting'])
@pytest.mark.parametrize('what', ['payload', 'terms', 'gravity'])
def test_other_conditions_end_it(node, what, when):
    node.call(True)
    node.move(31.0 if when == 'fitting' else 5.0)
    node.training.advance()
    if what == 'payload':
        node.bodies = {'tip': None}
    elif what == 'terms':
        node.host.parameters['effort_terms'] = ['gravity', 'friction']
    else:
        node.host.gravity[0] = 1.0
    node.training._background.finish()
    assert 'payloads, gravity or effort_terms have changed' in node.status.summary
    assert not node.activated
    assert not node.training.record.is_active


def test_random_orders(node):
    """Beside a model of three states; only a training that nothing has ended is activated."""
    random = np.random.default_rng(5)
    state, seconds, expected, counts = 'idle', 0.0, [], {}
    for _ in range(3000):
        event = random.choice(
            ['start', 'stop', 'bind', 'move', 'touch', 'back', 'finish', 'fail', 'report'],
            p=[0.15, 0.03, 0.03, 0.37, 0.1, 0.02, 0.12, 0.03, 0.15],
        )
        before = state
        if event == 'start':
            node.training.advance()
            if state == 'over':
                state = 'fitting'
            assert node.call(True)[0] == (state == 'idle')
            if state == 'idle':
                state, seconds = 'recording', 0.0
        elif event in ('stop', 'bind'):
            if event == 'stop':
                node.call(False)
            else:
                node.bind()
            state = 'idle'
        elif event == 'move':
            node.move(10.0)
            if state == 'recording':
                seconds = node.training.record.recorded / SECOND
                assert seconds <= 30.0
                state = 'recording' if seconds < 30.0 else 'over'
        elif event == 'touch':
            node.move(0.2, torque=9.0)
        elif event == 'back':
            node.stamp -= 3600 * SECOND
            if state == 'recording' and node.training.record.count:
                node.move(0.1)
                node.training.advance()
                state = 'idle'
        elif event in ('finish', 'fail'):
            node.training.advance()
            state = 'fitting' if state == 'over' else state
            node.fails = 'short' if event == 'fail' else ''
            node.training._background.finish()
            if state == 'fitting':
                expected += [node.fits] if event == 'finish' else []
                node.training.advance()
                state = 'idle'
        else:
            text = node.status.values['residual training']
            state = 'fitting' if state == 'over' else state
            assert text.startswith('fitting') == (state == 'fitting')
            assert (' of 30 s' in text) == (state == 'recording')
        counts[before, state] = counts.get((before, state), 0) + 1
        assert node.activated == expected
    assert len(expected) > 10
    assert {('recording', 'idle'), ('fitting', 'idle'), ('over', 'fitting')} <= counts.keys()
