# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Flags of external torques for one joint state, in Python and in the compiled loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.memory import bytes_at, floats_at, ints_at
from screw_dynamics_ros.core.compile.typed.shared_numbers import SharedRecord, pointers
from screw_dynamics_ros.core.measurement.estimation.observers.steps import MAX_STEP
from screw_dynamics_ros.core.measurement.estimation.threshold_flag import (
    IS_RAISED,
    ThresholdFlag,
    advance_flag,
)
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.data_path import records as r
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.joint_states import stamped_messages as m
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID, VALID

# Places of the words of a `MonitoredFlag`.
IS_MONITORED, SEEN = range(2)

# Places of a record; those marked `->` are addresses.
(
    MONITOR,  # -> words of the `MonitoredFlag`
    FLAG_WORDS,  # -> of the `ThresholdFlag`
    FLAG_REALS,  # ->
    TORQUES,  # ->
    COUNT,  # number of torques
    NUMBER,  # -> float: 1 if it is raised, else 0
    VALUE,  # -> the same as a byte
) = range(7)


class MonitoredFlag(ThresholdFlag):
    """A flag of the external torques of joint states.

    Attributes
    ----------
    is_monitored : bool
        Whether any joint has a threshold.
    seen : int
        Number of the last joint state.
    """

    def __init__(self, upper: Array, lower: Array, rise: float, fall: float) -> None:
        super().__init__(upper, lower, rise, fall)
        self._monitor = np.array([False, -1], dtype=np.int64)
        self.monitor_view: Any = self._monitor.data

    @property
    def is_monitored(self) -> bool:
        """Whether any joint has a threshold."""
        return self.monitor_view[IS_MONITORED] != 0

    @is_monitored.setter
    def is_monitored(self, value: bool) -> None:
        self.monitor_view[IS_MONITORED] = value

    @property
    def seen(self) -> int:
        """Number of the last joint state."""
        return self.monitor_view[SEEN]

    def record(self, torques: Array, number: Array, value: NDArray[np.uint8]) -> SharedRecord:
        """Return the record of `take_flag`."""
        record = pointers([self._monitor, self.words, self.reals, torques, None, number, value])
        record[COUNT] = len(torques)
        return record


@typed
def take_state(
    monitor: Ints,
    words: Ints,
    reals: Floats,
    torques: Floats,
    n: int,
    number: int,
    stamp: int,
    restarted: bool,
) -> bool:
    """Pass torques to a flag; return whether any joint is monitored.

    Parameters
    ----------
    monitor, words, reals : arrays
        Of a `MonitoredFlag`.
    torques : (n,) array
        [N m, N].
    n : int
    number, stamp : int
        Number and stamp [ns] of the joint state.
    restarted : bool
        Whether it is the first after a pause.
    """
    if monitor[IS_MONITORED] == 0:
        return False
    follows = monitor[SEEN] == number - 1
    monitor[SEEN] = number
    advance_flag(words, reals, torques, n, stamp, restarted or not follows)
    return True


@compiled_step
def take_flag(record: Ints, t: Ints) -> int:
    """Process the current state, see `ContactFlags`; return whether any joint is monitored."""
    state = ints_at(t[r.MAPPER_WORDS])
    words = ints_at(record[FLAG_WORDS])
    reals = floats_at(record[FLAG_REALS])
    reals[MAX_STEP] = float(t[r.TIMEOUT]) * 1e-9
    is_taken = take_state(
        ints_at(record[MONITOR]),
        words,
        reals,
        floats_at(record[TORQUES]),
        record[COUNT],
        state[m.ACCEPTED],
        state[m.STAMP],
        state[m.RESTARTED] != 0,
    )
    floats_at(record[NUMBER])[0] = float(words[IS_RAISED])
    bytes_at(record[VALUE])[0] = words[IS_RAISED]
    return VALID if is_taken else NOT_VALID
