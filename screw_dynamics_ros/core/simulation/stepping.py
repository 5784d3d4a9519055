"""Steps between stops: as long as the motion allows, and ended by impacts."""

from __future__ import annotations

import math
from operator import lt

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError, DivergenceError
from screw_dynamics_ros.core.integration import Integrator
from screw_dynamics_ros.core.integration.integrator import Torques
from screw_dynamics_ros.core.robot.robot import Robot
from screw_dynamics_ros.core.simulation.stops import CLOSE, Stops, first_passage
from screw_dynamics_ros.core.tree.joint_limits import of_coordinates, velocity_names
from screw_dynamics_ros.core.types import Array

#: A step is too long if the robot moves further than this in it [rad, m], ...
LONGEST_WAY = 0.2
#: ... or gains more energy than the torques give, as a part of its kinetic energy before and after.
ENERGY_GAIN = 1e-4
#: What energies may differ by without meaning, as a part of their terms.
ROUNDING = 1e-12

#: A step is divided into so many, and by impacts, ...
MOST_SUBSTEPS = 64
#: ... of which each may gain so much; with more the motion has diverged.
MOST_ENERGY_GAIN = 0.1
#: How often the time of an impact is looked for in a step; others are put at the end of a substep.
MOST_SEARCHES = 8


class Stepping:
    """Moves a robot by steps of an integrator, divided where they are too long.

    Parameters
    ----------
    robot : Robot
    integrator : Integrator
    """

    def __init__(self, robot: Robot, integrator: Integrator) -> None:
        self._robot, self.integrator, self._stops = robot, integrator, Stops(robot)
        self._lower = of_coordinates(robot, robot.limits.lower, -np.inf).tolist()
        self._upper = of_coordinates(robot, robot.limits.upper, np.inf).tolist()
        free = [body.v for body in robot.tree.bodies if body.dof == 6]
        flying = [k for v in free for k in range(v.start + 3, v.stop)]
        self._adding = not free  # coordinates add
        # How fast a free body flies needs no short steps, only how fast it turns.
        self._rates = np.delete(np.arange(robot.nv), flying)

    def moved(self, q: Array, v: Array, tau: Array, dt: float) -> tuple[Array, Array, Array | None]:
        """Return q and v a time dt [s] later, and the impulses (nv,) of the stops if they acted.

        Raises `DivergenceError` if the shortest steps do not follow the motion either.
        """
        q_next, v_next = self._step(q, v, tau, dt)
        positions = q_next.tolist()
        if (
            all(map(lt, self._lower, positions))
            and all(map(lt, positions, self._upper))
            and self._follows(q, v, q_next, v_next, tau, dt)
        ):
            return q_next, v_next, None
        if not all(np.isfinite(numbers).all() for numbers in (q, v, tau)):
            raise DivergenceError(f'not finite: q = {q}, v = {v}, or the torques {tau}')
        try:
            return self._divided(q, v, tau, dt)
        except np.linalg.LinAlgError as error:
            raise DivergenceError(f'the motion from q = {q} is not defined: {error}') from None

    def _step(self, q: Array, v: Array, tau: Torques, dt: float) -> tuple[Array, Array]:
        """Return the state after one step of the integrator, NaN if a free body turns too far."""
        try:
            return self.integrator.step(q, v, tau, dt)
        except ArgumentError:
            return np.full(len(q), np.nan), np.full(len(v), np.nan)

    def _follows(
        self,
        q: Array,
        v: Array,
        q_next: Array,
        v_next: Array,
        tau: Array,
        dt: float,
        way: float = LONGEST_WAY,
        gain: float = ENERGY_GAIN,
    ) -> bool:
        """Return whether a step is short enough for the motion; stops do no work in it."""
        rates, rates_next = (v, v_next) if self._adding else (v[self._rates], v_next[self._rates])
        if not dt * dt * (rates.dot(rates) + rates_next.dot(rates_next)) <= way * way:
            return False  # nor is what is not a number
        # Exact where coordinates add: the torques are constant.
        work = float(tau.dot(q_next - q) if self._adding else tau.dot(v + v_next) * (dt / 2))
        T, U, T_next, U_next = self._energies(q, v, q_next, v_next)
        tolerance = gain * (T + T_next) + ROUNDING * (abs(U) + abs(U_next) + abs(work))
        return bool(T_next + U_next - T - U - work <= tolerance)

    def _energies(
        self, q: Array, v: Array, q_next: Array, v_next: Array
    ) -> tuple[float, float, float, float]:
        """Return kinetic and potential energy before and after [J]."""
        T, U = self._robot.kinetic_energy, self._robot.potential_energy
        return float(T(q, v)), float(U(q)), float(T(q_next, v_next)), float(U(q_next))

    def _without_gain(self, q: Array, v: Array, q_next: Array, v_next: Array, tau: Array) -> Array:
        """Return v_next, slower if more energy is left after stops have acted than was put in.

        They act at the right time to first order only, where impacts follow each other too fast.
        """
        if not self._adding:
            return v_next  # velocities of a free robot carry momentum
        T, U, T_next, U_next = self._energies(q, v, q_next, v_next)
        gained = T_next + U_next - T - U - float(tau.dot(q_next - q))
        if not (gained > 0.0 and T_next > 0.0):
            return v_next
        slower: Array = v_next * math.sqrt(max(0.0, 1.0 - gained / T_next))
        return slower

    def _divided(self, q: Array, v: Array, tau: Array, dt: float) -> tuple[Array, Array, Array]:
        """Return the state a time dt later by substeps, and the impulses of the stops (nv,)."""
        stops, q, impulses = self._stops, q.copy(), np.zeros(len(v))
        remaining, shortest, searches = dt, dt / MOST_SUBSTEPS, MOST_SEARCHES
        longest, acted, q_before, v_before = dt, False, q, v
        while True:
            limits = stops.limits_from(q)
            touched = np.flatnonzero(stops.distances(q, limits) <= CLOSE)
            v, impulse = stops.impact(q, v, touched)
            if acted:
                v = self._without_gain(q_before, v_before, q, v, tau)
            impulses += impulse
            velocities = stops.velocities(v)
            resting = touched[velocities[touched] <= 0.0]
            q[stops.q[resting]] = limits[resting]
            if not remaining > 0.0:
                return q, v, impulses
            distances = stops.distances(q, limits)
            held, load = stops.bearing(q, v, tau, resting)
            h = longest = min(max(longest, shortest), remaining)
            while True:
                q_next, v_next = self._step(q, v, stops.holding(tau, held), h)
                q_next[stops.q[held]], v_next[stops.v[held]] = limits[held], 0.0
                if not self._follows(q, v, q_next, v_next, tau, h):
                    if h > shortest:
                        h = longest = max(h / 2, shortest)
                        continue
                    if not self._follows(q, v, q_next, v_next, tau, h, math.inf, MOST_ENERGY_GAIN):
                        raise self._divergence(v, v_next, h)
                later = stops.distances(q_next, limits)
                passed = later < -CLOSE
                loaded = resting[passed[resting]]
                if loaded.size:  # since the substep began
                    held = np.union1d(held, loaded)
                    continue
                if not passed.any() or not searches:
                    break
                searches -= 1
                h = first_passage(
                    distances[passed] + CLOSE / 2, velocities[passed], later[passed] + CLOSE / 2, h
                )
            reached = (later < 0.0) | (later < CLOSE) & (stops.velocities(v_next) < 0.0)
            q_next[stops.q[reached]] = limits[reached]
            acted = bool(reached.any() or held.size)
            q_before, v_before = q, v
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
