"""Linear algebra that can be recorded: no branch, no pivoting, structural zeros stay zeros."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.model.tree import Array


def symmetric(A: Array) -> Array:
    """Return a symmetric matrix from its upper triangle.

    Entries below the diagonal are copies: a recording then does not compute them a second time.
    """
    return np.triu(A) + np.triu(A, 1).T


def solve_positive_definite(A: Array, b: Array) -> Array:
    """Solve A x = b for a symmetric positive definite A by A = L^T D L, last row first.

    Eliminating from the last coordinate to the first makes no fill-in when A is the mass matrix of
    a tree (Featherstone 2005), so that a recording drops the zeros of A.

    Parameters
    ----------
    A : (n, n) array
    b : (n,) or (n, k) array
    """
    n = len(A)
    L, x = A.copy(), b.copy()
    for k in reversed(range(n)):
        for i in reversed(range(k)):
            if is_zero(L[k, i]):
                continue
            factor = L[k, i] / L[k, k]
            for j in range(i + 1):
                L[i, j] = L[i, j] - factor * L[k, j]
            L[k, i] = factor
    for k in reversed(range(n)):  # L^T y = b
        for i in range(k):
            x[i] = x[i] - L[k, i] * x[k]
    for k in range(n):  # L x = D^-1 y
        x[k] = x[k] / L[k, k]
        for i in range(k):
            x[k] = x[k] - L[k, i] * x[i]
    return x


def is_zero(x: object) -> bool:
    """Return whether x is a zero that will stay one: a constant, not a recorded scalar."""
    return isinstance(x, (int, float)) and x == 0
