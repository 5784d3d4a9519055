# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The offset of external torques for one joint state, in Python and in the compiled loop."""

from __future__ import annotations

import math

from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.estimation.residual_model import confidence_of_model
from screw_dynamics_ros.core.estimation.residual_offset import ResidualOffset, advance_offset
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID, VALID


class TorqueOffset(ResidualOffset):
    """The offset of external torques, see `Tare`.

    Attributes
    ----------
    copy : (n,) array
        Numbers of a message that are kept equal to the offset.
    confidence : (1 + n,) array
        Numbers of a message.
    """

    copy: Floats
    confidence: Floats


@typed
def copy_offset(o: TorqueOffset) -> None:
    """Copy the offset into the message."""
    for j in range(len(o.offset)):
        o.copy[j] = o.offset[j]


@compiled_step
def follow_state(o: TorqueOffset, loop: LoopRecord) -> int:
    """Set the offset for the current state, before the kernel is evaluated."""
    advance_offset(o, loop.state, loop.state_clock.elapsed)
    copy_offset(o)
    return TAKEN


@compiled_step
def fill_confidence(o: TorqueOffset, loop: LoopRecord) -> int:
    """Write confidence and deviations, if a map or model is active."""
    m = o.model
    if m is None:
        return NOT_VALID
    o.confidence[0] = confidence_of_model(m, loop.state)
    for j in range(len(m.map.deviations)):
        square = m.map.deviations[j] * m.map.deviations[j] * (1.0 - o.confidence[0])
        if len(m.last) > 0:
            square = m.deviations[j] * m.deviations[j] + m.doubts[j]
        o.confidence[1 + j] = math.sqrt(square)
    return VALID
