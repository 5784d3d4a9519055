# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Residual torques of an arm without contact as a function of its pose, by Gaussian processes.

Errors of masses, springs, cables and torque sensors cause a residual that depends on the pose. It
is recorded in some poses and interpolated by one Gaussian process for each joint,

    r_j(q) = m_j + f_j(q) + e,    f_j ~ GP(0, s_j^2 k),    e ~ N(0, lambda s_j^2)                (1)

with the mean m_j of the recorded residuals, the plain offset, and the kernel

    k(q, q') = exp(-|x(q) - x(q')|^2 / (2 l^2)),                                                 (2)

where x has (cos q_i, sin q_i) for each revolute joint, which makes the kernel periodic,
exp(-2 sin^2((q_i - q_i') / 2) / l^2), and q_i divided by half of the recorded range for each
prismatic joint. With K of the recorded poses and their y_j = r_j - m_j,

    f_j(q) = k(q)^T (K + lambda)^-1 y_j,    var f_j(q) = s_j^2 (1 - c(q)),                       (3)
    c(q) = k(q)^T (K + lambda)^-1 k(q).                                                          (4)

c is the confidence: near 1 at recorded poses, and 0 far from them, where the estimate is the plain
offset. l and lambda are the values in `LENGTH_CANDIDATES` and `NOISE_CANDIDATES` that maximize the
joint likelihood of all joints, with s_j^2 in closed form.

>>> import math
>>> q = np.linspace(-2.0, 2.0, 9)[:, None]
>>> found = fitted(q, 3.0 + 0.5 * np.sin(q), turning=np.array([True]))
>>> found.residual(np.array([0.3])).round(3), round(3.0 + 0.5 * math.sin(0.3), 3)
(array([3.148]), 3.148)

Source: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), (2.23) to (2.26),
(4.31), (5.8).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array

LENGTH_CANDIDATES = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0)  # l; longer ones would extrapolate too far
NOISE_CANDIDATES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # lambda
MIN_POSES = 5  # poses
CONSTANT_TOLERANCE = 1e-12  # relative variation below which a residual is constant


@dataclass(frozen=True, eq=False)
class ResidualMap:
    """The residuals of n joints by m recorded poses.

    Attributes
    ----------
    plain : (n,) array
        m_j, the plain offset [N m, N].
    length, noise : float
        l and lambda.
    deviations : (n,) array
        s_j [N m, N].
    """

    plain: Array
    length: float
    noise: float
    deviations: Array
    _turning: Array  # (n,) bool
    _scales: Array  # of prismatic joints
    _centers: Array  # (m, d): x of (2)
    _weights: Array  # (m, n): (K + lambda)^-1 y
    _inverse: Array  # (m, m): (K + lambda)^-1

    def residual(self, q: Array) -> Array:
        """Return the estimate for joint positions (n,): m_j + f_j(q), (n,) [N m, N]."""
        result: Array = self.plain + self._kernel(q) @ self._weights
        return result

    def confidence(self, q: Array) -> float:
        """Return c(q) of (4), 0 to 1."""
        k = self._kernel(q)
        return min(max(float(k @ self._inverse @ k), 0.0), 1.0)

    def deviation(self, q: Array) -> Array:
        """Return the standard deviations of f_j(q), (n,) [N m, N]."""
        result: Array = self.deviations * np.sqrt(1.0 - self.confidence(q))
        return result

    def _kernel(self, q: Array) -> Array:
        """Return k of (2) with all recorded poses, (m,)."""
        difference = self._centers - embedded(q[None], self._turning, self._scales)
        k: Array = np.exp(-0.5 / self.length**2 * np.einsum('ij,ij->i', difference, difference))
        return k


def fitted(q: Array, residuals: Array, turning: Array) -> ResidualMap:
    """Return the map of recorded residuals.

    Parameters
    ----------
    q : (m, n) array
        Joint positions [rad, m].
    residuals : (m, n) array
        [N m, N].
    turning : (n,) array of bool
        Which joints are revolute; the others are prismatic.

    Raises
    ------
    ArgumentError
        Fewer poses than `MIN_POSES`, numbers that are not finite, or other shapes.
    """
    q, residuals = np.asarray(q, float), np.asarray(residuals, float)
    if q.ndim != 2 or q.shape != residuals.shape or q.shape[1:] != np.shape(turning):
        raise ArgumentError(
            f'positions and residuals must both be (m, n) with n joints, got {q.shape}, '
            f'{residuals.shape} and {np.shape(turning)}'
        )
    if len(q) < MIN_POSES:
        raise ArgumentError(f'a map needs at least {MIN_POSES} poses, got {len(q)}')
    if not (np.isfinite(q).all() and np.isfinite(residuals).all()):
        raise ArgumentError('positions and residuals must be finite')
    ranges = np.ptp(q, axis=0)
    scales = np.where(ranges > 0.0, 0.5 * ranges, 1.0)
    centers = embedded(q, turning, scales)
    plain = residuals.mean(axis=0)
    y = residuals - plain
    varies = y.std(axis=0) > CONSTANT_TOLERANCE * np.abs(residuals).max(axis=0)
    best = max(
        (
            choice
            for length in LENGTH_CANDIDATES
            for choice in likelihoods(centers, y[:, varies], length)
        ),
        key=lambda choice: choice[0],
    )
    _, length, noise, inverse = best
    variances = np.einsum('ij,ik,kj->j', y, inverse, y) / len(y)
    return ResidualMap(
        plain,
        length,
        noise,
        np.sqrt(np.where(varies, variances, 0.0)),
        np.asarray(turning),
        scales,
        centers,
        inverse @ np.where(varies, y, 0.0),
        inverse,
    )


def embedded(q: Array, turning: Array, scales: Array) -> Array:
    """Return x of (2) for positions (m, n): (m, d)."""
    turned, slid = q[:, turning], q[:, ~turning] / scales[~turning]
    return np.hstack([np.cos(turned), np.sin(turned), slid])


def likelihoods(x: Array, y: Array, length: float) -> list[tuple[float, float, float, Array]]:
    """Return log likelihood, l, lambda and (K + lambda)^-1 for each of `NOISE_CANDIDATES`.

    The likelihood is that of y (m, n) for all joints, without constants, maximized over s_j.
    """
    square = np.square(x).sum(axis=1)
    distance = square[:, None] + square - 2.0 * x @ x.T
    w, Q = np.linalg.eigh(np.exp(-0.5 / length**2 * np.maximum(distance, 0.0)))
    along, m, found = Q.T @ y, len(x), []
    for noise in NOISE_CANDIDATES:
        values = np.maximum(w, 0.0) + noise
        variances = (np.square(along) / values[:, None]).sum(axis=0) / m
        log = -0.5 * float((m * np.log(variances) + np.log(values).sum()).sum())
        found.append((log, length, noise, (Q / values) @ Q.T))
    return found
