# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One step of a simulated robot: a function of its state, which is also compiled.

The conditions on its length and the torques in its stages run on numbers, and on recorded scalars;
masks of these have no values, so that nothing may depend on them but by `chosen`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..compile.calls import compiled_single
from ..compile.kernels import KernelSpecification, make_kernel
from ..compile.program.recorded_arrays import RecordedArray, plain, recorded
from ..compile.sources import origin
from ..integration import Integrator, MomentumPreserving, RungeKutta, SemiImplicitEuler
from ..motion.laws.recorded_robot import RecordedRobot
from ..robot.robot import Robot
from ..tree.multibody_tree import Tree
from ..types import Array
from .bristles import Bristles
from .environment import Effects, Environment, Structure, effects
from .stops import LIMIT_TOLERANCE

#: A step is too long if the robot moves further than this in it [rad, m], ...
MAX_WAY = 0.2
#: ... or if contacts and springs would swing by a larger angle [rad], ...
MAX_SWING = 0.3
#: ... which is smaller where a contact begins or ends, ...
FIRST_SWING = 0.1
#: ... or if it gains more energy than the torques give, as a part of that of motion and springs.
ENERGY_GAIN = 1e-4
#: Largest number of parts of a step that is too long or has impacts.
MAX_SUBSTEPS = 64
#: What energies may differ by without meaning, as a part of their terms.
ENERGY_TOLERANCE = 1e-12

#: q, v, and what planes and springs do there, if there are any.
State = tuple[Array, Array, Effects | None]
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


class CompliantEnvironment(Protocol):
    """Planes and springs: `Environment`, or its recorded functions."""

    def torques(self, q: Array, v: Array, memory: Array) -> Array:
        """Return the generalized forces (nv,) in a state [N m, N]."""

    def effects(self, q: Array, v: Array, memory: Array) -> Effects:
        """Return all that planes and springs do in a state."""


class StepConditions:
    """Conditions on a step between two states.

    Parameters
    ----------
    robot : Robot or RecordedRobot
    bristles : Bristles, optional
    """

    def __init__(self, robot: Any, bristles: Bristles | None = None) -> None:
        self.robot, self.sticks = robot, bristles is not None and bool(bristles.drives)
        free = robot.free_bodies.values()
        flying = [k for v in free for k in range(v.start + 3, v.stop)]
        self.adding = not free  # coordinates add
        # How fast a free body flies needs no short steps, only how fast it turns.
        self._rates = np.delete(np.arange(robot.nv), flying)

    def is_slow(self, before: State, after: State, dt: float, way: float = MAX_WAY) -> Any:
        """Return whether the robot moves by less than `way` [rad, m]; false for NaN."""
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
        f, accelerations = effects.elastic, self.robot.forward_dynamics
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
        robot, (q, v, effects), (q_next, v_next, effects_next) = self.robot, before, after
        U, U_next = robot.potential_energy(q), robot.potential_energy(q_next)
        T, T_next = robot.kinetic_energy(q, v), robot.kinetic_energy(q_next, v_next)
        if effects is not None and effects_next is not None:
            T, T_next = T + effects.energy, T_next + effects_next.energy
        # Exact where coordinates add: the torques are constant.
        moved = q_next - q if self.adding else (v + v_next) * (dt / 2)
        work = tau @ moved if moved.ndim == 1 else np.einsum('nk,nk->n', tau, moved)
        gained, motion = T_next + U_next - T - U - work, T + T_next
        terms = abs(U) + abs(U_next) + abs(work)
        if self.sticks and self.adding:  # q is rounded, and a joint that sticks moves no further
            terms = terms + (abs(tau) * abs(q)).sum(axis=-1)
        return gained, motion, terms

    def without_gain(self, before: State, after: State, tau: Array) -> Array:
        """Return the velocities after, scaled down where more energy is left than was put in.

        Stops act at the right time to first order only, where impacts follow each other too fast.
        """
        if not self.adding:
            return after[1]  # velocities of free robots carry momentum
        gained = np.asarray(self.energy_gain(before, after, tau, 0.0)[0])
        if not (gained > 0.0).any():
            return after[1]
        T = np.asarray(self.robot.kinetic_energy(*after[:2]))
        left = np.clip(1.0 - np.fmax(gained, 0.0) / np.where(T > 0.0, T, 1.0), 0.0, 1.0)
        slower: Array = after[1] * np.sqrt(left)[..., None]
        return slower


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


class StageTorques:
    """The torques (nv,) in a stage as a function of t, q, v; also recorded.

    It notes in which stage planes and springs acted most: a contact may begin and end within a
    step, and the states before and after do not show it.

    Parameters
    ----------
    environment : CompliantEnvironment
    tau : (nv,) array
        Torques that are constant in the step [N m, N].
    memory : (m,) array
        Of contacts, from before the step.

    Attributes
    ----------
    strongest : tuple of q and v, or None
        The state of the stage in which they acted most; None if they did in none.
    size : float
        The square of the torques of planes and springs there.
    """

    def __init__(self, environment: CompliantEnvironment, tau: Array, memory: Array) -> None:
        self._environment, self._tau, self.memory = environment, tau, memory
        self.size: Any = 0.0
        self.strongest: tuple[Array, Array] | None = None

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return all torques (nv,) in a state."""
        torques = self._environment.torques(q, v, self.memory)
        size = torques @ torques
        stronger = size > self.size
        if not is_false(stronger):
            before = self.strongest or (q, v)
            self.strongest = chosen(stronger, q, before[0]), chosen(stronger, v, before[1])
            self.size = chosen(stronger, size, self.size)
        return self._tau + torques

    def strongest_state(self) -> State:
        """Return the state `strongest` with what planes and springs do in it."""
        assert self.strongest is not None
        return *self.strongest, self._environment.effects(*self.strongest, self.memory)


class Remainder(NamedTuple):
    """Remainder of a divided step, and the longest and the shortest substep next [s]."""

    time: float
    longest: float
    shortest: float


def whole_step(
    conditions: StepConditions,
    step: Callable[..., tuple[Array, Array]],
    environment: CompliantEnvironment | None,
    bristles: Bristles,
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
    conditions, step, environment, bristles
        Of the same robot; `step` is that of an integrator, no environment is one without planes and
        springs.
    limits : tuple of two (nq,) arrays
        The lower and the upper ones of coordinates [rad, m].
    q, v, memory, tau, dt
        As in `Stepping.moved`.
    """
    contacts, _ = bristles.split(memory)
    before = state(environment, q, v, contacts)
    tau = bristles.less_friction(conditions.robot, before, memory, tau, dt)
    torques = tau if environment is None else StageTorques(environment, tau, contacts)
    q_next, v_next = map(recorded, step(q, v, torques, dt))
    after = state(environment, q_next, v_next, contacts)
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
        (`StepConditions`), and no stop is touched.
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
    bristles : Bristles
    limits : tuple of two (nq,) arrays
    """

    def __init__(
        self,
        robot: Robot,
        integrator: Integrator,
        environment: Environment,
        bristles: Bristles,
        limits: tuple[Array, Array],
    ) -> None:
        kernel = make_kernel(
            specification(robot, type(integrator), environment, bristles), robot.backend
        )
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
    robot: Robot, kind: type[Integrator], environment: Environment, bristles: Bristles
) -> KernelSpecification:
    """Return `whole_step` as a function; gravity, limits and planes are inputs."""
    tree, structure, empty = robot.regrouped_tree, environment.structure, environment.is_empty

    def build(tree: Tree, *inputs: Array) -> tuple[Array, ...]:
        q, v, memory, tau, (dt,), gravity, lower, upper, numbers = map(recorded, inputs)
        start = q, v, memory, tau, dt
        system: Any = RecordedRobot(tree, robot, gravity)
        around = None if empty else RecordedEnvironment(tree, structure, numbers)
        after, report = whole_step(
            StepConditions(system, bristles),
            kind(system).step,
            around,
            bristles,
            (lower, upper),
            *start,
        )
        return *after[:2], bristles.remembered(memory, q, after), np.stack(tuple(report))

    where = origin(whole_step)
    return KernelSpecification(
        f'step of {robot.description.name} by {kind.__name__}',
        (
            ('q', tree.nq),
            ('v', tree.nv),
            ('memory', structure.memory_size + len(bristles.drives)),
            ('tau', tree.nv),
            ('dt', 1),
            ('gravity', 3),
            ('lower', tree.nq),
            ('upper', tree.nq),
            ('numbers', len(environment.numbers)),
        ),
        build,
        where and repr((where, kind.__name__, tree.digest, structure, bristles.drives)),
        model=(tree,),
    )
