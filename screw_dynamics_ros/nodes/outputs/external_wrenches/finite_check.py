# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Checks whether the numbers of an output are finite."""

from __future__ import annotations

import math
import time

from screw_dynamics_ros.core.compile.typed.functions import Floats
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.estimation.observers.steps import are_finite
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting import statuses
from screw_dynamics_ros.ros.data_path.externals import MONOTONIC
from screw_dynamics_ros.ros.data_path.loop import compiled_step, seconds, time_of
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.diagnostics import Status
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID, VALID


class FiniteCheck(Record):
    """Checks whether the numbers of an output are finite, and records when they are not.

    Attributes
    ----------
    numbers : array
    count, last : int, float
        How often they were not, and when they were not last, on the monotonic clock [s].
    worst, effort : int, float
        The joint with the largest effort then, and this effort.

    Parameters
    ----------
    topic : str
    numbers : array
    mapper : JointStateMapper
        Provides the efforts for the report.
    """

    numbers: Floats
    count: int
    last: float
    worst: int
    effort: float

    def __init__(self, topic: str, numbers: Array, mapper: JointStateMapper) -> None:
        self._topic, self._mapper, self.numbers = topic, mapper, numbers
        self.last = -math.inf

    def report(self, status: Status) -> None:
        """Report messages that were not published recently, and why."""
        if time.monotonic() - self.last < statuses.INCIDENT_HOLD_S:
            status.warn(
                f'not published because numbers are not finite: {self._topic}, '
                f'{self.count} times so far '
                f'(effort {self.effort:.3g} at {self._mapper.joints[self.worst]})'
            )


@compiled_step
def check_finite(f: FiniteCheck, loop: LoopRecord) -> int:
    """Check the numbers of the current state."""
    if are_finite(f.numbers, len(f.numbers)):
        return VALID
    n = len(loop.state) // 3
    f.worst = 0
    for k in range(n):
        if abs(loop.state[2 * n + k]) > abs(loop.state[2 * n + f.worst]):
            f.worst = k
    f.effort = loop.state[2 * n + f.worst]
    f.count += 1
    f.last = seconds(time_of(loop, MONOTONIC))
    return NOT_VALID
