# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Flags of external torques at each joint state."""

from __future__ import annotations

import math

import numpy as np

from screw_dynamics_ros.core.compile.typed.functions import Bytes, Floats, typed
from screw_dynamics_ros.core.estimation.residual_model import set_doubts
from screw_dynamics_ros.core.estimation.residual_offset import ResidualOffset
from screw_dynamics_ros.core.estimation.threshold_flag import ThresholdFlag, advance_flag
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID, VALID


class MonitoredFlag(ThresholdFlag):
    """A flag of the external torques of joint states.

    Parameters
    ----------
    joints : int
        n; none has a threshold at first.

    Attributes
    ----------
    is_monitored : bool
        Whether any joint has a threshold.
    seen : int
        Number of the last joint state.
    torques : (n,) array
        [N m, N].
    offset : ResidualOffset or None
        With the model whose deviations determine the thresholds.
    factors : (n,) array
        Thresholds divided by these deviations; 0 for joints with constant thresholds.
    release_ratio : float
        Lower thresholds divided by upper ones, both without `widening`.
    widening : (n,) array
        Added to both, see `FrictionDrift` [N m, N].
    number, value : (1,) arrays
        1 if it is raised, else 0: a float, and the byte of its message.
    """

    is_monitored: bool
    seen: int
    torques: Floats
    offset: ResidualOffset | None
    factors: Floats
    release_ratio: float
    widening: Floats
    number: Floats
    value: Bytes

    def __init__(self, joints: int) -> None:
        never = np.full(joints, math.inf)
        super().__init__(never, never, 0.0, 0.0)
        self.seen, self.number, self.value = -1, np.zeros(1), np.zeros(1, dtype=np.uint8)
        self.factors, self.widening = np.zeros(joints), np.zeros(joints)


@typed
def set_thresholds_of_state(flag: MonitoredFlag, offset: ResidualOffset) -> None:
    """Set the thresholds of joints with a model for its last state."""
    m = offset.model
    if m is None or len(m.last) == 0:
        return
    set_doubts(m)
    for j in range(len(flag.factors)):
        if flag.factors[j] > 0.0:
            square = m.deviations[j] * m.deviations[j] + m.doubts[j]
            upper = flag.factors[j] * math.sqrt(square)
            flag.upper[j] = upper + flag.widening[j]
            flag.lower[j] = flag.release_ratio * upper + flag.widening[j]


@compiled_step
def take_flag(flag: MonitoredFlag, loop: LoopRecord) -> int:
    """Pass the torques of a joint state to a flag, if any joint is monitored."""
    offset = flag.offset
    if offset is not None:
        set_thresholds_of_state(flag, offset)
    if flag.is_monitored:
        number = loop.mapper.accepted
        advance_flag(flag, flag.torques, loop.state_clock.elapsed if flag.seen == number - 1 else 0)
        flag.seen = number
    flag.number[0] = float(int(flag.is_raised))
    flag.value[0] = int(flag.is_raised)
    return VALID if flag.is_monitored else NOT_VALID
