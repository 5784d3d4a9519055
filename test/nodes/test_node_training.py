# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""~/train_residual in a node: from motion to an active model and its file."""

import numpy as np
import pytest
from rclpy.parameter import Parameter
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.ros.diagnostics import Level
from support.host_bench import Bench, serialized
from support.loop_pair import PLANAR

JOINTS = ['joint1', 'joint2']
STEP = 50_000_000  # ns
FRICTION = np.array([3.0, 1.0])  # N m, not in the model
RATES = np.array([0.9, 1.7])  # rad/s


class Arm:
    """The node in this process, and an arm that moves with friction."""

    def __init__(self, monkeypatch, folder):
        self.bench = Bench(
            monkeypatch,
            WrenchEstimator,
            'wrench_estimator',
            backend='native',
            max_delay=10.0,
            timeout=1.0,
            observer='momentum',
            training_duration=40.0,
            residual_map='model.yaml',
            data_folder=str(folder),
        )
        self.take(PLANAR)
        self.robot = Robot.from_urdf(PLANAR)
        self.begin = self.stamp = self.bench.clock.time_ns() + 10**9
        self.wait()  # for the file, which does not exist yet

    def take(self, text):
        self.bench.host.source.receive(String(data=text))
        self.bench.finish()

    def move(self, seconds, push=0.0):
        """Move; return the root mean squares of external torques (2,)."""
        found = []
        for _ in range(round(seconds / STEP * 1e9)):
            self.stamp += STEP
            self.bench.clock.offset += (self.stamp - self.bench.clock.time_ns()) * 1e-9
            phase = RATES * (self.stamp - self.begin) * 1e-9
            q, v, a = np.sin(phase), RATES * np.cos(phase), -(RATES**2) * np.sin(phase)
            tau = self.robot.inverse_dynamics(q, v, a) + FRICTION * np.tanh(v / 0.02) - push
            self.bench.host.states.receive(serialized(JOINTS, q, self.stamp, v, tau), {})
            plan = self.bench.part._adopted.plan
            found.append(self.bench.host.model.results[plan.filtered_torque].copy())
        return np.sqrt(np.mean(np.square(found), axis=0))

    def call(self, name, kind, **request):
        name = f'/{name}'
        (found,) = (s for s in self.bench.node.services if s.srv_name.endswith(name))
        answer = found.callback(kind.Request(**request), kind.Response())
        return answer.success, answer.message

    def train(self, wanted=True):
        return self.call('train_residual', SetBool, data=wanted)

    @property
    def status(self):
        return self.bench.part.status()

    def wait(self):
        self.bench.wait(lambda: not self.bench.part._tare.residuals._background.is_busy)


@pytest.fixture
def arm(monkeypatch, keep, tmp_path):
    return keep(Arm(monkeypatch, tmp_path))


def test_a_training_in_the_node(arm, tmp_path):
    arm.move(1.0)
    before = arm.move(10.0)
    success, message = arm.train()
    assert success, message
    arm.move(20.0)
    assert arm.status.values['residual training'].startswith('20 of 40 s, 4')
    arm.move(2.0, push=np.array([30.0, 0.0]))
    arm.move(25.0)
    assert arm.status.values['residual map'] == 'in preparation'
    arm.wait()
    status = arm.status
    assert status.values['residual map'].startswith('active, joint1 ')
    assert 'residual training' not in status.values
    np.testing.assert_array_less(arm.move(10.0), 0.4 * before)
    assert (tmp_path / 'model.yaml').read_text().startswith('# Residuals')

    # The file is read by the next node, here for another robot with these joints.
    arm.take(PLANAR.replace('planar_2r', 'another'))
    arm.wait()
    assert arm.status.values['residual map'].startswith('active')
    np.testing.assert_array_less(arm.move(10.0), 0.4 * before)

    assert arm.call('reset', Trigger)[0]
    np.testing.assert_allclose(arm.move(10.0), before, rtol=0.2)


def test_refusals_and_ends(arm, tmp_path):
    arm.move(1.0)
    arm.move(0.5, push=np.array([30.0, 0.0]))
    assert 'above its contact threshold' in arm.train()[1]
    arm.move(2.0)
    assert arm.train()[0]
    assert 'a training is active' in arm.train()[1]
    assert arm.train(False) == (True, 'nothing is recorded; the residual stays as it is')
    assert arm.train()[0]
    arm.move(10.0)
    arm.take(PLANAR.replace('planar_2r', 'another'))
    status = arm.status
    assert 'no training of the residual: the model has changed' in status.summary
    assert status.level == Level.WARN
    arm.move(50.0)
    assert arm.status.values['residual map'] == 'none'
    assert arm.train()[0]
    arm.move(45.0)
    (tmp_path / 'model.yaml').write_text('# another kind of file')
    assert arm.status.values['residual map'] == 'in preparation'
    arm.wait()
    status = arm.status
    assert 'model.yaml is a file of another kind' in status.summary
    assert status.values['residual map'] == 'none'
    (tmp_path / 'poses.yaml').write_text('# something else')
    name = Parameter('residual_map', value='poses.yaml')
    assert arm.bench.node.set_parameters_atomically([name]).successful
    arm.wait()
    arm.status  # noqa: B018 - adopts the result
    assert 'poses.yaml contains other residuals' in arm.train()[1]


def test_the_loop_records_what_python_records(pair):
    both = pair(description=PLANAR, model_state=[''], max_delay=0.0)
    both.listen(('/external_torque',))
    both.states(3)
    groups = [group for node in both.nodes for group in node.host.builder.groups]
    trainings = [each._training for each in groups if isinstance(each, WrenchEstimator)]
    for each in trainings:
        assert each._switch(True).startswith('recording')
    both.listen(('/external_torque',))
    for node in both.nodes:
        node.host.states.arm()
    tau = Robot.from_urdf(PLANAR).gravity_torques(np.zeros(2))
    both.states(20, step=0.01, q=np.zeros(2), v=np.zeros(2), tau=tau)
    assert both.loop.outcomes[-1] == 'done'
    first, second = (each.record for each in trainings)
    assert first.count == second.count > 10
    for a, b in zip(first.arrays, second.arrays):
        np.testing.assert_array_equal(a, b)
