# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Solutions of systems of quadrics, followed from one system to another.

A system is a stack of symmetric matrices M_k, with z^T M_k z = 0 for all k, one fewer than z has
components: its solutions are points of a projective space, z and every multiple of it. Along the
segment M(t) = t M_start + (1 - t) M_end solutions follow

    (2 z^T M_k) dz/dt = - z^T (M_start - M_end)_k z,    z^H dz/dt = 0

from t = 1 to t = 0, by the Runge-Kutta method of order four, and Newton's method returns them
to the system at the new t. Step sizes follow for each path from the steps of Newton's method. The
row z^H keeps z across its own direction, so that nothing runs to infinity.

Source: Sommese, Wampler, The Numerical Solution of Systems of Polynomials, 2005, chapters 2 and 7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...types import Array

Complex = NDArray[np.complex128]

#: Distance of a predicted point from the path; small, so that it cannot reach another path.
MAX_CORRECTION = 1e-4
#: Largest second Newton step, relative to that.
MAX_CONTRACTION = 1e-2
SAFETY_FACTOR, MAX_STEP_FACTOR, MIN_STEP_FACTOR = 0.7, 3.0, 0.1  # of the steps
FIRST_STEP = 0.02
#: t at which a path that does not arrive is left: its end is singular.
MIN_PATH_PARAMETER = 1e-10
MAX_STEPS = 2000
#: Newton steps at the end of a path, which make it as exact as numbers are.
POLISHING_STEPS = 3


@dataclass(frozen=True, eq=False)
class Paths:
    """Where paths ended.

    Attributes
    ----------
    ends : (n, m) complex array
        Unit vectors.
    arrived : (n,) bool array
        Whether the end is a regular solution of the target.
    left : (n,) float array
        t where a path was left: 0 where it arrived.
    before : (n, m) complex array
        Points of paths at `before_t`, halfway to `MIN_PATH_PARAMETER` in orders of magnitude,
        which show where singular ends go.
    before_t : (n,) float array
    steps : int
        Of the longest path.
    """

    ends: Complex
    arrived: NDArray[np.bool_]
    left: Array
    before: Complex
    before_t: Array
    steps: int


def follow(start: Complex, end: Complex, points: Complex, largest: float = MAX_CORRECTION) -> Paths:
    """Follow solutions from one system to another.

    Parameters
    ----------
    start, end : (m - 1, m, m) arrays
        Symmetric matrices.
    points : (n, m) array
        Solutions of `start`.
    largest : float
        Distance from the path allowed to a predicted point, for unit vectors.
    """
    z = np.array(points, dtype=complex)
    before, before_t = z.copy(), np.ones(len(z))
    t, h = np.ones(len(z)), np.full(len(z), FIRST_STEP)
    active = np.ones(len(z), dtype=bool)
    steps = 0
    while active.any() and steps < MAX_STEPS:
        steps += 1
        rows = np.flatnonzero(active)
        later = np.maximum(t[rows] - h[rows], 0.0)
        predicted = predict(start, end, z[rows], t[rows], later)
        corrected, first, second = correct(start, end, predicted, later)
        good = (first < largest) & (second < MAX_CONTRACTION * largest)
        h[rows] *= step_factors(first / largest, good)
        moved = rows[good]
        z[moved], t[moved] = corrected[good], later[good]
        watched = moved[t[moved] > MIN_PATH_PARAMETER**0.5]
        before[watched], before_t[watched] = z[watched], t[watched]
        active = (t > 0.0) & (t > MIN_PATH_PARAMETER) & (h > 1e-3 * MIN_PATH_PARAMETER)
    arrived = t == 0.0
    z[arrived] = polish(end, z[arrived])
    return Paths(z, arrived, t, before, before_t, steps)


def step_factors(errors: Array, good: NDArray[np.bool_]) -> Array:
    """Return by what (n,) steps change, whose errors are those of a method of order four."""
    factors = SAFETY_FACTOR * np.maximum(errors, 1e-300) ** -0.2
    factors = np.where(np.isfinite(factors), factors, MIN_STEP_FACTOR)
    return np.clip(
        np.where(good, factors, np.minimum(factors, 0.5)), MIN_STEP_FACTOR, MAX_STEP_FACTOR
    )


def predict(start: Complex, end: Complex, z: Complex, t: Array, later: Array) -> Complex:
    """Return points (n, m) at `later` (n,) by one Runge-Kutta step from z at t."""
    h = (later - t)[:, None]
    middle = (t + later) / 2
    k1 = tangent(start, end, z, z, t)
    k2 = tangent(start, end, z + h / 2 * k1, z, middle)
    k3 = tangent(start, end, z + h / 2 * k2, z, middle)
    k4 = tangent(start, end, z + h * k3, z, later)
    return unit(z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


def tangent(start: Complex, end: Complex, z: Complex, across: Complex, t: Array) -> Complex:
    """Return dz/dt (n, m), orthogonal to `across` (n, m)."""
    ahead, behind = products(end, z), products(start, z)
    rates = ((behind - ahead) @ z[..., None])[..., 0]
    return solve(bordered(mixed(behind, ahead, t), across), -rates)


def correct(start: Complex, end: Complex, z: Complex, t: Array) -> tuple[Complex, Array, Array]:
    """Return points (n, m) after two Newton steps at t, and the lengths (n,) of both steps."""
    lengths = []
    for _ in range(2):
        step = newton_step(mixed(products(start, z), products(end, z), t), z)
        lengths.append(np.linalg.norm(step, axis=1))
        z = unit(z + step)
    return z, lengths[0], lengths[1]


def polish(system: Complex, z: Complex) -> Complex:
    """Return regular solutions (n, m) of a system, to rounding; others stay nearly as they are."""
    for _ in range(POLISHING_STEPS):
        step = newton_step(products(system, z), z)
        small = np.linalg.norm(step, axis=1) < MAX_CORRECTION  # false for NaN
        z = np.where(small[:, None], unit(z + step), z)
    return z


def newton_step(gradients: Complex, z: Complex) -> Complex:
    """Return the change (n, m), across z, that one Newton step makes; `gradients` are M z."""
    return solve(bordered(gradients, z), -(gradients @ z[..., None])[..., 0])


def mixed(behind: Complex, ahead: Complex, t: Array) -> Complex:
    """Return t `behind` + (1 - t) `ahead` for each path."""
    weights = t[:, None, None]
    between: Complex = weights * behind + (1.0 - weights) * ahead
    return between


def bordered(gradients: Complex, across: Complex) -> Complex:
    """Return the derivative (n, m, m) of z^T M z, and `across` (n, m) as its last row."""
    return np.concatenate([2.0 * gradients, across.conj()[:, None]], axis=1)


def products(M: Complex, z: Complex) -> Complex:
    """Return M_k z of all points, (n, m - 1, m)."""
    k, m, _ = M.shape
    found: Complex = (z @ M.reshape(k * m, m).T).reshape(len(z), k, m)
    return found


def solve(J: Complex, values: Complex) -> Complex:
    """Return the solutions (n, m) of J x = (values; 0), NaN for singular J."""
    right = np.concatenate([values, np.zeros((len(values), 1))], axis=1)[..., None]
    try:
        x: Complex = np.asarray(np.linalg.solve(J, right)[..., 0], complex)
    except np.linalg.LinAlgError:
        x = np.array([lone(A, b) for A, b in zip(J, right)])
    return x


def lone(A: Complex, b: Complex) -> Complex:
    """Return the solution (m,) of one system, NaN if it is singular."""
    try:
        x: Complex = np.asarray(np.linalg.solve(A, b)[:, 0], complex)
    except np.linalg.LinAlgError:
        x = np.full(len(A), np.nan, dtype=complex)
    return x


def unit(z: Complex) -> Complex:
    """Return points (n, m) as unit vectors."""
    length = np.linalg.norm(z, axis=1)[:, None]
    with np.errstate(invalid='ignore', divide='ignore'):  # of steps that are refused
        scaled: Complex = z / length
    return scaled
