# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Explicit Runge-Kutta steps of robots."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from ..types import Array
from .configuration_space import ConfigurationSpace
from .integrator import DynamicSystem, Integrator, Torques
from .munthe_kaas import munthe_kaas_step
from .tableau import RK4, Tableau


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
