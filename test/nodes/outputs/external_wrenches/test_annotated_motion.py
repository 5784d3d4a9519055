# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A recorded motion has the numbers that nodes publish for the same joint states, to the bit."""

import numpy as np
import pytest
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message

from screw_dynamics_ros.core import AnnotationSettings, Robot
from screw_dynamics_ros.core.annotation.annotate import Annotator
from screw_dynamics_ros.core.estimation.observers.table import OBSERVERS
from screw_dynamics_ros.core.tree.joint_limits import velocity_names
from support.host_bench import Bench, Outputs, serialized
from support.residual_models import some_model
from support.robots import urdf_path

MS = 1_000_000
ARMS = {
    'planar_2r': ('tip', np.array([0.3, -0.5])),
    'panda': ('panda_hand_tcp', np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.7, 0.02])),
}
COVARIANCE = 'external_torque_covariance'
SETTINGS = {
    'observer_time_constant': 0.002,
    'observer_model_deviation': [0.5],
    'damping': 0.01,
    'characteristic_length': 0.3,
    'singularity_threshold': 0.05,
}


@pytest.fixture
def bench(monkeypatch, keep):
    made = keep(Bench(monkeypatch, Outputs, 'all', backend='reference'))
    made.host.states.look_for_drivers = lambda: None
    made.host.states.has_one_driver = True
    return made


def joint_states(start):
    """Return steps [ns] and joint states: pauses, missing numbers, singular configurations."""
    random = np.random.default_rng(5)
    steps = random.integers(1 * MS, 3 * MS, 60)
    steps[35] += 700 * MS
    s, n = np.cumsum(steps)[:, None] * 1e-9, len(start)
    rate, phase = random.uniform(1.0, 4.0, (2, n))
    q, v = start + 0.5 * np.sin(rate * s + phase), 0.5 * rate * np.cos(rate * s + phase)
    q[50:53] = 0.0
    tau = random.normal(0.0, 20.0, (60, n))
    v[20, -1], tau[27:29, 1] = np.nan, np.nan
    return steps, q, v, tau


def numbers(channel, data):
    """Return the numbers of a message; of efforts and matrices, moments first."""
    message = deserialize_message(data, channel.publisher.msg_type)
    if hasattr(message, 'wrench'):
        w = message.wrench
        return [*(getattr(w.torque, k) for k in 'xyz'), *(getattr(w.force, k) for k in 'xyz')]
    return message.effort if hasattr(message, 'effort') else message.data


@pytest.mark.parametrize(
    ('arm', 'observer', 'delay', 'has_model'),
    [
        *(('planar_2r', name, 0.004, False) for name in OBSERVERS),
        ('panda', 'static', 0.0, False),
        *(('planar_2r', name, 0.004, True) for name in OBSERVERS if name != 'kalman'),
        ('panda', 'kalman', 0.004, True),
    ],
)
def test_annotated_numbers_are_those_of_nodes(bench, arm, observer, delay, has_model):
    text, (tip, start) = urdf_path(arm).read_text(), ARMS[arm]
    bench.describe(text)
    robot = Robot.from_urdf(text, backend='reference')
    values = {'observer': observer, 'effort_delay': delay, **SETTINGS}
    of_links = {'frames': [tip], 'characteristic_length': 0.3, 'singularity_rate': 1e3}
    for node, changes in (
        (bench.part.nodes[1], {**values, 'frames': [tip]}),
        (bench.node, {'velocity_policy': 'reject', **of_links}),
    ):
        changed = [Parameter(name, value=value) for name, value in changes.items()]
        assert node.set_parameters_atomically(changed).successful
        bench.finish()
    states, names = bench.host.states, list(bench.host.mapper.measured_joints)
    model = some_model(n=robot.nv, turning=(1,) * robot.nv) if has_model else None
    if has_model:
        (group,) = [each for each in bench.host.builder.groups if hasattr(each, '_tare')]
        group._tare.residuals._use(some_model(n=robot.nv, turning=(1,) * robot.nv))
    steps, q, v, tau = joint_states(start)
    topics = ['external_torque', COVARIANCE, f'singularity/{tip}']
    if robot.nv >= 6:  # less do not determine a wrench
        topics.append(f'wrench/{tip}')
    published = {name: {} for name in topics}
    samples, mapper = [], states.mapper
    for step, *given in zip(steps, q, v, tau):
        bench.clock.offset += step * 1e-9
        bench.sent.clear()
        k, position = len(samples), given.pop(0)
        states.receive(serialized(names, position, bench.clock.time_ns(), *given), {})
        if mapper.accepted == k:
            continue
        velocity = mapper.v if mapper.has_velocity else np.full(len(names), np.nan)
        effort = mapper.tau if mapper.has_effort else np.full(len(names), np.nan)
        state = mapper.q, velocity, effort
        samples.append((mapper.stamp, *(x.copy() for x in state), mapper.restarted))
        sent = dict(bench.sent)
        for channel in states.channels:
            for name in topics:
                if channel.topic.endswith(f'/{name}') and channel.topic in sent:
                    published[name][k] = numbers(channel, sent[channel.topic])

    settings = AnnotationSettings(
        observer=observer,
        effort_delay=delay,
        **{name: tuple(x) if isinstance(x, list) else x for name, x in SETTINGS.items()},
    )
    annotator = Annotator(
        robot,
        ('external_torque', 'wrench', 'singularity'),
        [tip],
        settings=settings,
        residual=model,
    )
    order = [names.index(name) for name in velocity_names(robot)]
    assert order == list(range(robot.nv))
    motion = annotator.motion(*map(np.array, zip(*samples)))
    assert np.isnan(motion.v).any()
    assert np.isnan(motion.tau).any()
    parts = [part for _, part in annotator.blocks(motion, 23)]
    for name, rows in published.items():
        if name not in parts[0]:
            continue
        found = np.concatenate([part[name].reshape(len(part[name]), -1) for part in parts])
        assert np.flatnonzero(~np.isnan(found[:, 0])).tolist() == list(rows), name
        assert len(rows) > 20, name
        expected = np.array(list(rows.values()))
        np.testing.assert_array_equal(found[list(rows)], expected, err_msg=name)
        assert found[list(rows)].tobytes() == expected.tobytes()
    for part in parts if COVARIANCE in parts[0] else ():
        assert part[COVARIANCE].shape[1:] == (robot.nv, robot.nv)
    assert (COVARIANCE in parts[0]) == (has_model or OBSERVERS[observer].estimates_covariance)
