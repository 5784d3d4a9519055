# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether one step of an integrator is short enough for motion, contacts and energy.

Everything here runs on numbers, and on recorded scalars for the compiled step; masks of these have
no values, so that nothing may depend on them but by `chosen`.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from ..compile.program.recorded_arrays import RecordedArray
from ..types import Array
from .compliant_forces import Effects

#: A step is too long if the robot moves further than this in it [rad, m], ...
MAX_WAY = 0.2
#: ... or if contacts and springs would swing by a larger angle [rad], ...
MAX_SWING = 0.3
#: ... which is smaller where a contact begins or ends, ...
FIRST_SWING = 0.1
#: ... or if it gains more energy than the torques give, as a part of that of motion and springs.
ENERGY_GAIN = 1e-4
#: A step that is too long is divided into up to so many, and by impacts.
MAX_SUBSTEPS = 64
#: What energies may differ by without meaning, as a part of their terms.
ENERGY_TOLERANCE = 1e-12

#: q, v, and what planes and springs do there, if there are any.
State = tuple[Array, Array, Effects | None]


class CompliantEnvironment(Protocol):
    """Planes and springs: `Environment`, or what is recorded of it."""

    def torques(self, q: Array, v: Array, memory: Array) -> Array:
        """Return the generalized forces (nv,) in a state [N m, N]."""

    def effects(self, q: Array, v: Array, memory: Array) -> Effects:
        """Return all that planes and springs do in a state."""


class StepConditions:
    """Conditions on a step between two states.

    Parameters
    ----------
    robot : Robot or RecordedRobot
    """

    def __init__(self, robot: Any) -> None:
        self._robot = robot
        free = robot.free_bodies.values()
        flying = [k for v in free for k in range(v.start + 3, v.stop)]
        self.adding = not free  # coordinates add
        # How fast a free body flies needs no short steps, only how fast it turns.
        self._rates = np.delete(np.arange(robot.nv), flying)

    def is_slow(self, before: State, after: State, dt: float, way: float = MAX_WAY) -> Any:
        """Return whether the robot moves by less than `way` [rad, m]; what is NaN does not."""
        v, v_next = before[1], after[1]
        rates, rates_next = (v, v_next) if self.adding else (v[self._rates], v_next[self._rates])
        return dt * dt * (rates @ rates + rates_next @ rates_next) <= way * way

    def squared_frequency(self, state: State) -> Any:
        """Return the square of the frequency [1/s^2] at which contacts and springs swing.

        With the elastic forces f = J^T K x and their energy E = x^T K x / 2, the quotient f^T M^-1
        f / 2 E is the square of the frequency at which x would swing (Rayleigh).
        """
        q, v, effects = state
        if effects is None:
            return 0.0
        acts = effects.energy > 0.0
        if is_false(acts):
            return 0.0
        f, accelerations = effects.elastic, self._robot.forward_dynamics
        caused = accelerations(q, v, f) - accelerations(q, v, np.zeros(len(f)))
        return chosen(acts, f @ caused / (2.0 * effects.energy), 0.0)

    def swings_too_far(self, state: State, dt: float, angle: float = MAX_SWING) -> Any:
        """Return whether contacts and springs swing by more than an angle [rad] in a step."""
        return dt * dt * self.squared_frequency(state) > angle * angle

    def begins_too_fast(self, before: State, after: State, torques: Any, dt: float) -> Any:
        """Return whether a step is too long for a contact that begins or ends in it, or both.

        `torques` are `StageTorques`, or others without planes and springs.
        """
        if before[2] is None or after[2] is None or torques.strongest is None:
            return False
        acting = torques.size > 0.0
        rare = acting & np.logical_not((before[2].energy > 0.0) & (after[2].energy > 0.0))
        if is_false(rare):
            return rare
        return rare & self.swings_too_far(torques.strongest_state(), dt, FIRST_SWING)

    def keeps_energy(
        self, before: State, after: State, tau: Array, dt: float, gain: float = ENERGY_GAIN
    ) -> Any:
        """Return whether a step gains less energy than torques give, and a part of the motion's."""
        gained, motion, scale = self.energy_gain(before, after, tau, dt)
        return gained <= gain * motion + ENERGY_TOLERANCE * scale

    def energy_gain(
        self, before: State, after: State, tau: Array, dt: float
    ) -> tuple[Any, Any, Any]:
        """Return the energy gained without a cause, that of motion and springs, and all terms."""
        robot, (q, v, effects), (q_next, v_next, effects_next) = self._robot, before, after
        U, U_next = robot.potential_energy(q), robot.potential_energy(q_next)
        T, T_next = robot.kinetic_energy(q, v), robot.kinetic_energy(q_next, v_next)
        if effects is not None and effects_next is not None:
            T, T_next = T + effects.energy, T_next + effects_next.energy
        # Exact where coordinates add: the torques are constant.
        work = tau @ (q_next - q) if self.adding else tau @ (v + v_next) * (dt / 2)
        return T_next + U_next - T - U - work, T + T_next, abs(U) + abs(U_next) + abs(work)


def longest_swing(square: float) -> float:
    """Return the longest step [s] that resolves a swing, by its squared frequency [1/s^2]."""
    return MAX_SWING / math.sqrt(square) if square > 0.0 else math.inf


def is_false(mask: Any) -> bool:
    """Return whether a mask is a number and not set."""
    return not (isinstance(mask, RecordedArray) or mask)


def chosen(mask: Any, x: Any, y: Any) -> Any:
    """Return x where a mask is set, else y."""
    if isinstance(mask, RecordedArray):
        return np.where(mask, x, y)
    return x if mask else y
