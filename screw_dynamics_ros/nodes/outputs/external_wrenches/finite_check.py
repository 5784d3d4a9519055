# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Checks whether the numbers of an output are finite."""

from __future__ import annotations

import math
import time

import numpy as np

from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting import statuses
from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper


class FiniteCheck:
    """Checks whether the numbers of an output are finite, and records when they are not.

    Parameters
    ----------
    topic : str
    numbers : array
    mapper : JointStateMapper
        Provides the efforts for the report.
    """

    def __init__(self, topic: str, numbers: Array, mapper: JointStateMapper) -> None:
        self._topic, self._numbers, self._mapper = topic, numbers, mapper
        self._count, self._last, self._cause = 0, -math.inf, ''

    def __call__(self) -> bool:
        """Whether all numbers are finite."""
        if are_finite(self._numbers):
            return True
        worst = int(np.argmax(np.abs(self._mapper.tau)))
        self._cause = f'effort {self._mapper.tau[worst]:.3g} at {self._mapper.joints[worst]}'
        self._count, self._last = self._count + 1, time.monotonic()
        return False

    def report(self, status: Status) -> None:
        """Report messages that were not published recently, and why."""
        if time.monotonic() - self._last < statuses.INCIDENT_HOLD_S:
            status.report(
                Level.WARN,
                f'not published because numbers are not finite: {self._topic}, '
                f'{self._count} times so far ({self._cause})',
            )


def are_finite(numbers: Array) -> bool:
    """Whether all numbers (n,) are finite."""
    return all(map(math.isfinite, numbers.tolist()))
