# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact wrenches of feet by least squares: exact forces, noise, what is not determined."""

import numpy as np
import pytest

from screw_dynamics_ros.core.estimation.support_wrenches import SupportWrenches

SWAPPED = [3, 4, 5, 0, 1, 2]


def solved(J, forces, deviations, moments=False):
    """Return wrenches (m, 6) and covariances (m, 6, 6), None if they are not determined."""
    found = SupportWrenches(J, len(forces))
    found.has_moments = moments
    found.forces, found.deviations = forces, deviations
    if not found.solve():
        return None
    wrenches = [each.wrench[SWAPPED] for each in found.contacts]
    squares = [each.covariance.reshape(6, 6)[np.ix_(SWAPPED, SWAPPED)] for each in found.contacts]
    return np.array(wrenches), np.array(squares)


@pytest.mark.parametrize(('feet', 'moments'), [(1, False), (4, False), (2, True), (3, True)])
def test_forces_without_noise_give_the_wrenches(feet, moments):
    rng = np.random.default_rng(feet)
    J, w = rng.normal(size=(feet, 6, 20)), rng.normal(size=(feet, 6))
    if not moments:
        w[:, :3] = 0.0
    forces = np.einsum('kin,ki->n', J, w)
    found, _ = solved(J, forces, rng.uniform(0.1, 3.0, 20), moments)
    np.testing.assert_allclose(found, w, atol=1e-10)


@pytest.mark.parametrize('moments', [False, True])
def test_errors_are_weighted(moments):
    """By NumPy, also with deviations that differ by six orders of magnitude."""
    rng = np.random.default_rng(2)
    J, forces = rng.normal(size=(3, 6, 24)), rng.normal(size=24)
    deviations = 10.0 ** rng.uniform(-6.0, 0.0, 24)
    first = 0 if moments else 3
    A = J[:, first:].reshape(-1, 24).T / deviations[:, None]
    expected = np.linalg.lstsq(A, forces / deviations, rcond=None)[0]
    wrenches, covariances = solved(J, forces, deviations, moments)
    np.testing.assert_allclose(wrenches[:, first:].ravel(), expected, rtol=1e-6)
    inverse = np.linalg.pinv(A, rcond=1e-14)
    square = (inverse @ inverse.T).reshape(3, 6 - first, 3, 6 - first)
    for k in range(3):
        np.testing.assert_allclose(covariances[k, first:, first:], square[k, :, k], rtol=1e-6)


def test_covariances_are_those_of_repeated_estimates():
    rng = np.random.default_rng(5)
    J, deviations = rng.normal(size=(3, 6, 18)), rng.uniform(0.2, 2.0, 18)
    errors = deviations * rng.normal(size=(4000, 18))
    every = np.array([solved(J, each, deviations)[0] for each in errors])
    _, covariances = solved(J, errors[0], deviations)
    for k in range(3):
        np.testing.assert_allclose(
            np.cov(every[:, k, 3:].T), covariances[k, 3:, 3:], atol=0.1 * covariances[k].max()
        )
        assert not covariances[k, :3].any()
    assert not every[:, :, :3].any()


def test_wrenches_that_are_not_determined():
    rng = np.random.default_rng(6)
    J = rng.normal(size=(4, 6, 18))
    assert solved(J, np.ones(18), np.ones(18), moments=True) is None  # 24 unknowns
    assert solved(J * np.nan, np.ones(18), np.ones(18)) is None
    J[1] = J[0]
    assert solved(J, np.ones(18), np.ones(18)) is None
    assert [len(each) for each in solved(J[:0], np.ones(18), np.ones(18))] == [0, 0]
