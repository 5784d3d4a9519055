# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Flags of external torques at each joint state."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.compile.typed.functions import Bytes, Floats
from screw_dynamics_ros.core.estimation.contact_flag import ContactFlag, set_thresholds_of_state
from screw_dynamics_ros.core.estimation.threshold_flag import advance_flag
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID, VALID


class MonitoredFlag(ContactFlag):
    """A flag of the external torques of joint states.

    Attributes
    ----------
    seen : int
        Number of the last joint state.
    torques : (n,) array
        [N m, N].
    number, value : (1,) arrays
        1 if it is raised, else 0: a float, and the byte of its message.
    """

    seen: int
    torques: Floats
    number: Floats
    value: Bytes

    def __init__(self, joints: int) -> None:
        super().__init__(joints)
        self.seen, self.number, self.value = -1, np.zeros(1), np.zeros(1, dtype=np.uint8)


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
