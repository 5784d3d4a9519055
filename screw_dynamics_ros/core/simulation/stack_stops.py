# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stops of a stack of robots: the laws of `simulation.stops`, solved for all robots at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..robot.robot import Robot
from ..types import Array
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
