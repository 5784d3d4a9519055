# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Soft dead bands: zero inside the band, continuous at its edges.

Both functions can be recorded.

>>> dead_band(np.array([-3.0, -1.0, 0.5, 1.5]), 1.0)
array([-2. ,  0. ,  0. ,  0.5])
>>> dead_band_of_size(np.array([0.0, 3.0, 4.0]), 2.5)  # the length 5 becomes 2.5
array([0. , 1.5, 2. ])
"""

from __future__ import annotations

import math

import numpy as np

from ..compile.program.tracing import clamp
from ..compile.typed.functions import Floats, typed
from ..types import Array

MIN_SQUARED_LENGTH = 1e-300  # prevents division by zero


def dead_band(x: Array, width: float) -> Array:
    """Return sign(x) max(|x| - width, 0) for each element, (n,): x itself for a width of 0."""
    return np.array(
        [clamp(each - width, 0.0, np.inf) - clamp(-each - width, 0.0, np.inf) for each in x]
    )


def torques_outside_band(torques: Array, bands: Array) -> Array:
    """Return torques (n,) after their dead band, the first of `bands`."""
    return dead_band(torques, bands[0])


def dead_band_of_size(x: Array, width: float) -> Array:
    """Return a vector (n,) shortened by `width` in its direction, zero if it is shorter.

    The result does not depend on the axes in which the vector is resolved.
    """
    length = np.sqrt(clamp(x @ x, MIN_SQUARED_LENGTH, np.inf))
    return x * (clamp(length - width, 0.0, np.inf) / length)


@typed
def shorten(x: Floats, width: float) -> None:
    """Shorten the first three elements, a vector on numbers, as `dead_band_of_size` does."""
    length = math.sqrt(max(x[0] * x[0] + x[1] * x[1] + x[2] * x[2], MIN_SQUARED_LENGTH))
    for k in range(3):
        x[k] = x[k] * (max(length - width, 0.0) / length)
