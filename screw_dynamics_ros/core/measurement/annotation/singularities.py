# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sampling of singularity measures, and the number of degrees of freedom of a link."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.arms.inverse.manipulability import freedoms
from screw_dynamics_ros.core.robot.robot import Robot

SAMPLES = 3  # random configurations; at least one is not singular


def freedoms_of(robot: Robot, link: str) -> int:
    """Return the rank of the Jacobian of a link in regular configurations."""
    random = np.random.default_rng(0)
    configurations = [robot.random_configuration(random) for _ in range(SAMPLES)]
    return freedoms(np.array([robot.jacobian(q, link, 'body') for q in configurations]))


class Sampler:
    """Selects samples in time, block by block.

    Parameters
    ----------
    rate : float
        Largest number of samples per second [Hz]; infinite to select all.
    """

    def __init__(self, rate: float) -> None:
        self._period = round(1e9 / rate) if np.isfinite(rate) else 0
        self._next: int | None = None

    def chosen(self, t: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the indices of stamps (N,) [ns] at least 1 / rate after the previously chosen one.

        Sampling restarts if stamps run back.

        Examples
        --------
        >>> Sampler(rate=100.0).chosen(np.array([0, 4, 11, 13, 20, 25, 2]) * 1_000_000)
        array([0, 2, 5, 6])
        """
        if not self._period:
            return np.arange(len(t))
        back = np.flatnonzero(np.diff(t) < 0) + 1
        places: list[int] = []
        for first, end in zip([0, *back], [*back, len(t)]):
            if first:
                self._next = None
            run, k = t[first:end], 0
            if self._next is not None:
                k = 0 if run[0] < self._next - self._period else int(run.searchsorted(self._next))
            while k < len(run):
                places.append(first + k)
                self._next = int(run[k]) + self._period
                k = int(run.searchsorted(self._next))
        return np.array(places, dtype=np.intp)
