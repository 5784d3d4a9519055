# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Residuals by pose: Gaussian processes against their definition, and against wrong masses."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.estimation.residual_map import (
    LENGTH_CANDIDATES,
    NOISE_CANDIDATES,
    fitted,
)
from support.robots import urdf_path

TURNING = np.array([True, True, False])


def kernel(a, b, length, scale):
    """k of (2), written with sines."""
    turned = 2.0 * np.sin(0.5 * (a[:2] - b[:2])) ** 2 / length**2
    return np.exp(-turned.sum() - 0.5 * ((a[2] - b[2]) / (scale * length)) ** 2)


@pytest.fixture(scope='module')
def recorded():
    rng = np.random.default_rng(4)
    q = rng.uniform([-1.5, -1.0, 0.0], [1.5, 2.0, 0.4], (25, 3))
    r = np.stack([2 + np.sin(q[:, 0]), np.cos(q[:, 0] + q[:, 1]), 3 * q[:, 2]], axis=1)
    return q, r + 0.01 * rng.normal(size=r.shape)


@pytest.fixture(scope='module')
def found(recorded):
    return fitted(*recorded, TURNING)


def matrices(recorded, length):
    q, _ = recorded
    scale = 0.5 * np.ptp(q[:, 2])
    return np.array([[kernel(a, b, length, scale) for b in q] for a in q]), scale


def test_mean_and_variance_against_their_definition(recorded, found):
    q, r = recorded
    K, scale = matrices(recorded, found.length)
    noisy = K + found.noise * np.eye(len(q))
    y = r - r.mean(axis=0)
    variances = np.einsum('ij,ij->j', y, np.linalg.solve(noisy, y)) / len(q)
    for x in np.random.default_rng(0).uniform(-1.0, 1.0, (20, 3)):
        k = np.array([kernel(x, a, found.length, scale) for a in q])
        expected = r.mean(axis=0) + k @ np.linalg.solve(noisy, y)
        np.testing.assert_allclose(found.residual(x), expected, atol=1e-7)
        confidence = k @ np.linalg.solve(noisy, k)
        assert found.confidence(x) == pytest.approx(confidence, abs=1e-7)
        np.testing.assert_allclose(
            found.deviation(x) ** 2, variances * (1.0 - confidence), atol=1e-6
        )


def test_the_most_likely_length_and_noise(recorded, found):
    """Against the densities of SciPy, for all that there is to choose from."""
    q, r = recorded
    y = r - r.mean(axis=0)
    best = -np.inf, None
    for length in LENGTH_CANDIDATES:
        K, _ = matrices(recorded, length)
        for noise in NOISE_CANDIDATES:
            C = K + noise * np.eye(len(q))
            log = 0.0
            for each in y.T:
                variance = each @ np.linalg.solve(C, each) / len(q)
                log += multivariate_normal.logpdf(each, np.zeros(len(q)), variance * C)
            best = max(best, (log, (length, noise)))
    assert (found.length, found.noise) == best[1]


def test_far_from_recorded_poses_the_plain_offset_remains(recorded, found):
    q, r = recorded
    assert found.confidence(q[3]) > 0.95
    far = np.array([np.pi, -2.5, 40.0])
    assert found.confidence(far) < 1e-6
    np.testing.assert_allclose(found.residual(far), r.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(found.deviation(far), found.deviations, rtol=1e-6)


def test_whole_turns_do_not_matter(recorded, found):
    for x in recorded[0][:5]:
        turned = x + 2.0 * np.pi * np.array([1.0, -2.0, 0.0])
        np.testing.assert_allclose(found.residual(turned), found.residual(x), atol=1e-9)


def test_wrong_masses_of_an_arm():
    """It maps the effect of 10 % heavier links to a quarter, in the middle third of the ranges."""
    robot, rng = Robot.from_urdf(urdf_path('panda')), np.random.default_rng(2)
    low, high = robot.limits.lower[:7], robot.limits.upper[:7]
    middle, half = 0.5 * (low + high), 0.16 * (high - low)

    def samples(count):
        q = np.zeros((count, robot.nq))
        q[:, :7] = middle + rng.uniform(-1.0, 1.0, (count, 7)) * half
        return q, 0.1 * np.array([robot.gravity_torques(each) for each in q])

    q, r = samples(80)
    found = fitted(q[:, :7], (r + 0.02 * rng.normal(size=r.shape))[:, :7], np.ones(7, bool))
    q, r = samples(100)
    errors = np.array([found.residual(each[:7]) for each in q]) - r[:, :7]
    deviations = np.array([found.deviation(each[:7]) for each in q])
    assert np.sqrt(np.mean(errors**2)) < 0.25 * np.sqrt(np.mean((r[:, :7] - found.plain) ** 2))
    assert 0.3 < np.sqrt(np.mean((errors / deviations) ** 2)) < 1.5


def test_a_constant_residual_is_the_plain_offset():
    q = np.random.default_rng(0).normal(size=(8, 3))
    found = fitted(q, np.full((8, 3), [0.0, -1.0, 7.7]), TURNING)
    for x in q:
        np.testing.assert_allclose(found.residual(x), [0.0, -1.0, 7.7], atol=1e-12)
        assert found.deviation(x).tolist() == [0.0] * 3


def test_candidates():
    """Lengths in steps of the root of 2, up to 2; noise from rounding to all of the variation."""
    np.testing.assert_allclose(LENGTH_CANDIDATES, 2.0 ** (0.5 * np.arange(-3, 3)), rtol=0.02)
    assert NOISE_CANDIDATES == (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


def test_five_poses_are_enough(recorded):
    q, r = recorded
    found = fitted(q[:5], r[:5], TURNING)
    assert np.isfinite(found.residual(q[0])).all()
    assert np.isfinite(found.deviation(q[0])).all()


@pytest.mark.parametrize('size', [1e-11, 1e-13])
def test_a_variation_within_rounding_is_constant(recorded, size):
    """Relative to the largest residual: beyond 1e-12 it is mapped, also beside constant ones."""
    q, _ = recorded
    r = np.full((25, 3), 1e3)
    r[:, 0] += 1e3 * size * np.sqrt(2.0) * np.sin(q[:, 0]) / np.sin(q[:, 0]).std()
    found = fitted(q, r, TURNING)
    assert (found.deviations[0] > 0.0) == (size > 1e-12)
    assert found.deviations[1:].tolist() == [0.0, 0.0]


def test_bad_input(recorded):
    q, r = recorded
    with pytest.raises(ArgumentError, match='at least 5 poses, got 4'):
        fitted(q[:4], r[:4], TURNING)
    with pytest.raises(ArgumentError, match=r'\(m, n\)'):
        fitted(q, r[:, :2], TURNING)
    with pytest.raises(ArgumentError, match='finite'):
        fitted(q, np.where(r > 2.5, np.nan, r), TURNING)
    same = fitted(np.zeros((6, 3)), r[:6], TURNING)  # one pose six times
    np.testing.assert_allclose(same.residual(np.zeros(3)), r[:6].mean(axis=0), atol=1e-9)
