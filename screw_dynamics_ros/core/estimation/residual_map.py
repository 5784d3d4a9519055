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

import math

import numpy as np

from ..compile.typed.functions import Floats, Ints, typed
from ..compile.typed.library import calls
from ..compile.typed.records import Record
from ..errors import ArgumentError
from ..types import Array

LENGTH_CANDIDATES = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0)  # l; longer ones would extrapolate too far
NOISE_CANDIDATES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # lambda
MIN_POSES = 5  # poses
CONSTANT_TOLERANCE = 1e-12  # relative variation below which a residual is constant


class ResidualMap(Record):
    """The residuals of n joints by m recorded poses.

    Attributes
    ----------
    plain : (n,) array
        m_j, the plain offset [N m, N].
    length, noise : float
        l and lambda.
    deviations : (n,) array
        s_j [N m, N].
    turning : (n,) array of int
        1 for revolute joints, 0 for prismatic ones.
    scales : (n,) array
        Half of the recorded ranges of prismatic joints [m].
    centers : (2 m n,) array
        x of (2) of the recorded poses, row by row.
    weights, inverse : (m n,) and (m m,) arrays
        (K + lambda)^-1 y and (K + lambda)^-1.
    x, kernel : (2 n,) and (m,) arrays
        x and k of (2) at the last positions.
    """

    plain: Floats
    length: float
    noise: float
    deviations: Floats
    turning: Ints
    scales: Floats
    centers: Floats
    weights: Floats
    inverse: Floats
    x: Floats
    kernel: Floats

    @classmethod
    def none(cls, n: int) -> ResidualMap:
        """Return a map without poses, whose residuals are 0."""
        found = cls()
        found.plain, found.deviations, found.scales = np.zeros(n), np.zeros(n), np.ones(n)
        found.turning, found.x, found.length = np.ones(n, dtype=np.int64), np.zeros(2 * n), 1.0
        found.centers = found.weights = found.inverse = found.kernel = np.zeros(0)
        return found

    def residual(self, q: Array) -> Array:
        """Return the estimate for joint positions (n,): m_j + f_j(q), (n,) [N m, N]."""
        result = np.zeros(len(self.plain))
        calls(add_residual)[0](self, q, result)
        return result

    def confidence(self, q: Array) -> float:
        """Return c(q) of (4), 0 to 1."""
        return float(calls(confidence)[0](self, q))

    def deviation(self, q: Array) -> Array:
        """Return the standard deviations of f_j(q), (n,) [N m, N]."""
        result: Array = self.deviations * np.sqrt(1.0 - self.confidence(q))
        return result


@typed
def add_residual(m: ResidualMap, q: Floats, total: Floats) -> None:
    """Add the estimate for joint positions (n,) to a vector (n,)."""
    set_kernel(m, q)
    n = len(m.plain)
    for j in range(n):
        total[j] += m.plain[j]
    for i in range(len(m.kernel)):
        for j in range(n):
            total[j] += m.kernel[i] * m.weights[n * i + j]


@typed
def confidence(m: ResidualMap, q: Floats) -> float:
    """Return c(q) of (4), 0 to 1; the inverse is symmetric."""
    set_kernel(m, q)
    count = len(m.kernel)
    total = 0.0
    for i in range(count):
        row = 0.5 * m.inverse[count * i + i] * m.kernel[i]
        for j in range(i):
            row += m.inverse[count * i + j] * m.kernel[j]
        total += 2.0 * m.kernel[i] * row
    return min(max(total, 0.0), 1.0)


@typed
def set_kernel(m: ResidualMap, q: Floats) -> None:
    """Set k of (2) with all recorded poses."""
    n = len(m.plain)
    for j in range(n):
        m.x[2 * j] = math.cos(q[j]) if m.turning[j] != 0 else q[j] / m.scales[j]
        m.x[2 * j + 1] = math.sin(q[j]) if m.turning[j] != 0 else 0.0
    for i in range(len(m.kernel)):
        square = 0.0
        for j in range(2 * n):
            difference = m.centers[2 * n * i + j] - m.x[j]
            square += difference * difference
        m.kernel[i] = math.exp(-0.5 * square / (m.length * m.length))


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
    found = ResidualMap()
    found.plain, found.length, found.noise = plain, length, noise
    found.deviations = np.sqrt(np.where(varies, variances, 0.0))
    found.turning, found.scales = np.asarray(turning).astype(np.int64), scales
    found.centers, found.weights = centers, inverse @ np.where(varies, y, 0.0)
    found.inverse = inverse
    found.x, found.kernel = np.zeros(centers.shape[1]), np.zeros(len(centers))
    return found


def embedded(q: Array, turning: Array, scales: Array) -> Array:
    """Return x of (2) for positions (m, n): (m, 2 n), with (q_i, 0) for prismatic joints."""
    x = np.zeros((*q.shape, 2))
    x[..., 0] = np.where(turning, np.cos(q), q / scales)
    x[..., 1] = np.where(turning, np.sin(q), 0.0)
    return x.reshape(len(q), -1)


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
