# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether samples at rest are one value with noise, or alternate between two."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..types import Array

#: Variance within the samples above and below the mean, by that of all. It is 0.36 for normal
#: noise, 0.25 for a uniform one, 0.19 for an oscillation, and 0 for two values.
MAX_WITHIN = 0.1


class Levels(NamedTuple):
    """Two values between which a quantity alternates.

    Attributes
    ----------
    place : int
        Of the quantity.
    low, high : float
    """

    place: int
    low: float
    high: float

    def fault(self, quantity: str, unit: str, messages: str) -> str:
        """Return a text for an error about a mean of `messages`, such as joint states."""
        return (
            f'{quantity} is {self.low:.3g} {unit} in some {messages} and {self.high:.3g} {unit} in '
            'others: the load changes, or two sources are mixed; wait until nothing touches the '
            'robot, and check the driver'
        )


def two_levels(samples: Array, least: Array) -> Levels | None:
    """Return the first of k quantities that alternates between two values, None if none does.

    Parameters
    ----------
    samples : (N, k) array
    least : (k,) array
        Difference of two values up to which they are noise.

    Examples
    --------
    >>> two_levels(np.array([[0.0, 12.1], [0.1, 49.9], [0.2, 11.9], [0.1, 50.1]]), np.ones(2))
    Levels(place=1, low=12.0, high=50.0)
    """
    for k, values in enumerate(samples.T):
        is_high = values > values.mean()
        if is_high.all() or not is_high.any():
            continue
        low, high = float(values[~is_high].mean()), float(values[is_high].mean())
        within = np.where(is_high, values - high, values - low).var()
        if high - low > least[k] and within < MAX_WITHIN * values.var():
            return Levels(k, low, high)
    return None
