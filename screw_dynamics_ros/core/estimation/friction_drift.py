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
MAX_SHARE = 0.5  # of friction, by which thresholds are widened at most

# Sums over a window: states, t, t^2, f, r, t f, t r, f^2, f r, r^2.
SUMS = 10


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
    sums: Floats
    totals: Floats
    begins: Ints
    share: Floats
    since: Ints
    count: Ints
    widening: Floats

    def __init__(self, n: int) -> None:
        self.friction, self.torques, self.flags = np.zeros(n), np.zeros(n), ()
        self.sums, self.totals = np.zeros(SUMS * n), np.zeros(5 * n)
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
                close_window(d, j)
                close_interval(d, j, stamp)
            for k in range(SUMS):
                d.sums[SUMS * j + k] = 0.0
        d.window = 0
        d.is_free = True
    else:
        d.window += elapsed
    d.is_free = d.is_free and is_valid and has_finite_sum(d.torques, n)
    for j in range(n):
        if len(d.flags) > 0 and not abs(d.torques[j]) <= d.flags[0].upper[j]:
            d.is_free = False
        if abs(v[j]) > d.slow:
            add_state(d, j, float(d.window) * 1e-9, d.friction[j], d.torques[j])


@typed
def add_state(d: FrictionDrift, j: int, t: float, f: float, r: float) -> None:
    """Add a state to the sums of a joint."""
    s = SUMS * j
    d.sums[s] += 1.0
    d.sums[s + 1] += t
    d.sums[s + 2] += t * t
    d.sums[s + 3] += f
    d.sums[s + 4] += r
    d.sums[s + 5] += t * f
    d.sums[s + 6] += t * r
    d.sums[s + 7] += f * f
    d.sums[s + 8] += f * r
    d.sums[s + 9] += r * r


@typed
def reduced(d: FrictionDrift, s: int, x: int, y: int, xy: int) -> float:
    """Return the sum of x y without means and trends; places of x, y and x y in the sums from s."""
    n = d.sums[s]
    tt = d.sums[s + 2] - d.sums[s + 1] * d.sums[s + 1] / n
    tx = d.sums[s + 2 + x] - d.sums[s + 1] * d.sums[s + x] / n
    ty = d.sums[s + 2 + y] - d.sums[s + 1] * d.sums[s + y] / n
    return d.sums[s + xy] - d.sums[s + x] * d.sums[s + y] / n - tx * ty / tt


@typed
def close_window(d: FrictionDrift, j: int) -> None:
    """Add a window without contact to the totals of a joint: f^2, f r, r^2, windows."""
    s = SUMS * j
    if d.sums[s] < MIN_STATES:
        return
    ff = reduced(d, s, 3, 3, 7)
    if not ff > 1e-3 * d.sums[s + 7]:  # no reversal
        return
    d.totals[5 * j] += ff
    d.totals[5 * j + 1] += reduced(d, s, 3, 4, 8)
    d.totals[5 * j + 2] += reduced(d, s, 4, 4, 9)
    d.totals[5 * j + 3] += 1.0
    d.totals[5 * j + 4] = max(d.totals[5 * j + 4], math.sqrt(d.sums[s + 7] / d.sums[s]))


@typed
def close_interval(d: FrictionDrift, j: int, stamp: int) -> None:
    """Judge a joint, if an interval is over and has enough reversals."""
    if d.begins[j] == 0 or stamp < d.begins[j]:
        d.begins[j] = stamp
        d.count[j] = 0
    k = 5 * j
    if stamp - d.begins[j] < INTERVAL or d.totals[k + 3] < MIN_WINDOWS:
        return
    share = d.totals[k + 1] / d.totals[k]
    error = d.totals[k + 2] / d.totals[k] - share * share
    independent = d.totals[k + 3] * float(WINDOW) * 1e-9 / INDEPENDENT
    bound = max(d.limit, 3.0 * math.sqrt(max(error, 0.0) / independent))
    if not abs(share) > bound:
        d.count[j] = 0
    elif d.count[j] > 0 and share * d.share[j] > 0.0:
        d.count[j] += 1
    else:
        d.count[j] = 1
        d.since[j] = d.begins[j]
    d.share[j] = share
    widening = 0.0
    if d.count[j] >= INTERVALS:
        widening = min(abs(share), MAX_SHARE) * d.totals[k + 4]
    for i in range(len(d.flags)):
        d.flags[i].upper[j] += widening - d.widening[j]
        d.flags[i].lower[j] += widening - d.widening[j]
    d.widening[j] = widening
    for i in range(5):
        d.totals[k + i] = 0.0
    d.begins[j] = stamp
