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
The second gives the loads of stops while nothing moves into them; they do no work. Both
have one solution, found by principal pivoting on M^-1 (`complementary`).

Sources: Bruyninckx 2010, section 4.13, where a joint limit resists in one direction only (B-103);
J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988; R. Featherstone,
Rigid Body Dynamics Algorithms, 2008, chapter 11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..integration.integrator import Torques
from ..robot.robot import Robot
from ..types import Array

Marks = NDArray[np.bool_]

#: A joint this close to its limit [rad, m] is put on it.
LIMIT_TOLERANCE = 1e-6
#: Exchanges of all wrong joints that do not make them fewer, before they are exchanged one by one.
MAX_ATTEMPTS = 3
#: Exchanges after which the problem is treated as one without a solution.
MAX_EXCHANGES = 1000
#: What velocities and accelerations into a stop may be by rounding, relatively.
STOP_TOLERANCE = 1e-12


class Stops:
    """The stops of a robot, two for each joint of one freedom with finite limits.

    Those of a mimic joint are the limits of the joint that it follows: its own range is no
    coordinate. Free, ball and planar joints and floating bases have none. A stop that a joint is
    beyond, because it was put there, lets it return and not go further.

    Arguments and results are arrays of one state or of stacks (...). Positions and velocities are
    those of the whole robot.

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
        self._joints = self.v[: len(limited)]

    def limits_from(self, q: Array) -> Array:
        """Return the bounds of a step from q, (..., 2 k): the limits, or q beyond them."""
        limits: Array = self.sign * np.minimum(self.sign * self.limit, self.sign * q[..., self.q])
        return limits

    def distances(self, q: Array, limits: Array) -> Array:
        """Return the distances (..., 2 k) from the stops, negative beyond them [rad, m]."""
        distances: Array = self.sign * (q[..., self.q] - limits)
        return distances

    def velocities(self, v: Array) -> Array:
        """Return the velocities (..., 2 k) away from the stops [rad/s, m/s]."""
        velocities: Array = self.sign * v[..., self.v]
        return velocities

    def impact(self, q: Array, v: Array, touched: Marks) -> tuple[Array, Array]:
        """Return the velocities (..., nv) after the impacts, and their impulses (..., nv) [N m s].

        `touched` (..., 2 k) marks the stops that the joints are at.
        """
        impulses = np.zeros(v.shape)
        rows = states_with(touched & (self.velocities(v) < 0.0))
        if rows is None:
            return v, impulses
        impulses[rows], inverse = self._impulses(q[rows], v[rows], touched[rows])
        after = v.copy()
        after[rows] += (inverse @ impulses[rows][..., None])[..., 0]
        stopped = (self.velocities(impulses) > 0.0) | (self.velocities(after) < 0.0)
        self.halt(after, touched & stopped)
        return after, impulses

    def bearing(
        self, q: Array, v: Array, tau: Torques, touched: Marks, dt: float
    ) -> tuple[Marks, Array]:
        """Return which of the touched stops are loaded in a step, and their loads (..., nv).

        Loads such that v + dt a goes into none of the touched stops: what a joint does that is
        thrown off its stop and comes back within the step is not resolved.

        Source: D. E. Stewart and J. C. Trinkle, An implicit time-stepping scheme for rigid body
        dynamics with inelastic collisions and Coulomb friction, 1996.
        """
        loads, rows = np.zeros(v.shape), states_with(touched)
        if rows is None:
            return touched, loads
        now = np.asarray(tau(0.0, q, v) if callable(tau) else tau)
        after = v[rows] + dt * self._robot.forward_dynamics(q[rows], v[rows], now[rows])
        loads[rows] = self._impulses(q[rows], after, touched[rows])[0] / dt
        return touched & (self.velocities(loads) > 0.0), loads

    def hold(self, q: Array, limits: Array, marks: Marks) -> None:
        """Put the marked joints on their limits, in q."""
        *rows, k = np.nonzero(marks)
        q[(*rows, self.q[k])] = limits[marks]

    def halt(self, v: Array, marks: Marks) -> None:
        """Make the velocities of the marked joints zero, in v."""
        *rows, k = np.nonzero(marks)
        v[(*rows, self.v[k])] = 0.0

    def holding(self, tau: Torques, held: Marks) -> Torques:
        """Return the torques tau with those of loaded stops, for integrators of one state.

        The joints of the held stops do not accelerate.
        """
        if not held.any():
            return tau
        places = self._joints[np.logical_or(*self._halves(held))]
        block = places[:, None], places

        def torques(t: float, q: Array, v: Array) -> Array:
            robot = self._robot
            total = np.array(tau(t, q, v) if callable(tau) else tau, dtype=float)
            inverse = robot.inverse_mass_matrix(q)[block]
            total[places] -= np.linalg.solve(inverse, robot.forward_dynamics(q, v, total)[places])
            return total

        return torques

    def _halves(self, marks: Marks) -> tuple[Marks, Marks]:
        """Return the marks of lower and of upper stops."""
        count = len(self._joints)
        return marks[..., :count], marks[..., count:]

    def _impulses(self, q: Array, x: Array, touched: Marks) -> tuple[Array, Array]:
        """Return impulses (..., nv) after which x (..., nv) goes into no stop, and M^-1."""
        lower, upper = self._halves(touched)
        inverse, impulses = self._robot.inverse_mass_matrix(q), np.zeros(x.shape)
        A = inverse[..., self._joints[:, None], self._joints]
        impulses[..., self._joints] = complementary(A, x[..., self._joints], lower, upper)
        return impulses, inverse


def states_with(marks: Marks) -> Any:
    """Return the index of the states with a mark in marks (..., k), None if there are none."""
    rows = marks.any(axis=-1)
    if not rows.any():
        return None
    return rows if rows.ndim else ...


def complementary(A: Array, b: Array, lower: Marks, upper: Marks) -> Array:
    """Return p (N, m) with y = b + A p, for each joint at a lower limit 0 <= p, y and p y = 0.

    At an upper limit the signs are reversed, at both y = 0, at none p = 0. By exchanging the joints
    that are held while any has a wrong sign: all of them at once, and one by one where that does
    not make them fewer, which ends for every symmetric positive definite A.

    Source: J. J. Júdice and F. M. Pires, A block principal pivoting algorithm for large-scale
    strictly monotone linear complementarity problems, 1994.

    Parameters
    ----------
    A : (..., m, m) array
        Symmetric and positive definite.
    b : (..., m) array
    lower, upper : (..., m) arrays of bool

    Raises
    ------
    LinAlgError
        If it does not end, as with numbers that are not finite.

    Examples
    --------
    Two coupled joints fall onto their lower limits; the impulse of the first lifts the second:

    >>> A, b, at = np.array([[1.0, -0.5], [-0.5, 1.0]]), np.array([1.0, -2.0]), np.ones(2)
    >>> complementary(A, b, at > 0, at < 0)
    array([0., 2.])
    """
    free, sign, identity = lower ^ upper, np.where(lower, 1.0, -1.0), np.eye(b.shape[-1])
    tolerance = STOP_TOLERANCE * np.abs(b).max(axis=-1, initial=0.0, keepdims=True)
    held = (lower & upper) | free & (sign * b < 0.0)
    fewest, attempts = np.array(len(identity) + 1), np.array(MAX_ATTEMPTS)
    for _ in range(MAX_EXCHANGES):
        system = np.where(held[..., :, None] & held[..., None, :], A, identity)
        p: Array = np.linalg.solve(system, np.where(held, -b, 0.0)[..., None])[..., 0]
        y = b + (A @ p[..., None])[..., 0]
        wrong = free & (sign * np.where(held, p, y + sign * tolerance) < 0.0)
        if not wrong.any():
            return p
        count = wrong.sum(axis=-1)
        attempts = np.where(count < fewest, MAX_ATTEMPTS, attempts - 1)
        fewest = np.minimum(fewest, count)
        last = np.cumsum(wrong, axis=-1) == count[..., None]
        held ^= wrong & (last | (attempts >= 0)[..., None])
    raise np.linalg.LinAlgError('no forces of stops were found')


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
