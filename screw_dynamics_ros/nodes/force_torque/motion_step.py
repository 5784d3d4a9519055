# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The motion of a sensor in one joint state, in Python and in the compiled loop."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.typed.functions import Floats
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.estimation.wrist_sensor import (
    FilteredAcceleration,
    StampedValues,
    add_values,
    advance_acceleration,
    has_settled,
)
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import VELOCITY


class SensorMotion(Record):
    """The motion of a sensor.

    Attributes
    ----------
    acceleration : FilteredAcceleration
    motion : (m,) array
        From the kernel.
    history : StampedValues
        The latest ones.
    """

    acceleration: FilteredAcceleration
    motion: Floats
    history: StampedValues


@compiled_step
def advance(m: SensorMotion, loop: LoopRecord) -> int:
    """Update the filtered accelerations before a state is evaluated."""
    if loop.has & VELOCITY != 0:
        v = loop.state[len(m.acceleration.value) :]
        advance_acceleration(m.acceleration, loop.state_clock.elapsed, v)
    else:
        m.acceleration.is_running = False
    return TAKEN


@compiled_step
def keep(m: SensorMotion, loop: LoopRecord) -> int:
    """Store the motion of the sensor in a state."""
    if loop.mapper.restarted:
        m.history.count = 0
    if loop.has & VELOCITY != 0 and has_settled(m.acceleration):
        add_values(m.history, loop.mapper.stamp, m.motion)
    return TAKEN
