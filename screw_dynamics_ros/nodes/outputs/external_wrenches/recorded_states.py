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
    n, size : int
        Number of joints, and of states at most.
    duration : int
        Of the motion to be recorded [ns].

    Attributes
    ----------
    is_active : bool
        Whether it records.
    went_back : bool
        Whether it ended because stamps went back.
    count, recorded : int
        Number of states, and the duration of their motion [ns].
    contacts : int
        Number of states in contact.
    free : int
        Stamp before which nothing is recorded [ns].
    stamps, states : (size,) and (3 n size,) arrays
        [ns]; positions, velocities and efforts.
    torques : (n,) array
        External torques of the current state [N m, N].
    flag : ThresholdFlag
        Torques above its thresholds are contacts.
    observer : ObserverState
    """

    is_active: bool
    went_back: bool
    duration: int
    count: int
    recorded: int
    contacts: int
    free: int
    stamps: Ints
    states: Floats
    torques: Floats
    flag: ThresholdFlag
    observer: ObserverState

    def __init__(self, n: int, size: int = 0, duration: int = 0) -> None:
        self.duration = duration
        self.stamps, self.states = np.zeros(size, dtype=np.int64), np.zeros(3 * n * size)
        self.torques = np.zeros(n)

    @property
    def arrays(self) -> tuple[Array, Array]:
        """Times (N,) [s] from the first one, and states (N, 3, n)."""
        n = len(self.torques)
        times = (self.stamps[: self.count] - self.stamps[:1]) * 1e-9
        return times, self.states.reshape(-1, 3, n)[: self.count]


@typed
def step_to(r: RecordedStates, k: int) -> int:
    """Return the duration of the motion before the k-th state [ns]."""
    if k == 0:
        return 0
    step = r.stamps[k] - r.stamps[k - 1]
    return step if step <= MAX_STEP else 0


@typed
def record_state(r: RecordedStates, state: Floats, stamp: int, is_valid: bool) -> None:
    """Add a state (3 n,) with a stamp [ns], if its external torques are valid and no contact."""
    if r.is_active and r.count > 0 and stamp <= r.stamps[r.count - 1]:
        r.went_back = True
        r.is_active = False
    if not (r.is_active and is_valid):
        return
    size = 3 * len(r.torques)
    for j in range(len(r.torques)):
        if not abs(r.torques[j]) <= r.flag.upper[j]:
            r.free = stamp + AFTER
    if stamp < r.free:
        r.contacts += 1
        while r.count > 0 and r.stamps[r.count - 1] > r.free - AFTER - BEFORE:
            r.recorded -= step_to(r, r.count - 1)
            r.count -= 1
        return
    # As many states as fit, at regular times.
    if r.count > 0 and stamp - r.stamps[r.count - 1] < r.duration // len(r.stamps):
        return
    r.stamps[r.count] = stamp
    copy_bytes(r.states[size * r.count :], state, 8 * size)
    r.recorded += step_to(r, r.count)
    r.count += 1
    r.is_active = r.recorded < r.duration and r.count < len(r.stamps)


@compiled_step
def take_state(r: RecordedStates, loop: LoopRecord) -> int:
    """Record the current joint state."""
    is_valid = loop.has == VELOCITY | EFFORT and r.observer.is_settled
    record_state(r, loop.state, loop.mapper.stamp, is_valid)
    return TAKEN
