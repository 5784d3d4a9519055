# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outliers: measurements whose residuals are too large for noise."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.types import Array

#: Threshold of weighted residuals beyond which Huber's weights decrease. 1.345 has 95 % of the
#: efficiency of least squares without outliers.
HUBER_THRESHOLD = 1.345

#: Probability that any valid measurement of a set is classified as outlier.
FALSE_ALARM = 0.01


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
