# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states without contact, recorded in memory at each joint state."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.estimation.observers.observer_state import ObserverState
from screw_dynamics_ros.core.estimation.threshold_flag import ThresholdFlag
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import EFFORT, VELOCITY

BEFORE, AFTER = 500_000_000, 1_000_000_000  # ns: around a contact nothing is recorded
MAX_STEP = 500_000_000  # ns, within a motion


class RecordedStates(Record):
    """States of n joints, as many as fit into memory.

    Parameters
    ----------
    torques : (n,) array
        External torques of the current state [N m, N].
    size, duration : int
        Number of states at most, and duration of the motion to be recorded [ns].

    Attributes
    ----------
    is_active : bool
        Whether it records.
    count, recorded : int
        Number of states, and the duration of their motion [ns].
    free : int
        Stamp before which nothing is recorded [ns].
    stamps, states : (size,) and (3 n size,) arrays
        [ns]; positions, velocities and efforts.
    flag : ThresholdFlag
        Torques above its thresholds are contacts.
    observer : ObserverState
    """

    is_active: bool
    duration: int
    count: int
    recorded: int
    free: int
    stamps: Ints
    states: Floats
    torques: Floats
    flag: ThresholdFlag
    observer: ObserverState

    def __init__(self, torques: Array, size: int = 0, duration: int = 0) -> None:
        self.torques, self.duration = torques, duration
        self.stamps, self.states = np.zeros(size, np.int64), np.zeros(3 * len(torques) * size)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Times (N,) [s], positions, velocities and efforts (N, n)."""
        numbers = self.states.reshape(len(self.stamps), 3, -1)[: self.count]
        t = (self.stamps[: self.count] - self.stamps[:1]) * 1e-9
        return t, *np.ascontiguousarray(np.moveaxis(numbers, 1, 0))


@typed
def step_to(r: RecordedStates, k: int) -> int:
    """Return the duration of the motion before the k-th state [ns]."""
    step = 0 if k == 0 else r.stamps[k] - r.stamps[k - 1]
    return step if step <= MAX_STEP else 0


@typed
def record_state(r: RecordedStates, state: Floats, stamp: int, is_valid: bool) -> None:
    """Add a state (3 n,) with a stamp [ns], if its external torques are valid and no contact."""
    if not (r.is_active and is_valid):
        return
    if r.count > 0 and stamp <= r.stamps[r.count - 1]:  # time went back: start again
        r.count = r.recorded = r.free = 0
    n = len(r.torques)
    for j in range(n):
        if not abs(r.torques[j]) <= r.flag.upper[j]:
            r.free = stamp + AFTER
    if stamp < r.free:
        while r.count > 0 and r.stamps[r.count - 1] > r.free - AFTER - BEFORE:
            r.recorded -= step_to(r, r.count - 1)
            r.count -= 1
        return
    # As many states as fit, at regular times.
    if r.count > 0 and stamp - r.stamps[r.count - 1] < r.duration // len(r.stamps):
        return
    r.stamps[r.count] = stamp
    copy_bytes(r.states[3 * n * r.count :], state, 24 * n)
    r.recorded += step_to(r, r.count)
    r.count += 1
    r.is_active = r.recorded < r.duration and r.count < len(r.stamps)


@compiled_step
def take_state(r: RecordedStates, loop: LoopRecord) -> int:
    """Record the current joint state."""
    is_valid = loop.has == VELOCITY | EFFORT and r.observer.is_settled
    record_state(r, loop.state, loop.mapper.stamp, is_valid)
    return TAKEN
