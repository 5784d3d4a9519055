# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commanded torques while nothing limits or blends the wanted ones: nearly always."""

from __future__ import annotations

from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.records import Record

MAX_TORQUE = 1e9  # torques [N m, N]; a blend from one would round by more than 1e-7


class SteadyCommand(Record):
    """What is needed of a `TorqueCommand` while nothing limits or blends the wanted torques.

    Attributes
    ----------
    now, state_time, sent : float
        Times of the last call, of the last state and of the last command [s].
    age_limit : float
        [s].
    upper, rates : (n,) arrays
        Limits of magnitude and rate.
    command, gravity : (n,) arrays
        The last command, and the gravity torques of the last state.
    """

    now: float
    state_time: float
    sent: float
    age_limit: float
    upper: Floats
    rates: Floats
    command: Floats
    gravity: Floats


@typed
def follow_steadily(
    c: SteadyCommand, wanted: Floats, gravity: Floats, now: float, state_time: float
) -> bool:
    """Command the wanted torques; return False without a change if that needs more than this.

    Parameters
    ----------
    c : SteadyCommand
        One that is steady.
    wanted, gravity : (n,) arrays
        As for `TorqueCommand.step`.
    now, state_time : float
        [s].
    """
    age = now - state_time
    dt = now - c.sent
    if now < c.now or not -c.age_limit <= age <= c.age_limit or not 0.0 < dt <= c.age_limit:
        return False
    total_wanted = 0.0
    total_gravity = 0.0
    n = len(c.command)
    command = c.command
    for k in range(n):
        total_wanted += abs(wanted[k])
        total_gravity += abs(gravity[k])
        if not (abs(wanted[k]) <= c.upper[k] and abs(wanted[k] - command[k]) <= c.rates[k] * dt):
            return False
    if not total_wanted + total_gravity < MAX_TORQUE:
        return False
    for k in range(n):
        command[k] = wanted[k]
        c.gravity[k] = gravity[k]
    c.now = now
    c.state_time = state_time if age > 0.0 else now
    c.sent = now
    return True
