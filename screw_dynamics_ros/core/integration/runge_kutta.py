# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Explicit Runge-Kutta steps on Lie groups, after Munthe-Kaas, and of robots."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..linear import numbers
from ..types import Array
from .configuration_space import ConfigurationSpace
from .integrator import DynamicSystem, Integrator, Torques
from .tableau import RK4, Tableau

#: F(t, q, y) -> (v, y'): the velocity, and the rate of the rest of the state.
Motion = Callable[[float, Array, Array], tuple[Array, Array]]


def munthe_kaas_step(
    space: ConfigurationSpace,
    motion: Motion,
    q: ArrayLike,
    y: ArrayLike,
    dt: float,
    tableau: Tableau = RK4,
    t: float = 0.0,
) -> tuple[Array, Array]:
    """Return q and y a time `dt` later, of the order of the tableau.

    The state is (q, y) with q in a Lie group and y, (nv,), in a vector space: velocities, or
    momenta. Around the q of before the step, q exp X moves with X' = dexp^-1_{-X} v, X = 0 at first
    (or with the other increments of `space`), a differential equation in a vector space, to which
    the method is applied; what it gives is exact in the group. If all coordinates add, this is the
    method of Runge and Kutta itself.

    Sources: Müller 2018b (88), (89) (D-44); Müller and Terze (36), (37), with the sign of
    increments on the right (I-23, I-24).

    Parameters
    ----------
    space : ConfigurationSpace
    motion : callable
        Takes t [s], q, y; returns the velocity v (nv,) [rad/s, m/s] and the rate of y (nv,).
    q, y : (nq,) and (nv,) arrays, or stacks of them
    dt : float
        Step [s]; negative ones go back.
    tableau : Tableau
    t : float
        Time before the step [s].

    Raises
    ------
    ArgumentError
        If a free body turns by 2 pi or more in the step.

    Examples
    --------
    A body thrown up; a polynomial of second degree in t is exact:

    >>> from screw_dynamics_ros.core import Robot
    >>> from screw_dynamics_ros.core.description import Inertia, Link, RobotDescription
    >>> stone = RobotDescription.from_parts('stone', [Link('stone', Inertia(1, np.zeros(3),
    ...     np.eye(3)))], [])
    >>> robot = Robot(stone, floating_base=True, gravity=(0, 0, -10), backend='reference')
    >>> q, v = np.array([0, 0, 0, 0, 0, 0, 1.0]), np.array([0, 0, 3.0, 0, 0, 8.0])
    >>> falling = lambda t, q, v: (v, robot.forward_dynamics(q, v, np.zeros(6)))
    >>> q, v = munthe_kaas_step(ConfigurationSpace(robot), falling, q, v, 0.5)
    >>> q.round(6) + 0.0
    array([0.      , 0.      , 2.75    , 0.      , 0.      , 0.681639,
           0.731689])
    """
    increments, _ = munthe_kaas_stages(space, motion, q, y, dt, tableau, t)
    X, Y = space.checked(increments[:, 0])[-1], increments[-1, 1]
    return space.moved(numbers(q), X), numbers(y) + Y


def munthe_kaas_stages(
    space: ConfigurationSpace,
    motion: Motion,
    q: ArrayLike,
    y: ArrayLike,
    dt: float,
    tableau: Tableau,
    t: float,
) -> tuple[Array, Array]:
    """Return the increments of a step and their rates, which embedded methods combine otherwise.

    Parameters as of `munthe_kaas_step`. The increments (s + 1, 2, ..., nv) are those of X and y in
    each of the s stages, the first of them zero, and of the step; the rates are (s, 2, ..., nv).
    """
    q, y = numbers(q), numbers(y)
    stages, rows = tableau.b.size, numbers(dt * tableau.rows)
    k = np.zeros((stages, 2, *y.shape), y.dtype)  # rates of X and y in each stage
    Psi = np.zeros((stages + 1, 2, *y.shape), y.dtype)  # X and y - y(t): zero, of stages, the step
    flat_k, flat_Psi = k.reshape(stages, -1), Psi.reshape(stages + 1, -1)
    at, stage = q, y
    for j, c in enumerate(tableau.c):
        if j:
            at, stage = space.moved(q, Psi[j, 0]), y + Psi[j, 1]
        v, k[j, 1] = motion(t + c * dt, at, stage)
        k[j, 0] = space.increment_rate(at, Psi[j, 0], v)
        rows[j].dot(flat_k, flat_Psi[j + 1])
    return Psi, k


class RungeKutta(Integrator):
    """Steps of the order of a tableau in (q, v), free bodies by Munthe-Kaas' method.

    Sources: Müller 2018b (88), (89) (D-44); Bruyninckx 2010, section 6.4.2 (C-062).

    Parameters
    ----------
    robot : DynamicSystem
        A `Robot`.
    tableau : Tableau
    increments : {'body', 'spatial', 'mixed', 'hybrid'}
        Local coordinates of free bodies, see `kinematics.reconstruction`.
    """

    def __init__(
        self, robot: DynamicSystem, tableau: Tableau = RK4, increments: str = 'body'
    ) -> None:
        super().__init__(robot)
        self.tableau, self.space = tableau, ConfigurationSpace(robot, increments)

    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: Torques,
        dt: float,
        wrenches: Mapping[str, ArrayLike] | None = None,
        t: float = 0.0,
    ) -> tuple[Array, Array]:
        """Return q and v a time `dt` later; see `Integrator.step`."""
        acceleration = self.acceleration(tau, wrenches)
        return munthe_kaas_step(
            self.space, lambda t, q, v: (v, acceleration(t, q, v)), q, v, dt, self.tableau, t
        )
