# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Accelerations of a recorded motion: differences of velocities, smoothed without phase lag."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compile.typed.functions import Floats, typed
from ..compile.typed.library import calls
from ..types import Array

BLOCK_SIZE = 16384  # samples


def accelerations(
    t: NDArray[np.int64], v: Array, starts: NDArray[np.bool_], time_constant: float = 0.0
) -> Array:
    """Return the accelerations (N, n) along a motion.

    The derivative of the parabola through three velocities, of second order for steps of any
    length. At the ends of a run it is the slope to the neighbor; NaN in a run of one sample.

    Parameters
    ----------
    t : (N,) array of int
        Stamps [ns], increasing in each run.
    v : (N, n) array
    starts : (N,) array of bool
        First samples of runs; no differences across them.
    time_constant : float
        Time constant of the filters, see `smoothed` [s]; 0 for none.

    Examples
    --------
    >>> t = np.array([0, 1, 3, 4]) * 10**9
    >>> v = np.array([[0.0], [1.0], [9.0], [16.0]])
    >>> accelerations(t, v, np.zeros(4, bool)).T
    array([[1., 2., 6., 7.]])
    """
    a = np.empty_like(v)
    for first in range(0, len(t), BLOCK_SIZE):  # keeps temporary arrays small
        end = min(first + BLOCK_SIZE, len(t))
        near = slice(max(first - 1, 0), end + 1)
        found = by_neighbors(t[near], v[near], starts[near])
        a[first:end] = found[first - near.start :][: end - first]
    return smoothed(t, a, starts, time_constant) if time_constant else a


def by_neighbors(t: NDArray[np.int64], v: Array, starts: NDArray[np.bool_]) -> Array:
    """Return the accelerations of some samples, without filters."""
    joined = ~starts[1:]
    h = np.where(joined, np.diff(t), 1) * 1e-9
    slopes = np.where(joined[:, None], np.diff(v, axis=0) / h[:, None], np.nan)
    a = np.full_like(v, np.nan)
    a[:-1], only = slopes, a.copy()
    only[1:] = slopes
    a = np.where(np.isnan(a), only, a)
    both = joined[:-1] & joined[1:]
    share = (h[:-1] / (h[:-1] + h[1:]))[:, None]
    middle = (1.0 - share) * slopes[:-1] + share * slopes[1:]
    a[1:-1] = np.where(both[:, None] & np.isfinite(middle), middle, a[1:-1])
    return a


def smoothed(
    t: NDArray[np.int64], values: Array, starts: NDArray[np.bool_], time_constant: float
) -> Array:
    """Return values (N, n) filtered forward, then backward in time: without phase lag.

    First-order filters, exact for steps of any length. The amplitude at the angular frequency omega
    is multiplied by 1 / (1 + (omega T)^2). Values that are not finite are ignored.
    """
    known = np.isfinite(values).all(axis=1)
    index = np.flatnonzero(known)
    if not len(index):
        return values
    run = np.cumsum(starts)[index]
    begins = np.diff(run, prepend=-1) != 0
    h = np.diff(t[index], prepend=t[index[0]])
    decay = np.exp(np.where(begins, 0, h) * (-1e-9 / time_constant))
    decay[begins] = 0.0
    ends, found, result = np.roll(decay, -1), values[index], values.copy()
    (filtered,) = calls(filter_rows)
    for factors in decay, np.ascontiguousarray(ends[::-1]):
        filtered(factors, found.ravel(), *found.shape)
        found = np.ascontiguousarray(found[::-1])
    result[index] = found
    return result


@typed
def filter_rows(decay: Floats, rows: Floats, count: int, n: int) -> None:
    """Replace inputs u (count n,) of a first-order filter by its outputs y.

    y_k = d_k y_{k-1} + (1 - d_k) u_k; the decay d (count,) is 0 where it starts.
    """
    for k in range(n, count * n):
        d = decay[k // n]
        if d > 0.0:
            rows[k] = d * rows[k - n] + (1.0 - d) * rows[k]
