# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stacks of identical simulated robots with fixed step size, and the stops of all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import check_number, float_array
from ..errors import ArgumentError, DivergenceError
from ..integration.integrator import Torques
from ..robot.robot import Robot
from ..types import Array
from .contacts import ContactPoint, Plane
from .environment import Effects, Environment
from .simulated_robot import (
    INTEGRATORS,
    SavedState,
    check_robot,
    finite_wrenches,
    integrator_class,
    valid_state,
)
from .springs import Spring
from .stops import LIMIT_TOLERANCE, Stops

Marks = NDArray[np.bool_]

#: Exchanges of all wrong joints that do not make them fewer, before they are exchanged one by one.
MAX_ATTEMPTS = 3
#: Exchanges after which the problem is taken for one without a solution.
MAX_EXCHANGES = 1000
#: What velocities and accelerations into a stop may be by rounding, relatively.
STOP_TOLERANCE = 1e-12


class StackStops:
    """The stops of N equal robots; arrays have a row for each.

    Parameters
    ----------
    robot : Robot
    """

    def __init__(self, robot: Robot) -> None:
        self._robot, self._stops = robot, Stops(robot)
        count = len(self._stops.q) // 2
        self._q, self._v = self._stops.q[:count], self._stops.v[:count]

    def limits_from(self, q: Array) -> Array:
        """Return how far the joints may go from q, (N, 2 k): as `Stops.limits_from`."""
        return self._stops.limits_from(q)

    def bearing(self, q: Array, v: Array, tau: Array, dt: float) -> tuple[Array, Marks]:
        """Return the loads (N, nv) of stops in a step, and whose joints they hold (N, 2 k).

        Constant loads, such that v + dt a goes into none of the stops that joints are at: what a
        joint does that is thrown off its stop and comes back within the step is not resolved.

        Source: D. E. Stewart and J. C. Trinkle, An implicit time-stepping scheme for rigid body
        dynamics with inelastic collisions and Coulomb friction, 1996.
        """
        stops, loads = self._stops, np.zeros_like(v)
        touched = stops.distances(q, stops.limits_from(q)) <= LIMIT_TOLERANCE
        rows = np.flatnonzero(touched.any(axis=1))
        held = np.zeros_like(touched)
        if rows.size:
            after = v[rows] + dt * self._robot.forward_dynamics(q[rows], v[rows], tau[rows])
            loads[rows] = self._impulses(q[rows], after, touched[rows]) / dt
            held[rows] = touched[rows] & (stops.velocities(loads[rows]) > 0.0)
        return loads, held

    def impacts(self, q: Array, v: Array, limits: Array) -> Array:
        """Put joints that are beyond a limit on it, in q and v, and return the impulses (N, nv)."""
        stops, impulses = self._stops, np.zeros_like(v)
        distances = stops.distances(q, limits)
        touched = distances <= LIMIT_TOLERANCE
        rows = np.flatnonzero((touched & (stops.velocities(v) < 0.0)).any(axis=1))
        if rows.size:
            impulse = self._impulses(q[rows], v[rows], touched[rows])
            after = v[rows] + self._changes(q[rows], impulse)
            stopped = (stops.velocities(impulse) > 0.0) | (stops.velocities(after) < 0.0)
            self.halt(after, touched[rows] & stopped)
            v[rows], impulses[rows] = after, impulse
        self.hold(q, limits, (distances < 0.0) | touched & (stops.velocities(v) <= 0.0))
        return impulses

    def hold(self, x: Array, limits: Array, marks: Marks) -> None:
        """Put the marked joints on their limits, in configurations x (N, nq)."""
        for k in np.flatnonzero(marks.any(axis=0)):
            x[marks[:, k], self._stops.q[k]] = limits[marks[:, k], k]

    def halt(self, v: Array, marks: Marks) -> None:
        """Make the velocities of the marked joints zero, in v (N, nv)."""
        for k in np.flatnonzero(marks.any(axis=0)):
            v[marks[:, k], self._stops.v[k]] = 0.0

    def _impulses(self, q: Array, x: Array, touched: Marks) -> Array:
        """Return impulses (N, nv) of stops that leave no velocity into them from x (N, nv)."""
        lower, upper = np.split(touched, 2, axis=1)
        inverse = self._robot.inverse_mass_matrix(q)
        impulses = np.zeros_like(x)
        A = inverse[:, self._v[:, None], self._v]
        impulses[:, self._v] = complementary(A, x[:, self._v], lower, upper)
        return impulses

    def _changes(self, q: Array, impulses: Array) -> Array:
        """Return the changes of velocity M^-1 p (N, nv)."""
        result: Array = (self._robot.inverse_mass_matrix(q) @ impulses[..., None])[..., 0]
        return result


def complementary(A: Array, b: Array, lower: Marks, upper: Marks) -> Array:
    """Return p (N, m) with y = b + A p, for each joint at a lower limit 0 <= p, y and p y = 0.

    At an upper limit the signs are reversed, at both y = 0, at none p = 0. By exchanging the joints
    that are held while any has a wrong sign: all of them at once, and one by one where that does
    not make them fewer, which ends for every symmetric positive definite A.

    Source: J. J. Júdice and F. M. Pires, A block principal pivoting algorithm for large-scale
    strictly monotone linear complementarity problems, 1994.

    Parameters
    ----------
    A : (N, m, m) array
        Symmetric and positive definite.
    b : (N, m) array
    lower, upper : (N, m) arrays of bool

    Raises
    ------
    LinAlgError
        If it does not end, as with numbers that are not finite.

    Examples
    --------
    Two coupled joints fall onto their lower limits; the impulse of the first lifts the second:

    >>> A, b, at = np.array([[[1.0, -0.5], [-0.5, 1.0]]]), np.array([[1.0, -2.0]]), np.ones((1, 2))
    >>> complementary(A, b, at > 0, at < 0)
    array([[0., 2.]])
    """
    fixed, touched = lower & upper, lower | upper
    sign, rows = np.where(lower, 1.0, -1.0), np.arange(len(b))
    tolerance = STOP_TOLERANCE * np.abs(b).max(axis=1, initial=0.0, keepdims=True)
    held = fixed | touched & (sign * b < 0.0)
    fewest, attempts = np.full(len(b), b.shape[1] + 1), np.full(len(b), MAX_ATTEMPTS)
    for _ in range(MAX_EXCHANGES):
        both = held[:, :, None] & held[:, None, :]
        system = np.where(both, A, np.eye(b.shape[1]))
        p: Array = np.linalg.solve(system, np.where(held, -b, 0.0)[..., None])[..., 0]
        y = b + (A @ p[..., None])[..., 0]
        wrong = np.where(held, ~fixed & (sign * p < 0.0), touched & (sign * y < -tolerance))
        count = wrong.sum(axis=1)
        if not count.any():
            return p
        attempts = np.where(count < fewest, MAX_ATTEMPTS, attempts - 1)
        fewest = np.minimum(fewest, count)
        last = np.zeros_like(wrong)
        last[rows, wrong.shape[1] - 1 - wrong[:, ::-1].argmax(axis=1)] = True
        held ^= wrong & (last | (attempts >= 0)[:, None])
    raise np.linalg.LinAlgError('no forces of stops were found')


class SimulatedStack:
    """The states of N identical robots without mutual contact, integrated in one call.

    Each moves as a `SimulatedRobot`, by the same compiled functions and the same laws of contacts,
    springs and stops, with one difference: a step is always one step of the integrator. Impacts at
    stops take place at its end, the loads of stops are constant in it, contacts are detected in the
    stages of the integrator, and the energy is not checked.
    Choose `dt` for the stiffest contact: dt sqrt(k / m) < 0.3 is accurate, more than 2.8 unstable
    (`runge_kutta`).

    Parameters
    ----------
    robot : Robot
    count : int
        N, at least 1.
    q : (nq,) or (N, nq) array, optional
        Initial configurations, at rest [rad, m]; by default `Robot.home`.
    integrator : str
        One of `INTEGRATORS`.
    planes, contact_points, springs
        As of `SimulatedRobot`, the same for all.

    Attributes
    ----------
    q, v : (N, nq) and (N, nv) arrays
    stop_torques : (N, nv) array
        Of the last step, the mean over its time [N m, N].

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
        *,
        planes: Sequence[Plane] = (),
        contact_points: Sequence[ContactPoint] = (),
        springs: Sequence[Spring] = (),
    ) -> None:
        if not isinstance(count, int | np.integer) or count < 1:
            raise ArgumentError(f'count must be a whole number >= 1, got {count!r}')
        kind = integrator_class(robot, integrator, INTEGRATORS)
        self.robot, self.count, self.integrator = robot, int(count), kind(robot)
        self.environment = Environment(robot, planes, contact_points, springs)
        self._stops = StackStops(robot)
        start = robot.home() if q is None else q
        self.q = self._rows('q', robot.nq, start)
        self.v = np.zeros((self.count, robot.nv))
        self.stop_torques = np.zeros((self.count, robot.nv))
        check_robot(robot, self.q[0])

    @property
    def q(self) -> Array:
        """Configurations (N, nq) [rad, m]; contacts restart where they are set."""
        return self._q

    @q.setter
    def q(self, q: ArrayLike) -> None:
        self._q = self._rows('q', self.robot.nq, q)
        self._memory = self.environment.memory(self._q)

    @np.errstate(over='ignore', invalid='ignore')  # divergence raises an error
    def step(self, tau: ArrayLike, dt: float, wrenches: Mapping[str, Array] | None = None) -> None:
        """Move all on by `dt` [s].

        Parameters
        ----------
        tau : (nv,) or (N, nv) array
            Motor torques [N m, N], constant during the step.
        dt : float
        wrenches : mapping, optional
            Link name to the wrench on it, (6,) or (N, 6), as of `SimulatedRobot.step`.

        Raises
        ------
        ArgumentError
            A dt that is not positive, wrong shapes, a wrench that is not finite.
        UnknownNameError
            A wrench on a link that does not exist.
        DivergenceError
            If a state is not finite after the step. After any of these errors all states are
            unchanged.
        """
        check_number('dt', dt, positive=True)
        total = self._rows('tau', self.robot.nv, tau)
        for link, wrench in finite_wrenches(wrenches or {}).items():
            W = self._rows(f'the wrench on {link!r}', 6, wrench)
            total += np.einsum('nik,ni->nk', self.robot.jacobian(self._q, link, 'body'), W)
        moved = self._moved(total, dt)
        effects = self._effects(*moved[:2])
        self._q, self.v, impulses = moved
        self.stop_torques = impulses / dt
        if effects is not None:
            self._memory = effects.memory

    def set_state(self, q: ArrayLike, v: ArrayLike) -> None:
        """Go on from other states, (N, nq) and (N, nv) or one for all; see `SimulatedRobot`."""
        q, v = self._rows('q', self.robot.nq, q), self._rows('v', self.robot.nv, v)
        states = [valid_state(self.robot, *state) for state in zip(q, v)]
        self.q, self.v = (np.array(rows) for rows in zip(*states))
        self.stop_torques = np.zeros_like(v)

    def save(self) -> SavedState:
        """Return the complete state, for `restore`."""
        return SavedState(
            self._q.copy(), self.v.copy(), self._memory.copy(), self.stop_torques.copy()
        )

    def restore(self, saved: SavedState) -> None:
        """Go on as from the moment of `save`; raises `ArgumentError` if it is of another stack."""
        saved.check(self._q, self.v, self._memory)
        self._q, self.v = saved.q.copy(), saved.v.copy()
        self._memory, self.stop_torques = saved.memory.copy(), saved.stop_torques.copy()

    @property
    def contact_wrenches(self) -> dict[str, Array]:
        """As of `SimulatedRobot`, (N, 6) for each link with contact points [N m, N]."""
        effects = self._effects(self._q, self.v)
        found = self.environment.wrenches_by_link(effects)
        return {link: np.broadcast_to(W, (self.count, 6)) for link, W in found.items()}

    @property
    def energy(self) -> tuple[Array, Array]:
        """Kinetic and potential energies (N,), of gravity, springs and deformed contacts [J]."""
        return self._energies(self._q, self.v, np.arange(self.count))

    def _all_torques(self, tau: Array) -> Torques:
        """Return torques (N, nv) with those of planes and springs, for the integrator."""
        environment, memory = self.environment, self._memory
        if environment.is_empty:
            return tau
        return lambda t, q, v: tau + environment.torques(q, v, memory)

    def _moved(self, tau: Array, dt: float) -> tuple[Array, Array, Array]:
        """Return the states a time dt later and the impulses of the stops (N, nv)."""
        try:
            limits, torques = self._stops.limits_from(self._q), self._all_torques(tau)
            now = torques(0.0, self._q, self.v) if callable(torques) else torques
            loads, held = self._stops.bearing(self._q, self.v, np.asarray(now), dt)
            q, v = self.integrator.step(self._q, self.v, self._all_torques(tau + loads), dt)
            self._check(q, v, dt)
            self._stops.hold(q, limits, held)
            self._stops.halt(v, held)
            impulses = loads * dt + self._stops.impacts(q, v, limits)
            self._slow_down(q, v, tau, np.flatnonzero(impulses.any(axis=1)))
            return q, v, impulses
        except (ArgumentError, np.linalg.LinAlgError) as error:
            raise DivergenceError(
                f'the motion is too fast for steps of {dt:.3g} s: {error}'
            ) from None

    def _slow_down(self, q: Array, v: Array, tau: Array, rows: NDArray[np.intp]) -> None:
        """Scale v down in rows on which stops have acted if energy was gained; as `stepping`.

        They act at the end of the step, a little beyond the stop; free bodies keep their momentum.
        """
        if not rows.size or self.robot.free_bodies:
            return
        before = sum(self._energies(self._q[rows], self.v[rows], rows))
        T, U = self._energies(q[rows], v[rows], rows)
        work = np.einsum('nk,nk->n', tau[rows], q[rows] - self._q[rows])
        gained = np.clip(T + U - before - work, 0.0, None)
        v[rows] *= np.sqrt(np.clip(1.0 - gained / np.where(T > 0.0, T, 1.0), 0.0, 1.0))[:, None]

    def _energies(self, q: Array, v: Array, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return kinetic and potential energies of some of the robots in any states [J]."""
        stored: Array | float = 0.0
        if not self.environment.is_empty:
            stored = self.environment.effects(q, v, self._memory[rows]).energy
        kinetic = np.asarray(self.robot.kinetic_energy(q, v))
        return kinetic, np.asarray(self.robot.potential_energy(q)) + stored

    def _check(self, q: Array, v: Array, dt: float) -> None:
        """Raise `DivergenceError` if states are not finite."""
        lost = ~(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))
        if lost.any():
            raise DivergenceError(
                f'{lost.sum()} of {self.count} robots, the first one with number {lost.argmax()}, '
                f'move too fast for steps of {dt:.3g} s; take shorter steps or smaller torques, or '
                'softer contacts'
            )

    def _effects(self, q: Array, v: Array) -> Effects | None:
        """Return what planes and springs do in these states."""
        environment = self.environment
        return None if environment.is_empty else environment.effects(q, v, self._memory)

    def _rows(self, name: str, size: int, value: ArrayLike) -> Array:
        """Return a value for each robot, (N, size), as a new array."""
        array = float_array(name, value)
        if array.shape not in ((size,), (self.count, size)):
            raise ArgumentError(
                f'{name} must have shape ({size},) or ({self.count}, {size}), got {array.shape}'
            )
        return np.array(np.broadcast_to(array, (self.count, size)))
