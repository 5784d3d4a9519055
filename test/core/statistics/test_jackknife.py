# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Variances by leaving out clusters: against repeated fits, and against many samples."""

import numpy as np
import pytest
from scipy.stats import t

from screw_dynamics_ros.core.statistics.jackknife import jackknife, time_blocks


def reduced(A):
    """Return orthonormal equations and the factor back to their unknowns."""
    U, s, V_T = np.linalg.svd(A, full_matrices=False)
    return U, V_T.T / s


def test_the_same_as_fits_without_each_cluster():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(60, 3)), rng.normal(size=60)
    cluster = rng.integers(0, 6, 60)
    x = np.linalg.lstsq(A, b, rcond=None)[0]
    fits = [np.linalg.lstsq(A[cluster != g], b[cluster != g], rcond=None)[0] - x for g in range(6)]
    U, factor = reduced(A)
    found, _ = jackknife(U, b - A @ x, [cluster], factor)
    np.testing.assert_allclose(found, 5 / 6 * np.transpose(fits) @ fits, rtol=1e-6)


def test_intervals_hold_a_truth_behind_errors_that_clusters_share():
    """A second set of clusters without a meaning does not make them too narrow."""
    rng, inside, white = np.random.default_rng(1), [], []
    sizes = np.r_[np.full(4, 60), np.full(12, 10)]
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    other = np.arange(len(cluster)) % 20
    for _ in range(150):
        A = np.column_stack([np.ones(len(cluster)), rng.normal(size=len(sizes))[cluster]])
        b = A @ [1.0, 2.0] + rng.normal(size=len(sizes))[cluster] + rng.normal(size=len(cluster))
        U, factor = reduced(A)
        x = factor @ (U.T @ b)
        covariance, freedom = jackknife(U, b - A @ x, [cluster, other], factor)
        half = t.ppf(0.975, freedom) * np.sqrt(covariance.diagonal())
        inside.append(np.abs(x - [1.0, 2.0]) < half)
        half = 1.96 * np.std(b - A @ x) * np.linalg.norm(factor, axis=1)
        white.append(np.abs(x - [1.0, 2.0]) < half)
    share = np.mean(inside, axis=0)
    assert (share > 0.92).all()
    assert (np.mean(white, axis=0) < 0.6).all()


def test_what_one_cluster_alone_determines_is_bounded_by_prior_information():
    A = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    U, factor = reduced(A)
    r = np.array([0.0, 1.0, -1.0, 0.0])
    prior = 0.01 * factor.T @ factor
    r[0] = 0.02
    found, _ = jackknife(U, r, [np.arange(4)], factor, prior)
    assert found[0, 0] == pytest.approx(3 / 4 * (0.02 / 0.01) ** 2, rel=1e-3)


def test_a_repeated_motion_has_the_blocks_of_the_first_one():
    """Also in another recording, and with a period that is no multiple of blocks; not at rest."""
    t = np.tile(0.1 * np.arange(400), 2)
    part = np.repeat([0, 1], 400)
    phase = 2.0 * np.pi * t / 12.5
    state = np.stack([np.sin(phase), np.cos(3.0 * phase), np.sin(5.0 * phase), 0.0 * t], axis=1)
    noise = 1e-5 * np.random.default_rng(0).normal(size=state.shape)
    found = time_blocks(t, part, state + noise)
    seconds = np.floor(t % 12.5).astype(int)
    assert set(found) == set(range(13))
    assert np.mean(found == seconds) > 0.85
    assert (time_blocks(t, part, 0.0 * state) == np.floor(t) + 40 * part).all()
    away = time_blocks(t, part, state + 2.0 * part[:, None])  # another place
    assert set(away[:400]).isdisjoint(away[400:])
