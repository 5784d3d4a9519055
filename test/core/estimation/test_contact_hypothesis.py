# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One contact hypothesis against dense least squares: no polynomials, no inversion lemma."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from screw_dynamics_ros.core.estimation.contact_hypothesis import misfits, refined

STRENGTH = 1.0 / 50.0**2
PRIOR = 1e-6  # of s


def points_on(segment, s):
    return segment[:3] + s * segment[3:]


def lever(J, point):
    """Return the matrix (n, 3) of the torques of a force at a point: velocities of the point."""
    return np.array([v + np.cross(omega, point) for omega, v in zip(J[:3].T, J[3:].T)])


def regularized(A, torques, S):
    """Return the force that minimizes misfit and prior, by least squares of stacked equations."""
    L = np.linalg.cholesky(np.linalg.inv(S)).T
    rows = np.vstack([L @ A, np.sqrt(STRENGTH) * np.eye(3)])
    return np.linalg.lstsq(rows, np.append(L @ torques, np.zeros(3)), rcond=None)[0]


def missed(J, segment, f, offset):
    """Return S of (3): rows are torques of f at points beside the axis."""
    d = segment[3:]
    square = d @ d
    across = np.eye(3) - (np.outer(d, d) / square if square else 0.0)
    C = np.array([np.cross(omega, f) @ across for omega in J[:3].T])
    return np.eye(J.shape[1]) + offset * C @ C.T


def case(seed, n=6, s=0.4, noise=0.01):
    """Return Jacobian, segment, a force and its torques at s with small errors."""
    rng = np.random.default_rng(seed)
    J, segment = rng.normal(size=(6, n)), rng.normal(size=6)
    f = 20.0 * rng.normal(size=3)
    torques = lever(J, points_on(segment, s)) @ f + noise * rng.normal(size=n)
    return J, segment, f, torques


@pytest.mark.parametrize('n', [2, 3, 7])
def test_misfits_are_the_least_squares_at_thirteen_points(n):
    J, segment, _, torques = case(n, n)
    expected = []
    for s in np.arange(13) / 12.0:
        A = lever(J, points_on(segment, s))
        f = regularized(A, torques, np.eye(n))
        expected.append(np.sum((torques - A @ f) ** 2) + STRENGTH * f @ f)
    found = misfits(J, segment, torques, np.array([STRENGTH]))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9 * (torques @ torques))


def start_of(segment, s, offset):
    return np.array([s, segment[3:] @ segment[3:], offset])


@pytest.mark.parametrize('offset', [0.0, 0.02])
@pytest.mark.parametrize('seed', range(4))
def test_refined_is_the_optimum_in_force_and_place(seed, offset):
    """Found by SciPy, for the S of the best force at the start."""
    J, segment, _, torques = case(seed)
    S = missed(
        J, segment, regularized(lever(J, points_on(segment, 0.45)), torques, np.eye(6)), offset
    )
    L = np.linalg.cholesky(np.linalg.inv(S)).T

    def residuals(x):
        return np.append(
            L @ (torques - lever(J, points_on(segment, x[3])) @ x[:3]), np.sqrt(STRENGTH) * x[:3]
        )

    best = least_squares(residuals, [1.0, 1.0, 1.0, 0.45], xtol=1e-15, ftol=1e-15, gtol=1e-12)
    x, H, chi2, factors = refined(
        J, segment, start_of(segment, 0.45, offset), torques, np.array([STRENGTH])
    )
    np.testing.assert_allclose(x, best.x, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(H, best.jac.T @ best.jac + np.diag([0, 0, 0, PRIOR]), rtol=1e-3)
    assert chi2 == pytest.approx(np.sum(residuals(best.x)[:6] ** 2), rel=1e-3)
    assert np.prod(factors) == pytest.approx(np.linalg.det(S), rel=1e-9)


@pytest.mark.parametrize(('s', 'start'), [(0.4, 0.9), (0.4, 0.0), (1.3, 0.8), (-0.3, 0.3)])
def test_three_gauss_newton_steps_within_the_segment(s, start):
    """Also from afar, and for contacts beyond the ends, with the dense S."""
    J, segment, _, torques = case(8, s=s, noise=1.0)
    offset = 0.03
    f = regularized(lever(J, points_on(segment, start)), torques, np.eye(6))
    S = missed(J, segment, f, offset)
    W, prior, place = np.linalg.inv(S), np.diag([STRENGTH] * 3 + [PRIOR]), start
    for _ in range(3):
        A = lever(J, points_on(segment, place))
        B = np.column_stack([A, (lever(J, segment[3:]) - J[3:].T) @ f])
        gradient = B.T @ W @ (torques - A @ f) - STRENGTH * np.append(f, 0.0)
        place = np.clip(place + np.linalg.solve(B.T @ W @ B + prior, gradient)[3], 0.0, 1.0)
        f = regularized(lever(J, points_on(segment, place)), torques, S)
    A = lever(J, points_on(segment, place))
    B = np.column_stack([A, (lever(J, segment[3:]) - J[3:].T) @ f])
    x, H, chi2, _ = refined(
        J, segment, start_of(segment, start, offset), torques, np.array([STRENGTH])
    )
    np.testing.assert_allclose(x, [*f, place], rtol=1e-9)
    np.testing.assert_allclose(H, B.T @ W @ B + prior, rtol=1e-9, atol=1e-9)
    assert chi2 == pytest.approx((torques - A @ f) @ W @ (torques - A @ f), rel=1e-9)
    assert (place in (0.0, 1.0)) == (not 0.0 <= s <= 1.0)


def test_a_segment_without_length_has_the_prior_of_its_place():
    J, segment, _, torques = case(3)
    segment[3:] = 0.0
    start = np.array([0.5, 1e-18, 0.02])
    x, H, _, factors = refined(J, segment, start, torques, np.array([STRENGTH]))
    S = missed(J, segment, regularized(lever(J, segment[:3]), torques, np.eye(6)), 0.02)
    np.testing.assert_allclose(x, [*regularized(lever(J, segment[:3]), torques, S), 0.5], rtol=1e-9)
    assert H[3].tolist() == [0.0, 0.0, 0.0, PRIOR]
    assert np.prod(factors) == pytest.approx(np.linalg.det(S), rel=1e-9)
