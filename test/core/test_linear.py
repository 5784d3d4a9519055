# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What recursions may ask about numbers that may be recorded, and factors of mass matrices."""

from __future__ import annotations

from collections import Counter

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


def test_constants():
    """Numbers of Python and doubles of NumPy; a recorded scalar is not one."""
    for x in (0, 0.0, 1, np.float64(2.0)):
        assert linear.is_constant(x)
        assert linear.is_zero(x) == (x == 0)
    assert not linear.is_constant(scalar())
    assert not linear.is_within(1.0, 1.0)


def test_zeros_hold_what_others_hold():
    assert linear.zeros(2).dtype == float
    assert linear.zeros((2, 3), np.zeros(1), np.zeros(1, dtype=int)).dtype == float
    assert linear.zeros((2, 3), np.zeros(1), np.zeros(1, dtype=object)).dtype == object
    np.testing.assert_array_equal(linear.zeros((2, 3)), np.zeros((2, 3)))


def test_symmetric_matrices_have_their_upper_triangle():
    A = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(linear.symmetric(A), [[0, 1, 2], [1, 4, 5], [2, 5, 8]])


def mass_matrix_of_a_tree(parents: list[int]) -> np.ndarray:
    """Return a positive definite matrix with zeros where no joint carries the other one."""
    n = len(parents)
    rng, A = np.random.default_rng(4), np.zeros((n, n))
    for i in range(n):
        A[i, i] = n + rng.uniform()
        j = parents[i]
        while j >= 0:
            A[i, j] = A[j, i] = rng.uniform(-1.0, 1.0)
            j = parents[j]
    return A


@pytest.mark.parametrize('parents', [[-1, 0, 1, 2], [-1, 0, 0, 1, 1, 2, 4], [-1, -1, 1, 0, 2, 2]])
def test_factors(parents):
    """A = L^T D L and A^-1 = L D L^T beside NumPy; what is zero in a tree stays zero."""
    A, n = mass_matrix_of_a_tree(parents), len(parents)
    given = A.copy()
    factor = linear.triangular_factor(A)
    L, D = np.tril(factor, -1) + np.eye(n), np.diag(factor.diagonal())
    np.testing.assert_allclose(L.T @ D @ L, A, atol=1e-14)
    np.testing.assert_array_equal(L[np.tril(A) == 0.0], 0.0 * L[np.tril(A) == 0.0])
    inverse, D = linear.inverse_factors(A)
    np.testing.assert_allclose(inverse @ D @ inverse.T, np.linalg.inv(A), atol=1e-14)
    np.testing.assert_allclose(inverse @ L, np.eye(n), atol=1e-14)
    assert ((inverse != 0.0) == (np.tril(A) != 0.0)).all()
    np.testing.assert_array_equal(D, np.diag(D.diagonal()))
    b = np.random.default_rng(5).normal(size=(n, 2))
    for right in (b, b[:, 0]):
        kept = right.copy()
        x = linear.solve_positive_definite(A, right)
        np.testing.assert_allclose(x, np.linalg.solve(A, right), atol=1e-14)
        np.testing.assert_array_equal(right, kept)
    np.testing.assert_array_equal(A, given)


def test_recorded_factors_skip_the_zeros_of_a_tree():
    """Neither numbers nor operations for what is zero by structure."""
    parents = [-1, 0, 0, 0]
    A = mass_matrix_of_a_tree(parents).astype(object)
    structure = A != 0.0
    recorder = Recorder()
    A[structure] = recorder.inputs('A', int(structure.sum()))
    factor = linear.triangular_factor(A)
    inverse, _ = linear.inverse_factors(A)
    operations = Counter(operation[0] for operation in recorder.operations)
    del operations['input']
    # each branch: a quotient, L and what it takes from D of the root; then L^-1 and D^-1
    assert operations == {'reciprocal': 3 + 1, 'mul': 3 * 2, 'sub': 3, 'neg': 3}
    for matrix in (factor, inverse):
        for i, j in np.argwhere(~structure):
            assert matrix[i, j] == 0.0
            assert linear.is_constant(matrix[i, j])


def test_sparse_products():
    """As NumPy's, and recorded where both factors are not zero."""
    rng = np.random.default_rng(6)
    A, B = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    A[A < 0.2], B[B < 0.2] = 0.0, 0.0
    np.testing.assert_allclose(linear.sparse_product(A, B), A @ B, atol=1e-15)
    recorded = A.astype(object)
    recorded[A != 0.0] = Recorder().inputs('A', int((A != 0.0).sum()))
    product = linear.sparse_product(recorded, B)
    constant = np.vectorize(linear.is_constant)(product)
    np.testing.assert_array_equal(~constant, (A != 0.0) @ (B != 0.0) > 0)
    assert all(linear.is_zero(x) for x in product[constant])


@pytest.mark.parametrize('shape', [(5, 5), (7, 4), (3, 1)])
def test_least_squares(shape):
    """Beside NumPy's; independence is the distance to the span of the columns before."""
    rng = np.random.default_rng(7)
    A, B = rng.normal(size=shape), rng.normal(size=(shape[0], 2))
    X, independence = linear.least_squares(A, B)
    np.testing.assert_allclose(X, np.linalg.lstsq(A, B, rcond=None)[0], atol=1e-12)
    for k, column in enumerate(A.T):
        away = column - A[:, :k] @ np.linalg.lstsq(A[:, :k], column, rcond=None)[0]
        sine = np.linalg.norm(away) / np.linalg.norm(column)
        assert independence[k] == pytest.approx(sine, rel=1e-12)


def test_least_squares_of_nearly_dependent_columns():
    """Normal equations would square the condition number 1e7 and lose all digits."""
    rng = np.random.default_rng(8)
    A = rng.normal(size=(6, 1)) + 1e-7 * rng.normal(size=(6, 3))
    X = np.array([[1.0], [2.0], [3.0]])
    np.testing.assert_allclose(linear.least_squares(A, A @ X)[0], X, rtol=1e-7)
