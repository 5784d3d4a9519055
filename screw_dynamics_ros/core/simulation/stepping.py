# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steps between stops: as long as motion and contacts allow, and ended by impacts."""

from __future__ import annotations

import math
from operator import lt

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError, DivergenceError
from screw_dynamics_ros.core.integration import Integrator
from screw_dynamics_ros.core.integration.integrator import Torques
from screw_dynamics_ros.core.robot.robot import Robot
from screw_dynamics_ros.core.simulation.compliant_forces import Effects
from screw_dynamics_ros.core.simulation.environment import Environment
from screw_dynamics_ros.core.simulation.stage_torques import StageTorques
from screw_dynamics_ros.core.simulation.stops import LIMIT_TOLERANCE, Stops, first_passage
from screw_dynamics_ros.core.tree.joint_limits import of_coordinates, velocity_names
from screw_dynamics_ros.core.types import Array

#: A step is too long if the robot moves further than this in it [rad, m], ...
MAX_WAY = 0.2
#: ... or if contacts and springs would swing by a larger angle [rad], ...
MAX_SWING = 0.3
#: ... which is smaller where a contact begins or ends, ...
FIRST_SWING = 0.1
#: ... or if it gains more energy than the torques give, as a part of that of motion and springs.
ENERGY_GAIN = 1e-4
#: What energies may differ by without meaning, as a part of their terms.
ENERGY_TOLERANCE = 1e-12

#: A step is divided into so many, and by impacts, ...
MAX_SUBSTEPS = 64
#: ... of which each may gain so much; with more the motion has diverged.
MAX_ENERGY_GAIN = 0.1
#: How often the time of an impact is looked for in a step; others are put at the end of a substep.
MAX_SEARCHES = 8


#: q, v, and what planes and springs do there, if there are any.
State = tuple[Array, Array, Effects | None]
#: q, v, the memory of contacts, and the impulses (nv,) of the stops [N m s, N s] if they acted.
Moved = tuple[Array, Array, Array, Array | None]


class Stepping:
    """Moves a robot by steps of an integrator, divided where they are too long.

    Parameters
    ----------
    robot : Robot
    integrator : Integrator
    environment : Environment, optional
        Planes and springs.
    """

    def __init__(
        self, robot: Robot, integrator: Integrator, environment: Environment | None = None
    ) -> None:
        self._robot, self.integrator, self._stops = robot, integrator, Stops(robot)
        acting = environment is not None and not environment.is_empty
        self._environment = environment if acting else None
        self._lower = of_coordinates(robot, robot.limits.lower, -np.inf).tolist()
        self._upper = of_coordinates(robot, robot.limits.upper, np.inf).tolist()
        free = [body.v for body in robot.tree.bodies if body.dof == 6]
        flying = [k for v in free for k in range(v.start + 3, v.stop)]
        self._adding = not free  # coordinates add
        # How fast a free body flies needs no short steps, only how fast it turns.
        self._rates = np.delete(np.arange(robot.nv), flying)

    def moved(self, q: Array, v: Array, memory: Array, tau: Array, dt: float) -> Moved:
        """Return the state a time dt [s] later.

        Raises `DivergenceError` if the shortest steps do not follow the motion either.
        """
        try:
            after = self._whole(q, v, memory, tau, dt)
            if after is not None:
                return after[0], after[1], remembered(after, memory), None
            if not all(np.isfinite(numbers).all() for numbers in (q, v, tau)):
                raise DivergenceError(f'not finite: q = {q}, v = {v}, or the torques {tau}')
            return self._divided(q, v, memory, tau, dt)
        except np.linalg.LinAlgError as error:
            raise DivergenceError(f'the motion from q = {q} is not defined: {error}') from None

    def _whole(self, q: Array, v: Array, memory: Array, tau: Array, dt: float) -> State | None:
        """Return the state after one step; None if it is too long or a stop is touched."""
        before, torques = self._state(q, v, memory), self._all_torques(tau, memory)
        if before[2] is not None and dt > self._longest_swing(before):
            return None
        q_next, v_next = self._step(q, v, torques, dt)
        positions = q_next.tolist()
        if not (all(map(lt, self._lower, positions)) and all(map(lt, positions, self._upper))):
            return None
        after = self._state(q_next, v_next, memory)
        if self._begins_too_fast(before, after, torques, dt):
            return None
        return after if self._follows(before, after, tau, dt) else None

    def _state(self, q: Array, v: Array, memory: Array) -> State:
        """Return a state with what planes and springs do in it."""
        if self._environment is None:
            return q, v, None
        return q, v, self._environment.effects(q, v, memory)

    def _all_torques(self, tau: Array, memory: Array) -> Array | StageTorques:
        """Return the torques tau (nv,) with those of planes and springs, for integrators."""
        environment = self._environment
        return tau if environment is None else StageTorques(environment, tau, memory)

    def _step(self, q: Array, v: Array, tau: Torques, dt: float) -> tuple[Array, Array]:
        """Return the state after one step of the integrator, NaN if a free body turns too far."""
        try:
            return self.integrator.step(q, v, tau, dt)
        except ArgumentError:
            return np.full(len(q), np.nan), np.full(len(v), np.nan)

    def _longest_swing(self, state: State) -> float:
        """Return the longest step [s] that resolves how contacts and springs swing.

        With the elastic forces f = J^T K x and their energy E = x^T K x / 2, the quotient f^T M^-1
        f / 2 E is the square of the frequency at which x would swing (Rayleigh).
        """
        q, v, effects = state
        if effects is None or not effects.energy > 0.0:
            return math.inf
        f, accelerations = effects.elastic, self._robot.forward_dynamics
        caused = accelerations(q, v, f) - accelerations(q, v, np.zeros(len(f)))
        square = float(f.dot(caused)) / (2.0 * float(effects.energy))
        return MAX_SWING / math.sqrt(square) if square > 0.0 else math.inf

    def _begins_too_fast(
        self, before: State, after: State, torques: Array | StageTorques, dt: float
    ) -> bool:
        """Return whether a step is too long for a contact that begins or ends in it, or both."""
        if before[2] is None or after[2] is None or not isinstance(torques, StageTorques):
            return False
        if torques.strongest is None or (before[2].energy > 0.0 and after[2].energy > 0.0):
            return False
        within = self._state(*torques.strongest, torques.memory)
        return dt * MAX_SWING > FIRST_SWING * self._longest_swing(within)

    def _follows(
        self,
        before: State,
        after: State,
        tau: Array,
        dt: float,
        way: float = MAX_WAY,
        gain: float = ENERGY_GAIN,
    ) -> bool:
        """Return whether a step is short enough for the motion; stops do no work in it.

        `way` is infinite if there is no shorter one.
        """
        v, v_next = before[1], after[1]
        rates, rates_next = (v, v_next) if self._adding else (v[self._rates], v_next[self._rates])
        if not dt * dt * (rates.dot(rates) + rates_next.dot(rates_next)) <= way * way:
            return False  # nor is what is not a number
        if after[2] is not None and way < math.inf and dt > self._longest_swing(after):
            return False
        gained, motion, scale = self._energy_gain(before, after, tau, dt)
        return gained <= gain * motion + ENERGY_TOLERANCE * scale

    def _energy_gain(
        self, before: State, after: State, tau: Array, dt: float
    ) -> tuple[float, float, float]:
        """Return the energy gained without a cause, that of motion and springs, and all terms."""
        robot, (q, v, effects), (q_next, v_next, effects_next) = self._robot, before, after
        U, U_next = float(robot.potential_energy(q)), float(robot.potential_energy(q_next))
        T, T_next = float(robot.kinetic_energy(q, v)), float(robot.kinetic_energy(q_next, v_next))
        if effects is not None and effects_next is not None:
            T, T_next = T + float(effects.energy), T_next + float(effects_next.energy)
        # Exact where coordinates add: the torques are constant.
        work = float(tau.dot(q_next - q) if self._adding else tau.dot(v + v_next) * (dt / 2))
        return T_next + U_next - T - U - work, T + T_next, abs(U) + abs(U_next) + abs(work)

    def _without_gain(self, before: State, after: State, tau: Array) -> Array:
        """Return the velocity after, slower if more energy is left than was put in.

        Stops act at the right time to first order only, where impacts follow each other too fast.
        """
        q, v, _ = after
        if not self._adding:
            return v  # velocities of a free robot carry momentum
        gained = self._energy_gain(before, after, tau, 0.0)[0]
        T = float(self._robot.kinetic_energy(q, v))
        if not (gained > 0.0 and T > 0.0):
            return v
        slower: Array = v * math.sqrt(max(0.0, 1.0 - gained / T))
        return slower

    def _divided(self, q: Array, v: Array, memory: Array, tau: Array, dt: float) -> Moved:
        """Return the state a time dt later by substeps."""
        stops, q, impulses = self._stops, q.copy(), np.zeros(len(v))
        remaining, shortest, searches = dt, dt / MAX_SUBSTEPS, MAX_SEARCHES
        longest, acted, before = dt, False, self._state(q, v, memory)
        while True:
            limits = stops.limits_from(q)
            touched = np.flatnonzero(stops.distances(q, limits) <= LIMIT_TOLERANCE)
            v, impulse = stops.impact(q, v, touched)
            if acted:
                v = self._without_gain(before, self._state(q, v, memory), tau)
            impulses += impulse
            velocities = stops.velocities(v)
            resting = touched[velocities[touched] <= 0.0]
            q[stops.q[resting]] = limits[resting]
            if not remaining > 0.0:
                return q, v, memory, impulses
            distances = stops.distances(q, limits)
            before, total = self._state(q, v, memory), self._all_torques(tau, memory)
            held, load = stops.bearing(q, v, total, resting)
            h = longest = min(max(min(longest, self._longest_swing(before)), shortest), remaining)
            while True:
                if isinstance(total, StageTorques):
                    total.forget()
                q_next, v_next = self._step(q, v, stops.holding(total, held), h)
                q_next[stops.q[held]], v_next[stops.v[held]] = limits[held], 0.0
                after = self._state(q_next, v_next, memory)
                too_fast = self._begins_too_fast(before, after, total, h)
                if too_fast or not self._follows(before, after, tau, h):
                    if h > shortest:
                        h = longest = max(h / 2, shortest)
                        continue
                    if not self._follows(before, after, tau, h, math.inf, MAX_ENERGY_GAIN):
                        raise self._divergence(v, v_next, h)
                later = stops.distances(q_next, limits)
                passed = later < -LIMIT_TOLERANCE
                loaded = resting[passed[resting]]
                if loaded.size:  # since the substep began
                    held = np.union1d(held, loaded)
                    continue
                if not passed.any() or not searches:
                    break
                searches -= 1
                h = first_passage(
                    distances[passed] + LIMIT_TOLERANCE / 2,
                    velocities[passed],
                    later[passed] + LIMIT_TOLERANCE / 2,
                    h,
                )
            reached = (later < 0.0) | (later < LIMIT_TOLERANCE) & (stops.velocities(v_next) < 0.0)
            if reached.any():
                q_next[stops.q[reached]] = limits[reached]
                after = self._state(q_next, v_next, memory)
            acted = bool(reached.any() or held.size)
            memory = remembered(after, memory)
            q, v, remaining = q_next, v_next, remaining - h
            impulses += load * h
            longest *= 2

    def _divergence(self, v: Array, v_next: Array, dt: float) -> DivergenceError:
        """Return what a substep of dt [s] that leads from v to v_next ends in."""
        change = np.where(np.isfinite(v_next), np.abs(v_next - v), np.inf)
        joint = velocity_names(self._robot)[int(change.argmax())]
        return DivergenceError(
            f'the motion is too fast for steps of {dt:.3g} s: within one, the velocity of '
            f'{joint!r} goes from {v[change.argmax()]:.6g} to {v_next[change.argmax()]:.6g}; take '
            'smaller torques and wrenches or shorter steps'
        )


def remembered(state: State, memory: Array) -> Array:
    """Return the memory for the next step from a state."""
    return memory if state[2] is None else state[2].memory
