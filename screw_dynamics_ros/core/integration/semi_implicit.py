# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Semi-implicit Euler steps: first new velocities, then positions with these."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..linear import numbers
from ..types import Array
from .configuration_space import ConfigurationSpace
from .integrator import DynamicSystem, Integrator, Torques


class SemiImplicitEuler(Integrator):
    """v <- v + h a(q, v), then q <- q exp(h v) with the new v: one acceleration, first order.

    If the mass matrix is constant and forces depend on q alone (one pendulum, a free point) the
    step is symplectic: the energy oscillates with an amplitude of order h and does not drift. For
    other systems it is a cheap step, which is stable for stiffer springs than the explicit one.

    Source: Bruyninckx 2010, section 6.4.2 (C-062).

    Parameters
    ----------
    robot : DynamicSystem
        A `Robot`.
    increments : {'body', 'mixed', 'spatial', 'hybrid'}
        Free bodies move along their screw axis ('body', 'spatial'), or rotate and move on a
        straight line.
    """

    def __init__(self, robot: DynamicSystem, increments: str = 'body') -> None:
        super().__init__(robot)
        self.space = ConfigurationSpace(robot, increments)

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
        q, v = numbers(q), numbers(v)
        v = v + dt * self.acceleration(tau, wrenches)(t, q, v)
        X = self.space.checked(dt * self.space.increment_rate(q, np.zeros_like(v), v))
        return self.space.moved(q, X), v
