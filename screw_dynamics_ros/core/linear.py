# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Linear algebra that can be recorded: no branch, no pivoting, structural zeros stay zeros.

Mass matrices A are factored as A = L^T D L, L unit lower triangular, which makes no fill-in on a
tree: D_k is what remains of A_kk after the elimination of the joints beyond k. Recursions ask
whether numbers are recorded by the functions at the end of this file only.

The matrix [[5, 2], [2, 1]] has L_21 = 2 / 1, D_2 = 1, D_1 = 5 - 2 * 2 = 1 and the determinant 1:

>>> A = np.array([[5.0, 2.0], [2.0, 1.0]])
>>> np.tril(triangular_factor(A))
array([[1., 0.],
       [2., 1.]])
>>> solve_positive_definite(A, np.array([1.0, 0.0]))
array([ 1., -2.])

Source: Featherstone, Efficient factorization of the joint-space inertia matrix for branched
kinematic trees (2005).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .types import Array

# The axes that follow each axis, in a circle.
_SECOND, _THIRD = np.array([1, 2, 0]), np.array([2, 0, 1])


def zeros(shape: int | tuple[int, ...], *like: Array) -> Array:
    """Return zeros that can hold what the arrays `like` hold: numbers, or recorded scalars."""
    return np.zeros(shape, dtype=np.result_type(float, *like))


def cross(x: Array, y: Array) -> Array:
    """Return x × y, (..., 3), of vectors (..., 3).

    >>> cross(np.array([1.0, 0, 0]), np.array([0, 1.0, 0]))
    array([0., 0., 1.])
    """
    return x.take(_SECOND, -1) * y.take(_THIRD, -1) - x.take(_THIRD, -1) * y.take(_SECOND, -1)


def times(A: Array, x: Array) -> Array:
    """Return A x, (..., m), of matrices (..., m, n) and vectors (..., n)."""
    product: Array = (A @ x[..., None])[..., 0]
    return product


def symmetric(A: Array) -> Array:
    """Return a symmetric matrix from its upper triangle.

    Entries below the diagonal are copies: a recording then does not compute them a second time.
    """
    return np.triu(A) + np.triu(A, 1).T


def triangular_factor(A: Array) -> Array:
    """Return L and D of A = L^T D L in one matrix: D on the diagonal, L (unit) below.

    Eliminating from the last coordinate to the first makes no fill-in when A is the mass matrix of
    a tree: a recording drops the zeros of A. Elements above the diagonal are undefined.
    """
    L = A.copy()
    for k in reversed(range(len(A))):
        for i in reversed(range(k)):
            if is_zero(L[k, i]):
                continue
            factor = L[k, i] / L[k, k]
            for j in range(i + 1):
                L[i, j] = L[i, j] - factor * L[k, j]
            L[k, i] = factor
    return L


def solve_positive_definite(A: Array, b: Array) -> Array:
    """Solve A x = b for a symmetric positive definite A (see `triangular_factor`).

    Parameters
    ----------
    A : (n, n) array
    b : (n,) or (n, k) array
    """
    n = len(A)
    L, x = triangular_factor(A), b.copy()
    for k in reversed(range(n)):  # L^T y = b
        for i in range(k):
            x[i] = x[i] - L[k, i] * x[k]
    for k in range(n):  # L x = D^-1 y
        x[k] = x[k] / L[k, k]
        for i in range(k):
            x[k] = x[k] - L[k, i] * x[i]
    return x


def inverse_factors(A: Array) -> tuple[Array, Array]:
    """Return L and D of A^-1 = L D L^T for a symmetric positive definite A.

    L is unit lower triangular and D diagonal, (n, n) each. Where A is the mass matrix of a tree,
    element (i, j) of L is zero unless joint j carries joint i, as in the factor of A itself.
    """
    n = len(A)
    factor = triangular_factor(A)
    L = np.eye(n, dtype=A.dtype)
    for i in range(n):
        for k in range(i):
            if not is_zero(factor[i, k]):
                L[i, : k + 1] = L[i, : k + 1] - factor[i, k] * L[k, : k + 1]
    return L, np.diag(1.0 / factor.diagonal())


def sparse_product(A: Array, B: Array) -> Array:
    """Return A @ B, (n, k), without a look at the structural zeros of either if one is recorded."""
    if not is_recorded(A) and not is_recorded(B):
        return A @ B
    product = np.zeros((len(A), B.shape[1]), dtype=np.result_type(A, B))
    columns = [[j for j, x in enumerate(row) if not is_zero(x)] for row in B]
    for row, result in zip(A, product):
        for k, x in enumerate(row):
            if not is_zero(x):
                result[columns[k]] = result[columns[k]] + x * B[k, columns[k]]
    return product


def least_squares(A: Array, B: Array) -> tuple[Array, Array]:
    """Return the X (n, k) that minimizes |A X - B|, and how independent the columns of A are.

    Modified Gram-Schmidt orthogonalization: no squares of condition numbers, and rows of A may
    depend on each other.

    Parameters
    ----------
    A : (m, n) array
        Of full column rank.
    B : (m, k) array

    Returns
    -------
    X : (n, k) array
    independence : (n,) array
        Sine of the angle of each column to the span of those before it: 1 if it is orthogonal to
        them, 0 if it depends on them, and X means nothing then.

    >>> A = np.array([[2.0, 2.0], [0.0, 1.0], [0.0, 1.0]])
    >>> X, independence = least_squares(A, A @ np.array([[3.0], [4.0]]))
    >>> X.ravel().round(12), independence.round(3)
    (array([3., 4.]), array([1.   , 0.577]))
    """
    n = A.shape[1]
    Q, rest = A + zeros(A.shape, A), B + zeros(B.shape, A, B)
    R, X = zeros((n, n), A), zeros((n, B.shape[1]), A, B)
    independence = zeros(n, A)
    for k in range(n):
        R[k, k] = np.sqrt(Q[:, k] @ Q[:, k])
        independence[k] = R[k, k] / np.sqrt(A[:, k] @ A[:, k])
        Q[:, k] = Q[:, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = Q[:, k] @ Q[:, j]
            Q[:, j] = Q[:, j] - R[k, j] * Q[:, k]
        X[k] = Q[:, k] @ rest
        rest = rest - np.outer(Q[:, k], X[k])
    for k in reversed(range(n)):
        X[k] = (X[k] - R[k, k + 1 :] @ X[k + 1 :]) / R[k, k]
    return X, independence


def is_zero(x: object) -> bool:
    """Return whether x is a zero that will stay one: a constant, not a recorded scalar."""
    return is_constant(x) and x == 0


def is_constant(x: object) -> bool:
    """Return whether x is a number, not a recorded scalar."""
    return isinstance(x, (int, float))


# --- what a recursion may ask about numbers that may be recorded ----------------------------------


def is_recorded(A: Array) -> bool:
    """Return whether an array was recorded: elements that are not constants have no values yet."""
    return A.dtype == object


def numbers(x: ArrayLike) -> Array:
    """Return x as an array of float64, or as it is if it was recorded."""
    array = np.asarray(x)
    if array.dtype == float or (is_recorded(array) and not all(map(is_constant, array.flat))):
        return array
    return array.astype(float)


def is_within(x: object, limit: float) -> bool:
    """Return whether x is a number with |x| < limit; a recorded scalar is not."""
    return isinstance(x, (int, float)) and abs(x) < limit


def unit_vector(x: Array, otherwise: Array) -> Array:
    """Return x / |x|, (n,), or another vector if x is a zero vector of numbers, or not a number."""
    length = np.sqrt(x @ x)
    return x / length if not is_constant(length) or length > 0.0 else otherwise


def lasting_axis(R: Array) -> tuple[int, int] | None:
    """Return (i, j) if a rotation takes the axis e_j to e_i or -e_i whatever its angle is.

    None otherwise, and if all of R is constant: products with it fold without it.
    """
    constant = np.vectorize(is_constant, otypes=[bool])(R)
    if not constant.all():
        for i, j in np.argwhere(constant):
            others = [*np.delete(R[i], j), *np.delete(R[:, j], i)]
            if abs(R[i, j]) == 1.0 and all(map(is_zero, others)):
                return int(i), int(j)
    return None
