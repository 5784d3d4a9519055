# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States with inputs beside joint states stay in the compiled loop, with the bytes of Python."""

from collections import Counter

import numpy as np
import pytest

pytest.importorskip('nav_msgs')
pytest.importorskip('pinocchio')

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from support.input_messages import SLED, SOURCES, odometry
from support.loop_pair import ARM
from support.robots import urdf_path

MS = 10**6
TOPICS = '/dynamics/gravity', '/coriolis', '/mass_matrix', '/external_torque', '/tf', '/base_wrench'


def made(pair, names, **parameters):
    for name in names:
        parameters.update(SOURCES[name].parameters)
    both = pair(model_state=['position', 'gravity'], **parameters)
    both.describe(SLED)
    both.listen((*TOPICS, '/model_state'))
    return both


def measure(both, names, delay=0):
    """Send all inputs, with stamps [ns] before now."""
    stamp = both.loop.clock.time_ns() - delay
    for name in names:
        for node in both.nodes:
            with STATE_LOCK:
                message = SOURCES[name].make(stamp, node.clock.offset)
                SOURCES[name].send(node.host, message)


def state(both, seconds=0.004):
    """Send a joint state; return the number of messages for it."""
    both.wait(seconds)
    before = sum(both.published.values())
    both.send(q=[0.3 + both.loop.clock.offset])
    return sum(both.published.values()) - before


BOX = RigidBody(2.0, np.array([0.1, 0.2, 0.3]), np.diag([0.04, 0.05, 0.06]))


def carry(both, duration):
    """Attach a payload, and replace the inertia of a link."""
    for node in both.nodes:
        with STATE_LOCK:
            node.host.payloads.put('box', 'arm', BOX, duration)
            node.host.link_inertias.set('cart', BOX, duration)


SETS = [[name] for name in SOURCES]
SETS += [[base, 'planar'] for base in ('odometry', 'gravity by imu')]


@pytest.mark.parametrize('names', SETS, ids=' and '.join)
def test_states_with_inputs_need_no_python(pair, names):
    """Also while an input is lost, and when it returns: then observers restart.

    The mass of a payload and that of a link follow the time, with all inputs.
    """
    both = made(pair, names)
    assert [state(both) for _ in range(2)] == [0, 0]
    restarted = []
    for k in range(16):
        if k % 4 == 0:
            measure(both, names, delay=2 * MS)
        assert state(both) > 0
        restarted.append(both.loop.host.mapper.restarted)
    before = dict(both.published)
    for k in range(6):
        assert (state(both, 0.05) > 0) == (k < 1)
        restarted.append(both.loop.host.mapper.restarted)
    for source in (SOURCES[name] for name in names):
        texts = [source.of(node.host).fault for node in both.nodes]
        assert texts[0] == texts[1]
        assert source.of(both.loop.host).suspends
    for _ in range(4):
        measure(both, names)
        assert state(both) > 0
        restarted.append(both.loop.host.mapper.restarted)
    assert not any(source.suspends for source in both.loop.host.inputs)
    assert both.loop.outcomes[-24:] == ['done'] * 24
    assert [k for k, each in enumerate(restarted) if each] == [0, 17, 22]
    now = dict(both.published)
    assert before != now
    carry(both, 0.04)
    model, masses = both.loop.host.model, []
    for _ in range(14):
        measure(both, names)
        assert state(both) > 0
        inputs = model.payload, model.inertia_changes
        masses.append([each.reshape(-1, 10)[:, 0].sum() for each in inputs])
    assert both.loop.outcomes[-14:] == ['done'] * 14
    share = np.minimum(1.0, np.arange(1, 15) * 0.1)  # to the resolution of a clock of 1e9 s
    np.testing.assert_allclose(masses, np.outer(share, [2.0, -1.0]), atol=2e-5)
    assert both.loop.host.payloads.loaded.is_steady


@pytest.mark.parametrize('name', ['odometry', 'planar'])
def test_what_is_held_needs_no_python(pair, name):
    both = made(pair, [name], on_base_loss='hold')
    for k in range(30):
        if 5 < k < 12:
            measure(both, [name])
        assert state(both, 0.02) > 0
    assert Counter(both.loop.outcomes[-26:]) == {'done': 26}


def test_a_gravity_that_is_held_needs_no_python(pair):
    both = made(pair, ['gravity by imu'])
    both.set(on_gravity_loss='hold')
    both.listen(TOPICS)
    vectors = []
    for k in range(30):
        if 5 < k < 12:
            measure(both, ['gravity by imu'])
        assert state(both, 0.02) > 0
        vectors.append(both.loop.host.gravity.copy())
    assert Counter(both.loop.outcomes[-26:]) == {'done': 26}
    assert (np.array(vectors[:6]) == [0.0, 0.0, -9.81]).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 9.81)
    assert (vectors[11] != vectors[5]).any()
    both.set(gravity_source='parameter')
    both.listen(TOPICS)
    for _ in range(4):
        state(both)
    assert both.loop.outcomes[-3:] == ['done'] * 3


def test_commands_blend_to_a_payload_without_a_transition(pair):
    """They never change by the whole torque of the payload at once."""
    both = pair(model_state=[''])
    both.set(0, enabled=True)
    both.listen(('/commands',))
    (torque,) = [
        group.commands.torque
        for group in both.loop.host.builder.groups
        if hasattr(group, 'commands')
    ]

    def command():
        both.wait(0.02)
        both.send(q=np.full(8, 0.3), v=np.zeros(8))
        return torque.command.copy()

    before = [command() for _ in range(110)][-1]
    assert both.loop.outcomes[-1] == 'done'
    for node in both.nodes:
        with STATE_LOCK:
            node.host.payloads.put('box', 'panda_hand', BOX)
    found = [command() for _ in range(16)]
    steps = np.abs(np.diff([before, *found], axis=0)).max(axis=1)
    whole = np.abs(found[-1] - before).max()
    assert whole > 5.0
    assert (steps[:4] > 0.0).all()
    assert steps.max() < 0.5 * whole
    assert both.loop.outcomes[-3:] == ['done'] * 3


@pytest.mark.parametrize('seed', range(4))
def test_random_sequences(pair, seed):
    """States, measurements, their stamps, losses, payloads, parameters and robots in any order."""
    random = np.random.default_rng(seed)
    names = [['odometry', 'planar'], ['imu', 'planar'], ['tf', 'planar'], ['gravity by imu']][seed]
    both = made(pair, names)

    def measured():
        measure(both, names, delay=int(random.integers(-20, 60)) * MS)

    def parameter():
        name, values = (
            ('on_base_loss', ['stop', 'hold']),
            ('on_gravity_loss', ['stop', 'hold']),
            ('base_timeout', [0.1, 0.02]),
            ('gravity_timeout', [0.0, 0.1]),
            ('multi_dof_joint_states', [True, False]),
            ('gravity_cutoff', [1.0, 50.0]),
        )[random.integers(0, 6)]
        both.set(**{name: values[random.integers(0, len(values))]})
        both.listen(TOPICS)

    def robot():
        both.describe(SLED if random.integers(0, 3) else ARM)
        both.listen(TOPICS)

    def listeners():
        both.listen(TOPICS if random.integers(0, 3) else ())
        for node in both.nodes:
            node.host.keep_house()

    def payload():
        if len(both.joints) == 1:
            carry(both, float(random.choice([0.0, 0.03])))

    def states():
        for _ in range(random.integers(1, 8)):
            both.wait(float(random.choice([0.002, 0.004, 0.03])))
            both.send(*random.uniform(-2.0, 2.0, (3, len(both.joints))))

    acts = [states] * 12 + [measured] * 10 + [parameter, payload, listeners] * 2 + [robot]
    for _ in range(40):
        acts[random.integers(0, len(acts))]()
        texts = [[source.fault for source in node.host.inputs] for node in both.nodes]
        assert texts[0] == texts[1]
    assert both.loop.outcomes.count('done') > 20


def test_contact_wrenches_of_feet_need_no_python(pair):
    """Feet touch and lift, a state without efforts comes between, and parameters change."""
    feet = ['FL_FOOT', 'FR_FOOT', 'HL_FOOT', 'HR_FOOT']
    both = pair(model_state=['position'], base_source='odometry')
    both.describe(urdf_path('solo12').read_text())
    both.set(1, support_frames=feet, observer='kalman', observer_time_constant=1e-3)
    topics = (
        *(f'contact_wrench{what}/{foot}' for what in ('', '_covariance') for foot in feet),
        '/support',
    )
    q, random, seen = np.tile([0.1, 0.8, -1.6], 4), np.random.default_rng(4), set()
    for values in (
        {'support_share': 0.02},
        {'support_base_deviation': [0.5, 3.0]},
        {'support_share': 0.5},
        {'support_moments': True},
    ):
        both.set(1, **values)
        both.listen(topics)
        both.published.clear()
        for k in range(16):
            both.wait(0.002)
            for node in both.nodes:
                with STATE_LOCK:
                    message = odometry(both.loop.clock.time_ns(), 1.0 + 1e-4 * k)
                    message.child_frame_id = node.host.model.robot.description.root
                    node.host.base_source.receive_odometry(message)
            tau = np.full(12, np.nan) if k == 2 else random.uniform(-0.5, 0.5, 12)
            both.send(q=q + 0.01 * k, v=np.zeros(12), tau=tau * (k % 8))
            (support,) = (c for c in both.loop.host.states.channels if c.topic.endswith('/support'))
            seen |= set(support.arrays[0].tolist())
        assert both.loop.outcomes[-12:] == ['done'] * 12
        sent = {topic for topic, _ in both.published if topic.endswith(topics)}
        assert len(sent) == (0 if 'support_moments' in values else 9)  # 24 unknowns of 18
    assert seen >= {0.0, 1.0}
    assert all('do not determine them' in report.summary for report in both.reports())
