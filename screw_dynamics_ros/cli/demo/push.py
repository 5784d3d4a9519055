# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The push of the demo: a known force on the tool for part of the run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from screw_dynamics_ros.core.types import Array


@dataclass(frozen=True)
class Push:
    """A force that rises smoothly, is constant, and falls smoothly.

    Attributes
    ----------
    force : (3,) tuple
        Force of the environment on the tool at full strength, in the tool frame [N]; the moment is
        zero.
    start, end : float
        Times at which the force starts to rise and reaches zero again [s].
    ramp : float
        Duration of rise and fall [s].
    settling : float
        Settling time of the arm after the rise and after the fall [s].
    """

    force: tuple[float, float, float]
    start: float
    end: float
    ramp: float = 0.5
    settling: float = 1.0

    def strength(self, time: ArrayLike) -> Array:
        """Return the fraction of the full force at `time` [s], any shape; 0 outside, 1 inside."""
        time = np.asarray(time, dtype=float)
        rising = np.minimum(time - self.start, self.end - time) / self.ramp
        x = np.clip(rising, 0.0, 1.0)
        return x * x * (3.0 - 2.0 * x)  # continuous rate of change

    def phases(self, acting: Array, period: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return in which states the force is steady, and in which it is absent.

        Parameters
        ----------
        acting : (n, 6) array
            Wrenches on the tool in consecutive states [N m, N].
        period : float
            Shortest simulated time between them [s].

        Returns
        -------
        steady, absent : (n,) arrays
            Whether the force has its full strength and the arm has settled; and whether the force
            is zero and the arm has settled.
        """
        size = np.linalg.norm(acting, axis=1)
        full = size.max(initial=0.0)
        settled = round(self.settling / period)
        steady = since(size > (1.0 - 1e-6) * full, begins=False) >= settled
        absent = since(size <= 1e-6 * full, begins=True) >= settled
        return steady & (full > 0.0), absent


def since(holds: NDArray[np.bool_], begins: bool) -> Array:
    """Return the number of consecutive previous states in which `holds` is true (n,), or -1.

    -1 marks states in which it is false. `begins` is the value before the first state.
    """
    index = np.arange(len(holds), dtype=float)
    last = np.where(holds, -math.inf if begins else -1.0, index)
    return np.where(holds, index - 1.0 - np.maximum.accumulate(last), -1.0)
