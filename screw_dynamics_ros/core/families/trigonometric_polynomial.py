"""Real trigonometric polynomials: from samples on the circle to all their zeros.

A polynomial f(theta) = sum over |k| <= n of c_k exp(i k theta) of degree n has 2 n zeros in the
plane of z = exp(i theta); the real angles are those on the unit circle, where the monomials z^k are
orthogonal: the way from samples to zeros is well-conditioned there, without an angle that goes to
infinity as tan(theta / 2) does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from screw_dynamics_ros.core.types import Array

ROUNDING = 1e-15  # of a coefficient, relative to the largest


def sample_angles(degree: int) -> Array:
    """Return the angles [rad] at which `zeros` wants the values, (2 degree + 2,)."""
    count = 2 * degree + 2
    return 2.0 * np.pi / count * np.arange(count)


def zeros(values: Array) -> Array:
    """Return the zeros z of a trigonometric polynomial of degree n, complex, 2 n or fewer.

    Where the highest coefficients vanish, zeros are at the origin and at infinity: left out.

    Parameters
    ----------
    values : (2 n + 2,) array
        At `sample_angles(n)`.

    Examples
    --------
    cos(theta) = 1/2 at 60 and -60 degrees:

    >>> z = zeros(np.cos(sample_angles(1)) - 0.5)
    >>> np.sort(np.rad2deg(np.angle(z))).round(9)
    array([-60.,  60.])
    """
    c = np.fft.fft(values)  # c_k at place k modulo len(values)
    size = np.abs(c)
    n = int(np.flatnonzero(size[: len(values) // 2] > ROUNDING * size.max())[-1])
    if n == 0:
        return np.empty(0, dtype=complex)
    monic = np.concatenate([c[n - 1 :: -1], c[: -n - 1 : -1]]) / c[n]
    companion = np.diag(np.ones(2 * n - 1, dtype=complex), -1)
    companion[0] = -monic
    return np.linalg.eigvals(companion)


def errors(z: Array, values: Array) -> Array:
    """Return how far zeros (m,) may be from the true ones, because samples are rounded.

    To first order, at most the rounding of the values over the derivative at the zero; infinite
    for a double zero. Rounding is taken as that of the largest sample.
    """
    difference = z[:, None] - z
    np.fill_diagonal(difference, 1.0)
    n = len(z) // 2
    leading = np.abs(np.fft.fft(values)[n]) / len(values)
    with np.errstate(divide='ignore', over='ignore'):
        slope = leading * np.abs(difference).prod(axis=1)
        return np.asarray(np.finfo(float).eps * np.abs(values).max() / slope)


def refined(z: Array, logarithmic_derivative: Callable[[Array], Array], steps: int = 8) -> Array:
    """Return zeros corrected by the iteration of Ehrlich and Aberth, all at once.

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
    n = len(z) // 2
    for _ in range(steps):
        difference = z[:, None] - z
        np.fill_diagonal(difference, np.inf)
        with np.errstate(divide='ignore', invalid='ignore'):  # exactly on a zero: stay there
            slope = n / z + logarithmic_derivative(z) - (1.0 / difference).sum(axis=1)
            step = 1.0 / slope
        step = np.where(np.isfinite(step), step, 0.0)
        z = z - step
        if np.abs(step).max() < 1e-14:
            break
    return z
