# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One undivided step of a simulated robot: a function of its state, which is also compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.compile.kernels import (
    KernelSpecification,
    compiled_single,
    make_kernel,
)
from screw_dynamics_ros.core.compile.program.recorded_arrays import plain, recorded
from screw_dynamics_ros.core.compile.sources import origin
from screw_dynamics_ros.core.integration import (
    Integrator,
    MomentumPreserving,
    RungeKutta,
    SemiImplicitEuler,
)
from screw_dynamics_ros.core.motion.laws.recorded_robot import RecordedRobot
from screw_dynamics_ros.core.robot.robot import Robot
from screw_dynamics_ros.core.simulation.compliant_forces import Effects, Structure, effects
from screw_dynamics_ros.core.simulation.environment import Environment
from screw_dynamics_ros.core.simulation.stage_torques import StageTorques
from screw_dynamics_ros.core.simulation.step_conditions import (
    CompliantEnvironment,
    State,
    StepConditions,
)
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from screw_dynamics_ros.core.types import Array

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
) -> tuple[State, Any]:
    """Return the state after one step of an integrator, and whether it need not be divided.

    It must be if it is too long (`step_conditions`) or a stop is touched. Recordable.

    Parameters
    ----------
    conditions, step, environment
        Of the same robot; `step` is that of an integrator, no environment is one without planes and
        springs.
    limits : tuple of two (nq,) arrays
        The lower and the upper ones [rad, m].
    q, v, memory, tau, dt
        As in `Stepping.moved`.
    """
    torques = tau if environment is None else StageTorques(environment, tau, memory)
    before = state(environment, q, v, memory)
    q_next, v_next = map(recorded, step(q, v, torques, dt))
    after = state(environment, q_next, v_next, memory)
    is_whole = (
        np.logical_and.reduce((limits[0] < q_next) & (q_next < limits[1]))
        & conditions.is_slow(before, after, dt)
        & conditions.keeps_energy(before, after, tau, dt)
    )
    if isinstance(torques, StageTorques):
        too_fast = conditions.swings_too_far(before, dt) | conditions.swings_too_far(after, dt)
        too_fast = too_fast | conditions.begins_too_fast(before, after, torques, dt)
        is_whole = is_whole & np.logical_not(too_fast)
    return after, is_whole


def state(environment: CompliantEnvironment | None, q: Array, v: Array, memory: Array) -> State:
    """Return a state with what planes and springs do in it."""
    return q, v, None if environment is None else environment.effects(q, v, memory)


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

    def __call__(
        self, q: Array, v: Array, memory: Array, tau: ArrayLike, dt: float
    ) -> Moved | None:
        """Return the state a time `dt` later, None if the step must be divided.

        Raises `ArgumentError` for torques, or a state, of another shape.
        """
        self._dt[0] = dt
        q, v, memory, is_whole = self._function(q, v, memory, tau, *self._constants)
        return (q, v, memory, None) if is_whole else None


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
        (q, v, effects), is_whole = whole_step(
            StepConditions(system),
            kind(system).step,
            around,
            (lower, upper),
            *(q, v, memory, tau, dt),
        )
        return q, v, memory if effects is None else effects.memory, is_whole

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
