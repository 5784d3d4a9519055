# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact wrenches of feet by least squares: exact forces, noise, what is not determined."""

import numpy as np
import pytest

from screw_dynamics_ros.core.measurement.estimation.support_wrenches import support_wrenches


@pytest.mark.parametrize(('feet', 'moments'), [(1, False), (4, False), (2, True), (3, True)])
def test_forces_without_noise_give_the_wrenches(feet, moments):
    rng = np.random.default_rng(feet)
    J, w = rng.normal(size=(feet, 6, 20)), rng.normal(size=(feet, 6))
    if not moments:
        w[:, :3] = 0.0
    forces = np.einsum('kin,ki->n', J, w)
    found = support_wrenches(J, forces, rng.uniform(0.1, 3.0, 20), moments=moments)
    np.testing.assert_allclose(found.wrenches, w, atol=1e-10)


def test_covariances_are_those_of_repeated_estimates():
    rng = np.random.default_rng(5)
    J, deviations = rng.normal(size=(3, 6, 18)), rng.uniform(0.2, 2.0, 18)
    errors = deviations * rng.normal(size=(4000, 18))
    every = np.array([support_wrenches(J, each, deviations).wrenches for each in errors])
    found = support_wrenches(J, errors[0], deviations)
    for k in range(3):
        np.testing.assert_allclose(
            np.cov(every[:, k, 3:].T),
            found.covariances[k, 3:, 3:],
            atol=0.1 * found.covariances[k].max(),
        )
        assert not found.covariances[k, :3].any()
    assert not every[:, :, :3].any()


def test_wrenches_that_are_not_determined():
    rng = np.random.default_rng(6)
    J = rng.normal(size=(4, 6, 18))
    assert support_wrenches(J, np.ones(18), np.ones(18), moments=True) is None  # 24 unknowns
    J[1] = J[0]
    assert support_wrenches(J, np.ones(18), np.ones(18)) is None
    nothing = support_wrenches(J[:0], np.ones(18), np.ones(18))
    assert (nothing.wrenches.shape, nothing.covariances.shape) == ((0, 6), (0, 6, 6))
    with pytest.raises(np.linalg.LinAlgError):
        support_wrenches(J * np.nan, np.ones(18), np.ones(18))
