# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Flags of external torques for one joint state, in Python and in the compiled loop."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.typed.functions import Bytes, Floats, typed
from screw_dynamics_ros.core.measurement.estimation.threshold_flag import (
    ThresholdFlag,
    advance_flag,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID, VALID


class MonitoredFlag(ThresholdFlag):
    """A flag of the external torques of joint states.

    Attributes
    ----------
    is_monitored : bool
        Whether any joint has a threshold.
    seen : int
        Number of the last joint state.
    torques : (n,) array
        [N m, N].
    number, value : (1,) arrays
        1 if it is raised, else 0: a float, and the byte of its message.
    """

    is_monitored: bool
    seen: int
    torques: Floats
    number: Floats
    value: Bytes

    def __init__(self, upper: Array, lower: Array, rise: float, fall: float) -> None:
        super().__init__(upper, lower, rise, fall)
        self.seen = -1


@typed
def take_state(
    flag: MonitoredFlag, number: int, stamp: int, restarted: bool, longest: float
) -> bool:
    """Pass the torques to a flag; return whether any joint is monitored.

    Parameters
    ----------
    flag : MonitoredFlag
    number, stamp : int
        Number and stamp [ns] of the joint state.
    restarted : bool
        Whether it is the first after a pause.
    longest : float
        A longer step [s] restarts the measurement of times.
    """
    if flag.is_monitored:
        follows = flag.seen == number - 1
        flag.seen = number
        flag.lengths.longest = longest
        advance_flag(flag, flag.torques, stamp, restarted or not follows)
    flag.number[0] = float(int(flag.is_raised))
    flag.value[0] = int(flag.is_raised)
    return flag.is_monitored


@compiled_step
def take_flag(flag: MonitoredFlag, loop: LoopRecord) -> int:
    """Process the current state, see `ContactFlags`; return whether any joint is monitored."""
    state = loop.mapper
    longest = float(loop.timeout) * 1e-9
    is_taken = take_state(flag, state.accepted, state.stamp, state.restarted, longest)
    return VALID if is_taken else NOT_VALID
