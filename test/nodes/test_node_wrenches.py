"""Wrenches of the node for a real arm: filters, dead bands."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation.dead_band import dead_band, dead_band_of_size
from screw_dynamics_ros.core.estimation.low_pass import weights
from screw_dynamics_ros.nodes.outputs.wrench_outputs import WrenchEstimator
from support.host_bench import Bench, serialized
from support.robots import urdf_path

NODE = '/life/wrench_estimator'
TOOL = 'panda_hand_tcp'
TEXT = urdf_path('panda').read_text()
STEP = 2_000_000  # ns
Q = np.array([0.3, -0.4, 0.2, -1.9, 0.1, 1.8, 0.5, 0.02])
DEFAULTS = {
    'torque_cutoff': 0.0,
    'wrench_cutoff': 0.0,
    'torque_dead_band': 0.0,
    'force_dead_band': 0.0,
    'moment_dead_band': 0.0,
}


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(TEXT, backend='reference')


@pytest.fixture(scope='module')
def whole_bench(ros_domain):
    patch = pytest.MonkeyPatch()
    rclpy.init(domain_id=ros_domain)
    made = Bench(patch, WrenchEstimator, 'wrench_estimator', max_delay=10.0, damping=0.0)
    made.host.source.receive(String(data=TEXT))
    made.finish()
    made.stamp = made.clock.time_ns() + 10**9
    yield made
    made.close()
    rclpy.shutdown()
    patch.undo()


@pytest.fixture
def bench(whole_bench):
    """Return the node as after a pause, with the default parameters."""
    set_parameters(whole_bench, **DEFAULTS)
    whole_bench.stamp += 10**9
    return whole_bench


def set_parameters(bench, **values):
    results = bench.node.set_parameters([Parameter(k, value=v) for k, v in values.items()])
    assert all(each.successful for each in results), results
    bench.finish()


def push(bench, robot, wrench=None, q=Q, step=STEP, torque=None):
    """Hold the arm at rest against a wrench (force, moment) at the tool, or against torques."""
    if torque is None:
        torque = robot.jacobian(q, TOOL, 'body').T @ np.concatenate([wrench[3:], wrench[:3]])
    bench.stamp += step
    bench.clock.offset += (bench.stamp - bench.clock.time_ns()) * 1e-9
    bench.sent.clear()
    tau = robot.gravity_torques(q) - torque
    names = robot.joint_names
    bench.host.states.receive(serialized(names, q, bench.stamp, np.zeros(len(q)), tau), {})
    return {topic.removeprefix(f'{NODE}/'): data for topic, data in bench.sent}


def wrench_of(sent, topic=f'wrench/{TOOL}'):
    """Return force and moment that were published, None if there are none."""
    if topic not in sent:
        return None
    message = deserialize_message(sent[topic], WrenchStamped)
    assert message.header.frame_id == TOOL
    f, m = message.wrench.force, message.wrench.torque
    return np.array([f.x, f.y, f.z, m.x, m.y, m.z])


def torque_of(sent):
    return np.array(deserialize_message(sent['external_torque'], JointState).effort)


def test_filters_and_dead_bands(bench, robot):
    """Torques are filtered, wrenches computed from them and filtered again; then the dead bands."""
    set_parameters(
        bench,
        torque_cutoff=20.0,
        wrench_cutoff=7.0,
        torque_dead_band=0.4,
        force_dead_band=1.5,
        moment_dead_band=0.1,
    )
    rng, J = np.random.default_rng(0), robot.jacobian(Q, TOOL, 'body')
    pushes = rng.normal(size=(12, 6)) * [8.0, 8.0, 8.0, 1.0, 1.0, 1.0]
    steps = rng.integers(1, 60, 12) * 1_000_000
    torque = wrench = before = None
    for applied, step in zip(pushes, steps):
        sent = push(bench, robot, applied, step=int(step))
        now = J.T @ np.concatenate([applied[3:], applied[:3]])
        if torque is None:
            torque, wrench = now, applied
        else:
            w, h = weights(20.0, step * 1e-9), weights(7.0, step * 1e-9)
            old, torque = torque, w[0] * torque + w[1] * before + w[2] * now
            estimate, last = (
                np.linalg.lstsq(J.T, each, rcond=None)[0][[3, 4, 5, 0, 1, 2]]
                for each in (torque, old)
            )
            wrench = h[0] * wrench + h[1] * last + h[2] * estimate
        before = now
        np.testing.assert_allclose(torque_of(sent), dead_band(torque, 0.4), atol=1e-9)
        expected = np.concatenate(
            [dead_band_of_size(wrench[:3], 1.5), dead_band_of_size(wrench[3:], 0.1)]
        )
        np.testing.assert_allclose(wrench_of(sent), expected, atol=1e-6)


def test_the_filter_of_a_wrench_starts_anew_where_it_was_not_observable(bench, robot):
    set_parameters(bench, wrench_cutoff=0.5)
    far, near = np.full(6, 5.0), np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    for _ in range(3):
        np.testing.assert_allclose(wrench_of(push(bench, robot, far)), far, atol=1e-6)
    assert wrench_of(push(bench, robot, far, q=np.zeros(8))) is None
    np.testing.assert_allclose(wrench_of(push(bench, robot, near)), near, atol=1e-6)
    assert wrench_of(push(bench, robot, far))[0] < 1.2  # filtered again
