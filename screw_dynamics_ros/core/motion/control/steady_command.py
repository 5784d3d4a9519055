# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commanded torques while nothing limits or blends the wanted ones: nearly always."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.typed.functions import Floats, typed

# Places of the shared attributes of a `TorqueCommand`.
NOW, STATE_TIME, SENT, AGE_LIMIT = range(4)

MAX_TORQUE = 1e9  # torques [N m, N]; a blend from one would round by more than 1e-7


@typed
def follow_steadily(
    reals: Floats,
    limits: Floats,
    rates: Floats,
    command: Floats,
    kept_gravity: Floats,
    wanted: Floats,
    gravity: Floats,
    n: int,
    now: float,
    state_time: float,
) -> bool:
    """Command the wanted torques; return False without a change if that needs more than this.

    Parameters
    ----------
    reals : array
        Of a `TorqueCommand` that is steady.
    limits, rates, command, kept_gravity : (n,) arrays
        Its `steady_arrays`.
    wanted, gravity : (n,) arrays
        As for `TorqueCommand.step`.
    n : int
    now, state_time : float
        [s].
    """
    longest = reals[AGE_LIMIT]
    age = now - state_time
    dt = now - reals[SENT]
    if now < reals[NOW] or not -longest <= age <= longest or not 0.0 < dt <= longest:
        return False
    total_wanted = 0.0
    total_gravity = 0.0
    for k in range(n):
        total_wanted += abs(wanted[k])
        total_gravity += abs(gravity[k])
        if not (abs(wanted[k]) <= limits[k] and abs(wanted[k] - command[k]) <= rates[k] * dt):
            return False
    if not total_wanted + total_gravity < MAX_TORQUE:
        return False
    for k in range(n):
        command[k] = wanted[k]
        kept_gravity[k] = gravity[k]
    reals[NOW] = now
    reals[STATE_TIME] = state_time if age > 0.0 else now
    reals[SENT] = now
    return True
