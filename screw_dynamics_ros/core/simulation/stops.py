# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Joint limits as stops: rigid, without friction, and inelastic.

A joint at its lower limit cannot have a negative velocity, nor one at its upper limit a positive
one. Let the columns of E, (nv, k), be the directions in which the touching stops push, +1 or -1 at
the index of their joint. A stop pushes and never pulls, and only while it is touched::

    impact         M (v+ - v) = E p             0 <= p  perpendicular to  E^T v+ >= 0
    contact        M a + h = tau + E lambda     0 <= lambda  perpendicular to  E^T a >= 0

The first is Moreau's law for impacts without restitution: v+ is, of all velocities that the stops
admit, the nearest to v in the metric of the kinetic energy, which therefore never grows; the
impulse p acts on the whole mechanism, so that joints coupled by M change their velocities together.
The second says which of the stops bear a load while nothing moves into them; they do no work. Both
have one solution, a non-negative least-squares problem in the factor L of M = L L^T::

    minimize |L^-1 E p + L^T v|,  p >= 0;       the same with a instead of v gives lambda

Sources: Bruyninckx 2010, section 4.13, where a joint limit resists in one direction only (B-103);
J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988; R. Featherstone,
Rigid Body Dynamics Algorithms, 2008, chapter 11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..integration.integrator import Torques
from ..least_squares import non_negative_least_squares
from ..robot.robot import Robot
from ..types import Array

Numbers = NDArray[np.intp]

#: A joint this close to its limit [rad, m] is put on it.
LIMIT_TOLERANCE = 1e-6


class Stops:
    """The stops of a robot, two for each joint of one freedom with finite limits.

    Those of a mimic joint are the limits of the joint that it follows: its own range is no
    coordinate. Free, ball and planar joints and floating bases have none. A stop that a joint is
    beyond, because it was put there, lets it return and not go further.

    Everything here concerns one state; limits, distances and velocities are those of stacks, too.
    Positions and velocities are those of the whole robot.

    Parameters
    ----------
    robot : Robot

    Attributes
    ----------
    q, v : (2 k,) arrays of int
        Places of the k joints in configurations and velocities, once for each of their stops.
    sign : (2 k,) array
        Direction in which each stop pushes: +1 for the lower limits, which come first, -1 for the
        upper ones.
    limit : (2 k,) array
        Their positions [rad, m], some infinite.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        lower, upper = robot.limits.lower, robot.limits.upper
        limited = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
        places = [robot.joint_coordinates(robot.joint_names[joint]) for joint in limited]
        self.q = np.array([q.start for q, _ in places] * 2, dtype=int)
        self.v = np.array([v.start for _, v in places] * 2, dtype=int)
        self.sign = np.repeat([1.0, -1.0], len(limited))
        self.limit = np.concatenate([lower[limited], upper[limited]])

    def limits_from(self, q: Array) -> Array:
        """Return how far the joints may go from q, (2 k,): to their limits, or stay beyond."""
        limits: Array = self.sign * np.minimum(self.sign * self.limit, self.sign * q[..., self.q])
        return limits

    def distances(self, q: Array, limits: Array) -> Array:
        """Return the distances (2 k,) from the stops, negative beyond them [rad, m]."""
        distances: Array = self.sign * (q[..., self.q] - limits)
        return distances

    def velocities(self, v: Array) -> Array:
        """Return the velocities (2 k,) away from the stops [rad/s, m/s]."""
        velocities: Array = self.sign * v[..., self.v]
        return velocities

    def impact(self, q: Array, v: Array, touched: Numbers) -> tuple[Array, Array]:
        """Return the velocity (nv,) after the impact, and the impulses (nv,) of it [N m s, N s].

        `touched` are the numbers of the stops that the joints are at.
        """
        if not len(touched) or not (self.sign[touched] * v[self.v[touched]] < 0.0).any():
            return v, np.zeros(len(v))
        L, K = self._metric(q, touched)
        p = non_negative_least_squares(K, -(L.T @ v))
        impulse = self._forces(touched, p)
        v = v + np.linalg.solve(L.T, K @ p)
        inward = self.sign[touched] * v[self.v[touched]] < 0.0  # by rounding
        v[self.v[touched[(p > 0.0) | inward]]] = 0.0
        return v, impulse

    def bearing(self, q: Array, v: Array, tau: Torques, touched: Numbers) -> tuple[Numbers, Array]:
        """Return which of the touched stops bear a load under the torques tau, and the loads (nv,).

        No joint moves away from one of `touched`.
        """
        if not len(touched):
            return touched, np.zeros(len(v))
        a = self._robot.forward_dynamics(q, v, tau(0.0, q, v) if callable(tau) else tau)
        L, K = self._metric(q, touched)
        forces = non_negative_least_squares(K, -(L.T @ a))
        return touched[forces > 0.0], self._forces(touched, forces)

    def holding(self, tau: Torques, held: Numbers) -> Torques:
        """Return the torques tau with those of stops that bear, for integrators.

        `held` are the numbers of the stops; their joints do not accelerate.
        """
        if not len(held):
            return tau
        places = np.unique(self.v[held])

        def torques(t: float, q: Array, v: Array) -> Array:
            robot = self._robot
            total = np.array(tau(t, q, v) if callable(tau) else tau, dtype=float)
            inverse = robot.inverse_mass_matrix(q)[places][:, places]
            total[places] -= np.linalg.solve(inverse, robot.forward_dynamics(q, v, total)[places])
            return total

        return torques

    def _metric(self, q: Array, touched: Numbers) -> tuple[Array, Any]:
        """Return L (nv, nv) and L^-1 E (nv, k)."""
        # NumPy solves small systems in one thread; scipy wakes those of BLAS for a triangular one.
        L: Any = np.linalg.cholesky(self._robot.mass_matrix(q))
        E = np.zeros((len(L), len(touched)))
        E[self.v[touched], np.arange(len(touched))] = self.sign[touched]
        return L, np.linalg.solve(L, E)

    def _forces(self, touched: Numbers, amounts: Array) -> Array:
        """Return the generalized forces (nv,) of stops."""
        forces = np.zeros(self._robot.nv)
        np.add.at(forces, self.v[touched], self.sign[touched] * amounts)
        return forces


def first_passage(distances: Array, velocities: Array, later: Array, dt: float) -> float:
    """Return the time in (0, dt] at which the first of some joints reaches its stop [s].

    Of the parabola through the distance before and after, with the velocity before.

    Parameters
    ----------
    distances, velocities : (k,) arrays
        From and away from the stops, before [rad, m; 1/s]; distances >= 0.
    later : (k,) array
        Distances a time dt later, < 0.
    dt : float

    Examples
    --------
    A stone dropped from 5 m at 10 m/s^2, 15 m below the ground after two seconds:

    >>> first_passage(np.array([5.0]), np.array([0.0]), np.array([-15.0]), 2.0)
    1.0
    """
    linear = velocities * dt
    square = later - distances - linear
    root = np.sqrt(linear**2 - 4.0 * square * distances)
    with np.errstate(divide='ignore', invalid='ignore'):
        parts = np.where(
            linear > 0.0, (linear + root) / (-2.0 * square), 2.0 * distances / (root - linear)
        )
    return float(dt * parts.min())
