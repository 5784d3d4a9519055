# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inputs, memory and torques of a control law for one joint state, in Python and in the loop.

A law begins, from a memory of zero, when torques begin: until they are enabled, while they are off,
and after they rested for longer than the longest step. Its memory is kept while they rest, as in a
short pause of the joint states. It also begins again where stamps or inputs step, because the time
since the last state is unknown then; if torques follow a law with a memory, that is a loss.
"""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.memory import copy_bytes
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.measurement.estimation.observers.steps import (
    StepLengths,
    are_finite,
    step_length,
)
from screw_dynamics_ros.ros.data_path.loop import MONOTONIC, compiled_step, time_of
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import EFFORT

from ..dynamics.commands import FOLLOWING, OFF, RESTING

#: The law has begun with an earlier state, it begins, it has followed no state since it began.
RUNNING, BEGINNING, WAITING = range(3)

FORCE_TIME = 6  # index of the time of the wrench


class LawState(Record):
    """The law of a `Controller`, from joint state to joint state.

    Attributes
    ----------
    is_valid : bool
        Whether the law has all that it reads, and its memory and torques are finite.
    activity : int
        Of the torques, see `Commands.activity`.
    followed : int
        Monotonic time at which they last followed the law [ns].
    phase : int
        RUNNING, BEGINNING; WAITING after Python has seen that it begins.
    stepped : bool
        Whether the memory was lost although torques follow the law.
    step : int
        Difference of the stamps of this state and the one before [ns].
    tau, dt, wrench : int
        Indices in `state` of measured torques, of the time step and of the wrench of the sensor;
        -1 if the law does not read them.
    wrench_timeout : int
        [ns].
    state, memory, next_memory, torques : arrays
        Of the law; the last two from the kernel.
    efforts : (n,) array
        Of the joints [N m, N].
    places : (n,) array of int
        Of the joints among the velocities.
    sensed : (7,) array
        Wrench of the sensor, and the time at which it came [s].
    lengths : StepLengths
    """

    is_valid: bool
    activity: int
    followed: int
    phase: int
    stepped: bool
    step: int
    tau: int
    dt: int
    wrench: int
    wrench_timeout: int
    state: Floats
    memory: Floats
    next_memory: Floats
    torques: Floats
    efforts: Floats
    places: Ints
    sensed: Floats
    lengths: StepLengths

    def __init__(self) -> None:
        self.state = self.memory = self.next_memory = self.torques = np.zeros(0)
        self.phase, self.lengths = WAITING, StepLengths()
        self.sensed = np.zeros(7)
        self.sensed[FORCE_TIME] = -np.inf


@typed
def advance_law(
    law: LawState, stamp: int, restarted: bool, has_effort: bool, now: int, longest: float
) -> None:
    """Write the state of a law for a joint state, before the kernel is evaluated.

    Parameters
    ----------
    law : LawState
        Also receives whether the law begins, and whether its memory was lost.
    stamp, now : int
        Of the joint state, and the monotonic time [ns].
    restarted, has_effort : bool
        Whether the joint state is the first after a pause, and whether it has efforts.
    longest : float
        After a longer step [s] the law begins again.
    """
    law.lengths.longest = longest
    is_first = not law.lengths.has_stamp
    law.step = stamp - law.lengths.stamp
    elapsed = step_length(law.lengths, stamp, restarted)
    is_step = elapsed == 0 and not is_first
    law.stepped = is_step and len(law.memory) > 0
    if law.activity == FOLLOWING:
        law.followed = now
        if is_step:
            law.phase = BEGINNING
        elif law.phase == WAITING:
            law.phase = RUNNING
    else:
        rest = float(now - law.followed) * 1e-9
        is_long = law.activity == OFF or elapsed == 0 or rest > longest
        if is_long and law.phase == RUNNING:
            law.phase = BEGINNING
        law.stepped = False
    if law.phase != RUNNING or is_first:
        for k in range(len(law.memory)):
            law.memory[k] = 0.0
    valid = not law.stepped
    if law.tau >= 0:
        valid = valid and has_effort
        for k in range(len(law.places)):
            law.state[law.tau + law.places[k]] = law.efforts[k]
    if law.dt >= 0:
        law.state[law.dt] = float(elapsed) * 1e-9
    if law.wrench >= 0:
        age = float(now) / 1e9 - law.sensed[FORCE_TIME]
        valid = valid and age <= float(law.wrench_timeout) * 1e-9
        for k in range(6):
            law.state[law.wrench + k] = law.sensed[k]
    law.is_valid = valid


@typed
def check_torques(law: LawState) -> None:
    """Use no torques that are not finite."""
    if not are_finite(law.torques, len(law.torques)):
        law.is_valid = False


@typed
def keep_memory(law: LawState) -> None:
    """Adopt the next memory, if it is finite, of a state that torques can follow."""
    if not are_finite(law.next_memory, len(law.memory)):
        law.is_valid = False
    elif law.is_valid and (law.activity != RESTING or law.phase != RUNNING):
        copy_bytes(law.memory, law.next_memory, 8 * len(law.memory))


# --- in the compiled loop -------------------------------------------------------------------------


@compiled_step
def advance_in_loop(law: LawState, loop: LoopRecord) -> int:
    """Write the state of the law, see `Controller.stages`."""
    advance_law(
        law,
        loop.mapper.stamp,
        loop.mapper.restarted,
        loop.has & EFFORT != 0,
        time_of(loop, MONOTONIC),
        float(loop.timeout) * 1e-9,
    )
    return TAKEN


@compiled_step
def check_in_loop(law: LawState, loop: LoopRecord) -> int:
    """Check the torques, see `Controller.stages`."""
    check_torques(law)
    return TAKEN


@compiled_step
def keep_in_loop(law: LawState, loop: LoopRecord) -> int:
    """Adopt the next memory of the law."""
    keep_memory(law)
    return TAKEN
