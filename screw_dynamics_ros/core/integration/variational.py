# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Variational steps on a Lie group: symplectic, with constraints in positions and velocities."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import vector
from ..errors import ArgumentError
from ..types import Array
from .configuration_space import ConfigurationSpace
from .constrained_system import (
    ConstrainedSystem,
    RobotDynamics,
    VariableMass,
    constrained_system,
    fixed_point,
)
from .integrator import Integrator, Torques, check_step, torque_function


class Variational(Integrator):
    """Implicit steps of order 2 that make a sum stationary instead of the integral of action.

    The action of a step with the constant velocity V, q_1 = q_0 exp(h V), is replaced by
    h/2 (L(q_0, V) + L(q_1, V)). Sequences that make the sum stationary, with applied forces, and
    multipliers of the constraints at both ends, satisfy

        Pi = p_0 + h/2 (p'(q_0, V) - J_0^T lambda),             g(q_1) = 0,
        p_1 = Pi + h/2 (p'(q_1, V) - J_1^T mu),                 J_1 v_1 = 0,
        Pi = 1/2 (dexp^-T_{-hV} M_0 V + dexp^-T_{hV} M_1 V),

    where p = M v are the momenta before and after, and p'(q, v) = Q(q, v) + M' v is their rate,
    gyroscopic terms included. If coordinates add, Pi = (M_0 + M_1) V / 2. If the mass matrix is
    constant on the group, these are discrete equations of Hamilton and Pontryagin; if both hold,
    RATTLE, and without constraints Verlet's method.

    Without applied forces the map is symplectic and symmetric: the energy error stays bounded over
    long times, and momenta that belong to symmetries are conserved to rounding. Positions and
    velocities satisfy the constraints to rounding. The iteration uses no derivatives of forces and
    exp, which does not affect its result (`fixed_point`). `tau` is called at both ends with the
    velocity V.

    Sources: J. E. Marsden, M. West, *Discrete mechanics and variational integrators*, Acta Numerica
    10 (2001), sections 1 and 3; N. Bou-Rabee, J. E. Marsden, *Hamilton-Pontryagin integrators on
    Lie groups*, Foundations of Computational Mathematics 9 (2009). Local coordinates: Müller and
    Terze (36) (I-24); other integrators: section 1 (I-47).

    Parameters
    ----------
    system : ConstrainedSystem or RobotDynamics
        A system with constraints, or a `Robot`. Increments are those of its velocities, `body`.
    tolerance : float
        Corrections of increments [rad, m], divided by max(1, |q|), end within it. They are iterated
        down to rounding; the tolerance is for problems in which that is more, see `fixed_point`.
    iterations : int
        Maximum per step.

    Examples
    --------
    The momentum of a free robot is conserved:

    >>> from screw_dynamics_ros.core import Robot
    >>> robot = Robot.from_urdf('urdf/gripper_tree.urdf', floating_base=True, gravity=(0, 0, 0),
    ...     backend='python')
    >>> q, v, integrator = robot.neutral(), np.arange(robot.nv), Variational(robot)
    >>> at, speed = integrator.step(q, v, np.zeros(robot.nv), 0.01)
    >>> np.allclose(robot.total_momentum(at, speed), robot.total_momentum(q, v), rtol=1e-12)
    True
    """

    def __init__(
        self,
        system: ConstrainedSystem | RobotDynamics,
        tolerance: float = 1e-10,
        iterations: int = 50,
    ) -> None:
        super().__init__(system)
        self.system, self.space = constrained_system(system), ConfigurationSpace(system)
        self.tolerance, self.iterations = tolerance, iterations
        self._variable = self.system if isinstance(self.system, VariableMass) else None

    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: Torques,
        dt: float,
        wrenches: Mapping[str, ArrayLike] | None = None,
        t: float = 0.0,
    ) -> tuple[Array, Array]:
        """Return q and v a time `dt` later; see `Integrator.step`. No stacks.

        Raises
        ------
        ArgumentError
            If a free body turns by 2 pi or more in the step, dt is zero or not finite, or the mass
            matrix varies and the system does not say how (`constrained_system.VariableMass`).
        DivergenceError
            If the equations of the step have no solution nearby, or the state is not finite.
        """
        check_step(dt)
        system, space, rate = self.system, self.space, self._momentum_rate(tau, wrenches)
        q, v = vector('q', system.nq, q), vector('v', system.nv, v)
        M, J = system.mass_matrix(q), system.constraint_jacobian(q)

        def mean_momentum(V: Array, end: Array) -> Array:
            X, M_end = dt * V, system.mass_matrix(end)
            Pi = space.pulled_back(end, X, M @ V) + space.pulled_back(end, -X, M_end @ V)
            return 0.5 * Pi

        def corrected(V: Array) -> tuple[Array, Array]:
            end = space.moved(q, dt * V)
            missing = M @ v + 0.5 * dt * rate(t, q, V) - mean_momentum(V, end)
            s = J @ V - system.constraint_residuals(end) / dt
            return system.solve_saddle_point(q, M @ V + missing, s)

        scale = abs(dt) / max(1.0, float(np.abs(q).max()))
        V, _ = fixed_point(corrected, v, scale, self.tolerance, self.iterations)
        space.check(dt * V)
        end = space.moved(q, dt * V)
        if self._variable is None and abs(M - system.mass_matrix(end)).max() > 1e-9 * abs(M).max():
            raise ArgumentError(
                f'{type(self.robot).__name__}: the mass matrix varies, but the system has no '
                'mass_matrix_rate, without which the equations of the step are wrong; place the '
                'frames of bodies in SO(3) x R^3 at their centers of mass, or take another method'
            )
        p = mean_momentum(V, end) + 0.5 * dt * rate(t + dt, end, V)
        return end, system.solve_saddle_point(end, p, np.zeros(J.shape[0]))[0]

    def _momentum_rate(
        self, tau: Torques, wrenches: Mapping[str, ArrayLike] | None
    ) -> Callable[[float, Array, Array], Array]:
        """Return p' (nv,) as a function of t, q, v: d(M v)/dt without reactions."""
        system, variable, torques = self.system, self._variable, torque_function(tau)

        def rate(t: float, q: Array, v: Array) -> Array:
            Q = system.generalized_forces(q, v, torques(t, q, v), wrenches)
            return Q if variable is None else Q + variable.mass_matrix_rate(q, v) @ v

        return rate
