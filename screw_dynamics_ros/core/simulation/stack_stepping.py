# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steps of stacks of robots: always one of the integrator, with the stops of all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import float_array, vector
from ..errors import ArgumentError, DivergenceError
from ..integration import Integrator
from ..integration.integrator import Torques
from ..robot.robot import Robot
from ..types import Array
from .environment import Environment
from .stops import LIMIT_TOLERANCE, Stops
from .whole_step import Moved, StepConditions, state


class StackStepping:
    """Moves N equal robots by single steps of an integrator; arrays have a row for each.

    Parameters
    ----------
    robot : Robot
    integrator : Integrator
    environment : Environment
        Planes and springs.
    """

    def __init__(self, robot: Robot, integrator: Integrator, environment: Environment) -> None:
        self._robot, self.integrator, self._stops = robot, integrator, Stops(robot)
        self._conditions = StepConditions(robot)
        self._environment = None if environment.is_empty else environment

    def moved(self, q: Array, v: Array, memory: Array, tau: ArrayLike, dt: float) -> Moved:
        """Return the states a time dt [s] later.

        Raises `ArgumentError` for torques of another shape, and `DivergenceError` if a state is
        not finite.
        """
        tau = rows('tau', self._robot.nv, tau, len(q))
        try:
            q, v, impulses = self._moved(q, v, memory, tau, dt)
        except (ArgumentError, np.linalg.LinAlgError) as error:
            raise DivergenceError(
                f'the motion is too fast for steps of {dt:.3g} s: {error}'
            ) from None
        if self._environment is not None:
            memory = self._environment.effects(q, v, memory).memory
        return q, v, memory, impulses

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
