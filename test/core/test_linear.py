# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What recursions may ask about numbers that may be recorded, and factors of mass matrices."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import linear
from screw_dynamics_ros.core.compile.program.tracing import Recorder

X, Y, Z = np.eye(3)


def scalar() -> object:
    """Return a recorded scalar."""
    return Recorder().inputs('x', 1)[0]


def test_only_numbers_are_compared():
    assert linear.is_within(-0.5, 1.0)
    assert linear.is_within(np.float64(0.5), 1.0)
    assert not linear.is_within(-1.5, 1.0)
    assert not linear.is_within(np.nan, 1.0)
    assert not linear.is_within(scalar(), 1.0)


def test_recorded_arrays():
    assert linear.is_recorded(np.array([scalar(), 0.0], dtype=object))
    assert not linear.is_recorded(np.zeros(2))


def test_a_recorded_scalar_is_not_zero():
    assert linear.is_zero(0.0)
    assert not linear.is_zero(scalar())


@pytest.mark.parametrize('x', [np.zeros(3), np.full(3, np.nan)])
def test_no_direction(x):
    np.testing.assert_array_equal(linear.unit_vector(x, otherwise=Y), Y)


def test_unit_vector():
    np.testing.assert_allclose(linear.unit_vector(np.array([3.0, 0.0, 4.0]), Y), [0.6, 0.0, 0.8])
    recorded = Recorder().inputs('x', 3)
    assert linear.is_recorded(linear.unit_vector(recorded, otherwise=Y))


def test_products_of_stacks():
    """Cross products and matrices times vectors, row by row, of numbers and of recorded scalars."""
    rng = np.random.default_rng(0)
    A, x, y = rng.normal(size=(4, 3, 3)), rng.normal(size=(4, 3)), rng.normal(size=3)
    np.testing.assert_allclose(linear.cross(x, y), [np.cross(each, y) for each in x], atol=1e-15)
    np.testing.assert_allclose(linear.times(A, x), [M @ each for M, each in zip(A, x)], atol=1e-14)
    recorded = Recorder().inputs('x', 3)
    assert linear.is_recorded(linear.cross(x, recorded))
    assert linear.is_recorded(linear.times(A, recorded))


def test_lasting_axis():
    c, s = Recorder().inputs('turn', 2)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], dtype=object)
    assert linear.lasting_axis(R) == (2, 2)
    assert linear.lasting_axis(R[[2, 0, 1]]) == (0, 2)
    assert linear.lasting_axis(np.eye(3)) is None


def test_factors():
    """A = L^T D L and A^-1 = L D L^T; the zeros of two branches stay zeros."""
    A = np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]])
    factor = linear.triangular_factor(A)
    L, D = np.tril(factor, -1) + np.eye(3), np.diag(factor.diagonal())
    np.testing.assert_allclose(L.T @ D @ L, A, atol=1e-15)
    assert L[2, 1] == 0.0
    L, D = linear.inverse_factors(A)
    np.testing.assert_allclose(L @ D @ L.T @ A, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(
        linear.solve_positive_definite(A, A[:, :2]), np.eye(3)[:, :2], atol=1e-15
    )
