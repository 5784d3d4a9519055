# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wrenches of the node for a real arm: filters, dead bands, what is observable, covariances."""

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation.dead_band import dead_band, dead_band_of_size
from screw_dynamics_ros.core.estimation.low_pass import weights
from screw_dynamics_ros.core.lie.screws import WRENCH_ROWS
from screw_dynamics_ros.nodes.outputs.external_wrenches import observable_step, torque_covariance
from screw_dynamics_ros.nodes.outputs.external_wrenches.wrench_outputs import WrenchEstimator
from screw_dynamics_ros.ros.topics import channel
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
    made.describe(TEXT)
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
    assert bench.set(**values).successful
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


def test_each_link_has_the_wrench_of_the_same_torques(bench, robot):
    """None is computed from that of another one, in whatever order they are named."""
    other = 'panda_link7'
    wrench = np.array([8.0, -4.0, 6.0, 1.0, -2.0, 0.5])
    for links in ([other, TOOL], [TOOL, other]):
        set_parameters(bench, frames=links)
        bench.stamp += 10**9
        sent = push(bench, robot, wrench)
        np.testing.assert_allclose(wrench_of(sent), wrench, atol=1e-6)
        J = robot.jacobian(Q, other, 'body')
        expected = np.linalg.lstsq(J.T, torque_of(sent), rcond=None)[0]
        found = deserialize_message(sent[f'wrench/{other}'], WrenchStamped).wrench
        vectors = found.torque, found.force
        numbers = [getattr(each, axis) for each in vectors for axis in 'xyz']
        np.testing.assert_allclose(numbers, expected, atol=1e-6)
    set_parameters(bench, frames=[''])


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


# --- reduced wrench, validity, covariance ---------------------------------------------------------

MATRICES = {'wrench_covariance': (6, 6), 'wrench_validity': (21,)}
ORDER = [3, 4, 5, 0, 1, 2]  # from moment first to force first, and back
D = np.diag([0.2] * 3 + [1.0] * 3)
APPLIED = np.array([3.0, -4.0, 5.0, 0.6, -0.3, 0.2])
STRETCHED = np.zeros(8)


def matrix_of(sent, name):
    """Return what was published and its labels, None if there is nothing."""
    if f'{name}/{TOOL}' not in sent:
        return None
    message = deserialize_message(sent[f'{name}/{TOOL}'], Float64MultiArray)
    labels = [dimension.label.split(',') for dimension in message.layout.dim]
    return np.array(message.data).reshape(MATRICES[name]), labels


def seen_at(robot, q):
    """Return U, s, V of the scaled Jacobian, by NumPy alone."""
    U, s, Vt = np.linalg.svd(D @ robot.jacobian(q, TOOL, 'body'), full_matrices=False)
    return U, s, Vt.T


def test_where_all_is_observable(bench, robot):
    sent = push(bench, robot, APPLIED)
    np.testing.assert_allclose(wrench_of(sent, f'reduced_wrench/{TOOL}'), APPLIED, atol=1e-7)
    numbers, labels = matrix_of(sent, 'wrench_validity')
    value = dict(zip(labels[0], numbers))
    assert [value[f'share_{row}'] for row in WRENCH_ROWS] == pytest.approx([1.0] * 6)
    _, s, _ = seen_at(robot, Q)
    assert [value[f'singular_value_{k}'] for k in range(1, 7)] == pytest.approx(list(s))
    assert value['condition_number'] == pytest.approx(s[0] / s[-1])
    assert (value['rank'], value['near_singular']) == (6.0, 0.0)
    assert np.isnan([value[f'model_deviation_{row}'] for row in WRENCH_ROWS]).all()


def test_errors_of_the_model_are_part_of_covariances_and_validity(bench, robot):
    """A number for each joint, by name, added behind all filters; what is missing is unknown."""
    joints, deviations = robot.joint_names[:7], np.linspace(0.2, 0.8, 7)
    given = {
        'observer_joints': list(joints[::-1]),
        'observer_model_deviation': deviations[::-1].tolist(),
        'observer_effort_deviation': np.linspace(0.7, 0.1, 7).tolist(),
    }
    set_parameters(bench, torque_cutoff=10.0, **given)
    sent = push(bench, robot, APPLIED)
    U, s, V = seen_at(robot, Q)
    G = (D @ U @ np.diag(1.0 / s) @ V.T)[ORDER]
    np.testing.assert_allclose(V[7], 0.0, atol=1e-12)  # fingers do not move the tool
    variances = np.r_[deviations**2, 0.0]
    numbers, labels = matrix_of(sent, 'wrench_validity')
    assert labels[0][15:] == [f'model_deviation_{row}' for row in WRENCH_ROWS]
    np.testing.assert_allclose(numbers[15:] ** 2, np.diag(G @ np.diag(variances) @ G.T), rtol=1e-9)
    message = deserialize_message(sent['external_torque_covariance'], Float64MultiArray)
    efforts = np.r_[np.linspace(0.1, 0.7, 7), 0.2]  # in the first state nothing is filtered
    found = np.array(message.data).reshape(8, 8)
    np.testing.assert_allclose(found, np.diag(efforts**2 + variances), rtol=1e-9, atol=1e-12)
    results = bench.node.set_parameters([Parameter('observer_model_deviation', value=[0.1, 0.2])])
    assert 'has 2 elements for 7 observer_joints' in results[0].reason
    results = bench.node.set_parameters(
        [Parameter('observer_joints', value=['elbow', *joints[1:]])]
    )
    assert "no joint 'elbow'" in results[0].reason
    nothing = Parameter('observer_model_deviation', Parameter.Type.DOUBLE_ARRAY, [])
    neutral = [
        nothing,
        Parameter('observer_joints', value=['']),
        Parameter('observer_effort_deviation', value=0.2),  # a number for all joints
    ]
    result = bench.node.set_parameters_atomically(neutral)
    assert result.successful, result.reason


def test_near_a_singularity_the_reduced_wrench_remains(bench, robot):
    sent = push(bench, robot, APPLIED, STRETCHED)
    U, s, _ = seen_at(robot, STRETCHED)
    rank = int((s > 0.02).sum())
    assert rank < 6
    assert wrench_of(sent) is None
    assert matrix_of(sent, 'wrench_covariance') is None
    P = D @ U[:, :rank] @ U[:, :rank].T @ np.linalg.inv(D)
    expected = (P @ APPLIED[ORDER])[ORDER]
    np.testing.assert_allclose(wrench_of(sent, f'reduced_wrench/{TOOL}'), expected, atol=1e-7)
    numbers, labels = matrix_of(sent, 'wrench_validity')
    value = dict(zip(labels[0], numbers))
    assert (value['rank'], value['near_singular']) == (rank, 1.0)
    said = bench.part.status().values[f'{TOOL} observable directions']
    assert said == f'{rank} of 6, near a singularity'
    shares = np.square(U[:, :rank]).sum(axis=1)[ORDER]
    np.testing.assert_allclose(numbers[:6], shares, atol=1e-12)


def test_validity_needs_no_efforts(bench, robot):
    bench.stamp += STEP
    bench.clock.offset += (bench.stamp - bench.clock.time_ns()) * 1e-9
    bench.sent.clear()
    lost = np.full(8, np.nan)
    state = serialized(robot.joint_names, Q, bench.stamp, np.zeros(8), lost)
    bench.host.states.receive(state, {})
    topics = {topic.split('/')[3] for topic, _ in bench.sent}
    assert topics == {'wrench_validity', 'residual'}


@pytest.mark.parametrize('cutoff', [0.0, 10.0])
def test_covariance_of_a_wrench(bench, robot, cutoff):
    """G P G^T, with the variance of a filter of first order in closed form."""
    set_parameters(bench, torque_cutoff=cutoff, observer_effort_deviation=0.5)
    for _ in range(3):
        sent = push(bench, robot, APPLIED)
    if cutoff:
        e, w0, w1 = weights(cutoff, STEP * 1e-9)
        variance, cross = 1.0, 1.0  # of y, and of y with u, at the start
        for _ in range(2):
            before = variance
            variance = e**2 * before + w0**2 + 2 * e * w0 * cross + w1**2
            cross = w1
    else:
        variance = 1.0
    U, s, V = seen_at(robot, Q)
    G = D @ U @ np.diag(1.0 / s) @ V.T
    expected = (0.25 * variance * G @ G.T)[np.ix_(ORDER, ORDER)]
    found, labels = matrix_of(sent, 'wrench_covariance')
    assert labels == [list(WRENCH_ROWS)] * 2
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    set_parameters(bench, observer_effort_deviation=0.2)


def test_covariance_needs_no_more_when_nobody_listens(bench, robot, monkeypatch):
    """No decomposition and no variance for topics without subscribers."""
    listened = {'external_torque', 'wrench'}
    monkeypatch.setattr(
        channel.Channel,
        'count_listeners',
        lambda channel: setattr(channel, 'listeners', channel.topic.split('/')[3] in listened),
    )
    bench.host.states.look_for_listeners()
    monkeypatch.setattr(observable_step, 'decompose_once', None)
    monkeypatch.setattr(torque_covariance, 'update_covariance', None)
    sent = set(push(bench, robot, APPLIED))
    monkeypatch.undo()
    bench.host.states.look_for_listeners()
    assert sent == {'external_torque', f'wrench/{TOOL}'}
