# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Runge-Kutta steps that conserve the momentum of a robot with a floating base."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..types import Array
from .configuration_space import ConfigurationSpace
from .integrator import DynamicSystem, Integrator, Torques
from .runge_kutta import munthe_kaas_step
from .tableau import RK4, Tableau


class FloatingSystem(DynamicSystem, Protocol):
    """Interface of systems for `MomentumPreserving`, for example `Robot`."""

    @property
    def floating_base(self) -> bool:
        """Whether the root link moves freely."""

    def spatial_momenta(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the momenta (nv,)."""

    def spatial_momentum_dynamics(
        self,
        q: ArrayLike,
        momenta: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array, Array]:
        """Return velocities and rates of momenta, (nv,) each."""


class MomentumPreserving(Integrator):
    """Steps in (q, P), where the total spatial momentum Pi^s = P[:6] changes by W^s alone.

    The base moves by increments on the left, C <- exp X C with X' = dexp^-1_X V^s. A robot without
    applied wrenches and gravity keeps Pi^s exactly in `momenta_step`; `step`, whose state
    is (q, v), to the rounding of M v = p and back in every step.

    Source: Müller 2018b, sections 3.1, 4.2 and 7 (D-45).

    Parameters
    ----------
    robot : FloatingSystem
        A `Robot` on a floating base, with or without joints.
    tableau : Tableau

    Raises
    ------
    ArgumentError
        If the base is fixed.
    """

    def __init__(self, robot: FloatingSystem, tableau: Tableau = RK4) -> None:
        super().__init__(robot)
        self.robot: FloatingSystem = robot
        if not robot.floating_base:
            raise ArgumentError(
                f'{robot!r} has no floating base: the ground takes up its momentum; take RungeKutta'
            )
        self.tableau, self.space = tableau, ConfigurationSpace(robot, 'spatial')

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
        P = self.robot.spatial_momenta(q, v)
        at, P = self.momenta_step(q, P, tau, dt, wrenches, t)
        return at, self.velocity(at, P)

    def momenta_step(
        self,
        q: ArrayLike,
        P: ArrayLike,
        tau: Torques,
        dt: float,
        wrenches: Mapping[str, ArrayLike] | None = None,
        t: float = 0.0,
    ) -> tuple[Array, Array]:
        """Return q and P a time `dt` later: `step` with `Robot.spatial_momenta` as the state."""
        robot, options = self.robot, (wrenches,) if wrenches else ()

        def motion(t: float, q: Array, P: Array) -> tuple[Array, Array]:
            torques = tau(t, q, self.velocity(q, P)) if callable(tau) else tau
            return robot.spatial_momentum_dynamics(q, P, torques, *options)

        return munthe_kaas_step(self.space, motion, q, P, dt, self.tableau, t)

    def velocity(self, q: Array, P: Array) -> Array:
        """Return v (nv,) of the momenta P: V^s = (M^s)^-1 Pi^s for one body."""
        return self.robot.spatial_momentum_dynamics(q, P, np.zeros(self.robot.nv))[0]
