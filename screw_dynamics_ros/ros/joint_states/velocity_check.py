# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether the velocities that messages report are the derivatives of the positions they report.

States are only stored when they arrive. They are compared in blocks, outside of their processing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.measurement.identification.state_checks import (
    JointMotion,
    VelocityComparison,
    VelocityFault,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.joint_states.policies import NEVER_STAMP

BLOCK_NS = 2 * NANOSECONDS  # between the first and the last stamp of a block
REST_NS = 6 * NANOSECONDS  # after a block in which the velocities are right
MAX_STATES = 4096  # of a block
WINDOWS_S = (0.1, 0.2)  # the shortest; few longer ones fit into a block
MAX_BLOCKS = 10  # with motion, until a verdict


class VelocityCheck:
    """Compares velocities and positions of joints, as long as states arrive.

    Each verdict is on the motion since the last one: at least ten windows of 0.1 s or more, with at
    least 0.01 rad (m) and 0.05 rad/s (m/s) each.

    Parameters
    ----------
    joints : sequence of n str

    Attributes
    ----------
    faults : dict of str to VelocityFault
        By joint, by the last verdicts.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints = tuple(joints)
        self._stamps = np.zeros(MAX_STATES, dtype=np.int64)
        self._states = np.zeros((MAX_STATES, 2, len(joints)))
        self._count, self._resume = 0, NEVER_STAMP
        self._comparisons = [VelocityComparison(WINDOWS_S, MAX_BLOCKS) for _ in joints]
        self.faults: dict[str, VelocityFault] = {}

    def add(self, stamps: Sequence[int] | NDArray[np.int64], states: Array) -> None:
        """Store reported states: (N,) stamps [ns]; positions and velocities (N, 2 or more, n).

        Values are NaN if they were not reported.
        """
        if not len(stamps) or stamps[-1] < self._resume:
            return
        place = slice(self._count, min(self._count + len(states), MAX_STATES))
        self._count, count = place.stop, place.stop - place.start
        self._stamps[place], self._states[place] = stamps[:count], states[:count, :2]

    def restart(self) -> None:
        """Discard the states of the block: there was a pause, or time went back."""
        self._count, self._resume = 0, NEVER_STAMP

    def take(self) -> tuple[NDArray[np.int64], Array] | None:
        """Return the stamps and states of a block, None if it is not complete yet."""
        stamps, states = self._stamps[: self._count], self._states[: self._count]
        if not len(stamps) or (stamps[-1] - stamps[0] < BLOCK_NS and len(stamps) < MAX_STATES):
            return None
        self._count = 0
        return stamps.copy(), states.copy()

    def compare(self, stamps: NDArray[np.int64], states: Array) -> None:
        """Update `faults` by a block."""
        t, are_right = 1e-9 * (stamps - stamps[0]), False
        for name, comparison, q, v in zip(
            self._joints, self._comparisons, states[:, 0].T, states[:, 1].T
        ):
            for each in (VelocityComparison(WINDOWS_S), comparison):  # alone, or with those before
                each.add(JointMotion(t, q, v))
                is_decided, fault = each.verdict()
                if is_decided:
                    comparison.clear()
                    self.faults.pop(name, None)
                    are_right = True
                    break
            if fault is not None:
                self.faults[name] = fault
        if are_right and not self.faults:
            self._resume = int(stamps[-1]) + REST_NS
