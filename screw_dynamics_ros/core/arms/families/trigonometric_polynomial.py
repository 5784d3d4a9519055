# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Real trigonometric polynomials: from samples on the circle to all their zeros.

A polynomial f(theta) = sum over |k| <= n of c_k exp(i k theta) of degree n has 2 n zeros in the
plane of z = exp(i theta); the real angles are those on the unit circle, where the monomials z^k are
orthogonal: the way from samples to zeros is well-conditioned there, without an angle that goes to
infinity as tan(theta / 2) does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ...compile.calls import compiled_into
from ...compile.kernels import KernelSpecification, make_kernel
from ...types import Array

COEFFICIENT_TOLERANCE = 1e-15  # of a coefficient, relative to the largest
MIN_DIVISOR, INFINITY = 1e-200, 1e30
ANNULUS_RADIUS = 2.0  # |z|, and its inverse


#: Steps of the iteration before the first look, then between two, and at most; even.
FIRST_STEPS, STEPS_BETWEEN_CHECKS, MAX_STEPS = 10, 2, 80
CONVERGED, CROWDED = 1e-9, 1e-5
CORRECTIONS = 4  # of eigenvalues


def sample_angles(count: int) -> Array:
    """Return the angles [rad] at which `zeros` wants the values, (count,)."""
    return 2.0 * np.pi / count * np.arange(count)


def waves(count: int) -> Array:
    """Return 1, cos, sin of the `sample_angles`, (count, 3)."""
    angles = sample_angles(count)
    return np.stack([np.ones(count), np.cos(angles), np.sin(angles)], axis=1)


def zeros(values: Array, steps: Callable[..., None], degree: int) -> tuple[Array, Array]:
    """Return the zeros z of a trigonometric polynomial f, and | df / dz | there.

    Those are (2 n, 2), real and imaginary parts, and (2 n,). Where the highest coefficients vanish,
    zeros are at the origin and far away.

    Parameters
    ----------
    values : (N,) array
        Finite, not all zero, at `sample_angles(N)`, N > 2 n.
    steps : callable
        `aberth_steps(2 n)`.
    degree : int
        n.
    """
    p = transform(degree, len(values)).dot(values)
    if p[:2].dot(p[:2]) > COEFFICIENT_TOLERANCE**2 * p.dot(p):
        found = simultaneous(p, steps)
        if found is not None:
            return found
    c = p.view(complex)[degree::-1]
    size = np.abs(c)
    n = int(np.flatnonzero(size > COEFFICIENT_TOLERANCE * size.max())[-1])
    return corrected(by_companion(c[: n + 1]), p, steps)


@cache
def transform(degree: int, count: int) -> Array:
    """Return the Fourier transform of `count` samples, (4 n + 2, count).

    It gives c_n ... c_-n, the coefficients of p(z) = z^n f(z) from that of z^(2 n) on, real and
    imaginary parts in turn.
    """
    k = np.arange(degree, -degree - 1, -1)
    # of angles within a turn, which are rounded least
    waves = np.exp(-1j * sample_angles(count))[np.outer(k, np.arange(count)) % count] / count
    return np.stack([waves.real, waves.imag], axis=1).reshape(-1, count)


def by_companion(c: Array) -> Array:
    """Return the 2 n zeros for the coefficients c_0 ... c_n as eigenvalues."""
    n = len(c) - 1
    if n == 0:
        return np.empty(0, dtype=complex)
    monic = np.concatenate([c[n - 1 :: -1], c[1:].conj()]) / c[n]
    companion = np.diag(np.ones(2 * n - 1, dtype=complex), -1)
    companion[0] = -monic
    return np.linalg.eigvals(companion)


def corrected(z: Array, p: Array, steps: Callable[..., None]) -> tuple[Array, Array]:
    """Return `zeros` by z (k,), those around the unit circle after some steps.

    A small highest coefficient takes digits from the eigenvalues. Zeros that p has further are at
    the origin and far away.
    """
    m, known = len(p) // 2 - 1, len(z)
    everyone, moved, slopes = np.zeros((m, 2)), np.empty((m, 2)), np.empty(m)
    everyone[:known] = z.view(float).reshape(-1, 2)
    everyone[known + (m - known) // 2 :, 0] = INFINITY
    size = np.abs(z)
    around = np.flatnonzero((size > 1.0 / ANNULUS_RADIUS) & (size < ANNULUS_RADIUS))
    for _ in range(CORRECTIONS):
        steps(everyone, everyone.reshape(-1), p, moved, slopes)
        everyone[around] = moved[around]
    return everyone, slopes


def simultaneous(p: Array, steps: Callable[..., None]) -> tuple[Array, Array] | None:
    """Return the `zeros` by the iteration of Ehrlich and Aberth, None if it does not converge.

    The 2 m + 2 coefficients are real and imaginary parts, those of z^m first.
    """
    m = len(p) // 2 - 1
    z, slopes = STARTS[m].copy(), np.empty(m)
    moved, all_z = z.copy(), z.reshape(-1)
    all_moved = moved.reshape(-1)
    before, taken, count = np.inf, 0, FIRST_STEPS
    while taken < MAX_STEPS:
        for _ in range(count // 2):
            steps(z, all_z, p, moved, slopes)
            steps(moved, all_moved, p, z, slopes)
        step = all_z - all_moved
        square = step.dot(step)
        # crowded zeros stay in motion by rounding
        if square < CONVERGED**2 or 0.7 * before < square < CROWDED**2:
            return z, slopes
        before, taken, count = square, taken + count, STEPS_BETWEEN_CHECKS
    return None


def aberth_step(own: Array, everyone: Array, coefficients: Array) -> tuple[Array, Array]:
    """Return one zero (2,), real and imaginary, after a step, and | p'(z) |, (); may be recorded.

    Newton's step for p(z) / product of (z - z_j), with the other zeros z_j. Where another zero is
    the same number, it is ignored.

    Parameters
    ----------
    own : (2,) array
    everyone : (2 m,) array
        All zeros, this one too.
    coefficients : (2 (m + 1),) array
        Of p, that of z^m first.
    """
    x, y = own
    p = coefficients.reshape(-1, 2)
    (a, b), (da, db) = p[0], (0.0 * x, 0.0 * x)
    for real, imaginary in p[1:]:
        da, db = da * x - db * y + a, da * y + db * x + b
        a, b = a * x - b * y + real, a * y + b * x + imaginary
    # sum of 1 / (z - z_j)
    s, t = 0.0 * x, 0.0 * x
    for u, v in everyone.reshape(-1, 2):
        dx, dy = x - u, y - v
        square = 1.0 / (dx * dx + dy * dy + MIN_DIVISOR)
        s, t = s + dx * square, t - dy * square
    # step p / (p' - p s)
    u, v = da - (a * s - b * t), db - (a * t + b * s)
    square = 1.0 / (u * u + v * v + MIN_DIVISOR)
    moved = np.array([x - (a * u + b * v) * square, y - (b * u - a * v) * square])
    return moved, np.sqrt(da * da + db * db)


def aberth_steps(count: int, backend: str) -> Callable[..., None]:
    """Return `aberth_step` for all of `count` zeros at once, compiled."""
    specification = KernelSpecification(
        f'Ehrlich-Aberth step for {count} zeros',
        (('own', 2), ('everyone', 2 * count), ('coefficients', 2 * count + 2)),
        aberth_step,
        f'Ehrlich-Aberth step {count}',
        frozenset({'everyone', 'coefficients'}),
    )
    return compiled_into(make_kernel(specification, backend), stacks=True)


def starts(count: int) -> Array:
    """Return where the iteration starts, (count, 2): around the unit circle, inside and outside."""
    k = np.arange(count)
    radius, angle = 1.0 + 0.15 * np.cos(2.3 * k + 0.4), 2.0 * np.pi / count * (k + 0.3)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


STARTS = {count: starts(count) for count in (2, 4, 16)}


def refined(
    z: Array, logarithmic_derivative: Callable[[Array], Array], steps: int = 16
) -> tuple[Array, Array]:
    """Return zeros corrected by the iteration of Ehrlich and Aberth, and their last steps, (2 n,).

    Parameters
    ----------
    z : (2 n,) array
        Approximate zeros, complex.
    logarithmic_derivative : callable
        Returns f'(z) / f(z), (2 n,), the derivative with respect to z: where f itself has lost its
        digits beside larger values, this has not.

    Source: Bini and Noferini, Solving polynomial eigenvalue problems by means of the
    Ehrlich-Aberth method (2013).
    """
    n, step = len(z) // 2, np.zeros(len(z), dtype=complex)
    for _ in range(steps):
        difference = z[:, None] - z
        np.fill_diagonal(difference, np.inf)
        with np.errstate(divide='ignore', invalid='ignore'):  # exactly on a zero: stay there
            slope = n / z + logarithmic_derivative(z) - (1.0 / difference).sum(axis=1)
            step = 1.0 / slope
        step = np.where(np.isfinite(step), step, 0.0)
        z = z - step
        if np.abs(step).max() < 1e-10:
            break
    return z, np.abs(step)
