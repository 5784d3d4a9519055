# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The motion of a sensor in one joint state, in Python and in the compiled loop."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.measurement.estimation.observers.steps import StepLengths, step_length
from screw_dynamics_ros.core.measurement.estimation.wrist_sensor import (
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
    lengths : StepLengths
        Of the velocities.
    acceleration : FilteredAcceleration
    motion : (m,) array
        From the kernel.
    history : StampedValues
        The latest ones.
    """

    lengths: StepLengths
    acceleration: FilteredAcceleration
    motion: Floats
    history: StampedValues


@typed
def advance_motion(
    m: SensorMotion, v: Floats, stamp: int, restarted: bool, has_velocity: bool, longest: float
) -> None:
    """Update the filtered accelerations before a state is evaluated; `longest` step in s."""
    m.lengths.longest = longest
    if has_velocity:
        advance_acceleration(m.acceleration, step_length(m.lengths, stamp, restarted), v)
    else:
        m.lengths.has_stamp = False


@typed
def keep_motion(m: SensorMotion, stamp: int, restarted: bool, has_velocity: bool) -> None:
    """Store the motion of the sensor in a state."""
    if restarted:
        m.history.count = 0
    if has_velocity and has_settled(m.acceleration):
        add_values(m.history, stamp, m.motion)


@compiled_step
def advance_in_loop(m: SensorMotion, loop: LoopRecord) -> int:
    """Update the filtered accelerations."""
    v = loop.state[len(m.acceleration.value) :]
    has_velocity = loop.has & VELOCITY != 0
    longest = float(loop.timeout) * 1e-9
    advance_motion(m, v, loop.mapper.stamp, loop.mapper.restarted, has_velocity, longest)
    return TAKEN


@compiled_step
def keep_in_loop(m: SensorMotion, loop: LoopRecord) -> int:
    """Store the motion of the sensor."""
    keep_motion(m, loop.mapper.stamp, loop.mapper.restarted, loop.has & VELOCITY != 0)
    return TAKEN
