# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Residuals with memory: features, restarts, ranges and variances against their definitions."""

import math

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.estimation import residual_model
from screw_dynamics_ros.core.estimation.residual_model import (
    DISTANCES,
    FEATURES,
    SPEEDS,
    SPREADS,
    ResidualModel,
    add_covariance,
    advance_model,
    peak_level,
    set_doubts,
)
from support.residual_models import some_model

N = 3


def states(count=400, seed=1, n=N):
    rng = np.random.default_rng(seed)
    q = 0.2 * np.cumsum(rng.normal(size=(count, n)), axis=0) * 0.05
    return np.hstack([q, rng.normal(size=(count, 2 * n))])


def expected_features(m, j, path, v, load):
    """phi of the module, from the whole path of a joint."""
    unit = 1.0 if m.map.turning[j] else m.map.scales[j]
    play, end = 1e-4 * unit, path[0]
    z = np.zeros(len(DISTANCES))
    for q in path[1:]:
        moved = q - end
        if abs(moved) > play:
            step, sign = abs(moved) - play, math.copysign(1.0, moved)
            z = sign + (z - sign) * np.exp(-step / (unit * np.array(DISTANCES)))
            end += sign * step
    s = np.clip(v / m.speeds[j], -1.0, 1.0)
    l = min(abs(load) / m.loads[j], 1.0)  # noqa: E741
    b = [w**2 / (w**2 + s**2) for w in SPEEDS]
    angle = path[-1] if m.map.turning[j] else path[-1] / m.map.scales[j]
    f = [1.0, s, s * abs(s)]
    for each in z:
        f += [each * x for x in b] + [each, each * l, each * l * b[1]]
    return np.array([*f, *(g(k * angle) for k in (1, 2) for g in (math.cos, math.sin))])


def test_features_against_their_definition():
    m, motion = some_model(), states(60)
    for k, state in enumerate(motion):
        m.advance(state, 1_000_000 if k else 0)
    for j in range(N):
        f = expected_features(m, j, motion[:, j], motion[-1, N + j], motion[-1, 2 * N + j])
        np.testing.assert_allclose(m.features[FEATURES * j :][:FEATURES], f, atol=1e-12)
        theta = m.weights[FEATURES * j :][:FEATURES]
        expected = m.map.plain[j] + m.shares[j] * f @ theta
        assert m.residual(motion[-1, :N])[j] == pytest.approx(expected)


def test_a_restart_forgets():
    m, fresh, motion = some_model(), some_model(), states()
    for k, state in enumerate(motion):
        m.advance(state, 1_000_000 if k else 0)
    m.advance(motion[-1], 0)
    fresh.advance(motion[-1], 0)
    np.testing.assert_array_equal(m.features, fresh.features)
    m.advance(motion[-2], 1_000_000)
    m.restart()
    m.advance(motion[-1], 1_000_000)
    np.testing.assert_array_equal(m.features, fresh.features)
    assert fresh.states[5::SPREADS].tolist() == [1.0] * N


def test_a_turn_and_a_missing_number_are_no_motion():
    """Positions of continuous joints may jump by a turn; NaN leaves the memory as it is."""
    m, other, motion = some_model(), some_model(), states()
    turned = motion.copy()
    turned[200:, 0] -= 2.0 * math.pi
    for k in range(len(motion)):
        m.advance(motion[k], k)
        other.advance(turned[k], k)
    np.testing.assert_allclose(other.memory, m.memory, atol=1e-9)
    m.advance(np.full(3 * N, np.nan), 1)
    np.testing.assert_allclose(other.memory, m.memory, atol=1e-9)


def test_far_from_the_data_the_plain_offset_remains():
    """Each of position, velocity and load beyond its range; the variance is what was explained."""
    for kind in range(3):
        m, state = some_model(), np.zeros(3 * N)
        m.advance(state, 0)
        assert (m.shares == 1.0).all()
        state[kind * N : (kind + 1) * N] = 20.0
        m.advance(state, 0)
        set_doubts(m)
        np.testing.assert_allclose(m.residual(np.zeros(N)), m.map.plain, atol=1e-12)
        np.testing.assert_allclose(m.doubts, m.explained)
        assert m.confidence(np.zeros(N)) == 0.0


def test_covariance_against_its_definition():
    m = some_model()
    for k, state in enumerate(states()):
        m.advance(state, k)
    found = np.zeros(N * N)
    add_covariance(m, state, found)
    expected = m.correlation.reshape(N, N).copy()
    for j in range(N):
        f = m.features[FEATURES * j :][:FEATURES]
        S = m.posterior[FEATURES**2 * j :][: FEATURES**2].reshape(FEATURES, FEATURES)
        log = m.spread[SPREADS * j :][:SPREADS] @ m.states[SPREADS * j :][:SPREADS]
        expected[j] *= math.exp(0.5 * np.clip(log, -2.0, 2.0))
        expected[:, j] *= math.exp(0.5 * np.clip(log, -2.0, 2.0))
        w2 = m.shares[j] ** 2
        expected[j, j] += w2 * f @ S @ f + (1.0 - w2) * m.explained[j]
    np.testing.assert_allclose(found.reshape(N, N), expected)
    assert np.linalg.eigvalsh(expected).min() > 0.0


def test_machine_code_has_the_bits_of_python():
    m, plain = some_model(), some_model()
    for k, state in enumerate(states()):
        m.advance(state, k)
        advance_model(plain, state, k)
        m.confidence(state)
        residual_model.confidence_of_model(plain, state)
    for name in ('memory', 'features', 'states', 'estimate', 'doubts', 'deviations'):
        np.testing.assert_array_equal(getattr(m, name), getattr(plain, name))


def test_wrong_states_remain_without_effect():
    """Missing and huge numbers: finite results, the same in Python, and an unchanged memory."""
    m, plain, before = some_model(), some_model(), states()[-1]
    for kind in range(3):
        for wrong in (np.nan, 1e300, -1e300):
            state = before.copy()
            state[kind * N : (kind + 1) * N] = wrong
            for k, each in enumerate((before, state, before)):
                m.advance(each, k)
                with np.errstate(all='raise'):
                    advance_model(plain, each, k)
                    residual_model.confidence_of_model(plain, each)
                if kind:
                    assert np.isfinite(m.estimate).all()
                np.testing.assert_array_equal(m.estimate, plain.estimate)
            assert not m.memory.reshape(N, -1)[:, :3].any()


def test_numbers_in_another_order():
    m, order = some_model(), np.array([2, 0, 1])
    other, state = ResidualModel.of_numbers(m.numbers(), order), states(1)[0]
    m.advance(state, 0)
    other.advance(state.reshape(3, N)[:, order].ravel(), 0)
    np.testing.assert_array_equal(other.residual(state[order]), m.residual(state[:N])[order])
    covariances = np.zeros((2, N * N))
    add_covariance(m, state, covariances[0])
    add_covariance(other, state, covariances[1])
    first, second = covariances.reshape(2, N, N)
    np.testing.assert_array_equal(second, first[order][:, order])


@pytest.mark.parametrize(
    ('name', 'value', 'text'),
    [
        ('weights', [0.0], f'weights must be {FEATURES * N} finite numbers'),
        ('spread', [math.nan] * SPREADS * N, 'spread must be 21 finite numbers'),
        ('tails', None, 'tails must be 9 finite numbers'),
        ('speeds', [1.0, 0.0, 1.0], 'speeds must be greater than 0'),
        ('limits', [-2.0, 99.0] * N, 'limits must be between -60 and 60'),
        ('plain', 'abc', 'plain must be 3 finite numbers'),
    ],
)
def test_wrong_numbers_are_refused(name, value, text):
    numbers = some_model().numbers() | {name: value}
    if value is None:
        del numbers[name]
    with pytest.raises(ArgumentError, match=text):
        ResidualModel.of_numbers(numbers, np.arange(N))


def test_a_level_is_exceeded_at_its_rate():
    """Exponential peaks: counted ones above the level."""
    rng = np.random.default_rng(0)
    peaks = 2.0 + rng.exponential(0.5, 200_000)  # 10 each second for 20000 s
    level = peak_level(2.0, 0.5, 10.0, 0.01)
    assert np.sum(peaks > level) == pytest.approx(200, rel=0.2)
    assert peak_level(2.0, 0.5, 10.0, 20.0) == 2.0
