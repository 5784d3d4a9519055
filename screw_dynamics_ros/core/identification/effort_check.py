# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Faults of drivers: efforts with the opposite sign, currents instead of torques, no efforts.

The efforts of each joint are fitted separately by the torque of the nominal robot, friction, an
offset, and optionally an armature::

    u = k (rigid torque + J a + d v + c sign v - o)

The gain k without armature has the correct sign even if the rotor dominates the inertia. Its
magnitude is determined with an armature, by gravity and by the motion of other joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..statistics.least_squares import Fit
from ..types import Array
from .effort_equations import EffortEquations
from .effort_fit import MAX_GAIN_DEVIATION, autocorrelation_times

#: Gains between 1 / `GAIN_FACTOR` and `GAIN_FACTOR` may result from errors of the nominal model.
GAIN_FACTOR = 2.0

#: Significance level in standard deviations.
SIGNIFICANT_SIGMAS = 3.0


@dataclass(frozen=True)
class EffortCheck:
    """The gain of the efforts of one joint, by the nominal model.

    Attributes
    ----------
    joint : str
    gain, deviation : float
        Reported units per N m or N, and its standard deviation; NaN without efforts.
    identified : bool
        Whether the motion determines the gain.
    sign : float
        -1 if the efforts certainly have the opposite sign, otherwise 1.
    is_scaled : bool
        Whether the gain certainly differs from that of a torque by more than `GAIN_FACTOR`.
    """

    joint: str
    gain: float
    deviation: float
    identified: bool
    sign: float
    is_scaled: bool


def check_efforts(given: EffortEquations, joints: Sequence[str]) -> tuple[EffortCheck, ...]:
    """Return the gain of each joint."""
    return tuple(_check(given, i, joint) for i, joint in enumerate(joints))


def _check(given: EffortEquations, i: int, joint: str) -> EffortCheck:
    u, rigid = given.effort[:, i], given.rigid[:, i]
    if np.isnan(u).any() or not np.any(np.abs(rigid) > 1e-9):
        return EffortCheck(joint, np.nan, np.inf, False, 1.0, False)
    friction = [given.direction[:, i], given.v[:, i], np.ones(len(u))]
    signed, its_deviation = _first_coefficient([rigid, *friction], u, given)
    gain, deviation = _first_coefficient([rigid, given.a[:, i], *friction], u, given)
    sign = -1.0 if signed + SIGNIFICANT_SIGMAS * its_deviation < 0.0 else 1.0
    identified = deviation < MAX_GAIN_DEVIATION * abs(gain)
    size = abs(gain)
    is_scaled = identified and (
        size - SIGNIFICANT_SIGMAS * deviation > GAIN_FACTOR
        or size + SIGNIFICANT_SIGMAS * deviation < 1.0 / GAIN_FACTOR
    )
    return EffortCheck(joint, gain, deviation, identified, sign, bool(is_scaled))


def _first_coefficient(
    columns: list[Array], u: Array, given: EffortEquations
) -> tuple[float, float]:
    """Return the first coefficient of a regression and its standard deviation."""
    A = np.stack(columns, axis=1)
    norms = np.linalg.norm(A, axis=0)
    A = A[:, norms > 1e-9 * norms[0]]
    fit = Fit(A, 1e-8)
    x = fit.solve(u)
    if fit.rank < A.shape[1]:
        return float(x[0]), np.inf
    e = u - A @ x
    tau = float(autocorrelation_times(e[:, None], given.part)[0])
    variance = tau * float(e @ e) / max(len(u) - len(x), 1)
    return float(x[0]), float(np.sqrt(fit.covariance[0, 0] * variance))
