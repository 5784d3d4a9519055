# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States with inputs beside joint states stay in the compiled loop, with the bytes of Python."""

import sys
from collections import Counter

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('llvmlite')
pytest.importorskip('nav_msgs')
pytest.importorskip('pinocchio')
pytest.importorskip('screw_dynamics_msgs.msg._model_state')
if not sys.platform.startswith('linux'):
    pytest.skip('the loop is for Linux', allow_module_level=True)

from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from support.input_messages import SLED, SOURCES
from support.loop_pair import pairs

MS = 10**6
TOPICS = '/dynamics/gravity', '/coriolis', '/mass_matrix', '/external_torque', '/tf', '/base_wrench'


@pytest.fixture
def pair(monkeypatch, ros_domain):
    yield from pairs(monkeypatch, ros_domain)


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


SETS = [[name] for name in SOURCES]
SETS += [[base, 'planar'] for base in ('odometry', 'tf', 'imu', 'gravity by imu', 'gravity by tf')]


@pytest.mark.parametrize('names', SETS, ids=' and '.join)
def test_states_with_inputs_need_no_python(pair, names):
    """Also while an input is lost, and when it returns: then observers restart."""
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
