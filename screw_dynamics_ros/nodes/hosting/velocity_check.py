# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether the velocities that messages report are the derivatives of the positions they report."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.state_checks import JointMotion, VelocityComparison
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK

REST_NS = 14 * NANOSECONDS  # after a block in which the velocities are right
WINDOWS_S = (0.1, 0.2)  # the shortest; few longer ones fit into a block
MAX_BLOCKS = 10  # with motion, until a verdict


class VelocityCheck:
    """Compares velocities and positions of joints, as long as states arrive.

    Each verdict is on the motion since the last one: at least ten windows of 0.1 s or more, with at
    least 0.01 rad (m) and 0.05 rad/s (m/s) each.

    Parameters
    ----------
    mapper : JointStateMapper
        Has the states, and the faults found.
    """

    def __init__(self, mapper: JointStateMapper) -> None:
        self.mapper = mapper
        self._comparisons = [
            VelocityComparison(WINDOWS_S, MAX_BLOCKS) for _ in mapper.measured_joints
        ]
        self._faults: dict[str, str] = {}

    def update(self) -> None:
        """Compare a block of states, if it is complete; not in the processing of a state."""
        if not self.mapper.reported.is_complete:
            return
        with STATE_LOCK:
            block = self.mapper.reported.take()
        if len(block[0]):
            self._compare(*block)
        with STATE_LOCK:
            self.mapper.distrust_velocities(self._faults)

    def _compare(self, stamps: NDArray[np.int64], states: Array) -> None:
        t, has_verdict = 1e-9 * (stamps - stamps[0]), False
        for name, comparison, q, v in zip(
            self.mapper.measured_joints, self._comparisons, states[:, 0].T, states[:, 1].T
        ):
            for each in (VelocityComparison(WINDOWS_S), comparison):  # alone, or with those before
                each.add(JointMotion(t, q, v))
                is_decided, fault = each.verdict()
                if is_decided:
                    comparison.clear()
                    self._faults.pop(name, None)
                    has_verdict = True
                    break
            if fault is not None:
                self._faults[name] = str(fault)
        if has_verdict and not self._faults:
            self.mapper.reported.resume = int(stamps[-1]) + REST_NS
