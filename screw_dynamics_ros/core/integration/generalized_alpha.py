# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Generalized-alpha steps on a Lie group, with constraints at the level of positions (index 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import vector
from ..errors import ArgumentError
from ..types import Array
from .configuration_space import ConfigurationSpace
from .constrained_system import ConstrainedSystem, RobotDynamics, constrained_system, fixed_point
from .integrator import Integrator, Torques, check_step, torque_function


class AlphaState(NamedTuple):
    """What `GeneralizedAlpha.advance` carries from step to step."""

    #: Configuration (nq,) and velocity (nv,) [rad, m, 1/s].
    q: Array
    v: Array
    #: v' (nv,), which satisfies the equations of motion.
    acceleration: Array
    #: The acceleration-like variable a (nv,), v' at the time (alpha_m - alpha_f) h later.
    auxiliary: Array
    #: lambda (m,); -J^T lambda acts on the system.
    multipliers: Array


class GeneralizedAlpha(Integrator):
    """Implicit steps of order 2, which damp frequencies far above 1 / h and leave the others.

    With right increments, a step solves for v' and lambda at its end

        Delta = v_0 + (1/2 - beta) h a_0 + beta h a_1,          q_1 = q_0 exp(h Delta),
        v_1 = v_0 + (1 - gamma) h a_0 + gamma h a_1,
        (1 - alpha_m) a_1 + alpha_m a_0 = (1 - alpha_f) v'_1 + alpha_f v'_0,
        M v'_1 + J^T lambda_1 = Q(q_1, v_1),                    g(q_1) = 0.

    Positions satisfy the constraints to rounding; velocities, J v = 0, to the order of the step.
    No derivatives of Q and exp are used: each iteration is one index-1 solution with the constraint
    J v' = J v'_old - g / (beta' h^2), which converges to the same solution (`fixed_point`).

    `step` has no memory: it starts each time with a = v' at the time (alpha_m - alpha_f) h later,
    which keeps the order. The damping of high frequencies needs the variable a of the step before:
    `advance`.

    Sources: Müller and Terze, section 1 (I-47); O. Brüls, A. Cardona, M. Arnold, *Lie group
    generalized-alpha time integration of constrained flexible multibody systems*, Mechanism and
    Machine Theory 48 (2012); starting values: M. Arnold, O. Brüls, A. Cardona, *Error analysis of
    generalized-alpha Lie group time integration methods for constrained mechanical systems*,
    Numerische Mathematik 129 (2015).

    Parameters
    ----------
    system : ConstrainedSystem or RobotDynamics
        A system with constraints, or a `Robot`. Increments are those of its velocities, `body`.
    rho : float
        Factor per step, 0 to 1, by which the highest frequencies decay: 1 damps nothing, 0
        removes them in one step.
    tolerance : float
        Corrections of increments [rad, m], divided by max(1, |q|), end within it. They are iterated
        down to rounding; the tolerance is for problems in which that is more, see `fixed_point`.
    iterations : int
        Maximum per step.

    Raises
    ------
    ArgumentError
        If rho is not between 0 and 1.

    Examples
    --------
    >>> from screw_dynamics_ros.core import Robot
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf', backend='reference')
    >>> integrator, tau = GeneralizedAlpha(robot, rho=0.8), np.array([0.1, 0.2])
    >>> state = integrator.initial_state(np.array([0.3, -0.8]), np.zeros(2), tau)
    >>> state = integrator.advance(state, tau, 0.01)
    >>> np.allclose(state.acceleration, robot.forward_dynamics(state.q, state.v, tau))
    True
    """

    def __init__(
        self,
        system: ConstrainedSystem | RobotDynamics,
        rho: float = 0.9,
        tolerance: float = 1e-10,
        iterations: int = 50,
    ) -> None:
        super().__init__(system)
        if not 0.0 <= rho <= 1.0:
            raise ArgumentError(f'rho, the decay of high frequencies, is 0 to 1, got {rho!r}')
        self.system, self.space = constrained_system(system), ConfigurationSpace(system)
        self.rho, self.tolerance, self.iterations = rho, tolerance, iterations
        self.alpha_m, self.alpha_f = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
        self.gamma = 0.5 + self.alpha_f - self.alpha_m
        self.beta = 0.25 * (self.gamma + 0.5) ** 2

    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: Torques,
        dt: float,
        wrenches: Mapping[str, ArrayLike] | None = None,
        t: float = 0.0,
    ) -> tuple[Array, Array]:
        """Return q and v a time `dt` later; see `Integrator.step`. No stacks."""
        end = self.advance(self.initial_state(q, v, tau, wrenches, t, dt), tau, dt, wrenches, t)
        return end.q, end.v

    def initial_state(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: Torques,
        wrenches: Mapping[str, ArrayLike] | None = None,
        t: float = 0.0,
        dt: float = 0.0,
    ) -> AlphaState:
        """Return the state to start from: accelerations of the index-1 problem.

        With the length `dt` of the first step, a is taken at its own time. Without, a = v', which
        makes an error of order h^2 once.
        """
        q, v = vector('q', self.system.nq, q), vector('v', self.system.nv, v)
        acceleration = self.acceleration(tau, wrenches)
        rate = auxiliary = acceleration(t, q, v)
        delay = (self.alpha_m - self.alpha_f) * dt
        if delay:
            ahead = self.space.moved(q, delay * v)
            auxiliary = acceleration(t + delay, ahead, v + delay * rate)
        return AlphaState(q, v, rate, auxiliary, np.zeros(0))

    def advance(
        self,
        state: AlphaState,
        tau: Torques,
        dt: float,
        wrenches: Mapping[str, ArrayLike] | None = None,
        t: float = 0.0,
    ) -> AlphaState:
        """Return the state a time `dt` later; `tau`, `wrenches`, `t` as in `Integrator.step`.

        Raises
        ------
        ArgumentError
            If a free body turns by 2 pi or more in the step, or dt is zero or not finite.
        DivergenceError
            If the equations of the step have no solution nearby, or the state is not finite.
        """
        check_step(dt)
        system, torques = self.system, torque_function(tau)
        slope = (1 - self.alpha_f) / (1 - self.alpha_m)  # of a_1 in v'_1
        offset = (self.alpha_f * state.acceleration - self.alpha_m * state.auxiliary) / (
            1 - self.alpha_m
        )
        gain = slope * self.beta * dt**2  # of the increment in v'_1
        X_0 = dt * state.v + (0.5 - self.beta) * dt**2 * state.auxiliary
        v_0 = state.v + (1 - self.gamma) * dt * state.auxiliary

        def motion(rate: Array) -> tuple[Array, Array, Array]:
            """Return the increment, the velocity and a at the end of the step."""
            a = slope * rate + offset
            return X_0 + self.beta * dt**2 * a, v_0 + self.gamma * dt * a, a

        def index_1(rate: Array) -> tuple[Array, Array]:
            X, v, _ = motion(rate)
            q = self.space.moved(state.q, X)
            Q = system.generalized_forces(q, v, torques(t + dt, q, v), wrenches)
            s = system.constraint_jacobian(q) @ rate - system.constraint_residuals(q) / gain
            return system.solve_saddle_point(q, Q, s)

        scale = gain / max(1.0, float(np.abs(state.q).max()))
        rate, multipliers = fixed_point(
            index_1, state.acceleration, scale, self.tolerance, self.iterations
        )
        X, v, a = motion(rate)
        self.space.check(X)
        return AlphaState(self.space.moved(state.q, X), v, rate, a, multipliers)
