# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Commands of drives beside torques: positions, velocities, stiffness and damping.

Of drives with the torque k (p - q) + d (w - v) + tau, with tau the commanded torque. For a
reference (q_d, v_d) of a joint,

    p = q + s / k,    w = g v_d,    stiffness g k,    damping d

s is k (q_d - q) and g is 1 where a reference is followed; otherwise both are 0. s and g are entries
of the command beside the torques: they have the same ramps, blends, actions and, for s, limits.
When states are lost or torques are removed, w is 0 and the damping remains: it only takes energy.
In a state g k (p - q) + tau is within the limit of the torque. Torques of drives and servos begin
with those for the weight, not with zero: they hold the robot before, and it would sink during a
ramp.

Servos take positions only. The torque tau of a joint at rest is k (p - q), with the stiffness k of
the servo. The commanded position therefore is

    p = b + tau / k

within limits. b is the measured position when torques begin; it moves to the references, at most at
the velocity limit, and stays without one.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...compile.typed.functions import Floats, typed
from ...compile.typed.memory import copy_bytes
from ...compile.typed.records import Record
from . import command_rules as rules
from .command_rules import FOLLOWING, CommandRecord
from .command_settings import CommandSettings

#: Blocks of `DriveTargets.numbers`; SERVO: positions of servos.
EFFORT, POSITION, VELOCITY, STIFFNESS, DAMPING, SERVO = range(6)
#: Those of an impedance command.
IMPEDANCE = POSITION, VELOCITY, STIFFNESS, DAMPING, EFFORT

#: Suffixes of joints in the names of the entries s and g.
ENTRIES = ' (stiffness)', ' (gain)'


class DriveTargets(Record):
    """Positions, velocities and gains for n drives; command entries are torques, s and g.

    Parameters
    ----------
    reference : (4 n,) array
        1 for joints with a reference, their positions, velocities and accelerations.
    measured : (3 n,) array
        Joint state, of which positions are read.

    Attributes
    ----------
    reference, measured
        As given.
    stiffness, damping : (n,) arrays
        k and d of drives, not negative [N m/rad, N m s/rad; N/m, N s/m].
    compliance, offsets : (n,) arrays
        1 / k of servos, 0 for others, and largest distance of p from b [rad, m].
    lower, upper, speeds : (n,) arrays
        Limits of positions and speeds [rad, m, rad/s, m/s].
    wanted, gravity : (n,) or (3 n,) arrays
        What the command is to follow; (n,) if no drive has stiffness or damping.
    q, base : (n,) arrays
        Positions in the last usable state, and b; NaN if there was none.
    last : float
        Time of the last command [s].
    numbers : (6 n,) array
        EFFORT, POSITION, VELOCITY, STIFFNESS, DAMPING, SERVO.
    """

    reference: Floats
    measured: Floats
    stiffness: Floats
    damping: Floats
    compliance: Floats
    offsets: Floats
    lower: Floats
    upper: Floats
    speeds: Floats
    wanted: Floats
    gravity: Floats
    q: Floats
    base: Floats
    last: float
    numbers: Floats

    def __init__(self, reference: Floats, measured: Floats) -> None:
        n = len(reference) // 4
        self.reference, self.measured = reference, measured
        self.stiffness, self.damping, self.compliance, self.offsets = np.zeros((4, n))
        self.upper, self.speeds = np.full((2, n), np.inf)
        self.lower = -self.upper
        self.q, self.base = np.full((2, n), np.nan)
        self.last, self.numbers = math.inf, np.zeros(6 * n)
        self.wanted, self.gravity = np.zeros((2, n))

    def configure(
        self, limits: Floats, stiffness: Floats, damping: Floats, servos: Floats, offsets: Floats
    ) -> None:
        """Set stiffness and damping of drives, and stiffness and largest offset of servos.

        All are (n,) arrays, 0 for none; `limits` are those of the torques [N m, N]: a drive with
        the limit 0 has neither stiffness nor damping.
        """
        self.stiffness, self.damping = stiffness * (limits > 0.0), damping * (limits > 0.0)
        self.compliance = np.divide(1.0, servos, out=np.zeros_like(servos), where=servos > 0.0)
        self.offsets = offsets
        n = len(self.q) * (3 if stiffness.any() or damping.any() else 1)
        self.wanted, self.gravity = np.zeros((2, n))

    def settings(self, torques: CommandSettings) -> CommandSettings:
        """Return the settings of a command with the entries that are followed, see `wanted`.

        `torques` are those of the n torques.
        """
        if len(self.wanted) == len(self.q):
            return torques
        one = np.ones(len(self.q))
        return replace(
            torques,
            joints=[f'{name}{what}' for what in ('', *ENTRIES) for name in torques.joints],
            limits=np.concatenate([torques.limits, torques.limits, one]),
            rates=np.concatenate([torques.rates, torques.rates, one * np.inf]),
        )


@typed
def follow_state(d: DriveTargets, c: CommandRecord, wanted: Floats, gravity: Floats) -> None:
    """Write what the command is to follow in a usable state, before `command_rules.step`.

    `wanted` and `gravity` are torques (n,) [N m, N].
    """
    n = len(d.q)
    copy_bytes(d.q, d.measured, 8 * n)
    copy_bytes(d.wanted, wanted, 8 * n)
    copy_bytes(d.gravity, gravity, 8 * n)
    if rules.is_quiet(c):
        begins = c.is_enabled and rules.total(gravity, n) < rules.MAX_TORQUE
        for k in range(n):
            d.base[k] = math.nan
            is_held = max(d.stiffness[k], d.damping[k], d.compliance[k]) > 0.0
            torque = gravity[k] if begins and is_held else 0.0
            c.command[k] = max(-c.upper[k], min(c.upper[k], torque))
    if len(d.wanted) > n:
        for k in range(n):
            error = d.reference[n + k] - d.q[k]
            d.wanted[n + k] = d.reference[k] * d.stiffness[k] * error
            d.wanted[2 * n + k] = d.reference[k]


@typed
def write_targets(d: DriveTargets, c: CommandRecord) -> None:
    """Write `numbers` for a command; a joint whose position is unknown has the measured one."""
    n = len(d.q)
    is_following = c.phase == FOLLOWING
    dt = max(0.0, min(c.sent - d.last, c.age_limit))
    d.last = c.sent
    copy_bytes(d.numbers, c.command, 8 * n)
    for k in range(n):
        if math.isnan(d.q[k]):
            d.q[k] = d.measured[k]
        if math.isnan(d.base[k]):
            d.base[k] = d.q[k]
        torque = c.command[k]
        share = 0.0
        position = d.q[k]
        if len(c.command) > n:
            share = c.command[2 * n + k]
            if d.stiffness[k] > 0.0:
                spring = min(c.upper[k] - torque, c.command[n + k])
                position += max(-c.upper[k] - torque, spring) / d.stiffness[k]
        d.numbers[n + k] = position
        d.numbers[2 * n + k] = share * d.reference[2 * n + k] if is_following else 0.0
        d.numbers[3 * n + k] = share * d.stiffness[k]
        d.numbers[4 * n + k] = d.damping[k]
        if is_following and d.reference[k] != 0.0 and dt > 0.0:
            step = d.speeds[k] * dt
            d.base[k] += max(-step, min(step, d.reference[n + k] - d.base[k]))
        offset = max(-d.offsets[k], min(d.offsets[k], d.compliance[k] * torque))
        lowest = min(d.lower[k], d.base[k])
        highest = max(d.upper[k], d.base[k])
        d.numbers[5 * n + k] = max(lowest, min(highest, d.base[k] + offset))
