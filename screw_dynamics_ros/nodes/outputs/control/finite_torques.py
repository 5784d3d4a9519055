# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Check of the torques of a law for one joint state, in Python and in the loop."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.memory import floats_at, ints_at
from screw_dynamics_ros.nodes.outputs.external_wrenches.observer_step import are_finite
from screw_dynamics_ros.ros.data_path import records as r
from screw_dynamics_ros.ros.data_path.loop import compiled_step

# Places of the words of the record; those marked `->` are addresses.
(
    VALID,  # -> whether the law can be used
    TORQUES,  # -> from the kernel
    COUNT,  # number of torques
) = range(RECORD_WORDS := 3)


@typed
def check_torques(valid: Ints, torques: Floats, count: int) -> None:
    """Clear `valid` if a torque is not finite."""
    if not are_finite(torques, count):
        valid[0] = 0


@compiled_step
def check_in_loop(record: Ints, t: Ints) -> int:
    """Check the torques, see `Controller.stages`."""
    check_torques(ints_at(record[VALID]), floats_at(record[TORQUES]), record[COUNT])
    return r.TAKEN
