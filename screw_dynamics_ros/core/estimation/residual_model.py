# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Residual torques of an arm without contact, from its state, the last reversals, and the load.

The residual of joint j is that of a map of poses (`residual_map`) and a function that is linear in
its parameters,

    r_j = m_j(q) + w_j phi_j^T theta_j.                                                       (1)

The features phi_j are 1, s, s |s|, cos(k q_j), sin(k q_j) for k = 1, 2, and for each of
`DISTANCES` d the products of the memory z_d with 1, l, b(s) for each of `SPEEDS` and l b(s) for the
middle one. s is the velocity and l the absolute effort, both divided by the largest recorded one
and limited to 1; b(s) = w^2 / (w^2 + s^2) is a Stribeck curve. z_d is Dahl's presliding
friction, from -1 to 1, which approaches the direction of motion over the distance d,

    z_d+ = sign(dq) + (z_d - sign(dq)) exp(-|dq| / d),                                        (2)

exactly for steps of any length. dq is the motion beyond a play of `PLAY`, in which noise of
encoders is lost. z_d is 0 after a restart.

w_j is 1 within the recorded positions, velocities and efforts of the joint, and decreases to 0
outside, exp(-(3 x)^2 / 2) for an excess of x times the recorded range. With the covariance S_j of
theta_j and the mean square e_j of the part that features explain, the variance of (1) is

    w_j^2 phi_j^T S_j phi_j + (1 - w_j^2) e_j.                                                (3)

The other errors have the covariance D R D. R are correlations between joints, D^2 variances that
depend on the state: log D_j^2 = a_j^T psi_j with psi_j = 1, b(s) of the two lower speeds, 1 -
|z_d| of the middle distance, l, exp(-x / d) of the way x since the restart for this distance, and
|s|.

>>> model = ResidualModel.of_map(ResidualMap.none(1))
>>> model.residual(np.zeros(1))
array([0.])

Source: Dahl, A solid friction model (1968), for (2); Bishop, Pattern Recognition and Machine
Learning (2006), 3.3, for the variance of linear models.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..compile.typed.functions import Floats, typed
from ..compile.typed.library import calls
from ..compile.typed.records import Record
from ..errors import ArgumentError
from ..types import Array
from .residual_map import ResidualMap, add_residual, confidence

#: Each ten times the one before [rad]; of prismatic joints, times half of the recorded range.
DISTANCES = (1e-3, 1e-2, 1e-1)
SPEEDS = (0.02, 0.1, 0.5)  # of the largest recorded one
MIDDLE = 1  # of both
PLAY = 1e-4  # rad; as the distances
DISTANCE_COUNT, SPEED_COUNT, LAST_DISTANCE_RAD = len(DISTANCES), len(SPEEDS), DISTANCES[-1]
PER_DISTANCE = 3 + SPEED_COUNT
POSE_FEATURES = 4  # the last ones
FEATURES = 3 + PER_DISTANCE * DISTANCE_COUNT + POSE_FEATURES
SPREADS = 7  # numbers of psi
MEMORIES = DISTANCE_COUNT + 1
EXCESS_DECAY = 3.0  # of (1)
MAX_EXCESS = 100.0
MAX_MOTION = 1e9  # between two states [rad, m]; more is no motion
MAX_LOG = 60.0  # of log D^2

#: Arrays that a fit determines, by the number of elements for each joint; R has n for each.
FITTED = {
    'speeds': 1,
    'loads': 1,
    'middles': 1,
    'ranges': 1,
    'weights': FEATURES,
    'posterior': FEATURES * FEATURES,
    'explained': 1,
    'spread': SPREADS,
    'limits': 2,
    'noise': 1,
    'tails': 3,
}
OF_MAP = ('plain', 'turning', 'scales')


class ResidualModel(Record):
    """The residuals of n joints; of a map only, if all other arrays are empty.

    Attributes
    ----------
    map : ResidualMap
        m_j of (1).
    speeds, loads, middles, ranges : (n,) arrays
        Largest recorded velocities and efforts, middle and half of the recorded positions.
    weights, posterior : (p n,) and (p^2 n,) arrays
        theta_j and S_j.
    explained : (n,) array
        e_j of (3) [(N m)^2, N^2].
    spread, limits : (7 n,) and (2 n,) arrays
        a_j, and the limits of log D_j^2.
    noise : (n,) array
        Standard deviation of noise behind the observer, the mean that thresholds include.
    correlation : (n^2,) array
        R.
    tails : (3 n,) array
        Of the peaks of standardized errors: high level u, mean excess m, and rate [1/s], see
        `peak_level`.
    widths : (3,) array
        `SPEEDS`.
    is_running, is_doubted : bool
        Whether the next state continues, and whether (3) and D_j are those of the last state.
    last : (n,) array
        Position at the end of the play.
    memory : (4 n,) array
        z_d of each joint, and the last of psi.
    features, states : (p n,) and (7 n,) arrays
        phi and psi of the last state.
    shares, estimate : (n,) arrays
        w_j, and the second part of (1).
    doubts, deviations : (n,) arrays
        (3) and D_j, see `set_doubts`.
    observer : str
        That variances and tails are for, see `table.described`.
    """

    map: ResidualMap
    speeds: Floats
    loads: Floats
    middles: Floats
    ranges: Floats
    weights: Floats
    posterior: Floats
    explained: Floats
    spread: Floats
    limits: Floats
    noise: Floats
    correlation: Floats
    tails: Floats
    widths: Floats
    is_running: bool
    is_doubted: bool
    last: Floats
    memory: Floats
    features: Floats
    states: Floats
    shares: Floats
    estimate: Floats
    doubts: Floats
    deviations: Floats

    def __init__(self, plain: ResidualMap, fitted: Mapping[str, Array]) -> None:
        self.map = plain
        for name, array in fitted.items():
            setattr(self, name, np.array(array, float).ravel())
        n = len(self.speeds)
        self.observer = ''
        self.widths, self.memory = np.array(SPEEDS), np.zeros(MEMORIES * n)
        self.features, self.states = np.zeros(FEATURES * n), np.zeros(SPREADS * n)
        for name in ('last', 'shares', 'estimate', 'doubts', 'deviations'):
            setattr(self, name, np.zeros(n))

    @classmethod
    def of_map(cls, found: ResidualMap) -> ResidualModel:
        """Return the residuals of a map, which depend on the pose only."""
        return cls(found, dict.fromkeys((*FITTED, 'correlation'), np.zeros(0)))

    @property
    def has_memory(self) -> bool:
        """Whether the model has features."""
        return len(self.last) > 0

    def other_observer(self, observer: str) -> str:
        """Return why variances and tails do not hold for an observer, as `described`, or ''."""
        if not self.has_memory or self.observer == observer:
            return ''
        return (
            f'variances of the residual model are for observer {self.observer}, not for {observer}'
        )

    def restart(self) -> None:
        """Forget the motion so far."""
        self.is_running = False

    def advance(self, state: Array, elapsed: int) -> None:
        """Advance to a state (3 n,): positions, velocities and efforts.

        `elapsed` is the time since the last state [ns], 0 for the first one; see `StateClock`.
        """
        calls(advance_model)[0](self, state, elapsed)

    def residual(self, q: Array) -> Array:
        """Return (1) for joint positions (n,) in the last state, (n,) [N m, N]."""
        result = self.map.residual(q)
        result[: len(self.estimate)] += self.estimate
        return result

    def confidence(self, q: Array) -> float:
        """Return the smallest certain share of the explained variance of a joint, 0 to 1."""
        return float(calls(confidence_of_model)[0](self, q))

    # --- files ------------------------------------------------------------------------------------

    def numbers(self) -> dict[str, list[float]]:
        """Return all numbers of a model with features."""
        own = {name: getattr(self, name).tolist() for name in (*FITTED, 'correlation')}
        return own | {name: getattr(self.map, name).tolist() for name in OF_MAP}

    @classmethod
    def of_numbers(cls, numbers: Mapping[str, Any], order: Array) -> ResidualModel:
        """Return the model of `numbers`, whose joints are taken in an order (n,).

        Raises
        ------
        ArgumentError
            Numbers that lack, are not finite, are not as many as for n joints, or are no scales.
        """
        n, found = len(order), {}
        sizes = {**FITTED, 'correlation': n, **dict.fromkeys(OF_MAP, 1)}
        for name, size in sizes.items():
            try:
                array = np.array(numbers[name], dtype=float)
            except (KeyError, TypeError, ValueError):
                array = np.empty(0)
            if array.shape != (n * size,) or not np.isfinite(array).all():
                raise ArgumentError(f'{name} must be {n * size} finite numbers')
            if name in ('speeds', 'loads', 'ranges', 'scales') and not (array > 0.0).all():
                raise ArgumentError(f'{name} must be greater than 0')
            if name == 'limits' and not (np.abs(array) <= MAX_LOG).all():
                raise ArgumentError(f'limits must be between -{MAX_LOG:g} and {MAX_LOG:g}')
            found[name] = array.reshape(n, size)[order]
        found['correlation'] = found['correlation'][:, order]
        plain = ResidualMap.none(n)
        plain.plain, plain.scales = found.pop('plain')[:, 0], found.pop('scales')[:, 0]
        plain.turning = found.pop('turning')[:, 0].astype(np.int64)
        return cls(plain, found)


def peak_level(high: float, excess: float, rate: float, allowed: float) -> float:
    """Return the level that peaks exceed at a rate: high + excess log(rate / allowed).

    Peaks above `high` come at `rate`, and exceed it exponentially distributed, by `excess` in the
    mean.
    """
    return high + excess * max(math.log(rate / allowed), 0.0)


@typed
def advance_model(m: ResidualModel, state: Floats, elapsed: int) -> None:
    """Advance to a state (3 n,), see `ResidualModel.advance`."""
    n = len(m.last)
    is_start = elapsed == 0 or not m.is_running
    m.is_running = True
    m.is_doubted = False
    for j in range(n):
        memory = m.memory[MEMORIES * j :]
        if is_start:
            m.last[j] = state[j]
            for i in range(MEMORIES):
                memory[i] = 1.0 if i == MEMORIES - 1 else 0.0
        remember(m, j, state[j], memory)
        set_features(m, j, state[j], state[n + j], state[2 * n + j])
        f = m.features[FEATURES * j :]
        weights = m.weights[FEATURES * j :]
        total = 0.0
        for i in range(FEATURES):
            total += f[i] * weights[i]
        m.estimate[j] = m.shares[j] * total


@typed
def remember(m: ResidualModel, j: int, q: float, memory: Floats) -> None:
    """Advance the memory (2) of a joint to a position."""
    moved = q - m.last[j]
    if not abs(moved) < MAX_MOTION:
        return
    unit = m.map.scales[j]
    if m.map.turning[j] != 0:
        unit = 1.0
        if abs(moved) > math.pi:
            moved -= 2.0 * math.pi * float(round(moved / (2.0 * math.pi)))
    beyond = abs(moved) - PLAY * unit
    if beyond <= 0.0:
        return
    direction = math.copysign(1.0, moved)
    m.last[j] += direction * beyond
    kept = math.exp(-beyond / (unit * LAST_DISTANCE_RAD))
    for k in range(DISTANCE_COUNT):
        i = DISTANCE_COUNT - 1 - k
        memory[i] = direction + (memory[i] - direction) * kept
        if i == MIDDLE:
            memory[DISTANCE_COUNT] *= kept
        square = kept * kept
        fourth = square * square
        kept = square * fourth * fourth  # to the power of ten


@typed
def limited(x: float) -> float:
    """Return a number limited to -1 to 1; 0 for NaN."""
    return 0.0 if math.isnan(x) else min(max(x, -1.0), 1.0)


@typed
def excess(x: float) -> float:
    """Return the part of an absolute value beyond 1, at most `MAX_EXCESS`; 0 for NaN."""
    return 0.0 if math.isnan(x) else min(max(abs(x) - 1.0, 0.0), MAX_EXCESS)


@typed
def set_features(m: ResidualModel, j: int, q: float, v: float, load: float) -> None:
    """Set phi, psi and w of a joint."""
    f = m.features[FEATURES * j :]
    memory = m.memory[MEMORIES * j :]
    speed = v / m.speeds[j]
    effort = load / m.loads[j]
    s = limited(speed)
    l = abs(limited(effort))  # noqa: E741
    f[0] = 1.0
    f[1] = s
    f[2] = s * abs(s)
    at = 3
    for k in range(SPEED_COUNT):
        width = m.widths[k]
        b = width * width / (width * width + s * s)
        for i in range(DISTANCE_COUNT):
            f[3 + PER_DISTANCE * i + k] = b * memory[i]
    for i in range(DISTANCE_COUNT):
        f[at + SPEED_COUNT] = memory[i]
        f[at + SPEED_COUNT + 1] = memory[i] * l
        f[at + SPEED_COUNT + 2] = f[at + MIDDLE] * l
        at += PER_DISTANCE
    angle = q if m.map.turning[j] != 0 else q / m.map.scales[j]
    c = math.cos(angle)
    d = math.sin(angle)
    f[at] = c
    f[at + 1] = d
    f[at + 2] = c * c - d * d
    f[at + 3] = 2.0 * c * d
    psi = m.states[SPREADS * j :]
    psi[0] = 1.0
    for k in range(2):
        psi[1 + k] = m.widths[k] * m.widths[k] / (m.widths[k] * m.widths[k] + s * s)
    psi[3] = 1.0 - abs(memory[MIDDLE])
    psi[4] = l
    psi[5] = memory[DISTANCE_COUNT]
    psi[6] = abs(s)
    x = excess(speed) + excess(effort) + excess((q - m.middles[j]) / m.ranges[j])
    m.shares[j] = 1.0 if x <= 0.0 else math.exp(-0.5 * EXCESS_DECAY * EXCESS_DECAY * x * x)


@typed
def set_doubts(m: ResidualModel) -> None:
    """Set (3) and D of the last state, unless that is done."""
    if m.is_doubted:
        return
    m.is_doubted = True
    for j in range(len(m.last)):
        f = m.features[FEATURES * j :]
        square = 0.0
        for i in range(FEATURES):
            row = m.posterior[FEATURES * (FEATURES * j + i) :]
            total = 0.5 * row[i] * f[i]
            for k in range(i):
                total += row[k] * f[k]
            square += 2.0 * f[i] * total
        known = m.shares[j] * m.shares[j]
        m.doubts[j] = max(known * square, 0.0) + (1.0 - known) * m.explained[j]
        log = 0.0
        for i in range(SPREADS):
            log += m.spread[SPREADS * j + i] * m.states[SPREADS * j + i]
        log = min(max(log, m.limits[2 * j]), m.limits[2 * j + 1])
        m.deviations[j] = math.exp(0.5 * log)


@typed
def add_model(m: ResidualModel, q: Floats, total: Floats) -> None:
    """Add (1) for joint positions (n,) in the last state to a vector (n,)."""
    add_residual(m.map, q, total)
    for j in range(len(m.estimate)):
        total[j] += m.estimate[j]


@typed
def confidence_of_model(m: ResidualModel, q: Floats) -> float:
    """Return the result of `ResidualModel.confidence`."""
    if len(m.last) == 0:
        return confidence(m.map, q)
    set_doubts(m)
    least = 1.0
    for j in range(len(m.last)):
        if m.explained[j] > 0.0:
            least = min(least, 1.0 - m.doubts[j] / m.explained[j])
    return max(least, 0.0)


@typed
def add_covariance(m: ResidualModel, q: Floats, covariance: Floats) -> None:
    """Add the covariance of the residuals in the last state, (n^2,)."""
    n = len(m.map.plain)
    if len(m.last) == 0:
        doubt = 1.0 - confidence(m.map, q)
        for j in range(n):
            covariance[(n + 1) * j] += m.map.deviations[j] * m.map.deviations[j] * doubt
        return
    set_doubts(m)
    for j in range(n):
        for k in range(n):
            both = m.deviations[j] * m.deviations[k]
            covariance[n * j + k] += m.correlation[n * j + k] * both
        covariance[(n + 1) * j] += m.doubts[j]
