# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Whether the dry friction of the joints is still that of the model, from states without contact.

If the friction of a joint is s f, and f in the model, external torques are estimated as

    r = (1 - s) f + g(t),                                                                  (1)

where g is what does not change at once when the joint reverses: payloads, forces of the
environment, errors of masses. In windows of `WINDOW` f and r are reduced by their linear trends,
which takes g away, and what remains of f are its steps at reversals. Sums over windows give

    1 - s = sum f r / sum f^2                                                              (2)

by least squares, with a standard error that counts errors as independent after `INDEPENDENT`.
States near standstill, where friction is not determined by the velocity, are skipped, and so are
windows with a contact.

A joint has drifted if 1 - s is beyond a limit, and beyond three standard errors, with the same sign
in `INTERVALS` successive intervals. The thresholds of flags are then larger by the part of friction
that the model has wrong.

A force that opposes the motion of a joint, as that of a tool that slides on a surface, is not
distinguished from its friction.
"""

from __future__ import annotations

import math

import numpy as np

from ..compile.typed.functions import Floats, Ints, typed
from ..compile.typed.records import Record
from .observers.steps import has_finite_sum
from .threshold_flag import ThresholdFlag

WINDOW = 1_000_000_000  # ns
INTERVAL = 60_000_000_000  # ns
INTERVALS = 3
INDEPENDENT = 0.1  # s
MIN_WINDOWS = 5  # with reversals, for (2)
MIN_STATES = 10  # of a window
MIN_STEP = 1e-3  # of the squares of friction without trends by those with them
MAX_TORQUE = 1e100  # N m, N; products of larger ones may overflow
MAX_SHARE = 0.5  # of friction, by which thresholds are widened at most

SIZE = 4  # of the products of 1, t, f, r: sums over a window, row by row
TOTALS = 4  # f^2, f r, r^2 without trends, windows


class FrictionDrift(Record):
    """The friction of n joints beside that of the model.

    Parameters
    ----------
    n : int

    Attributes
    ----------
    limit : float
        Of the size of 1 - s; 0: nothing is observed.
    slow : float
        Speed up to which states are skipped [rad/s, m/s].
    friction, torques : (n,) arrays
        f of the model and r of the current state [N m, N].
    flags : tuple of ThresholdFlag
        Contacts are torques above the thresholds of the first one; all are widened.
    share : (n,) array
        1 - s of the last interval, NaN if it is unknown.
    since : (n,) array of int
        The stamp since when a joint has been beyond the limit [ns].
    count : (n,) array of int
        Number of successive intervals beyond the limit.
    widening : (n,) array
        Added to the thresholds [N m, N].
    """

    limit: float
    slow: float
    friction: Floats
    torques: Floats
    flags: tuple[ThresholdFlag, ...]
    window: int
    begin: int
    is_free: bool
    numbers: Floats
    sums: Floats
    totals: Floats
    largest: Floats
    begins: Ints
    share: Floats
    since: Ints
    count: Ints
    widening: Floats

    def __init__(self, n: int) -> None:
        self.friction, self.torques, self.flags = np.zeros(n), np.zeros(n), ()
        self.sums, self.totals = np.zeros(SIZE * SIZE * n), np.zeros(TOTALS * n)
        self.numbers, self.largest = np.ones(SIZE), np.zeros(n)
        self.begins, self.since, self.count = (np.zeros(n, dtype=np.int64) for _ in range(3))
        self.share, self.widening = np.full(n, math.nan), np.zeros(n)

    @property
    def drifted(self) -> list[int]:
        """The joints whose friction has changed."""
        return [j for j, count in enumerate(self.count.tolist()) if count >= INTERVALS]


@typed
def observe_friction(d: FrictionDrift, v: Floats, stamp: int, elapsed: int, is_valid: bool) -> None:
    """Use a state with the velocities v (n,).

    Parameters
    ----------
    stamp, elapsed : int
        Of the state, and since the last one [ns]; 0 discards the window.
    is_valid : bool
        Whether its torques are known.
    """
    n = len(d.share)
    if elapsed == 0 or d.window + elapsed > WINDOW:
        for j in range(n):
            if d.is_free and elapsed != 0:
                close_window(d, j, stamp)
        for k in range(len(d.sums)):
            d.sums[k] = 0.0
        d.window = 0
        d.is_free = True
    else:
        d.window += elapsed
    d.is_free = d.is_free and is_valid and has_finite_sum(d.torques, n)
    d.numbers[1] = float(d.window) * 1e-9
    for j in range(n):
        if len(d.flags) > 0 and not abs(d.torques[j]) <= d.flags[0].upper[j]:
            d.is_free = False
        if not max(abs(d.torques[j]), abs(d.friction[j])) <= MAX_TORQUE:
            d.is_free = False
        if d.is_free and abs(v[j]) > d.slow:
            d.numbers[2] = d.friction[j]
            d.numbers[3] = d.torques[j]
            for a in range(SIZE):
                for b in range(SIZE):
                    d.sums[SIZE * (SIZE * j + a) + b] += d.numbers[a] * d.numbers[b]


@typed
def close_window(d: FrictionDrift, j: int, stamp: int) -> None:
    """Add the products of f and r without their trends to the totals, if f has a step."""
    S = d.sums[SIZE * SIZE * j :]
    totals = d.totals[TOTALS * j :]
    square = S[2 * SIZE + 2]
    if S[0] >= MIN_STATES:
        for p in range(2):  # eliminates 1 and t
            for a in range(p + 1, SIZE):
                ratio = S[SIZE * a + p] / S[SIZE * p + p]
                for b in range(p, SIZE):
                    S[SIZE * a + b] -= ratio * S[SIZE * p + b]
        if S[2 * SIZE + 2] > MIN_STEP * square:
            totals[0] += S[2 * SIZE + 2]
            totals[1] += S[2 * SIZE + 3]
            totals[2] += S[3 * SIZE + 3]
            totals[3] += 1.0
            d.largest[j] = max(d.largest[j], math.sqrt(square / S[0]))
    if not 0 < d.begins[j] <= stamp:
        d.begins[j] = stamp
        d.count[j] = 0
    if stamp - d.begins[j] >= INTERVAL and totals[3] >= MIN_WINDOWS:
        close_interval(d, j, totals)
        d.begins[j] = stamp


@typed
def close_interval(d: FrictionDrift, j: int, totals: Floats) -> None:
    """Judge a joint by the totals of an interval; begin the next one."""
    share = totals[1] / totals[0]
    variance = max(totals[2] / totals[0] - share * share, 0.0)
    independent = totals[3] * 1e-9 * float(WINDOW) / INDEPENDENT
    if abs(share) <= max(d.limit, 3.0 * math.sqrt(variance / independent)):
        d.count[j] = 0
    elif d.count[j] > 0 and share * d.share[j] > 0.0:
        d.count[j] += 1
    else:
        d.count[j] = 1
        d.since[j] = d.begins[j]
    d.share[j] = share
    widening = min(abs(share), MAX_SHARE) * d.largest[j] if d.count[j] >= INTERVALS else 0.0
    for i in range(len(d.flags)):
        d.flags[i].upper[j] += widening - d.widening[j]
        d.flags[i].lower[j] += widening - d.widening[j]
    d.widening[j] = widening
    d.largest[j] = 0.0
    for i in range(TOTALS):
        totals[i] = 0.0
