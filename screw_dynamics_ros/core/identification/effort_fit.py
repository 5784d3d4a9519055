# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Weighted least squares of base parameters and gains of efforts, with their intervals.

Each joint i reports u_i = k_i (W_i x + known_i) + error. Its rows are reduced once by a QR
factorization, which makes iterations cheap. Joints are weighted by the variance of their residuals
(iteratively reweighted least squares), times the integrated autocorrelation time
tau = 1 + 2 sum_k rho_k, because N correlated samples are equivalent to N / tau independent ones.
Covariances do not depend on these weights: they are those of the `jackknife` over classes of states
and time blocks, because residuals are mainly model errors. Directions for which the data are less
informative than the prior are held at their nominal values, and contribute to the intervals with
their prior deviation.

Source: Gautier and Khalil 1990, *Direct calculation of minimum set of inertial parameters*, IEEE
T-RA 6(3); Gautier 1997 (weights by joint); Sokal 1997, *Monte Carlo methods in statistical
mechanics* (autocorrelation time, effective number of samples).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..statistics.jackknife import jackknife, state_classes, time_blocks
from ..statistics.least_squares import Fit, huber_weights
from ..types import Array
from .effort_equations import EffortEquations

MAX_ITERATIONS = 50
TOLERANCE = 1e-9
RANK_TOLERANCE = 1e-12
WEIGHT_ROUNDS = 4  # iterations of weights and autocorrelation times
GAUGE_WEIGHT = 1e6  # weight of the equation that fixes the scale of all joints together

#: Smallest noise relative to the standard deviation of efforts: accuracy of filters and models.
MIN_NOISE = 1e-4

#: A gain is identified if its relative standard deviation is smaller.
MAX_GAIN_DEVIATION = 0.2

#: A parameter depends on a gain if its relative change is larger for a relative gain change of 1.
MIN_DEPENDENCE = 0.3

#: Smallest reported coefficient of an unidentifiable combination, relative to the largest.
MIN_REPORTED_COEFFICIENT = 0.1

#: Correlation at which the sum of the autocorrelation time ends.
MIN_CORRELATION = 0.02


@dataclass(frozen=True, eq=False)
class EffortFit:
    """Result of the fit of efforts.

    Attributes
    ----------
    x : (p,) array
        Base parameters.
    gains : (n,) array
        k, reported units per N m or N.
    free : tuple of int
        Joints whose gain is estimated.
    covariance : (p + f, p + f) array
        Covariance of x and the free gains.
    freedom : (p + f,) array
        Degrees of freedom of their variances.
    identified : (p + f,) array of bool
        Whether the data determine them: the deviation is well below the prior deviation, and they
        do not depend on an undetermined gain.
    combinations : tuple of dict
        Combinations that cannot be identified: changes by names, relative to likely ones.
    noise, correlation : (n,) arrays
        Standard deviation of residuals [reported units] and tau; NaN of joints without efforts.
    condition : float
        Condition number of the weighted columns, scaled by the prior deviations, without
        unidentified ones.
    information : (R, z)
        The reduced equations R x = z of unit variance, with the estimated gains, or for any gain if
        it is undetermined.
    weights : (M,) array
        Weights of instants, 1 unless robust.
    """

    x: Array
    gains: Array
    free: tuple[int, ...]
    covariance: Array
    freedom: Array
    identified: NDArray[np.bool_]
    combinations: tuple[dict[str, float], ...]
    noise: Array
    correlation: Array
    condition: float
    information: tuple[Array, Array]
    weights: Array

    @property
    def scale_identified(self) -> NDArray[np.bool_]:
        """Whether the gain (n,) of each joint is determined by the data, or not estimated."""
        result = np.ones(len(self.gains), dtype=bool)
        result[list(self.free)] = self.identified[len(self.x) :]
        return result

    def with_common_error(self, deviation: float) -> EffortFit:
        """Return the fit with an error of the common scale of all parameters in its intervals.

        `deviation` is relative; the gains have the reciprocal error.
        """
        change = deviation * np.concatenate([self.x, -self.gains[list(self.free)]])
        covariance = self.covariance + np.outer(change, change)
        share = np.diag(covariance) / np.maximum(np.diag(self.covariance), 1e-300)
        return replace(self, covariance=covariance, freedom=self.freedom * share**2)

    def torques(self, given: EffortEquations) -> Array:
        """Return the modeled torques (M, n) minus the offsets."""
        return np.asarray(given.W @ self.x + given.known)


class _EffortProblem:
    """Equations reduced to one triangle for each joint that reports efforts."""

    def __init__(self, given: EffortEquations, weights: Array) -> None:
        self.joints = np.flatnonzero(~np.isnan(given.effort).any(axis=0)).tolist()
        root = np.sqrt(weights)[:, None]
        self.triangles: dict[int, Array] = {}
        for i in self.joints:
            M = root * np.column_stack([given.W[:, i], given.known[:, i], given.effort[:, i]])
            # Most columns belong to other joints; without them, the triangle has few rows.
            own = np.flatnonzero(M.any(axis=0))
            T = np.asarray(np.linalg.qr(M[:, own], mode='r'))
            self.triangles[i] = np.zeros((len(T), M.shape[1]))
            self.triangles[i][:, own] = T
        self.count = float(weights.sum())

    def residual(self, i: int, x: Array, gain: float) -> Array:
        """Return the reduced residual of a joint."""
        T = self.triangles[i]
        return gain * (T[:, :-2] @ x + T[:, -2]) - T[:, -1]


def fit_efforts(
    given: EffortEquations,
    names: Sequence[str],
    nominal: Array,
    likely: Array,
    gains: Array,
    free: Sequence[int],
    gauge: Array | None,
    robust: bool = False,
) -> EffortFit:
    """Return base parameters x and free gains.

    Parameters
    ----------
    given : EffortEquations
    names : p names
    nominal, likely : (p,) arrays
        Nominal values and their prior deviations.
    gains : (n,) array
        Gains of joints; initial values for `free` ones.
    free : sequence of int
    gauge : (p,) array, optional
        If given, gauge @ (x - nominal) = 0 fixes the common scale of gains and parameters.
    robust : bool
        Whether to use smaller weights for outliers (Huber).
    """
    weights = np.ones(len(given.t))
    problem = _EffortProblem(given, weights)
    n = given.effort.shape[1]
    if not problem.joints or len(given.t) * len(problem.joints) < 2 * len(nominal):
        raise ArgumentError(
            f'too short: {len(given.t)} instants of {len(problem.joints)} joints for '
            f'{len(nominal)} parameters; record longer, 20 s and more'
        )
    x, gains = nominal.copy(), gains.copy()
    noise, correlation = np.full((2, n), np.nan)
    for i in problem.joints:
        noise[i] = max(float(np.std(given.effort[:, i])), 1e-9)
        correlation[i] = 1.0
    least = MIN_NOISE * noise
    share = (len(nominal) + len(free)) / len(problem.joints)
    for _ in range(WEIGHT_ROUNDS):
        for _ in range(MAX_ITERATIONS):
            spread = noise * np.sqrt(correlation)
            J, r = _linearized(problem, x, gains, free, likely, spread, gauge, nominal)
            fit = Fit(J, RANK_TOLERANCE, largest_deviation=1.0)
            step = fit.solve(-r)
            x = x + likely * step[: len(x)]
            for k, i in enumerate(free):
                gains[i] *= 1.0 + np.clip(step[len(x) + k], -0.5, 1.0)
            before = noise.copy()
            for i in problem.joints:
                e = problem.residual(i, x, gains[i])
                spare = max(problem.count - share, 1.0)
                noise[i] = max(np.sqrt(float(e @ e) / spare), least[i])
            change = np.nanmax(np.abs(noise / before - 1.0))
            if np.abs(step).max(initial=0.0) < TOLERANCE and change < TOLERANCE:
                break
        e = gains * (given.W @ x + given.known) - given.effort
        if robust:
            weights = huber_weights(e[:, problem.joints] / noise[problem.joints])
            problem = _EffortProblem(given, weights)
        correlation[problem.joints] = autocorrelation_times(
            np.sqrt(weights)[:, None] * e[:, problem.joints], given.part
        )
    spread = noise * np.sqrt(correlation)
    J, r = _linearized(problem, x, gains, free, likely, spread, gauge, nominal)
    fit = Fit(J, RANK_TOLERANCE, largest_deviation=1.0)
    scale = np.concatenate([likely, gains[list(free)]])
    null = fit.V_T[fit.rank :]
    covariance, freedom = _covariance(problem, given, x, gains, free, likely, spread, weights, fit)
    covariance = covariance + null.T @ null
    identified = np.sqrt(np.diag(covariance)) < 0.3
    identified[len(x) :] &= np.sqrt(np.diag(covariance)[len(x) :]) < MAX_GAIN_DEVIATION
    labels = [*names, *(f'gain {i}' for i in free)]
    combinations = tuple(
        {name: value for name, value in each.items() if abs(value) > MIN_REPORTED_COEFFICIENT}
        for each in fit.combinations(labels)
    )
    count = len(x)
    unknown = count + np.flatnonzero(~identified[count:])
    for k in unknown.tolist():
        slope = likely * covariance[:count, k] / covariance[k, k]
        identified[:count] &= np.abs(slope) <= MIN_DEPENDENCE * np.abs(x)
    Q = np.linalg.qr(J[:, unknown])[0]
    A, r = (M - Q @ (Q.T @ M) for M in (J[:, :count] / likely, r))
    return EffortFit(
        x,
        gains,
        tuple(free),
        scale[:, None] * covariance * scale,
        freedom,
        identified,
        combinations,
        noise,
        correlation,
        float(fit.s[0] / fit.s[fit.rank - 1]) if fit.rank else np.inf,
        (A, A @ x - r),
        weights,
    )


def _linearized(
    problem: _EffortProblem,
    x: Array,
    gains: Array,
    free: Sequence[int],
    likely: Array,
    spread: Array,
    gauge: Array | None,
    nominal: Array,
) -> tuple[Array, Array]:
    """Return J and residuals with unit variance, for steps relative to `likely` and the gains."""
    rows, residuals = [], []
    for i in problem.joints:
        T = problem.triangles[i]
        J = np.zeros((len(T), len(x) + len(free)))
        J[:, : len(x)] = gains[i] * T[:, :-2] * likely
        if i in free:
            J[:, len(x) + list(free).index(i)] = gains[i] * (T[:, :-2] @ x + T[:, -2])
        rows.append(J / spread[i])
        residuals.append(problem.residual(i, x, gains[i]) / spread[i])
    if gauge is not None:
        unit = gauge * likely
        row = np.zeros((1, len(x) + len(free)))
        row[0, : len(x)] = GAUGE_WEIGHT * unit / (np.linalg.norm(unit) or 1.0)
        rows.append(row)
        missed = gauge @ (x - nominal) / (np.linalg.norm(unit) or 1.0)
        residuals.append(np.array([GAUGE_WEIGHT * missed]))
    stacked = np.column_stack([np.concatenate(rows), np.concatenate(residuals)])
    T = np.asarray(np.linalg.qr(stacked, mode='r'))
    return T[:, :-1], T[:, -1]


def _covariance(
    problem: _EffortProblem,
    given: EffortEquations,
    x: Array,
    gains: Array,
    free: Sequence[int],
    likely: Array,
    spread: Array,
    weights: Array,
    fit: Fit,
) -> tuple[Array, Array]:
    """Return the covariance of the steps of `_linearized`, and its degrees of freedom."""
    joints = problem.joints
    load = given.rigid[:, joints]
    classes = state_classes(given.v[:, joints], given.a[:, joints], load)
    blocks = time_blocks(given.t, given.part, np.hstack([given.q, given.v]))
    root = np.sqrt(weights)
    U, r = [], []
    for i in joints:
        torque = given.W[:, i] @ x + given.known[:, i]
        rows = gains[i] * (given.W[:, i] * likely) @ fit.factor[: len(x)]
        if i in free:
            rows += np.outer(gains[i] * torque, fit.factor[len(x) + list(free).index(i)])
        U.append(root[:, None] * rows / spread[i])
        r.append(root * (given.effort[:, i] - gains[i] * torque) / spread[i])
    return jackknife(
        np.concatenate(U),
        np.concatenate(r),
        [classes.T.ravel(), np.tile(blocks, len(joints))],
        fit.factor,
        fit.factor.T @ fit.factor,
    )


def autocorrelation_times(e: Array, part: NDArray[np.int64]) -> Array:
    """Return tau (n,), at least 1, of residuals (M, n) in parts of constant rate.

    The sum ends at the lag W at which correlations vanish in noise. Its standard deviation, tau
    sqrt(2 (2 W + 1) / M), is added, so that intervals are conservative.

    >>> rng = np.random.default_rng(0)
    >>> white = rng.normal(size=(20000, 1))
    >>> slow = np.convolve(white[:, 0], np.ones(5) / 5, 'valid')[:, None]  # tau = 5
    >>> times = [autocorrelation_times(x, np.zeros(len(x), dtype=int)) for x in (white, slow)]
    >>> np.concatenate(times).round()
    array([1., 5.])
    """
    parts = [e[part == k] for k in np.unique(part)]
    longest = max((len(each) for each in parts), default=0)
    variance = np.sum(e**2, axis=0) / max(len(e), 1)
    result = np.ones(e.shape[1])
    for i in range(e.shape[1]):
        lag = 0
        for lag in range(1, longest // 4 + 1):
            products = sum(float(x[lag:, i] @ x[:-lag, i]) for x in parts)
            pairs = sum(max(len(x) - lag, 0) for x in parts)
            rho = products / pairs / max(variance[i], 1e-300)
            if rho < MIN_CORRELATION:
                break
            result[i] += 2.0 * rho
        result[i] *= 1.0 + np.sqrt(2.0 * (2.0 * lag + 1.0) / max(len(e), 1))
    return result
