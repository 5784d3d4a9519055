# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The fit of efforts, against linear least squares of NumPy and made-up equations."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.identification.effort_fit import (
    autocorrelation_times,
    fit_efforts,
)
from support.effort_equations import effort_equations

M = 600  # instants
TRUE = np.array([2.0, -3.0, 0.5])
NAMES = ('a', 'b', 'c')


def made(noise=0.0, gains=(1.0, 1.0), *, seed=0, known=0.4, third=1.0):
    """Return equations of two joints; the third parameter is in joint 2 alone."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(M, 2, 3)) * [[1.0, 1.0, 0.0], [0.3, 1.0, third]]
    held = known * rng.normal(size=(M, 2))
    error = np.broadcast_to(noise, 2) * rng.normal(size=(M, 2))
    effort = np.array(gains) * (W @ TRUE + held) + error
    v, a, rigid = rng.normal(size=(3, M, 2))
    return effort_equations(effort, W, known=held, v=v, a=a, rigid=rigid)


def fitted(given, *, nominal=(0.0, 0.0, 0.0), likely=(9.0, 9.0, 9.0), gains=(1.0, 1.0), free=(),
           gauge=None, robust=False):  # fmt: skip
    arrays = (np.array(x, dtype=float) for x in (nominal, likely, gains))
    return fit_efforts(given, NAMES, *arrays, free, gauge, robust)


def weighted(given, sigma, gains=(1.0, 1.0)):
    """Return the parameters of NumPy's least squares, joints weighted by deviations."""
    A = given.W / np.reshape(sigma, (2, 1))
    b = (given.effort / gains - given.known) / sigma
    return np.linalg.lstsq(A.reshape(-1, 3), b.ravel(), rcond=None)[0]


def test_joints_are_weighted_by_their_noise():
    given = made(noise=(0.1, 3.0))
    found = fitted(given)
    e = given.W @ found.x + given.known - given.effort
    np.testing.assert_allclose(found.noise, [0.1, 3.0], rtol=0.1)
    np.testing.assert_allclose(found.noise, e.std(axis=0), rtol=5e-3)
    sigma = found.noise * np.sqrt(found.correlation)
    np.testing.assert_allclose(found.x, weighted(given, sigma), rtol=1e-6)
    assert np.abs(found.x - TRUE).max() < np.abs(weighted(given, [3.0, 0.1]) - TRUE).max()
    assert (found.gains.tolist(), found.free) == ([1.0, 1.0], ())
    assert found.identified.all()
    assert found.scale_identified.tolist() == [True, True]
    assert found.combinations == ()
    np.testing.assert_allclose(found.torques(given), given.W @ found.x + given.known)
    np.testing.assert_array_equal(found.weights, np.ones(M))


def test_noise_is_unbiased_for_the_number_of_parameters():
    """Of M - 3 / 2 freedoms for each of two joints."""
    given = made(noise=0.5)
    found = fitted(given)
    e = given.W @ found.x + given.known - given.effort
    np.testing.assert_allclose(found.noise, np.sqrt(np.sum(e**2, axis=0) / (M - 1.5)), rtol=1e-6)


def test_exact_efforts_have_the_noise_of_filters():
    """A ten-thousandth of the deviation of the efforts."""
    given = made()
    found = fitted(given)
    np.testing.assert_allclose(found.x, TRUE, rtol=1e-9)
    np.testing.assert_allclose(found.noise, 1e-4 * given.effort.std(axis=0), rtol=1e-9)


@pytest.mark.parametrize('likely', [(9.0, 9.0, 9.0), (50.0, 20.0, 9.0)])
def test_deviations_hold_the_scatter_of_many_samples(likely):
    """Of white noise, jackknife and scatter agree; covariances are those of the parameters."""
    values, covariances = [], []
    for seed in range(60):
        found = fitted(made(noise=(0.5, 2.0), seed=seed), likely=likely)
        values.append(found.x - TRUE)
        covariances.append(found.covariance)
    scatter, stated = np.cov(np.transpose(values)), np.mean(covariances, axis=0)
    size = np.sqrt(np.diag(scatter))
    # the larger one of two estimates, of some 16 and 60 clusters, is above by about a quarter
    ratio = np.diag(stated) / np.diag(scatter)
    assert (ratio > 0.8).all()
    assert (ratio < 2.0).all()
    assert np.abs((stated - scatter) / np.outer(size, size)).max() < 0.8
    assert ((found.freedom > 4.0) & (found.freedom < 61.0)).all()


# --- gains ----------------------------------------------------------------------------------------


@pytest.mark.parametrize('gain', [5.0, -0.2])
def test_a_gain_is_found_beside_the_parameters(gain):
    """The first guess is far; known torques and the other joint fix the scale."""
    given = made(noise=(0.01, 0.01 * abs(gain)), gains=(1.0, gain))
    start = 2.5 * gain
    found = fitted(given, gains=(1.0, start), free=[1])
    assert found.gains[0] == 1.0
    assert found.gains[1] == pytest.approx(gain, rel=5e-3)
    np.testing.assert_allclose(found.x, TRUE, rtol=5e-3)
    assert found.free == (1,)
    assert found.covariance.shape == (4, 4)
    deviation = np.sqrt(found.covariance[3, 3])
    assert abs(found.gains[1] - gain) < 4 * deviation < 5e-3 * abs(gain) * 4
    assert found.scale_identified.tolist() == [True, True]


def test_gains_have_the_deviation_of_many_samples():
    values, deviations = [], []
    for seed in range(40):
        given = made(noise=(0.3, 2.0), gains=(1.0, 5.0), seed=seed)
        found = fitted(given, gains=(1.0, 4.0), free=[1])
        values.append(found.gains[1])
        deviations.append(np.sqrt(found.covariance[3, 3]))
    assert 0.8 < np.mean(deviations) / np.std(values) < 1.6
    assert np.mean(values) == pytest.approx(5.0, abs=0.05)


def test_the_scale_of_all_joints_is_fixed_by_a_gauge():
    """Without known torques only gauge (x - nominal) = 0 fixes it, whatever the unit."""
    given = made(noise=1e-3, gains=(4.0, 8.0), known=0.0)
    gauge, nominal = np.array([1.0, 0.0, 0.0]), 1.1 * TRUE
    found = fitted(given, nominal=nominal, gains=(3.0, 9.0), free=[0, 1], gauge=gauge)
    np.testing.assert_allclose(found.x, nominal, rtol=2e-3)
    np.testing.assert_allclose(found.gains, np.array([4.0, 8.0]) / 1.1, rtol=2e-3)
    mixed = np.array([0.0, 1.0, 2.0])
    found = fitted(given, nominal=nominal, gains=(3.0, 9.0), free=[0, 1], gauge=mixed)
    assert mixed @ found.x == pytest.approx(mixed @ nominal, rel=1e-6)


def test_a_gain_that_nothing_determines():
    """Parameter c is in joint 2 alone, with its gain: neither is identified, their product is."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(M, 2, 3)) * [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    effort = W @ TRUE * [1.0, 3.0] + 1e-3 * rng.normal(size=(M, 2))
    given = effort_equations(effort, W)
    found = fitted(given, nominal=[2.0, -3.0, 0.6], likely=(1.0, 1.0, 0.6),
                   gains=(1.0, 2.0), free=[1])  # fmt: skip
    assert found.identified.tolist() == [True, True, False, False]
    assert found.scale_identified.tolist() == [True, False]
    assert found.gains[1] * found.x[2] == pytest.approx(1.5, rel=1e-3)
    (combination,) = found.combinations
    assert set(combination) == {'c', 'gain 1'}
    # the equations for any gain tell nothing about c
    R, z = found.information
    assert np.abs(R[:, 2]).max() < 1e-6 * np.abs(R).max()
    np.testing.assert_allclose(np.linalg.lstsq(R[:, :2], z, rcond=None)[0], TRUE[:2], rtol=1e-3)


def test_parameters_that_depend_on_an_unknown_gain():
    """c is seen by joint 1 also, with little noise: it remains, and determines the gain."""
    given = made(noise=(1e-3, 1e-3), gains=(1.0, 3.0))
    assert fitted(given, gains=(1.0, 2.0), free=[1]).identified.all()


# --- priors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(('deviation', 'identified'), [(0.29, True), (0.37, False)])
def test_parameters_are_identified_if_much_better_known_than_before(deviation, identified):
    """By a factor of 1 / 0.3; s is the share without the prior, which makes it s / (1 + s^2)."""
    given = made(noise=(0.1, 2.0))
    sigma = np.sqrt(np.diag(fitted(given).covariance))
    likely = np.array([9.0, 9.0, sigma[2] / deviation])
    found = fitted(given, nominal=TRUE, likely=likely)
    assert found.identified.tolist() == [True, True, identified]


@pytest.mark.parametrize(('deviation', 'is_held'), [(0.97, False), (1.03, True), (1.5, True)])
def test_what_is_worse_known_than_before_is_held(deviation, is_held):
    """Its deviation then is the prior one, and clearly so, its value the nominal one."""
    given, nominal = made(noise=(0.1, 2.0)), np.array([2.0, -3.0, 0.4])
    first = fitted(given, nominal=nominal)
    sigma = (first.noise * np.sqrt(first.correlation))[:, None]
    A = (given.W / sigma).reshape(-1, 3)
    likely = np.array([9.0, 9.0, np.sqrt(np.linalg.inv(A.T @ A)[2, 2]) / deviation])
    found = fitted(given, nominal=nominal, likely=likely)
    assert found.identified.tolist() == [True, True, False]
    assert (found.x[2] == pytest.approx(0.4, abs=1e-6)) == (deviation == 1.5)
    assert len(found.combinations) == is_held
    if is_held:
        assert set(found.combinations[0]) == {'c'}
        assert found.covariance[2, 2] == pytest.approx(likely[2] ** 2, rel=1e-3)


def test_directions_without_information_remain_nominal():
    """Columns b and c differ by a thousandth of what noise hides: only their sum is known."""
    given = made(noise=0.1)
    W = given.W.copy()
    W[:, :, 2] = W[:, :, 1]
    effort = W @ TRUE + given.known + 0.1 * np.random.default_rng(1).normal(size=(M, 2))
    given = effort_equations(effort, W, known=given.known, v=given.v, a=given.a, rigid=given.rigid)
    found = fitted(given, nominal=(0.0, 1.0, 2.0), likely=(2.0, 2.0, 2.0))
    assert found.x[1] + found.x[2] == pytest.approx(-2.5, abs=0.05)
    assert found.x[1] - found.x[2] == pytest.approx(-1.0)
    assert found.identified.tolist() == [True, False, False]
    ((first, second),) = (each.items() for each in found.combinations)
    assert {first[0], second[0]} == {'b', 'c'}
    assert first[1] == pytest.approx(-second[1])
    # the prior deviation of the difference, 2 sqrt(2), is that of the result
    spread = np.array([0.0, 1.0, -1.0])
    assert spread @ found.covariance @ spread == pytest.approx(8.0, rel=1e-2)
    R, z = found.information
    np.testing.assert_allclose(R.T @ (R @ found.x), R.T @ z, rtol=1e-6)


def test_the_condition_number():
    """That of the columns, weighted by noise and scaled by prior deviations."""
    given, likely = made(noise=(0.5, 2.0)), np.array([9.0, 4.0, 1.0])
    found = fitted(given, likely=likely)
    sigma = found.noise * np.sqrt(found.correlation)
    A = (given.W * likely / sigma[:, None]).reshape(-1, 3)
    assert found.condition == pytest.approx(np.linalg.cond(A), rel=1e-6)
    R, z = found.information
    np.testing.assert_allclose(R.T @ R, (A / likely).T @ (A / likely), rtol=1e-6)
    np.testing.assert_allclose(np.linalg.solve(R.T @ R, R.T @ z), found.x, rtol=1e-8)


# --- outliers, missing efforts, refusals ----------------------------------------------------------


def test_contacts_have_small_weights_if_robust():
    given = made(noise=0.1)
    effort = given.effort.copy()
    effort[100:130] += 6.0
    pushed = effort_equations(effort, given.W, known=given.known, v=given.v, a=given.a,
                              rigid=given.rigid)  # fmt: skip
    plain, robust = (fitted(pushed, robust=choice) for choice in (False, True))
    assert np.abs(robust.x - TRUE).max() < 0.3 * np.abs(plain.x - TRUE).max()
    assert (robust.weights[100:130] < 0.12).all()
    assert np.median(robust.weights) == 1.0
    assert (plain.weights == 1.0).all()


def test_a_joint_without_efforts():
    given = made(noise=0.1)
    effort = given.effort.copy()
    effort[5, 0] = np.nan
    found = fitted(effort_equations(effort, given.W, known=given.known, rigid=given.rigid,
                                    v=given.v, a=given.a))  # fmt: skip
    assert np.isnan(found.noise).tolist() == np.isnan(found.correlation).tolist() == [True, False]
    A, b = given.W[:, 1], given.effort[:, 1] - given.known[:, 1]
    np.testing.assert_allclose(found.x, np.linalg.lstsq(A, b, rcond=None)[0], rtol=1e-8)


@pytest.mark.parametrize(('count', 'joints'), [(2, 2), (5, 1)])
def test_too_few_instants(count, joints):
    """At least twice as many equations as parameters: six here."""
    given = made(noise=0.1)
    effort = given.effort.copy()
    effort[:, joints:] = np.nan
    given = effort_equations(effort, given.W)
    few = given.rows(np.arange(M) < count)
    text = f'too short: {count} instants of {joints} joints for 3 parameters'
    with pytest.raises(ArgumentError, match=text):
        fitted(few)
    fitted(given.rows(np.arange(M) <= count))
    with pytest.raises(ArgumentError, match='too short: 600 instants of 0 joints'):
        fitted(effort_equations(np.full((M, 2), np.nan), given.W))


# --- autocorrelation ------------------------------------------------------------------------------


def test_autocorrelation_times_of_an_autoregressive_process():
    """x_k = r x_(k-1) + noise has tau = (1 + r) / (1 - r), whatever its size, in each column."""
    rng, r, N = np.random.default_rng(0), np.array([0.5, 0.8]), 40000
    x = rng.normal(size=(N, 2))
    for k in range(1, N):
        x[k] += r * x[k - 1]
    found = autocorrelation_times(x * [1.0, 100.0], np.zeros(N, dtype=int))
    np.testing.assert_allclose(found, (1 + r) / (1 - r), rtol=0.06)
    parts = autocorrelation_times(x, np.arange(N) // 2000)
    np.testing.assert_allclose(parts, found, rtol=0.05)


def test_autocorrelation_times_of_few_numbers():
    """White noise of M numbers: 1 + sqrt(6 / M), by the sum that ends at lag 1; none are 1."""
    e = np.array([[1.0], [-1.0]] * 50)
    found = autocorrelation_times(e, np.zeros(100, dtype=int))
    assert found[0] == pytest.approx(1.0 + np.sqrt(0.06))
    slow = np.array([[1.0], [1.0], [-1.0], [-1.0]] * 25)
    # rho_1 = 1 / 99, below 0.02
    found = autocorrelation_times(slow, np.zeros(100, dtype=int))
    assert found[0] == pytest.approx(1.0 + np.sqrt(0.06))
    constant = autocorrelation_times(np.ones((8, 1)), np.zeros(8, dtype=int))
    assert constant[0] == pytest.approx((1.0 + 2.0 * 2.0) * (1.0 + np.sqrt(2.0 * 5.0 / 8.0)))
    assert autocorrelation_times(np.zeros((0, 2)), np.zeros(0, dtype=int)).shape == (2,)
