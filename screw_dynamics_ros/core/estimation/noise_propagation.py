# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Propagation of measurement noise through observers and filters, for steps of any length.

First-order observers and filters are stages y+ = e y + w0 u + w1 u+ in series, whose first input is
independent noise u of variance 1. The state x = (u, y_1, ... y_k) of the series is linear in the
previous state and the new sample, so that its covariance is:

    x+ = A x + b u+,        P+ = A P A^T + b b^T                                            (1)

With steps of equal length, P converges to the solution of P = A P A^T + b b^T, which is the initial
value. A is lower triangular: row by row, each element follows from those before it. Examples are
the mean of two samples, and the mean of two such means, (1 + 2 + 1) / 4:

>>> half = (0.0, 0.5, 0.5)
>>> NoiseVariance(1).take([half], 0), NoiseVariance(2).take([half, half], 0)
(0.5, 0.375)

Source: Gelb, Applied Optimal Estimation, 4.1 (covariance propagation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..compile.typed.functions import Floats, typed
from ..compile.typed.records import Record
from ..types import Array
from .low_pass import PASS_WEIGHTS, LowPassSteps
from .observers.quantities import Observation
from .observers.steps import ObserverSteps
from .residual_model import add_covariance
from .residual_offset import ResidualOffset

NO_SAMPLE = -2  # not the number of a sample, nor of one before


class NoiseVariance(Record):
    """The variance after k stages in series, from sample to sample.

    After a missed sample it is that of equal steps.

    Attributes
    ----------
    last : int
        Number of the last sample.
    weights : (3 (k + 1),) array
        e, w0 and w1 of each stage in the current step, after three zeros for the noise;
        `PASS_WEIGHTS` at first. Every e must be below 1.
    P, AP, after : ((k + 1)^2,) arrays
        P and A P of (1), and P+.
    b : (k + 1,) array
    """

    last: int
    weights: Floats
    P: Floats
    AP: Floats
    after: Floats
    b: Floats

    def __init__(self, stages: int) -> None:
        n = stages + 1
        self.last, self.b, self.weights = NO_SAMPLE, np.eye(1, n)[0], np.tile(PASS_WEIGHTS, n)
        self.weights[:3] = 0.0
        self.P, self.AP, self.after = np.zeros((3, n * n))

    def take(self, stages: Sequence[Sequence[float]], number: int) -> float:
        """Return `variance_after` for these weights (e, w0, w1) of all stages."""
        self.weights[3:] = np.ravel(stages)
        return float(variance_after(self, number))


@typed
def set_stage(v: NoiseVariance, stage: int, e: float, w0: float, w1: float) -> None:
    """Set the weights of a stage, the first of which is 1."""
    v.weights[3 * stage] = e
    v.weights[3 * stage + 1] = w0
    v.weights[3 * stage + 2] = w1


@typed
def set_torque_stage(v: NoiseVariance, decay: float) -> None:
    """Set stage 1 to that of the observers `filtered` and `momentum` for efforts."""
    set_stage(v, 1, decay, 0.5 * (1.0 - decay), 0.5 * (1.0 - decay))


@typed
def set_momentum_stage(v: NoiseVariance, decay: float, rate: float) -> None:
    """Set stage 1 to that for momenta [1/s], M times the errors of velocities; rate is 1 / h."""
    set_stage(v, 1, decay, -(1.0 - decay) * rate, (1.0 - decay) * rate)


@typed
def variance_after(v: NoiseVariance, number: int) -> float:
    """Return the variance after the last stage for the sample with this number."""
    is_start = number != v.last + 1
    v.last = number
    n = len(v.b)
    for i in range(n):
        if i > 0:
            v.b[i] = v.weights[3 * i + 2] * v.b[i - 1]
        v.after[i] = v.b[i]
        if is_start:
            v.P[i] = v.b[i]
    for i in range(1, n):
        set_row(v, i, is_start)
    for k in range(n * n):
        v.P[k] = v.after[k]
    return v.P[n * n - 1]


@typed
def set_row(v: NoiseVariance, i: int, is_start: bool) -> None:
    """Set a row of A P and P+ from the one before; at the start, P is what P+ equals."""
    n = len(v.b)
    a = v.weights[3 * i :]
    x = 0.0  # element of A P A^T
    for j in range(n):
        w = v.weights[3 * j :]
        at = n * i + j
        v.AP[at] = a[2] * v.AP[at - n] + a[1] * v.P[at - n]  # without the stage itself
        x = w[2] * x + w[1] * v.AP[at - 1] + w[0] * v.AP[at]
        if is_start:
            v.P[at] = (x + v.b[i] * v.b[j]) / (1.0 - a[0] * w[0])
        v.AP[at] += a[0] * v.P[at]
        x += w[0] * a[0] * v.P[at]
        v.after[at] = x + v.b[i] * v.b[j]


class TorqueNoise(Record):
    """The covariance of external torques in the current state.

    That of noise is the one that the observer estimates, because filters only reduce it. Otherwise
    the deviations of efforts and velocities are propagated through observer and filters, from
    sample to sample. The covariance of the residual model is added, or without one the known
    variances of the model and those of the map.

    Attributes
    ----------
    number : int
        Of the state whose covariance is computed.
    efforts, momenta : NoiseVariance
    steps : ObserverSteps
        Of the observer.
    filters : tuple of LowPassSteps
        Behind the observer.
    effort_deviations, velocity_deviations : (n,) arrays
        Standard deviations [N m, N] and [rad/s, m/s].
    inertia : (n^2,) array or None
        The mass matrix that maps errors of velocities; None for observers without stages.
    estimated : (n^2,) array or None
        The covariance that the observer estimates.
    variances : (n,) array
        Variances due to model errors, 0 if they are unknown.
    offset : ResidualOffset
        Subtracted from the torques.
    covariance : (n^2,) array
        [(N m)^2, N^2].
    """

    number: int
    efforts: NoiseVariance
    momenta: NoiseVariance
    steps: ObserverSteps
    filters: tuple[LowPassSteps, ...]
    effort_deviations: Floats
    velocity_deviations: Floats
    inertia: Floats | None
    estimated: Floats | None
    variances: Floats
    offset: ResidualOffset
    covariance: Floats

    def __init__(self, steps: ObserverSteps, filters: Sequence[LowPassSteps]) -> None:
        self.number, self.steps, self.filters = NO_SAMPLE, steps, tuple(filters)
        self.efforts, self.momenta = (NoiseVariance(1 + len(filters)) for _ in range(2))

    def bind(
        self, observed: Observation, results: Mapping[Any, Array], offset: ResidualOffset
    ) -> None:
        """Let this be the covariance of an observer, with the results of a program."""
        self.estimated = results.get(observed.covariance)
        self.inertia = results.get(observed.inertia)
        self.offset, self.covariance = offset, np.zeros(len(self.steps.time_constants) ** 2)


@typed
def update_covariance(t: TorqueNoise, number: int, state: Floats) -> None:
    """Set the covariance of the joint state with this number, unless that is done."""
    if t.number == number:
        return
    t.number = number
    n = len(t.variances)
    if t.estimated is None:
        set_noise_covariance(t, number)
    else:
        for k in range(n * n):
            t.covariance[k] = t.estimated[k]
    found = t.offset.model
    if found is not None:
        add_covariance(found, state, t.covariance)
        if len(found.last) > 0:
            return
    for k in range(n):
        t.covariance[(n + 1) * k] += t.variances[k]


@typed
def set_noise_covariance(t: TorqueNoise, number: int) -> None:
    """Set the covariance for the sample of this number."""
    n = len(t.effort_deviations)
    decay = t.steps.numbers[0]
    if t.inertia is not None:
        set_torque_stage(t.efforts, decay)
        set_momentum_stage(t.momenta, decay, t.steps.numbers[n])
    variance = filtered_variance(t, t.efforts, number)
    for k in range(n * n):
        t.covariance[k] = 0.0
    for k in range(n):
        t.covariance[(n + 1) * k] = variance * t.effort_deviations[k] * t.effort_deviations[k]
    if t.inertia is not None:
        add_momenta(t, t.inertia, filtered_variance(t, t.momenta, number))


@typed
def filtered_variance(t: TorqueNoise, v: NoiseVariance, number: int) -> float:
    """Return the variance after the stage of the observer and the filters."""
    for k in range(len(t.filters)):
        w = t.filters[k].weights
        set_stage(v, 2 + k, w[0], w[1], w[2])
    return variance_after(v, number)


@typed
def add_momenta(t: TorqueNoise, M: Floats, variance: float) -> None:
    """Add M diag(s^2) M^T times the variance, with the deviations s of velocities."""
    n = len(t.velocity_deviations)
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                s = t.velocity_deviations[k]
                total += (M[n * i + k] * s) * (M[n * j + k] * s)
            t.covariance[n * i + j] += variance * total
