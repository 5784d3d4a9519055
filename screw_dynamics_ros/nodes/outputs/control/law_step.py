# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inputs, memory and torques of a control law at each joint state.

A law begins, from a memory of zero, when torques begin: until they are enabled, while they are off,
and after they rested for longer than the longest step. Its memory is kept while they rest, as in a
short pause of the joint states. It also begins again where stamps or inputs step, because the time
since the last state is unknown then; if torques follow a law with a memory, that is a loss.
"""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.estimation.observers.steps import adopt, has_finite_sum
from screw_dynamics_ros.core.motion.control.command_rules import FOLLOWING, OFF, RESTING
from screw_dynamics_ros.ros.data_path.externals import MONOTONIC
from screw_dynamics_ros.ros.data_path.loop import compiled_step, time_of
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord

from ..dynamics.command_step import CommandState

#: The law has begun with an earlier state, it begins, it has followed no state since it began.
RUNNING, BEGINNING, WAITING = range(3)

FORCE_TIME = 6  # index of the time of the wrench


class LawState(Record):
    """The law of a `Controller`, from joint state to joint state.

    Attributes
    ----------
    is_valid : bool
        Whether the law has all that it reads, and its memory and torques are finite.
    commands : CommandState
        The torques, and their activity.
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
    is_running : bool
        Whether the next state continues.
    stamp : int
        Of the last state [ns].
    """

    is_valid: bool
    commands: CommandState
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
    is_running: bool
    stamp: int

    def __init__(self) -> None:
        self.state = self.memory = self.next_memory = self.torques = np.zeros(0)
        self.phase = WAITING
        self.sensed = np.zeros(7)
        self.sensed[FORCE_TIME] = -np.inf


@compiled_step
def advance_law(law: LawState, loop: LoopRecord) -> int:
    """Write the state of a law for a joint state, before the kernel is evaluated.

    Also sets whether the law begins, and whether its memory was lost.
    """
    now = time_of(loop, MONOTONIC)
    stamp = loop.state_clock.stamp
    is_first = not law.is_running
    law.step = stamp - law.stamp
    law.stamp = stamp
    law.is_running = True
    elapsed = 0 if is_first else loop.state_clock.elapsed
    is_step = elapsed == 0 and not is_first
    law.stepped = is_step and len(law.memory) > 0
    if law.commands.activity == FOLLOWING:
        law.followed = now
        if is_step:
            law.phase = BEGINNING
        elif law.phase == WAITING:
            law.phase = RUNNING
    else:
        rest = now - law.followed
        is_long = law.commands.activity == OFF or elapsed == 0 or rest > loop.timeout
        if is_long and law.phase == RUNNING:
            law.phase = BEGINNING
        law.stepped = False
    if law.phase != RUNNING or is_first:
        for k in range(len(law.memory)):
            law.memory[k] = 0.0
    valid = not law.stepped
    if law.tau >= 0:
        valid = valid and loop.mapper.has_effort
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
    return TAKEN


@compiled_step
def finish_law(law: LawState, loop: LoopRecord) -> int:
    """Adopt the next memory of a state that torques can follow; use finite numbers only."""
    n = len(law.memory)
    law.is_valid = law.is_valid and has_finite_sum(law.torques, len(law.torques))
    is_kept = law.is_valid and (law.commands.activity != RESTING or law.phase != RUNNING)
    is_finite = (
        adopt(law.memory, law.next_memory, n) if is_kept else has_finite_sum(law.next_memory, n)
    )
    law.is_valid = law.is_valid and is_finite
    return TAKEN
