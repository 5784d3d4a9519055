# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The typed decomposition of Jacobians against LAPACK, and its paths against each other."""

import numpy as np
import pytest

from screw_dynamics_ros.core.estimation import wrench_observability
from screw_dynamics_ros.core.estimation.wrench_observability import observability


def matrices():
    """Return regular, deficient, badly scaled, tiny and huge matrices."""
    rng = np.random.default_rng(8)
    for n in (1, 2, 3, 5, 6, 7, 12, 30):
        A = rng.normal(size=(6, n))
        for rank in range(min(n, 6)):
            yield rng.normal(size=(6, rank)) @ rng.normal(size=(rank, n))
        yield A
        yield A * 10.0 ** rng.uniform(-9.0, 0.0, size=(6, 1))
        yield A * 10.0 ** rng.uniform(-9.0, 0.0, size=n)
        yield A[:, rng.integers(0, n, size=n)]  # equal columns
        yield from (A * 1e-150, A * 1e-290, A * 1e290)
    yield np.eye(6)
    yield np.eye(6) + 1e-9 * rng.normal(size=(6, 6))  # close singular values
    yield np.ones((6, 4))


def test_singular_values_and_spaces_are_those_of_lapack():
    for J in matrices():
        seen = observability(J, 0.0, 1.0)
        s, largest = seen.singular_values, np.linalg.norm(J, 2)
        expected = np.zeros(6)
        expected[: J.shape[1]] = np.linalg.svd(J, compute_uv=False)[:6]
        np.testing.assert_allclose(s, expected, rtol=0.0, atol=1e-14 * largest)
        assert (np.diff(s) <= 0.0).all()
        U, V = seen.directions, seen.torques
        for Q in (U, V):
            np.testing.assert_allclose(Q.T @ Q, np.eye(seen.rank), atol=1e-14)
        scale = largest or 1.0
        np.testing.assert_allclose(U @ np.diag(s[: seen.rank] / scale) @ V.T, J / scale, atol=1e-14)


def test_small_singular_values_of_graded_rows_are_accurate():
    """Rows of very different lengths: LAPACK loses the digits of the short ones."""
    A = np.random.default_rng(3).normal(size=(6, 7))
    scales = 10.0 ** -np.arange(0.0, 12.0, 2.0)
    found = observability(scales[:, None] * A, 0.0, 1.0).singular_values
    R = np.linalg.qr((scales[:, None] * A).T, mode='r')  # exact for graded columns
    np.testing.assert_allclose(np.prod(found), np.abs(np.prod(np.diag(R))), rtol=1e-12)
    np.testing.assert_allclose(found[-1], 1.0 / np.linalg.norm(np.linalg.inv(R), 2), rtol=1e-11)


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_end_without_a_rank(bad):
    J = np.random.default_rng(1).normal(size=(6, 7))
    J[4, 2] = bad
    seen = observability(J, 0.0, 0.3)
    assert np.isnan(seen.singular_values).all()
    assert (seen.rank, seen.directions.shape, seen.torques.shape) == (0, (6, 0), (7, 0))
    assert seen.wrench(np.ones(7)).tolist() == [0.0] * 6


def test_decomposing_again_forgets_the_last_jacobian():
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(2, 6, 7))
    seen = observability(A, 0.02, 0.2, damping=0.01)
    for J in (np.full((6, 7), np.nan), np.zeros((6, 7)), B):
        seen.decompose(J)
    once = observability(B, 0.02, 0.2, damping=0.01)
    for name in ('singular_values', 'u', 'v', 'G'):
        assert getattr(seen, name).tobytes() == getattr(once, name).tobytes()
    assert seen.rank == once.rank


def test_joints_that_do_not_move_the_link_change_nothing():
    rng = np.random.default_rng(6)
    moving = [1, 4, 5, 9, 10]
    J, P, tau = np.zeros((6, 12)), np.full((12, 12), np.nan), np.full(12, np.nan)
    J[:, moving], tau[moving] = rng.normal(size=(6, 5)), rng.normal(size=5)
    A = rng.normal(size=(5, 5))
    P[np.ix_(moving, moving)] = A @ A.T
    seen, expected = (observability(each, 0.02, 0.3) for each in (J, J[:, moving]))
    assert seen.directions.tobytes() == expected.directions.tobytes()
    G = seen.G.reshape(6, 12)
    assert np.array_equal(G[:, moving].ravel(), expected.G)
    assert not np.delete(G, moving, axis=1).any()
    assert np.array_equal(seen.wrench(tau), expected.wrench(tau[moving]))
    assert np.array_equal(seen.covariance(P), expected.covariance(A @ A.T))


def test_python_gives_the_bits_of_machine_code(monkeypatch):
    rng = np.random.default_rng(4)
    given = []
    for n in (3, 6, 8):
        A = rng.normal(size=(n, n))
        given.append((rng.normal(size=(6, n)), rng.normal(size=n), A @ A.T))
    given.append((np.ones((6, 4)), np.ones(4), np.eye(4)))

    def results():
        for J, tau, P in given:
            seen = observability(J, 0.02, 0.3, damping=0.01)
            shares, w = seen.axis_shares, seen.wrench(tau)
            yield from (seen.singular_values, seen.u, seen.v, seen.G, shares, w, seen.covariance(P))
            yield seen.condition

    compiled = [np.array(each).tobytes() for each in results()]
    monkeypatch.setattr(wrench_observability, 'calls', lambda *functions: functions)
    assert [np.array(each).tobytes() for each in results()] == compiled
