# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""First-order filters over whole recordings, exact for steps of any length.

    y_k = d_k y_{k-1} + (1 - d_k) u_k,     d_k = e^(-h_k / T)                          (1)

A step of (1) is a map y -> A y + B, and so is a sequence of steps:

    (A_2, B_2) o (A_1, B_1) = (A_2 A_1, A_2 B_1 + B_2)                                 (2)

Composing each step with the previous one, then each pair with the previous pair, and so on, takes
log2(N) passes over arrays instead of a loop over N samples, or fewer, because A vanishes after some
time constants. All A are between 0 and 1, so rounding errors are not amplified.

Source: Hillis and Steele, Data parallel algorithms (1986); Blelloch, Prefix sums and their
applications (1990), 1.4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array

BLOCK_SIZE = 16384  # samples in a pass, which fit into the cache
NEGLIGIBLE_WEIGHT = 1e-25  # weight of the past below rounding errors


def first_order(
    decay: Array, inputs: Array, starts: NDArray[np.bool_], before: Array | None = None
) -> Array:
    """Return y of (1), (N, n).

    Parameters
    ----------
    decay : (N,) array
        d of each step; ignored in the first sample of a run.
    inputs : (N, n) array
        u of each step. In the first sample of a run y is u.
    starts : (N,) array of bool
        First samples of runs: earlier samples have no effect.
    before : (n,) array, optional
        y before the first sample; without it, the first sample starts a run.

    Examples
    --------
    >>> y = first_order(np.full(4, 0.5), np.array([[0.0], [8.0], [8.0], [1.0]]), np.zeros(4, bool))
    >>> y.T
    array([[0. , 4. , 6. , 3.5]])
    """
    starts = starts.copy()
    if before is None and len(starts):
        starts[0] = True
    A = np.where(starts, 0.0, decay)
    result = (1.0 - A)[:, None] * inputs
    for first in range(0, len(A), BLOCK_SIZE):
        part = slice(first, first + BLOCK_SIZE)
        if first:
            before = result[first - 1]
        if before is not None:
            result[first] += A[first] * before
        compose(A[part], result[part])
    return result


def compose(A: Array, B: Array) -> None:
    """Replace B (N, n) by the results of the steps y -> A y + B in sequence, from y = 0."""
    A, step = A.copy(), 1
    while step < len(A) and A[step:].any():
        B[step:] += A[step:, None] * B[:-step]
        A[step:] *= A[:-step].copy()
        A[A < NEGLIGIBLE_WEIGHT] = 0.0
        step *= 2
