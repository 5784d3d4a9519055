# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A slow motion of joints within their limits, which starts at rest."""

from __future__ import annotations

import numpy as np

from ..types import Array


class ReferenceMotion:
    """Where joints should be while nobody commands them.

    Joint i is at q_i + A_i (1 - cos(2 pi t / T_i)) / 2, the period a little different for each
    joint; A_i leads away from the nearer limit, and at most half way to the other one.

    Parameters
    ----------
    start : (n,) array
        q [rad, m].
    lower, upper : (n,) arrays
        Limits, some infinite [rad, m].
    amplitude : float
        Excursion [rad, m]; 0 holds still.
    period : float
        T of the first joint [s].

    Examples
    --------
    >>> motion = ReferenceMotion([0.0], [-1.0], [2.0], amplitude=0.5, period=4.0)
    >>> motion.at(2.0)[0]
    array([0.5])
    """

    def __init__(
        self, start: Array, lower: Array, upper: Array, amplitude: float, period: float
    ) -> None:
        self._start = np.array(start)
        joints = np.arange(len(self._start))
        self._rate = 2 * np.pi / (period * (1.0 + 0.1 * (joints % 5)))
        up, down = np.subtract(upper, self._start), np.subtract(self._start, lower)
        self._excursion = np.where(up >= down, 1.0, -1.0) * np.minimum(
            amplitude, np.clip(np.maximum(up, down), 0.0, None) / 2
        )

    def at(self, t: float) -> tuple[Array, Array]:
        """Return where the joints should be at time t [s], and how fast, (n,) each."""
        phase = self._rate * t
        return (
            self._start + self._excursion * (1.0 - np.cos(phase)) / 2,
            self._excursion * self._rate * np.sin(phase) / 2,
        )
