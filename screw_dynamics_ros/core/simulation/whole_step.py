# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One step of a simulated robot: a function of its state, which is also compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..compile.kernels import KernelSpecification, compiled_single, make_kernel
from ..compile.program.recorded_arrays import plain, recorded
from ..compile.sources import origin
from ..integration import Integrator, MomentumPreserving, RungeKutta, SemiImplicitEuler
from ..motion.laws.recorded_robot import RecordedRobot
from ..robot.robot import Robot
from ..tree.multibody_tree import Tree
from ..types import Array
from .compliant_forces import Effects, Structure, effects
from .environment import Environment
from .stage_torques import StageTorques
from .step_conditions import (
    MAX_SUBSTEPS,
    MAX_SWING,
    CompliantEnvironment,
    State,
    StepConditions,
    longest_swing,
)
from .stops import LIMIT_TOLERANCE

#: Integrators whose steps can be recorded.
RECORDED = (RungeKutta, SemiImplicitEuler, MomentumPreserving)
#: Functions of `Robot` that are part of a step.
FUNCTIONS = (
    'forward_dynamics',
    'integrate',
    'increment_rate',
    'spatial_momenta',
    'spatial_momentum_dynamics',
    'kinetic_energy',
    'potential_energy',
)
#: Robots with more degrees of freedom are simulated by their functions: compiling takes too long.
MAX_DEGREES_OF_FREEDOM = 60

#: q, v, the memory of contacts, and the impulses (nv,) of the stops [N m s, N s] if they acted.
Moved = tuple[Array, Array, Array, Array | None]


class Remainder(NamedTuple):
    """What of a divided step remains, and the longest and the shortest substep next [s]."""

    time: float
    longest: float
    shortest: float


def whole_step(
    conditions: StepConditions,
    step: Callable[..., tuple[Array, Array]],
    environment: CompliantEnvironment | None,
    limits: tuple[Array, Array],
    q: Array,
    v: Array,
    memory: Array,
    tau: Array,
    dt: float,
) -> tuple[State, StepReport]:
    """Return the state after one step of an integrator, and whether it may be that long.

    Recordable.

    Parameters
    ----------
    conditions, step, environment
        Of the same robot; `step` is that of an integrator, no environment is one without planes and
        springs.
    limits : tuple of two (nq,) arrays
        The lower and the upper ones of coordinates [rad, m].
    q, v, memory, tau, dt
        As in `Stepping.moved`.
    """
    torques = tau if environment is None else StageTorques(environment, tau, memory)
    before = state(environment, q, v, memory)
    q_next, v_next = map(recorded, step(q, v, torques, dt))
    after = state(environment, q_next, v_next, memory)
    is_short = conditions.is_slow(before, after, dt) & conditions.keeps_energy(
        before, after, tau, dt
    )
    square: Any = 0.0
    is_whole = is_short & are_within(q_next, limits, 0.0)
    if isinstance(torques, StageTorques):
        square = conditions.squared_frequency(before)
        too_fast = conditions.swings_too_far(after, dt)
        too_fast = too_fast | conditions.begins_too_fast(before, after, torques, dt)
        is_short = is_short & np.logical_not(too_fast)
        is_whole = is_whole & is_short & (dt * dt * square <= MAX_SWING**2)
    is_clear = are_within(q, limits, LIMIT_TOLERANCE) & are_within(q_next, limits, LIMIT_TOLERANCE)
    return after, StepReport(is_whole, is_clear, is_short, square)


def are_within(q: Array, limits: tuple[Array, Array], margin: float) -> Any:
    """Return whether coordinates are within their limits, by a margin [rad, m]."""
    return np.logical_and.reduce((limits[0] < q - margin) & (q + margin < limits[1]))


def state(environment: CompliantEnvironment | None, q: Array, v: Array, memory: Array) -> State:
    """Return a state with what planes and springs do in it."""
    return q, v, None if environment is None else environment.effects(q, v, memory)


class StepReport(NamedTuple):
    """Whether one step of an integrator may be as long as it is; flags are 1 or 0.

    Attributes
    ----------
    is_whole : bool
        It need not be divided: it is short enough for motion, contacts and energy
        (`step_conditions`), and no stop is touched.
    is_clear : bool
        No stop is near, before and after.
    is_short : bool
        It may be a part of a divided step, if it is short enough for the contacts before it, too.
    squared_frequency : float
        At which these swing [1/s^2].
    """

    is_whole: Any
    is_clear: Any
    is_short: Any
    squared_frequency: Any


class RecordedEnvironment:
    """Planes and springs of an `Environment`, recorded.

    Parameters
    ----------
    tree : Tree
    structure : Structure
    numbers : array
        Their parameters.
    """

    def __init__(self, tree: Tree, structure: Structure, numbers: Array) -> None:
        self._tree, self._structure, self._numbers = tree, structure, numbers

    def torques(self, q: Array, v: Array, memory: Array) -> Array:
        """Return the generalized forces (nv,) in a state [N m, N]."""
        return self.effects(q, v, memory).torques

    def effects(self, q: Array, v: Array, memory: Array) -> Effects:
        """Return all that planes and springs do in a state."""
        inputs = map(plain, (q, v, memory, self._numbers))
        return Effects(*map(recorded, effects(self._tree, self._structure, *inputs)))


class CompiledWholeStep:
    """`whole_step` of a robot as machine code.

    Parameters
    ----------
    robot : Robot
    integrator : Integrator
    environment : Environment
    limits : tuple of two (nq,) arrays
    """

    def __init__(
        self,
        robot: Robot,
        integrator: Integrator,
        environment: Environment,
        limits: tuple[Array, Array],
    ) -> None:
        kernel = make_kernel(specification(robot, type(integrator), environment), robot.backend)
        self._function = compiled_single(kernel)
        self._dt = np.zeros(1)
        self._constants = self._dt, robot._gravity, *limits, environment.numbers

    def whole(self, q: Array, v: Array, memory: Array, tau: ArrayLike, dt: float) -> Moved | None:
        """Return the state a time `dt` later, None if the step must be divided.

        Raises `ArgumentError` for torques, or a state, of another shape.
        """
        self._dt[0] = dt
        q, v, memory, report = self._function(q, v, memory, tau, *self._constants)
        return (q, v, memory, None) if report[0] else None

    def substeps(
        self, q: Array, v: Array, memory: Array, tau: Array, dt: float
    ) -> tuple[Array, Array, Array, Remainder]:
        """Return the state after the substeps of a step of `dt` [s] that no stop is near to.

        These are the first ones of `Stepping`, up to one that is near a stop or too fast.
        """
        remaining = longest = dt
        shortest = dt / MAX_SUBSTEPS
        while remaining > 0.0:
            self._dt[0] = h = min(longest, remaining)
            q_next, v_next, memory_next, report = self._function(
                q, v, memory, tau, *self._constants
            )
            _, is_clear, is_short, square = report.tolist()
            allowed = max(longest_swing(square), shortest)
            if h > allowed:
                longest = allowed
            elif not is_clear:
                longest = h
                break
            elif is_short:
                q, v, memory = q_next, v_next, memory_next
                remaining, longest = remaining - h, 2 * h
            elif h > shortest:
                longest = max(h / 2, shortest)
            else:
                longest = h
                break
        return q, v, memory, Remainder(remaining, longest, shortest)


def is_compiled(robot: Robot, integrator: Integrator) -> bool:
    """Return whether there is a `CompiledWholeStep`: not without machine code, nor of large robots.

    Subclasses may replace functions of a robot; then these are called.
    """
    own = all(getattr(type(robot), name) is getattr(Robot, name) for name in FUNCTIONS)
    return (
        own
        and robot.backend == 'native'
        and robot.nv <= MAX_DEGREES_OF_FREEDOM
        and type(integrator) in RECORDED
    )


def specification(
    robot: Robot, kind: type[Integrator], environment: Environment
) -> KernelSpecification:
    """Return `whole_step` as a function; gravity, limits and planes are inputs."""
    tree, structure, empty = robot.regrouped_tree, environment.structure, environment.is_empty

    def build(tree: Tree, *inputs: Array) -> tuple[Array, ...]:
        q, v, memory, tau, (dt,), gravity, lower, upper, numbers = map(recorded, inputs)
        system: Any = RecordedRobot(tree, robot, gravity)
        around = None if empty else RecordedEnvironment(tree, structure, numbers)
        (q, v, effects), report = whole_step(
            StepConditions(system),
            kind(system).step,
            around,
            (lower, upper),
            *(q, v, memory, tau, dt),
        )
        return q, v, memory if effects is None else effects.memory, np.stack(tuple(report))

    where = origin(whole_step)
    return KernelSpecification(
        f'step of {robot.description.name} by {kind.__name__}',
        (
            ('q', tree.nq),
            ('v', tree.nv),
            ('memory', structure.memory_size),
            ('tau', tree.nv),
            ('dt', 1),
            ('gravity', 3),
            ('lower', tree.nq),
            ('upper', tree.nq),
            ('numbers', len(environment.numbers)),
        ),
        build,
        where and repr((where, kind.__name__, tree.digest, structure)),
        model=(tree,),
    )
