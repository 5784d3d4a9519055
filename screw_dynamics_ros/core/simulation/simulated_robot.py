# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Simulated robot: integration of its motion within joint limits, with contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_number, float_array
from ..errors import ArgumentError, InertiaError, UnknownNameError
from ..integration import Integrator, MomentumPreserving, RungeKutta, SemiImplicitEuler
from ..robot.robot import Robot
from ..tree.joint_limits import coordinate_names, position_limits
from ..types import Array
from .bristles import Bristles
from .contacts import ContactPoint, Plane
from .environment import Effects, Environment
from .springs import Spring
from .stepping import StackStepping, Stepping, rows
from .stops import LIMIT_TOLERANCE

#: Integrators by their names; momentum is preserved only on floating bases.
INTEGRATORS: dict[str, type[Integrator]] = {
    'runge_kutta': RungeKutta,
    'semi_implicit': SemiImplicitEuler,
    'momentum_preserving': MomentumPreserving,
}
#: Tolerance of the length of a given quaternion.
UNIT_LENGTH = 1e-6


@dataclass(frozen=True, eq=False)
class SavedState:
    """Complete state of a simulated robot or stack."""

    q: Array
    v: Array
    memory: Array
    stop_torques: Array

    def check(self, q: Array, v: Array, memory: Array) -> None:
        """Raise `ArgumentError` unless it is of a simulation with states like these."""
        saved, own = (self.q, self.v, self.memory), (q, v, memory)
        if [array.shape for array in saved] != [array.shape for array in own]:
            raise ArgumentError(
                'the saved state is of another simulation: configuration, velocity and memory of '
                'contacts and bristles have the shapes '
                f'{[array.shape for array in saved]} instead of {[array.shape for array in own]}'
            )


class SimulatedRobot:
    """A robot with a state, that moves by M a + C v + g = tau + sum J^T w + E lambda.

    E lambda are the forces of the stops at the limits of joints with one degree of freedom. Stops
    are unilateral, rigid and inelastic: a joint that reaches its stop remains there until it is
    driven away, and the impulse changes the velocities of all joints; `simulation.stops` has the
    equations. Continuous joints, free bodies and floating bases have no stops; mimic joints have
    those of the joint they follow. A joint that starts beyond a limit can return, but cannot move
    further away.

    The wrenches w are those given for a step and those of compliant planes and springs
    (`simulation.contacts`), evaluated in each stage of the integrator.
    Friction and rotors are included if the robot has `drives`; joints with a `bristle_stiffness`
    stick (`simulation.bristles`).

    Parameters
    ----------
    robot : Robot
        Fixed or floating base, any joints.
    q : (nq,) array, optional
        Initial configuration, at rest [rad, m]; by default `Robot.home`.
    integrator : str
        One of `INTEGRATORS`.
    planes : sequence of Plane
        Planes that the contact points can touch.
    contact_points : sequence of ContactPoint
        Points and spheres on links; each can touch each plane.
    springs : sequence of Spring
    count : int, optional
        Number of identical robots: a `SimulatedStack`.

    Attributes
    ----------
    q, v : (nq,) and (nv,) arrays
        Configuration and velocity; can be set, and are checked as in `set_state`. Setting q resets
        the tangential springs of all contacts and the bristles of joints.

    Raises
    ------
    ArgumentError
        If the robot has no movable joint, or the integrator does not support its base.
    UnknownNameError
        If there is no such integrator, or a link of planes or springs does not exist.
    InertiaError
        If a joint moves no mass, so that its acceleration is not defined.

    Examples
    --------
    A stone of 2 kg rests on the floor with a penetration of m g / k, here 1 mm:

    >>> from screw_dynamics_ros.core.description import Inertia, Link, RobotDescription
    >>> stone = RobotDescription.from_parts(
    ...     'stone', [Link('stone', Inertia(2.0, np.zeros(3), np.eye(3)))], [])
    >>> robot = Robot(stone, floating_base=True, gravity=(0, 0, -10), backend='python')
    >>> floor = Plane(point=[0, 0, 0], normal=[0, 0, 1], stiffness=2e4, damping=5.0)
    >>> simulated = SimulatedRobot(robot, planes=[floor], contact_points=[ContactPoint('stone')])
    >>> for _ in range(1000):
    ...     simulated.step(np.zeros(6), 0.001)
    >>> simulated.q[2].round(6), simulated.contact_wrenches['stone'][5].round(3)
    (np.float64(-0.001), np.float64(20.0))
    """

    def __init__(
        self,
        robot: Robot,
        q: ArrayLike | None = None,
        integrator: str = 'runge_kutta',
        *,
        planes: Sequence[Plane] = (),
        contact_points: Sequence[ContactPoint] = (),
        springs: Sequence[Spring] = (),
        count: int | None = None,
    ) -> None:
        if count is not None and (not isinstance(count, int | np.integer) or count < 1):
            raise ArgumentError(f'count must be a whole number >= 1, got {count!r}')
        kind = integrator_class(robot, integrator, INTEGRATORS)
        self.robot, self.count = robot, count
        self.environment = Environment(robot, planes, contact_points, springs)
        self._bristles = bristles = Bristles(robot)
        stepping = Stepping if count is None else StackStepping
        self.stepping: Stepping | StackStepping = stepping(
            bristles.robot, kind(bristles.robot), self.environment, bristles
        )
        self.q = robot.home() if q is None else q
        self.v = self._rows('v', robot.nv, np.zeros(robot.nv))
        self._stop_torques: Array | None = None
        check_robot(robot, self._q.reshape(-1, robot.nq)[0])

    @property
    def q(self) -> Array:
        """Configuration (nq,) [rad, m]."""
        return self._q

    @q.setter
    def q(self, q: ArrayLike) -> None:
        self._q = self._rows('q', self.robot.nq, q).copy()
        contacts = self.environment.memory(self._q)
        bristles = np.zeros((*contacts.shape[:-1], len(self._bristles.drives)))
        self._memory = np.concatenate([contacts, bristles], axis=-1)

    @property
    def stop_torques(self) -> Array:
        """E lambda (nv,), impacts included: mean torques of the stops in the last step [N m, N]."""
        return np.zeros(self.v.shape) if self._stop_torques is None else self._stop_torques

    def step(self, tau: ArrayLike, dt: float, wrenches: Mapping[str, Array] | None = None) -> None:
        """Integrate the motion over `dt` [s].

        Usually one step of the integrator. It is divided if motion or contacts are too fast
        (`simulation.stepping`), and at the times of impacts; that of a stack is not.

        Parameters
        ----------
        tau : (nv,) array
            Motor torques [N m, N], constant during the step.
        dt : float
        wrenches : mapping, optional
            Link name to the wrench (moment, force) of the environment on it, (6,) [N m, N], at the
            origin of its frame and resolved in it; their joint torques are constant during the
            step.

        Raises
        ------
        ArgumentError
            A dt that is not positive, wrong shapes, a wrench that is not finite.
        UnknownNameError
            A wrench on a link that does not exist.
        DivergenceError
            If the smallest steps are too long as well. After any of these errors the state is
            unchanged.
        """
        check_number('dt', dt, positive=True)
        if self._bristles.drives:
            self._bristles.robot._gravity[:] = self.robot._gravity
        if wrenches:
            tau = self._with_wrenches(tau, wrenches)
        moved = self.stepping.moved(self._q, self.v, self._memory, tau, dt)
        self._q, self.v, self._memory, impulses = moved
        self._stop_torques = None if impulses is None else impulses / dt

    @np.errstate(over='ignore', invalid='ignore')  # divergence raises an error
    def _with_wrenches(self, tau: ArrayLike, wrenches: Mapping[str, Array]) -> Array:
        """Return the torques (nv,) of motors and wrenches."""
        total = self._rows('tau', self.robot.nv, tau)
        for link, wrench in finite_wrenches(wrenches).items():
            W = self._rows(f'the wrench on {link!r}', 6, wrench)
            J = self.robot.jacobian(self._q, link, 'body')
            total = total + (W @ J if W.ndim == 1 else np.einsum('nik,ni->nk', J, W))
        return total

    def prepare(self) -> None:
        """Compile the functions of `step` now instead of in the first step."""
        self.stepping.prepare(self._q, self._memory)

    def set_state(self, q: ArrayLike, v: ArrayLike) -> None:
        """Continue from another state; contacts, stops and bristles restart.

        Parameters
        ----------
        q : (nq,) array
            Within the joint limits, to 1e-6 rad or m [rad, m].
        v : (nv,) array
            [rad/s, m/s].

        Raises
        ------
        ArgumentError
            If a shape is wrong, a number is not finite, a position is beyond a limit, or a
            quaternion is not a rotation; the state is then unchanged.
        """
        q, v = self._rows('q', self.robot.nq, q), self._rows('v', self.robot.nv, v)
        self.q, self.v = valid_state(self.robot, q, v)
        self._stop_torques = None

    def save(self) -> SavedState:
        """Return the complete state, for `restore`."""
        return SavedState(
            self.q.copy(), self.v.copy(), self._memory.copy(), self.stop_torques.copy()
        )

    def restore(self, saved: SavedState) -> None:
        """Restore a state of `save`; equal inputs then give bitwise equal motions.

        Raises `ArgumentError` if it was saved by another robot or other contacts.
        """
        saved.check(self._q, self.v, self._memory)
        self._q, self.v = saved.q.copy(), saved.v.copy()
        self._memory, self._stop_torques = saved.memory.copy(), saved.stop_torques.copy()

    @property
    def contact_wrenches(self) -> dict[str, Array]:
        """The wrench (moment, force) of the planes on each link with contact points [N m, N].

        (6,) each, of the current state, at the origin and in the axes of the link frame.
        """
        found = self.environment.wrenches_by_link(self._effects())
        return {link: np.broadcast_to(W, (*self._q.shape[:-1], 6)) for link, W in found.items()}

    @property
    def environment_torques(self) -> Array:
        """The current generalized forces (nv,) of planes and springs [N m, N]."""
        effects = self._effects()
        return np.zeros(self.v.shape) if effects is None else effects.torques

    @property
    def energy(self) -> tuple[Any, Any]:
        """Kinetic and potential energy [J]: of gravity, springs, deformed contacts and bristles.

        Numbers, of a stack arrays (N,).
        """
        effects, robot, bristles = self._effects(), self.robot, self._bristles
        kinetic = robot.kinetic_energy(self._q, self.v)
        potential = robot.potential_energy(self._q) + (0.0 if effects is None else effects.energy)
        potential = potential + bristles.energy(bristles.split(self._memory)[1])
        return (float(kinetic), float(potential)) if self.count is None else (kinetic, potential)

    @property
    def violation(self) -> float:
        """Largest deviation of a free body's quaternion from unit length, 0 without free bodies."""
        free = [self._q[..., body.q] for body in self.robot.tree.free_bodies]
        lengths = [np.linalg.norm(x[..., -4:], axis=-1).ravel() - 1.0 for x in free]
        return max(np.concatenate([*lengths, [0.0]]).tolist(), key=abs)

    def _effects(self) -> Effects | None:
        """Return what planes and springs do now."""
        environment, (contacts, _) = self.environment, self._bristles.split(self._memory)
        return None if environment.is_empty else environment.effects(self._q, self.v, contacts)

    def _rows(self, name: str, size: int, value: ArrayLike) -> Array:
        """Return a value for each robot."""
        return rows(name, size, value, self.count)


class SimulatedStack(SimulatedRobot):
    """The states of N identical robots without mutual contact, integrated in one call.

    A `SimulatedRobot` with `count`: all arrays have a row for each robot; torques, wrenches and
    states can be given for each or once for all. Each moves by the same compiled functions and the
    same laws of contacts, springs and stops as a single one, with one difference: a step is always
    one step of the integrator. Impacts at stops take place at its end, the loads of stops are
    constant in it, contacts are detected in the stages of the integrator, and the energy is not
    checked. `DivergenceError` names the first robot whose state is not finite after a step.
    Choose `dt` for the stiffest contact: dt sqrt(k / m) < 0.3 is accurate, more than 2.8 unstable
    (`runge_kutta`).

    Parameters
    ----------
    robot : Robot
    count : int
        N, at least 1.
    q : (nq,) or (N, nq) array, optional
        Initial configurations, at rest [rad, m]; by default `Robot.home`.
    **options
        As of `SimulatedRobot`, the same for all.

    Raises
    ------
    ArgumentError, UnknownNameError, InertiaError
        As of `SimulatedRobot`; no count.

    Examples
    --------
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf', gravity=(0, -9.81, 0), backend='python')
    >>> arms = SimulatedStack(robot, 3, q=[[0, 0], [0.1, 0], [0.2, 0]])
    >>> for _ in range(100):
    ...     arms.step(np.zeros(2), 0.001)
    >>> arms.q.shape, bool((arms.q[:, 0] < [0, 0.1, 0.2]).all())
    ((3, 2), True)
    """

    def __init__(
        self,
        robot: Robot,
        count: int,
        q: ArrayLike | None = None,
        integrator: str = 'runge_kutta',
        **options: Any,
    ) -> None:
        super().__init__(robot, q, integrator, count=count, **options)


def integrator_class(
    robot: Robot, name: str, known: Mapping[str, type[Integrator]]
) -> type[Integrator]:
    """Return an integrator by its name; raises if there is none, or nothing to move."""
    if not robot.nv:
        raise ArgumentError(
            f'robot {robot.description.name!r} cannot be simulated: it has no movable joint'
        )
    if name not in known:
        raise UnknownNameError(f'no integrator named {name!r}; choose one of {", ".join(known)}')
    return known[name]


def check_robot(robot: Robot, q: Array) -> None:
    """Raise `InertiaError` if an acceleration of the robot is not defined."""
    weightless = immovable(robot, robot.mass_matrix(q))
    if weightless:
        raise InertiaError(
            f'{weightless} moves no mass (or only a point or a line of it), or a negative inertia, '
            'and cannot be simulated; give its link an <inertial> that a body can have'
        )


def immovable(robot: Robot, M: Array) -> str:
    """Return the first joint, or floating base, with a direction that no inertia resists, or ''."""
    places = {f'joint {name!r}': robot.joint_coordinates(name)[1] for name in robot.joint_names}
    if robot.nv > sum(v.stop - v.start for v in places.values()):
        places = {f'the floating base {robot.link_names[0]!r}': slice(0, 6), **places}
    for name, v in places.items():
        resisted = np.diag(M)[v]
        if not (resisted > 0.0).all():
            return name
        scaled = M[v, v] / np.sqrt(np.outer(resisted, resisted))
        if np.linalg.eigvalsh(scaled)[0] < 1e-12:
            return name
    return ''


def finite_wrenches(wrenches: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Return wrenches (..., 6) as arrays; raises `ArgumentError` naming the link."""
    found = {}
    for link, wrench in wrenches.items():
        array = float_array(f'the wrench on {link!r}', wrench)
        if array.shape[-1:] != (6,):
            raise ArgumentError(f'the wrench on {link!r} must have shape (6,), got {array.shape}')
        if not np.isfinite(array).all():
            raise ArgumentError(f'the wrench on {link!r} must be finite, got {array}')
        found[link] = array
    return found


def valid_state(robot: Robot, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """Return states (..., nq), (..., nv) within the joint limits; raises `ArgumentError`.

    Quaternions get unit length, and joints that are beyond a limit by rounding are put on it.
    """
    q, v = np.array(q, dtype=float), np.array(v, dtype=float)
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        raise ArgumentError(f'a state must be finite, got q = {q}, v = {v}')
    lower, upper = position_limits(robot)
    beyond = (q < lower - LIMIT_TOLERANCE) | (q > upper + LIMIT_TOLERANCE)
    if beyond.any():
        *_, k = place = np.unravel_index(beyond.argmax(), q.shape)
        raise ArgumentError(
            f'joint {coordinate_names(robot)[k]!r} cannot be at {q[place]:g}: its limits are '
            f'{lower[k]:g} and {upper[k]:g}'
        )
    for body in robot.tree.free_bodies:
        quaternions = q[..., body.q][..., -4:]
        lengths = np.linalg.norm(quaternions, axis=-1, keepdims=True)
        wrong = np.abs(lengths - 1.0) > UNIT_LENGTH
        if wrong.any():
            raise ArgumentError(
                f'the quaternion of {body.name!r} has the length {lengths[wrong][0]:g}; give '
                'one of length 1'
            )
        quaternions /= lengths
    return np.clip(q, lower, upper), v
