# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Velocities that are not the derivatives of positions, with noise, delay and quantization."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.state_checks import (
    JointMotion,
    range_findings,
    velocity_fault,
    velocity_fault_findings,
)

T = np.arange(0.0, 20.0, 0.01)
RATE = 2.0 * np.pi * 0.4


def motion(
    factor=1.0, *, noise=1e-4, delay=0.0, quantum=0.0, backlash=0.0, t=T, stop=5.0, rate=RATE
):
    """Return a joint that swings by 0.6 rad, and rests in the last seconds."""
    rng = np.random.default_rng(0)
    until = t[-1] - stop

    def at(times):
        moving = np.clip(times, 0.0, until)
        return 0.6 * np.sin(rate * moving), 0.6 * rate * np.cos(rate * moving) * (times < until)

    q, v = at(t)[0], at(t - delay)[1]
    for k in range(1, len(q)):  # the play of a gear
        q[k] = min(max(q[k - 1], q[k] - backlash), q[k] + backlash)
    q = q + noise * rng.normal(size=t.shape)
    v = factor * (v + 100.0 * noise * rng.normal(size=t.shape))
    if quantum:
        q, v = quantum * np.round(q / quantum), 16.0 * quantum * np.round(v / (16.0 * quantum))
    return JointMotion(t, q, v)


HEALTHY = [
    {},
    {'noise': 0.0},
    {'noise': 1e-3},
    {'delay': 0.05},
    {'delay': -0.02},
    {'quantum': 1.5e-3},
    {'backlash': 5e-3},
    {'noise': 5e-4, 'delay': 0.03, 'quantum': 1.5e-3, 'backlash': 2e-3},
    {'delay': 0.07, 'rate': 6.0 * np.pi},  # by a fifth of the period of 0.33 s
]
FACTORS = {
    'in turns/s': 1.0 / (2.0 * np.pi),
    'in rpm': 60.0 / (2.0 * np.pi),
    'in deg/s': 180.0 / np.pi,
    'multiplied by 2 pi': 2.0 * np.pi,
    'multiplied by pi / 180': np.pi / 180.0,
    'per minute': 60.0,
    'divided by 60': 1.0 / 60.0,
    'of the opposite sign': -1.0,
    'in deg/s and of the opposite sign': -180.0 / np.pi,
}


@pytest.mark.parametrize('disturbed', HEALTHY)
def test_healthy_velocities(disturbed):
    assert velocity_fault([motion(**disturbed)]) is None


@pytest.mark.parametrize('disturbed', [{}, {'noise': 5e-4, 'delay': 0.03, 'backlash': 2e-3}])
@pytest.mark.parametrize('text', FACTORS)
def test_factors_of_velocities(text, disturbed):
    """Two factors that differ by less than the interval of the ratio are both named."""
    found = velocity_fault([motion(FACTORS[text], **disturbed)])
    assert all(words in str(found) for words in text.split(' and '))
    assert found.ratio == pytest.approx(FACTORS[text], rel=0.1)


def test_zero_velocities():
    found = velocity_fault([motion(0.0)])
    assert found.is_zero
    assert velocity_fault([JointMotion(T, 0.3 + 0.0 * T, 0.0 * T)]) is None
    rng = np.random.default_rng(1)
    assert velocity_fault([JointMotion(T, 0.01 * rng.normal(size=T.shape), 0.0 * T)]) is None


@pytest.mark.parametrize('factor', [0.5, 3.0])
def test_another_factor_has_no_name(factor):
    assert str(velocity_fault([motion(factor)])) == f'{factor:g} times the derivatives'


def test_positions_instead_of_velocities():
    found = velocity_fault([motion()._replace(v=0.8 * motion().q)])
    assert str(found) == 'not related to the derivatives'
    assert not found.is_zero


@pytest.mark.parametrize(
    'which', ['jumps', 'poses', 'creeping', 'play', 'gaps', 'backwards', 'missing', 'short', 'huge']
)
def test_motions_that_no_velocity_describes(which):
    """Concatenated poses at rest, far samples, interruptions, and times of another clock."""
    q, v, k = motion().q, 0.0 * T, np.arange(200.0)
    given = {
        'jumps': JointMotion(T, np.repeat(np.arange(20.0), 100), v),
        'poses': JointMotion(0.25 * k, 0.05 * k, 0.0 * k),
        'creeping': JointMotion(T, 0.02 * T, v),  # slower than the resolution of a servo
        'play': JointMotion(T, 0.0035 * np.cos(31.4 * T) + 0.02 * T, v),  # shaken within a gear
        'gaps': JointMotion(T + np.repeat(np.arange(200.0), 10), T, v + 1.0),  # 1 s each
        'backwards': JointMotion(T[::-1], q, v),
        'missing': JointMotion(T, q, v * np.nan),
        'huge': JointMotion(T, 1e308 * q, v + 1e308),
        'short': JointMotion(T[:40], q[:40], v[:40]),
    }[which]
    assert velocity_fault([given]) is None


def test_several_recordings_count_together():
    """Neither is long enough alone; samples at the same time again are ignored."""
    whole = motion(-1.0)
    parts = [JointMotion(*(each[k : k + 80] for each in whole)) for k in (0, 120, 240)]
    assert velocity_fault(parts[:1]) is None
    assert velocity_fault(parts).ratio == pytest.approx(-1.0, rel=0.1)
    twice = JointMotion(*(np.repeat(each, 2) for each in whole))
    assert velocity_fault([twice]).ratio == pytest.approx(-1.0, rel=0.1)


def test_joints_with_the_same_fault_share_a_finding():
    zero, reversed_sign = velocity_fault([motion(0.0)]), velocity_fault([motion(-1.0)])
    found = list(velocity_fault_findings({'a': zero, 'b': reversed_sign, 'c': zero}))
    assert [each.subject for each in found] == ['joints a, c', 'joint b']
    assert found[0].message.startswith('the velocities are zero while the positions change')


@pytest.mark.parametrize(
    ('turns', 'low', 'high', 'text'),
    [
        (True, 0.1, 6.28, 'seem to be in another turn, 2 pi away'),
        (True, -50.0, 50.0, 'seem to be in degrees'),
        (True, -400.0, 400.0, 'no result can be right'),
        (False, 6.0, 24.0, 'seem to be in mm or cm'),
        (False, 6.0, 240.0, 'seem to be in mm ('),
    ],
)
def test_units_of_positions_beyond_the_limits(turns, low, high, text):
    limits, ranges = ([-1.0, -1.0], [1.0, 1.0]), ([0.0, low], [0.5, high])
    arrays = [tuple(np.array(each) for each in pair) for pair in (limits, ranges)]
    (found,) = range_findings(['a', 'b'], np.array([turns, turns]), *arrays)
    assert found.subject == 'joint b'
    assert text in str(found)


@pytest.mark.parametrize('field', ['q', 'v'])
def test_a_spike_is_no_fault(field):
    healthy = motion()
    x = getattr(healthy, field).copy()
    x[505] = 1e6
    assert velocity_fault([healthy._replace(**{field: x})]) is None
