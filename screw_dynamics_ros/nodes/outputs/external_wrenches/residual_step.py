# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The offset of external torques for one joint state, in Python and in the compiled loop."""

from __future__ import annotations

import math

from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.estimation.residual_map import ResidualMap, add_residual, confidence
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import TAKEN, LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID, VALID


class PoseOffset(Record):
    """The offset of external torques, see `Tare`.

    Attributes
    ----------
    map : ResidualMap or None
        The active map.
    constant : (n,) array
        Added to its residual [N m, N].
    offset, copy : (n,) arrays
        The input of the program, and numbers of a message that are kept equal to it.
    confidence : (1 + n,) array
        Numbers of a message.
    """

    map: ResidualMap | None
    constant: Floats
    offset: Floats
    copy: Floats
    confidence: Floats


@typed
def set_offset(o: PoseOffset, q: Floats) -> None:
    """Set the offset for joint positions (n,)."""
    for j in range(len(o.offset)):
        o.offset[j] = o.constant[j]
    if o.map is not None:
        add_residual(o.map, q, o.offset)
    for j in range(len(o.offset)):
        o.copy[j] = o.offset[j]


@compiled_step
def follow_pose(o: PoseOffset, loop: LoopRecord) -> int:
    """Set the offset for the current pose, before the kernel is evaluated."""
    set_offset(o, loop.state)
    return TAKEN


@compiled_step
def fill_confidence(o: PoseOffset, loop: LoopRecord) -> int:
    """Write confidence and deviations, if a map is active."""
    if o.map is None:
        return NOT_VALID
    o.confidence[0] = confidence(o.map, loop.state)
    for j in range(len(o.map.deviations)):
        o.confidence[1 + j] = o.map.deviations[j] * math.sqrt(1.0 - o.confidence[0])
    return VALID
