# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Least squares with nonnegative unknowns, the same with every release of SciPy."""

from __future__ import annotations

import numpy as np

from .types import Array


def non_negative_least_squares(A: Array, b: Array) -> Array:
    """Return the x >= 0, (n,), of least |A x - b|, A of shape (m, n).

    SciPy 1.15 returns wrong numbers for one in a hundred matrices without more rows than columns
    (its issue 25389); with rows of zeros, which change no residual, it does not.

    Raises
    ------
    LinAlgError
        If a number is not finite or no solution is found.

    Examples
    --------
    >>> non_negative_least_squares(np.eye(2), np.array([2.0, -1.0]))
    array([2., 0.])
    """
    from scipy.optimize import nnls  # slow to import, and many never need it

    m, n = A.shape
    rows = n + 1 - m
    if rows > 0:
        A, b = np.pad(A, [(0, rows), (0, 0)]), np.pad(b, (0, rows))
    try:
        x: Array = nnls(A, b)[0]
    except (ValueError, RuntimeError) as error:  # not finite, or too many steps
        raise np.linalg.LinAlgError(str(error)) from None
    return x
