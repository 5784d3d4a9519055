# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Estimated inertial parameters of a body with intervals, and which of them are determined.

Intervals of the center of mass and of the moments about it are of first order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..description.rigid_body import PARAMETERS
from ..lie import so3
from ..statistics.least_squares import Fit
from ..types import Array

CONFIDENCE = 0.95

#: Length that relates first moments to masses [m].
REFERENCE_LENGTH = 0.1

#: Scales of parameters: equal effect on torques as a mass at `REFERENCE_LENGTH`.
SCALES = np.array([1.0] + [REFERENCE_LENGTH] * 3 + [REFERENCE_LENGTH**2] * 6)

#: Singular values of the scaled equations below this fraction of the largest are zero.
RANK_TOLERANCE = 1e-7

UPPER = np.triu_indices(3)


@dataclass(frozen=True, eq=False)
class InertialEstimate:
    """Estimate of the inertial parameters of a body in its frame; NaN if not estimated.

    Attributes
    ----------
    parameters : (10,) array
        `rigid_body.PARAMETERS`.
    covariance : (10, 10) array
        Covariance of `parameters`; zero in rows and columns of parameters not estimated.
    quantile : float
        Half width of a confidence interval in standard deviations.
    """

    parameters: Array
    covariance: Array
    quantile: float

    @property
    def not_told(self) -> tuple[str, ...]:
        """Names of the parameters that the measurements do not determine."""
        return tuple(n for n, value in zip(PARAMETERS, self.parameters) if np.isnan(value))

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        return float(self.parameters[0])

    @property
    def mass_interval(self) -> float:
        """Half width of its confidence interval [kg]."""
        return float(self._interval(lambda phi: phi[:1])[0])

    @property
    def has_mass(self) -> bool:
        """Whether the mass is estimated and its interval does not contain zero."""
        return self.mass > self.mass_interval

    @property
    def center_of_mass(self) -> Array:
        """Center of mass (3,) [m]; NaN unless the mass is significantly positive."""
        return center_of_mass(self.parameters) if self.has_mass else np.full(3, np.nan)

    @property
    def center_of_mass_interval(self) -> Array:
        """Half widths of the confidence intervals of its coordinates (3,) [m]."""
        return self._interval(center_of_mass) if self.has_mass else np.full(3, np.nan)

    @property
    def inertia(self) -> Array:
        """Moments about the center of mass xx, xy, xz, yy, yz, zz, (6,) [kg m^2]."""
        return moments(self.parameters) if self.has_mass else np.full(6, np.nan)

    @property
    def inertia_interval(self) -> Array:
        """Half widths of their confidence intervals (6,) [kg m^2]."""
        return self._interval(moments) if self.has_mass else np.full(6, np.nan)

    def _interval(self, function: Callable[[Array], Array]) -> Array:
        """Return the half widths for a function of the parameters, NaN if not estimated."""
        base, steps = np.nan_to_num(self.parameters), 1e-6 * np.diag(SCALES)
        J = np.stack([function(base + each) - function(base - each) for each in steps], axis=-1)
        J /= 2e-6 * SCALES
        deviations = np.sqrt(np.einsum('ij,jk,ik->i', J, self.covariance, J))
        return np.where(np.isnan(function(self.parameters)), np.nan, self.quantile * deviations)


def enlarged(covariance: Array, quantile: float, robust: Array, freedom: Array) -> Array:
    """Return a covariance whose intervals are at least those of another one.

    The other one, `robust`, has the degrees of freedom `freedom` (size,).
    """
    both = covariance + robust
    known = both.diagonal() > 0.0
    size = np.sqrt(np.where(known, both.diagonal(), 1.0))
    half = np.maximum(
        quantile * np.sqrt(covariance.diagonal()),
        quantile_of(freedom) * np.sqrt(robust.diagonal()),
    )
    return both * np.outer(half / size, half / size) / quantile**2


def quantile_of(freedom: ArrayLike) -> Array:
    """Return the half widths of confidence intervals in standard deviations."""
    from scipy.special import stdtrit  # slow to import: not at the start of nodes

    return np.asarray(stdtrit(freedom, 0.5 + CONFIDENCE / 2.0))


def estimable(fit: Fit, half_widths: Array, largest: float) -> NDArray[np.bool_]:
    """Return which parameters a fit determines, to better than the robot's mass [kg].

    `half_widths` (k,) are those of the intervals of the parameters.
    """
    undetermined = 1.0 - np.sum(fit.V_T[: fit.rank] ** 2, axis=0)  # squared share of each
    return (np.abs(undetermined) < 1e-10) & (half_widths * fit.scale <= max(largest, 1.0))


def center_of_mass(phi: Array) -> Array:
    """Return m c / m, (3,)."""
    return phi[1:4] / phi[0]


def moments(phi: Array) -> Array:
    """Return the moments about the center of mass xx, xy, xz, yy, yz, zz, (6,)."""
    h = so3.hat(phi[1:4])
    return phi[4:] + (h @ h / phi[0])[UPPER]


def rms(values: Array) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(values**2)))
