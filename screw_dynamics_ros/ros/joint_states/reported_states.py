# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Positions and velocities as messages report them, stored in blocks for later comparison."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

from .policies import NEVER_STAMP

BLOCK_NS = 2 * NANOSECONDS  # between the first and the last stamp of a block
MAX_STATES = 4096  # of a block


class ReportedStates:
    """A block of states of n joints.

    Attributes
    ----------
    resume : int
        States before this stamp are not stored [ns].
    """

    def __init__(self, n: int) -> None:
        self._stamps = np.zeros(MAX_STATES, dtype=np.int64)
        self._states = np.zeros((MAX_STATES, 2, n))
        self._count, self.resume = 0, NEVER_STAMP

    def add(self, stamps: Sequence[int] | NDArray[np.int64], states: Array) -> None:
        """Store (N,) stamps [ns], positions and velocities (N, 2 or more, n); NaN if missing."""
        if not len(stamps) or stamps[-1] < self.resume:
            return
        place = slice(self._count, min(self._count + len(states), MAX_STATES))
        self._count, count = place.stop, place.stop - place.start
        self._stamps[place], self._states[place] = stamps[:count], states[:count, :2]

    def restart(self) -> None:
        """Discard the block: time went back, or values of before are no longer valid."""
        self._count, self.resume = 0, NEVER_STAMP

    @property
    def is_complete(self) -> bool:
        """Whether the block is long enough."""
        stamps = self._stamps[: self._count]
        return len(stamps) > 0 and bool(
            stamps[-1] - stamps[0] >= BLOCK_NS or len(stamps) == MAX_STATES
        )

    def take(self) -> tuple[NDArray[np.int64], Array]:
        """Return (N,) stamps and (N, 2, n) states of the block, and begin another one."""
        count, self._count = self._count, 0
        return self._stamps[:count].copy(), self._states[:count].copy()
