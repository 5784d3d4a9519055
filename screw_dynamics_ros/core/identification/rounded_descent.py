# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Minimization that takes the same steps on every processor.

The last bits of costs and gradients depend on the processor: on the order of sums in products of
matrices, on fused multiplications. Where a cost has many minima and kinks, such as the largest
value of many, a search with other bits ends in another minimum. Here coordinates and gradients are
rounded to multiples of a number that is far above these errors, so that each step begins with the
same bits.

Sources: Nocedal and Wright 2006, *Numerical Optimization*, algorithm 7.4 (L-BFGS); Lewis and
Overton 2013, *Nonsmooth optimization via quasi-Newton methods*, Math. Programming 141, algorithm
2.6 (line search by bisection, for kinks).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..types import Array

PAIRS = 10  # steps and differences of gradients that approximate the curvature
GRID = 2.0**-16  # coordinates and gradients are multiples of it
DECREASE, CURVATURE = 1e-4, 0.5  # of a step, relative to the slope (weak Wolfe conditions)
BISECTIONS = 12


def descend(
    cost: Callable[[Array], float],
    gradient: Callable[[Array], Array],
    y: Array,
    iterations: int,
    report: Callable[[int], object],
) -> tuple[Array, float]:
    """Return coordinates (n,) of a lower cost, and the cost.

    Parameters
    ----------
    cost, gradient : callable
        Of coordinates (n,) of order one.
    y : (n,) array
        Start.
    iterations : int
        Largest number of steps.
    report : callable
        Called with the number of each step.

    Examples
    --------
    >>> y, least = descend(
    ...     lambda y: float((y[0] - 1.0) ** 2 + abs(y[1])),
    ...     lambda y: np.array([2.0 * (y[0] - 1.0), np.sign(y[1])]),
    ...     np.array([3.0, 0.7]), 40, lambda number: None)
    >>> bool(abs(y[0] - 1.0) < 1e-2), bool(least < 1e-2)
    (True, True)
    """
    y = _rounded(y)
    least, slope = cost(y), _rounded(gradient(y))
    pairs: list[tuple[Array, Array]] = []
    for number in range(1, iterations + 1):
        report(number)
        direction = -_by_inverse_curvature(slope, pairs)
        along = float(slope @ direction)
        low, high, t = 0.0, np.inf, 1.0
        found = None
        for _ in range(BISECTIONS):
            there = _rounded(y + t * direction)
            value = cost(there)
            if value > least + DECREASE * t * along:
                high = t
            else:
                new_slope = _rounded(gradient(there))
                found = there, value, new_slope
                if new_slope @ direction >= CURVATURE * along:
                    break
                low = t
            t = (low + high) / 2.0 if high < np.inf else 2.0 * low
        if found is None or np.array_equal(found[0], y):
            break
        step, change = found[0] - y, found[2] - slope
        y, least, slope = found
        if step @ change > 0.0:
            pairs = [*pairs, (step, change)][-PAIRS:]
    return y, least


def _rounded(x: Array) -> Array:
    """Return the nearest multiples of `GRID`."""
    return np.asarray(np.round(x / GRID) * GRID)


def _by_inverse_curvature(slope: Array, pairs: list[tuple[Array, Array]]) -> Array:
    """Return the product of the inverse curvature, of steps and changes, and a gradient."""
    if not pairs:
        return slope / max(float(np.linalg.norm(slope)), GRID)
    x, shares = slope, []
    for step, change in reversed(pairs):
        shares.append(step @ x / (step @ change))
        x = x - shares[-1] * change
    step, change = pairs[-1]
    x = x * (step @ change / (change @ change))
    for (step, change), share in zip(pairs, reversed(shares)):
        x = x + (share - change @ x / (step @ change)) * step
    return np.asarray(x)
