# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Triangular factors of matrices as typed functions; matrices are vectors, row by row."""

from __future__ import annotations

import math

from ..compile.typed.functions import Floats, typed

EPSILON = 2.0**-52


@typed
def factorize(M: Floats, L: Floats, n: int) -> None:
    """Set the Cholesky factor L (n, n), lower triangular, of M (n, n).

    Where M is singular within rounding errors, the pivots are those errors.
    """
    largest = 0.0
    for i in range(n):
        largest = max(largest, M[n * i + i])
    for i in range(n):
        for j in range(i + 1):
            x = M[n * i + j]
            for k in range(j):
                x -= L[n * i + k] * L[n * j + k]
            if i == j:
                L[n * i + i] = math.sqrt(max(x, EPSILON * largest))
            else:
                L[n * i + j] = x / L[n * j + j]


@typed
def divide(J: Floats, L: Floats, scaled: Floats, rows: int, n: int) -> None:
    """Set J L^-T (rows, n) for J (rows, n), which may be the same array."""
    for i in range(rows):
        for j in range(n):
            x = J[n * i + j]
            for k in range(j):
                x -= scaled[n * i + k] * L[n * j + k]
            scaled[n * i + j] = x / L[n * j + j]


@typed
def orthonormalize(A: Floats, L: Floats, rows: int, n: int, tolerance: float) -> bool:
    """Factor A (rows, n) as L Q: rows of A become those of Q, which are orthonormal.

    Returns False if a row depends on those before it: the rest of it is not above a share
    `tolerance` of its length. Source: Golub and Van Loan, Matrix Computations, 4th edition, 5.2.8
    (modified Gram-Schmidt).
    """
    for i in range(rows):
        row = A[n * i :]
        whole = math.sqrt(product(row, row, n))
        project(A, row, L[rows * i :], i, n)
        rest = math.sqrt(product(row, row, n))
        if not rest > tolerance * whole:
            return False
        L[rows * i + i] = rest
        for k in range(n):
            row[k] = row[k] / rest
    return True


@typed
def project(Q: Floats, x: Floats, components: Floats, rows: int, n: int) -> None:
    """Set the components of a vector x (n,) along orthonormal rows Q (rows, n); x is the rest."""
    for j in range(rows):
        q = Q[n * j :]
        c = product(x, q, n)
        components[j] = c
        for k in range(n):
            x[k] -= c * q[k]


@typed
def product(a: Floats, b: Floats, n: int) -> float:
    """Return the scalar product of two rows."""
    total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total
