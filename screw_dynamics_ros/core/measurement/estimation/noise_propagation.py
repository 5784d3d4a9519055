# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Propagation of measurement noise through observers and filters, for steps of any length.

First-order observers and filters are stages y+ = e y + w0 u + w1 u+ in series, whose first input is
independent noise u of variance 1. The state x = (u, y_1, ... y_k) of the series is linear in the
previous state and the new sample, so that its covariance is:

    x+ = A x + b u+,        P+ = A P A^T + b b^T                                            (1)

With steps of equal length, P converges to the solution of P = A P A^T + b b^T, which is the initial
value. Examples are the mean of two samples, and the mean of two such means:

>>> half = np.array([0.0, 0.5, 0.5])
>>> stationary([half]).diagonal()
array([1. , 0.5])
>>> np.diagonal(propagated(stationary([half, half]).tolist(), [half, half]))  # (1 + 2 + 1) / 4
array([1.   , 0.5  , 0.375])

Source: Gelb, Applied Optimal Estimation, 4.1 (covariance propagation).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from screw_dynamics_ros.core.types import Array

StageWeights = Sequence[float]  # e, w0 and w1


def torque_stage(decay: float) -> StageWeights:
    """Return the stage (e, w0, w1) of the observers `filtered` and `momentum` for efforts."""
    return decay, 0.5 * (1.0 - decay), 0.5 * (1.0 - decay)


def momentum_stage(decay: float, rate: float) -> StageWeights:
    """Return the stage for momenta [1/s], M times the errors of velocities; rate is 1 / h."""
    return decay, -(1.0 - decay) * rate, (1.0 - decay) * rate


def transition(stages: Sequence[StageWeights]) -> tuple[Array, Array]:
    """Return A (k + 1, k + 1) and b (k + 1,) of (1) for stages (e, w0, w1)."""
    A, b = np.zeros((len(stages) + 1, len(stages) + 1)), np.zeros(len(stages) + 1)
    b[0] = 1.0
    for k, (e, w0, w1) in enumerate(stages, 1):
        A[k], b[k] = w1 * A[k - 1], w1 * b[k - 1]
        A[k, k] += e
        A[k, k - 1] += w0
    return A, b


def propagated(P: Sequence[Sequence[float]], stages: Sequence[StageWeights]) -> list[list[float]]:
    """Return P+ of (1), (k + 1, k + 1): variances of the noise and after each stage.

    Row by row as in `transition`, with Python floats, which are faster for few stages.
    """
    rows, b = [[0.0] * len(P)], [1.0]  # A P and b
    for k, (e, w0, w1) in enumerate(stages, 1):
        rows.append([w1 * x + w0 * y + e * z for x, y, z in zip(rows[-1], P[k - 1], P[k])])
        b.append(w1 * b[-1])
    after = []
    for row, own in zip(rows, b):
        x, elements = 0.0, [own]
        for k, (e, w0, w1) in enumerate(stages, 1):
            x = w1 * x + w0 * row[k - 1] + e * row[k]
            elements.append(x + own * b[k])
        after.append(elements)
    return after


def stationary(stages: Sequence[StageWeights]) -> Array:
    """Return the limit P (k + 1, k + 1) of (1) with equal steps; every e must be below 1."""
    A, b = transition(stages)
    n = len(b)
    P = np.linalg.solve(np.eye(n * n) - np.kron(A, A), np.outer(b, b).ravel())
    return 0.5 * (P.reshape(n, n) + P.reshape(n, n).T)


class NoiseVariance:
    """The variance after a series of stages, which may be empty, from sample to sample.

    After a missed sample, or if the number of stages has changed, it is that of equal steps.
    """

    def __init__(self) -> None:
        self._P = [[1.0]]
        self._last = -2  # not the number of a sample

    def take(self, stages: Sequence[StageWeights], number: int) -> float:
        """Return the variance after the last stage for the sample with this number."""
        if not stages:
            return 1.0
        follows = number == self._last + 1 and len(self._P) == len(stages) + 1
        self._P = propagated(self._P, stages) if follows else stationary(stages).tolist()
        self._last = number
        return self._P[-1][-1]


class TorqueNoise:
    """The covariance of external torques for given deviations of efforts and velocities.

    Propagated through observer and filters, from sample to sample.
    """

    def __init__(self) -> None:
        self._efforts, self._momenta = NoiseVariance(), NoiseVariance()

    def covariance(
        self,
        stages: tuple[Sequence[StageWeights], Sequence[StageWeights]],
        behind: Sequence[StageWeights],
        deviations: tuple[Array, Array],
        M: Array | None,
        number: int,
    ) -> Array:
        """Return the covariance for the sample of this number, (n, n) [(N m)^2, N^2].

        Parameters
        ----------
        stages : tuple
            Stages of the observer for efforts, and for momenta: `Observer.noise`.
        behind : sequence of (e, w0, w1)
            Filters after the observer.
        deviations : tuple of (n,) arrays
            Standard deviations of efforts [N m, N] and of velocities [rad/s, m/s].
        M : (n, n) array or None
            The mass matrix that maps errors of velocities; None if they have no effect.
        number : int
        """
        of_efforts, of_momenta = stages
        effort, velocity = deviations
        covariance = np.diag(self._efforts.take([*of_efforts, *behind], number) * effort**2)
        if of_momenta and M is not None:
            scaled = M * velocity
            covariance += self._momenta.take([*of_momenta, *behind], number) * scaled @ scaled.T
        return covariance
