# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Common interface of integrators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Protocol

from numpy.typing import ArrayLike

from ..arguments import is_number
from ..errors import ArgumentError
from ..types import Array

#: Torques (nv,) [N m, N], constant during a step or a function of t, q, v.
Torques = ArrayLike | Callable[[float, Array, Array], ArrayLike]


class DynamicSystem(Protocol):
    """Interface of systems that can be integrated, for example `Robot`."""

    @property
    def nq(self) -> int:
        """Number of coordinates."""

    @property
    def nv(self) -> int:
        """Number of velocities."""

    @property
    def free_bodies(self) -> Mapping[str, slice]:
        """Slices of v of bodies with quaternions, by link: angular, then linear velocities."""

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the accelerations (nv,)."""

    def integrate(self, q: ArrayLike, displacement: ArrayLike, increments: str = 'body') -> Array:
        """Return the configuration (nq,) after a displacement (nv,) from q."""

    def increment_rate(
        self, q: ArrayLike, displacement: ArrayLike, v: ArrayLike, increments: str = 'body'
    ) -> Array:
        """Return the rate (nv,) of a displacement to q."""


class Integrator(ABC):
    """Integrator without internal state.

    `step` of `RungeKutta`, `SemiImplicitEuler` and `MomentumPreserving` can be recorded.
    """

    def __init__(self, robot: DynamicSystem) -> None:
        self.robot = robot

    @abstractmethod
    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: Torques,
        dt: float,
        wrenches: Mapping[str, ArrayLike] | None = None,
        t: float = 0.0,
    ) -> tuple[Array, Array]:
        """Return q and v a time `dt` later.

        Parameters
        ----------
        q : (nq,), v : (nv,)
            Configuration and velocity [rad, m, 1/s], or stacks (N, nq), (N, nv): N robots at once.
        tau : (nv,) array or callable
            Generalized forces [N m, N]; a function of t, q, v is called in every stage.
        dt : float
            Step [s].
        wrenches : {link: (6,)}, optional
            External wrenches (moment, force) on links [N m, N], at the origin and in the axes of
            the link, constant in these axes.
        t : float
            Time before the step [s], for `tau`.

        Raises
        ------
        ArgumentError
            If a shape is wrong, or a free body rotates by 2 pi or more in the step.
        """

    def acceleration(
        self, tau: Torques, wrenches: Mapping[str, ArrayLike] | None
    ) -> Callable[[float, Array, Array], Array]:
        """Return the accelerations (nv,) as a function of t, q, v."""
        robot, torques = self.robot, torque_function(tau)
        if wrenches:
            return lambda t, q, v: robot.forward_dynamics(q, v, torques(t, q, v), wrenches)
        if callable(tau):
            return lambda t, q, v: robot.forward_dynamics(q, v, tau(t, q, v))
        return lambda t, q, v: robot.forward_dynamics(q, v, tau)


def check_step(dt: float) -> None:
    """Raise `ArgumentError` unless the step is a finite number other than 0."""
    if not (is_number(dt) and isfinite(dt) and dt):
        raise ArgumentError(f'dt must be a finite number of seconds other than 0, got {dt!r}')


def torque_function(tau: Torques) -> Callable[[float, Array, Array], ArrayLike]:
    """Return the torques (nv,) as a function of t, q, v."""
    return tau if callable(tau) else lambda t, q, v: tau
