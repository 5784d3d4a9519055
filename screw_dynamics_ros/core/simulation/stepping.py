# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steps between stops: as long as motion and contacts allow, and ended by impacts.

Steps of stacks of robots: always one of the integrator, with the stops of all at once.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import float_array, vector
from ..errors import ArgumentError, DivergenceError
from ..integration import Integrator
from ..integration.integrator import Torques
from ..robot.robot import Robot
from ..tree.joint_limits import position_limits, velocity_names
from ..types import Array
from .bristles import Bristles
from .environment import Environment
from .stops import LIMIT_TOLERANCE, Stops, first_passage
from .whole_step import (
    MAX_SUBSTEPS,
    CompiledWholeStep,
    Moved,
    Remainder,
    StageTorques,
    State,
    StepConditions,
    StepReport,
    is_compiled,
    longest_swing,
    state,
    whole_step,
)

#: What the shortest substep may gain; with more the motion has diverged.
MAX_ENERGY_GAIN = 0.1
#: How often the time of an impact is looked for in a step; others are put at the end of a substep.
MAX_SEARCHES = 8


class Stepping:
    """Moves a robot by steps of an integrator, divided where they are too long.

    Parameters
    ----------
    robot : Robot
    integrator : Integrator
    environment : Environment
        Planes and springs.
    bristles : Bristles
        Of joints; `robot` is their attribute.
    """

    def __init__(
        self, robot: Robot, integrator: Integrator, environment: Environment, bristles: Bristles
    ) -> None:
        self._robot, self.integrator, self._stops = robot, integrator, Stops(robot)
        self._conditions, self._bristles = StepConditions(robot, bristles), bristles
        self._planes_and_springs = environment
        self._environment = None if environment.is_empty else environment
        self._limits = position_limits(robot)

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles hold: they compile their step again."""
        return {name: value for name, value in self.__dict__.items() if name != 'compiled'}

    @cached_property
    def compiled(self) -> CompiledWholeStep | None:
        """The step as machine code, if it is compiled."""
        if not is_compiled(self._robot, self.integrator):
            return None
        return CompiledWholeStep(
            *(self._robot, self.integrator, self._planes_and_springs, self._bristles, self._limits)
        )

    def moved(self, q: Array, v: Array, memory: Array, tau: ArrayLike, dt: float) -> Moved:
        """Return the state a time dt [s] later.

        Raises `ArgumentError` for torques of another shape, and `DivergenceError` if the shortest
        steps do not follow the motion either.
        """
        if self.compiled is None:
            return self._moved(q, v, memory, vector('tau', self._robot.nv, tau), dt)
        after = self.compiled.whole(q, v, memory, tau, dt)
        if after is not None:
            return after
        tau = vector('tau', self._robot.nv, tau)
        q, v, memory, remainder = self.compiled.substeps(q, v, memory, tau, dt)
        if not remainder.time > 0.0:
            return q, v, memory, None
        return self._moved(q, v, memory, tau, dt, remainder)

    @np.errstate(over='ignore', invalid='ignore')  # divergence raises an error
    def _moved(
        self,
        q: Array,
        v: Array,
        memory: Array,
        tau: Array,
        dt: float,
        remainder: Remainder | None = None,
    ) -> Moved:
        """Return the state a time dt later, or the remainder of it, by functions of the robot."""
        try:
            if remainder is None:
                after, report = self._whole(q, v, memory, tau, dt)
                if report.is_whole:
                    return *after[:2], self._bristles.remembered(memory, q, after), None
                remainder = Remainder(dt, dt, dt / MAX_SUBSTEPS)
            if not all(np.isfinite(numbers).all() for numbers in (q, v, tau)):
                raise DivergenceError(f'not finite: q = {q}, v = {v}, or the torques {tau}')
            return self._divided(q, v, memory, tau, remainder)
        except np.linalg.LinAlgError as error:
            raise DivergenceError(f'the motion from q = {q} is not defined: {error}') from None

    def prepare(self, q: Array, memory: Array) -> None:
        """Compile the functions of `moved`, also of steps that are divided."""
        start = q, np.zeros(self._robot.nv), memory, np.zeros(self._robot.nv), 1e-9
        self.moved(*start)
        self._moved(*start)
        self._robot.inverse_mass_matrix(q)

    def _whole(
        self, q: Array, v: Array, memory: Array, tau: Array, dt: float
    ) -> tuple[State, StepReport]:
        """Return the state after one step, and whether it is short enough."""
        start = self._bristles, self._limits, q, v, memory, tau, dt
        return whole_step(self._conditions, self._step, self._environment, *start)

    def _state(self, q: Array, v: Array, memory: Array) -> State:
        """Return a state with what planes and springs do in it."""
        return state(self._environment, q, v, self._bristles.split(memory)[0])

    def _all_torques(self, tau: Array, memory: Array) -> Array | StageTorques:
        """Return the torques tau (nv,) with those of planes and springs, for integrators."""
        environment, contacts = self._environment, self._bristles.split(memory)[0]
        return tau if environment is None else StageTorques(environment, tau, contacts)

    def _step(self, q: Array, v: Array, tau: Torques, dt: float) -> tuple[Array, Array]:
        """Return the state after one step of the integrator, NaN if a free body turns too far."""
        try:
            return self.integrator.step(q, v, tau, dt)
        except ArgumentError:
            return np.full(len(q), np.nan), np.full(len(v), np.nan)

    def _follows(self, before: State, after: State, tau: Array, dt: float) -> bool:
        """Return whether a step is short enough for the motion; stops do no work in it."""
        conditions = self._conditions
        return bool(
            conditions.is_slow(before, after, dt)
            and not conditions.swings_too_far(after, dt)
            and conditions.keeps_energy(before, after, tau, dt)
        )

    def _follows_at_last(self, before: State, after: State, tau: Array, dt: float) -> bool:
        """Return whether a step that cannot be shorter does not diverge."""
        conditions = self._conditions
        return bool(
            conditions.is_slow(before, after, dt, math.inf)
            and conditions.keeps_energy(before, after, tau, dt, MAX_ENERGY_GAIN)
        )

    def _divided(
        self, q: Array, v: Array, memory: Array, tau: Array, remainder: Remainder
    ) -> Moved:
        """Return the state after the remainder of a step by substeps."""
        stops, q, impulses = self._stops, q.copy(), np.zeros(len(v))
        (remaining, longest, shortest), searches = remainder, MAX_SEARCHES
        acted, before, driving = False, self._state(q, v, memory), tau
        while True:
            limits = stops.limits_from(q)
            touched = stops.distances(q, limits) <= LIMIT_TOLERANCE
            is_touched = touched.any()
            if is_touched:
                v, impulse = stops.impact(q, v, touched)
                impulses += impulse
            if acted:
                v = self._conditions.without_gain(before, self._state(q, v, memory), driving)
            velocities = stops.velocities(v)
            resting = touched & (velocities <= 0.0)
            if is_touched:
                stops.hold(q, limits, resting)
            if not remaining > 0.0:
                return q, v, memory, impulses
            distances = stops.distances(q, limits)
            before = self._state(q, v, memory)
            swing = longest_swing(float(self._conditions.squared_frequency(before)))
            h = longest = min(max(min(longest, swing), shortest), remaining)
            driving = self._bristles.less_friction(self._robot, before, memory, tau, h)
            total = self._all_torques(driving, memory)
            held, load = stops.bearing(q, v, total, resting, remaining)
            while True:
                driving = self._bristles.less_friction(self._robot, before, memory, tau, h)
                total = self._all_torques(driving, memory)
                torques = stops.holding(total, held)
                q_next, v_next = self._step(q, v, torques, h)
                if torques is not total:
                    stops.hold(q_next, limits, held)
                    stops.halt(v_next, held)
                after = self._state(q_next, v_next, memory)
                too_fast = isinstance(total, StageTorques) and self._conditions.begins_too_fast(
                    before, after, total, h
                )
                if too_fast or not self._follows(before, after, driving, h):
                    if h > shortest:
                        h = longest = max(h / 2, shortest)
                        continue
                    if not self._follows_at_last(before, after, driving, h):
                        raise self._divergence(v, v_next, h)
                later = stops.distances(q_next, limits)
                passed = later < -LIMIT_TOLERANCE
                loaded = resting & passed
                if loaded.any():  # since the substep began
                    held |= loaded
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
                stops.hold(q_next, limits, reached)
                after = self._state(q_next, v_next, memory)
            acted = bool(reached.any() or torques is not total)
            memory = self._bristles.remembered(memory, q, after)
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


class StackStepping:
    """Moves N equal robots by single steps of an integrator; arrays have a row for each.

    Parameters
    ----------
    robot : Robot
    integrator : Integrator
    environment : Environment
        Planes and springs.
    bristles : Bristles
        Of joints; `robot` is their attribute.
    """

    def __init__(
        self, robot: Robot, integrator: Integrator, environment: Environment, bristles: Bristles
    ) -> None:
        self._robot, self.integrator, self._stops = robot, integrator, Stops(robot)
        self._conditions, self._bristles = StepConditions(robot, bristles), bristles
        self._environment = None if environment.is_empty else environment

    def moved(self, q: Array, v: Array, memory: Array, tau: ArrayLike, dt: float) -> Moved:
        """Return the states a time dt [s] later.

        Raises `ArgumentError` for torques of another shape, and `DivergenceError` if a state is
        not finite.
        """
        torques = rows('tau', self._robot.nv, tau, len(q))
        bristles, environment = self._bristles, self._environment
        contacts, _ = bristles.split(memory)
        try:
            if bristles.drives:
                start = state(environment, q, v, contacts)
                torques = bristles.less_friction(self._robot, start, memory, torques, dt)
            q_next, v_next, impulses = self._moved(q, v, contacts, torques, dt)
        except (ArgumentError, np.linalg.LinAlgError) as error:
            raise DivergenceError(
                f'the motion is too fast for steps of {dt:.3g} s: {error}'
            ) from None
        after = state(environment, q_next, v_next, contacts)
        return q_next, v_next, bristles.remembered(memory, q, after), impulses

    def prepare(self, q: Array, memory: Array) -> None:
        """Compile the functions of `moved`."""
        v = np.zeros((len(q), self._robot.nv))
        self.moved(q, v, memory, v, 1e-9)

    @np.errstate(over='ignore', invalid='ignore')  # divergence raises an error
    def _moved(
        self, q: Array, v: Array, memory: Array, tau: Array, dt: float
    ) -> tuple[Array, Array, Array]:
        """Return the states a time dt later and the impulses of the stops (N, nv)."""
        stops, environment, start = self._stops, self._environment, (q, v)
        limits = stops.limits_from(q)
        touched = stops.distances(q, limits) <= LIMIT_TOLERANCE
        held, loads = stops.bearing(q, v, self._all_torques(tau, memory), touched, dt)
        q, v = self.integrator.step(q, v, self._all_torques(tau + loads, memory), dt)
        self._check(q, v, dt)
        stops.hold(q, limits, held)
        stops.halt(v, held)
        distances = stops.distances(q, limits)
        touched = distances <= LIMIT_TOLERANCE
        v, impulses = stops.impact(q, v, touched)
        stops.hold(q, limits, (distances < 0.0) | touched & (stops.velocities(v) <= 0.0))
        impulses += loads * dt
        acted = impulses.any(axis=1)
        if acted.any():
            before, after = (
                state(environment, *(x[acted] for x in (*each, memory))) for each in (start, (q, v))
            )
            v[acted] = self._conditions.without_gain(before, after, tau[acted])
        return q, v, impulses

    def _all_torques(self, tau: Array, memory: Array) -> Torques:
        """Return torques (N, nv) with those of planes and springs, for the integrator."""
        environment = self._environment
        if environment is None:
            return tau
        return lambda t, q, v: tau + environment.torques(q, v, memory)

    def _check(self, q: Array, v: Array, dt: float) -> None:
        """Raise `DivergenceError` if states are not finite."""
        lost = ~(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))
        if lost.any():
            raise DivergenceError(
                f'{lost.sum()} of {len(q)} robots, the first one with number {lost.argmax()}, '
                f'move too fast for steps of {dt:.3g} s; take shorter steps or smaller torques, or '
                'softer contacts'
            )


def rows(name: str, size: int, value: ArrayLike, count: int | None) -> Array:
    """Return a value for each robot, (N, size), or (size,) without count.

    Raises `ArgumentError` for another shape.
    """
    if count is None:
        return vector(name, size, value)
    array = float_array(name, value)
    if array.shape not in ((size,), (count, size)):
        raise ArgumentError(
            f'{name} must have shape ({size},) or ({count}, {size}), got {array.shape}'
        )
    return np.array(np.broadcast_to(array, (count, size)))
