# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Linear least squares that names undetermined combinations of unknowns; weights of outliers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..types import Array

#: Singular values below this fraction of the largest are zero.
RANK_TOLERANCE = 1e-6

#: Coefficients of an unidentifiable combination, relative to the largest, below this are rounding.
COEFFICIENT_TOLERANCE = 1e-6

#: Smaller coefficients are omitted in texts.
MIN_REPORTED_COEFFICIENT = 1e-3
#: Threshold of weighted residuals beyond which Huber's weights decrease. 1.345 has 95 % of the
#: efficiency of least squares without outliers.
HUBER_THRESHOLD = 1.345

#: Probability that any valid measurement of a set is classified as outlier.
FALSE_ALARM = 0.01


class Fit:
    """Least squares by the singular values of A (m, k), m >= k.

    Parameters
    ----------
    A : (m, k) array
    cutoff : float
        Singular values below this fraction of the largest are zero.
    largest_deviation : float, optional
        If given, directions in which x has a larger standard deviation, for errors of b with
        standard deviation 1, are also undetermined; columns are not normalized then.
    scale : (k,) array, optional
        What the columns are divided by instead of their lengths.

    Attributes
    ----------
    s : (k,) array
        Singular values of A in descending order, with normalized columns unless noted above.
    rank : int
        Number of determined directions.
    factor, U : (k, rank), (m, rank) arrays
        The pseudo-inverse of A is factor @ U.T.

    Examples
    --------
    >>> fit = Fit(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 2.0], [1.0, 1.0, 1.0]]), RANK_TOLERANCE)
    >>> fit.rank
    2
    >>> {name: round(x, 12) for name, x in fit.combinations(('a', 'b', 'c'))[0].items()}
    {'a': 1.0, 'b': -1.0}
    """

    def __init__(
        self, A: Array, cutoff: float, largest_deviation: float = np.inf, scale: Array | None = None
    ) -> None:
        if scale is None:
            norms = np.linalg.norm(A, axis=0)
            largest = norms.max() or 1.0
            # A column of rounding errors must not be normalized to unit length.
            scale = np.where(norms > cutoff * largest, norms, largest)
        self.scale = scale if largest_deviation == np.inf else np.ones(A.shape[1])
        U, self.s, self.V_T = np.linalg.svd(A / self.scale, full_matrices=False)
        self.rank = int(np.sum(self.s > max(cutoff * self.s[0], 1.0 / largest_deviation)))
        self.U = U[:, : self.rank]
        self.factor = self.V_T[: self.rank].T / self.s[: self.rank] / self.scale[:, None]

    def solve(self, b: Array) -> Array:
        """Return the x (k,) that minimizes |A x - b|, without component in the null space."""
        x: Array = self.factor @ (self.U.T @ b)
        return x

    @property
    def covariance(self) -> Array:
        """Covariance of x (k, k), for errors of b with deviation 1, without the null space."""
        return self.factor @ self.factor.T

    def null_basis(self, preference: ArrayLike = 1.0) -> tuple[list[int], Array]:
        """Return a basis (k - rank, k) of the null space, and the pivot unknown of each row.

        `preference` (k,) is the priority of unknowns as pivots; factors of 10 or more are decisive.
        """
        null: Array = self.V_T[self.rank :] / self.scale
        if not len(null):
            return [], null
        from scipy.linalg import qr  # slow to import and rarely needed

        # Each combination contains one pivot, which is in no other combination.
        weighted = null * np.asarray(preference, dtype=np.float64)
        pivots = qr(weighted, mode='r', pivoting=True)[1][: len(null)]
        return pivots.tolist(), np.linalg.solve(null[:, pivots], null)

    def combinations(
        self, names: Sequence[str], preference: ArrayLike = 1.0
    ) -> tuple[dict[str, float], ...]:
        """Return a sparse basis of the null space by names, with largest coefficients 1."""
        _, null = self.null_basis(preference)
        null = null / np.abs(null).max(axis=1, keepdims=True, initial=0.0)
        null[np.abs(null) < COEFFICIENT_TOLERANCE] = 0.0
        return tuple(
            {names[k]: float(row[k]) for k in np.flatnonzero(row).tolist()} for row in null
        )


def progress(converged: bool, iterations: int, tolerance: float) -> str:
    """Return the status of an iteration as text."""
    if converged:
        return f'converged in {iterations} step{"s" * (iterations != 1)}'
    return (
        f'corrections still above {tolerance:g} after {iterations} steps; start nearer, or fix '
        'parameters'
    )


def described(combination: Mapping[str, float], most: int = 8) -> str:
    """Return a linear combination as text: the first term, then others in descending order.

    Terms below a thousandth are omitted.

    >>> described({'a': 0.5, 'b': -0.1, 'c': 1.0, 'd': 1e-5})
    '+0.5 a +1 c -0.1 b'
    """
    first, *others = combination.items()
    others.sort(key=lambda term: -abs(term[1]))
    largest = max(abs(x) for x in combination.values())
    kept = [first, *(term for term in others if abs(term[1]) > MIN_REPORTED_COEFFICIENT * largest)]
    left = len(kept) - most
    text = ' '.join(f'{x:+.3g} {name}' for name, x in kept[:most])
    return text + (f' and {left} more' if left > 0 else '')


def huber_weights(e: Array) -> Array:
    """Return weights (N,) in (0, 1] for weighted residuals e (N, d) [1].

    Source: Huber 1964, *Robust estimation of a location parameter*, applied to the norm of each
    residual, scaled by a robust estimate of their spread.
    """
    size = np.linalg.norm(e, axis=1) / np.sqrt(e.shape[1] * spread(e))
    weights: Array = np.minimum(1.0, HUBER_THRESHOLD / np.maximum(size, HUBER_THRESHOLD))
    return weights


def doubtful(e: Array) -> Array:
    """Return which (N,) of the weighted residuals e (N, d) are not noise.

    Squared norms have a chi-square distribution with d degrees of freedom. Outliers exceed the
    quantile that any of N valid measurements exceeds with probability `FALSE_ALARM`. If most
    residuals exceed the given deviations, the deviations are assumed to be too small.

    >>> doubtful(np.array([[1.0], [-0.5], [0.3], [-1.2], [40.0]]))
    array([False, False, False, False,  True])
    """
    from scipy.stats import chi2

    N, d = e.shape
    limit = chi2.ppf(1.0 - FALSE_ALARM / N, d) * spread(e)
    wrong: Array = np.sum(e**2, axis=1) > limit
    return wrong


def spread(e: Array) -> float:
    """Return the variance of most of the weighted residuals e (N, d), at least 1."""
    from scipy.stats import chi2

    median = float(np.median(np.sum(e**2, axis=1)))
    return max(1.0, median / float(chi2.median(e.shape[1])))
