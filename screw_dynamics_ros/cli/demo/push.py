"""The push of the demo: a known force on the tool for part of the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from screw_dynamics_ros.core.types import Array


@dataclass(frozen=True)
class Push:
    """A force that rises smoothly, stays, and falls again.

    Attributes
    ----------
    force : (3,) tuple
        Force of the environment on the tool while the push is at its full strength, in the tool
        frame [N]; there is no moment.
    start, end : float
        When the force begins to rise and when it is gone again [s].
    ramp : float
        How long it rises and falls [s].
    settling : float
        How long the arm takes to come to rest against the force, and to swing back [s].
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
        return x * x * (3.0 - 2.0 * x)  # no jump in the rate of change either

    def steady(self, time: ArrayLike) -> NDArray[np.bool_]:
        """Whether the force has its full strength and the arm has come to rest against it."""
        time = np.asarray(time, dtype=float)
        return (time >= self.start + self.ramp + self.settling) & (time <= self.end - self.ramp)

    def absent(self, time: ArrayLike) -> NDArray[np.bool_]:
        """Whether the arm moves as if nothing had ever pushed it."""
        time = np.asarray(time, dtype=float)
        return (time < self.start) | (time > self.end + self.settling)
