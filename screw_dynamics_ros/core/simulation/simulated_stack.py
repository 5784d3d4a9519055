# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stacks of identical simulated robots with fixed step size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import check_number, float_array
from ..errors import ArgumentError, DivergenceError
from ..integration.integrator import Torques
from ..robot.robot import Robot
from ..types import Array
from .checks import check_robot, finite_wrenches, integrator_class, valid_state
from .compliant_forces import Effects
from .contacts import ContactPoint, Plane
from .environment import Environment
from .simulated_robot import INTEGRATORS, SavedState
from .springs import Spring
from .stack_stops import StackStops


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
