# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Periodic motions that start and end at rest: Fourier series.

    q(t) = c + sum_k (a_k sin(k w t) - b_k cos(k w t)) / (k w),     w = 2 pi / T

with sum_k a_k = 0 and sum_k k b_k = 0, so that velocity and acceleration are zero at t = 0 and T.
Derivatives are exact, the bandwidth is known, and several periods can be averaged.

Source: Swevers, Ganseman, Tükel, De Schutter and Van Brussel 1997, *Optimal robot excitation and
identification*, IEEE Trans. Robotics and Automation 13(5), (6) to (8).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arguments import check_number
from ..errors import ArgumentError
from ..types import Array

MIN_HARMONICS = 2  # fewest harmonics of a nonzero motion that starts and ends at rest


@dataclass(frozen=True, eq=False)
class FourierMotion:
    """A motion of n joints with H harmonics.

    Attributes
    ----------
    period : float
        T [s].
    center : (n,) array
        c [rad, m].
    a, b : (n, H) arrays
        [rad/s, m/s]

    Examples
    --------
    >>> motion = FourierMotion(2.0, np.zeros(1), np.array([[1.0, -1.0]]), np.zeros((1, 2)))
    >>> q, v, acceleration = motion.at(np.array([0.0, 0.5, 2.0]))
    >>> v.round(3)[:, 0] + 0.0, acceleration.round(3)[:, 0] + 0.0
    (array([0., 1., 0.]), array([ 0.   , -3.142,  0.   ]))
    """

    period: float
    center: Array
    a: Array
    b: Array

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """Return q, v, a at times (N,) [s], (N, n) each."""
        w = 2.0 * np.pi / self.period * np.arange(1, self.a.shape[1] + 1)
        sin, cos = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        a, b = self.a.T, self.b.T
        q = self.center + (sin / w) @ a - (cos / w) @ b
        return q, cos @ a + sin @ b, -(sin * w) @ a + (cos * w) @ b


class FourierSeries:
    """Unconstrained coordinates of the series with H harmonics and a period.

    Attributes
    ----------
    size : int
        Coordinates of one joint, 2 H - 2.
    """

    def __init__(self, period: float, harmonics: int) -> None:
        check_number('period', period, positive=True)
        if not isinstance(harmonics, int) or harmonics < MIN_HARMONICS:
            raise ArgumentError(
                f'harmonics must be a whole number >= {MIN_HARMONICS}, got {harmonics!r}'
            )
        self.period, self.harmonics = period, harmonics
        k = np.arange(1.0, harmonics + 1)
        self.size = 2 * harmonics - 2
        self._a = _orthogonal_complement(np.ones(harmonics))
        self._b = _orthogonal_complement(k)

    def coefficients(self, y: Array) -> tuple[Array, Array]:
        """Return a, b (..., H) of coordinates (..., size)."""
        half = self.harmonics - 1
        return y[..., :half] @ self._a.T, y[..., half:] @ self._b.T


def _orthogonal_complement(row: Array) -> Array:
    """Return an orthonormal basis (H, H - 1) of the orthogonal complement of a row."""
    return np.asarray(np.linalg.svd(row[None, :])[2][1:].T)
