# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What implicit integrators ask of a system, with constraints or without, and their iteration.

The equations of motion in the velocities v of the configuration group, index 3 (Müller and Terze
(1), I-19):

    M(q) v' + J(q)^T lambda = Q(q, v, t),    q' = q v,    g(q) = 0,

where J v = dg/dt at g = 0, so that -J^T lambda acts on the bodies (I-21). The integrators never
form, factor or slice M and J: they multiply by them, as arrays or as sparse matrices, and leave the
solution of

    [[M, J^T], [J, 0]] (x; mu) = (r; s)

to the system, which knows its structure (I-20). A robot of joint coordinates is the system without
constraints, `UnconstrainedSystem`.

The equations of implicit steps are solved by fixed-point iteration with Anderson acceleration. The
maps x -> G(x) of the implicit integrators are simplified Newton steps, in which the derivatives
of forces and of the exponential map are neglected. They contract by a factor of about h |omega| and
h^2 k / m, with the spin omega and the stiffness k / m. From the last differences of x and
f = G(x) - x the missing derivatives are estimated,

    x <- x + f - (dX + dF) gamma,    gamma = argmin |f - dF gamma|,

which makes G a preconditioner: the iteration also converges where G does not contract, if few
directions are stiff. What it converges to does not depend on it.

Source: H. F. Walker, P. Ni, *Anderson acceleration for fixed-point iterations*, SIAM Journal on
Numerical Analysis 49 (2011).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.drive_forces import refuse_load_friction
from ..errors import ArgumentError, DivergenceError
from ..tree.multibody_tree import Tree
from ..types import Array
from .integrator import DynamicSystem

#: Differences from which derivatives are estimated.
MEMORY = 6

#: Scaled corrections below it are not worth another call: far less than the rounding of positions,
#: because velocities are increments divided by a short time.
MIN_CORRECTION = 2e-17

T = TypeVar('T')


@runtime_checkable
class ConstrainedSystem(DynamicSystem, Protocol):
    """A system that solves its saddle-point problem; increments are right ones, `body`."""

    def mass_matrix(self, q: ArrayLike) -> Any:
        """Return M (nv, nv), dense or sparse."""

    def generalized_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return Q (nv,): applied, gyroscopic and Coriolis forces, M v' = Q - J^T lambda."""

    def constraint_residuals(self, q: ArrayLike) -> Array:
        """Return g (m,), zero where the constraints hold."""

    def constraint_jacobian(self, q: ArrayLike) -> Any:
        """Return J (m, nv), dense or sparse, with J v = dg/dt at g = 0."""

    def solve_saddle_point(self, q: ArrayLike, r: Array, s: Array) -> tuple[Array, Array]:
        """Return x (nv,) and mu (m,) with M x + J^T mu = r and J x = s."""


@runtime_checkable
class VariableMass(Protocol):
    """A system whose mass matrix depends on the configuration; else it is constant."""

    def mass_matrix_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return dM/dt (nv, nv) at the velocity v."""


class RobotDynamics(DynamicSystem, Protocol):
    """What `UnconstrainedSystem` asks of a robot: a `Robot` has it."""

    @property
    def tree(self) -> Tree:
        """The bodies, with their drives."""

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M (nv, nv)."""

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return C (nv, nv) with dM/dt - 2 C skew."""

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return M a + C v + g (nv,), less applied wrenches, with friction."""


class UnconstrainedSystem:
    """A robot as a `ConstrainedSystem` without constraints, m = 0.

    Parameters
    ----------
    robot : RobotDynamics
        A `Robot`.

    Examples
    --------
    >>> from screw_dynamics_ros.core import Robot
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf', backend='reference')
    >>> q, v, tau = np.array([0.3, -0.8]), np.array([1.0, 2.0]), np.array([0.1, 0.2])
    >>> system = UnconstrainedSystem(robot)
    >>> a, _ = system.solve_saddle_point(q, system.generalized_forces(q, v, tau), np.zeros(0))
    >>> np.allclose(a, robot.forward_dynamics(q, v, tau))
    True
    """

    def __init__(self, robot: RobotDynamics) -> None:
        refuse_load_friction(robot.tree, 'a robot as a constrained system')
        self._robot = robot
        self.nq, self.nv, self.free_bodies = robot.nq, robot.nv, robot.free_bodies
        self.forward_dynamics, self.mass_matrix = robot.forward_dynamics, robot.mass_matrix
        self.integrate, self.increment_rate = robot.integrate, robot.increment_rate

    def __repr__(self) -> str:
        return repr(self._robot)

    def generalized_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return Q = tau - C v - g - friction + sum J^T w_ext, (nv,) [N m, N]."""
        options = (external_wrenches,) if external_wrenches else ()
        Q: Array = tau - self._robot.inverse_dynamics(q, v, np.zeros(self.nv), *options)
        return Q

    def mass_matrix_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return dM/dt = C + C^T, (nv, nv) (Müller 2018b (85), D-36)."""
        C = self._robot.coriolis_matrix(q, v)
        return C + C.T

    def constraint_residuals(self, q: ArrayLike) -> Array:
        """Return nothing, (0,)."""
        return np.zeros(0)

    def constraint_jacobian(self, q: ArrayLike) -> Array:
        """Return no rows, (0, nv)."""
        return np.zeros((0, self.nv))

    def solve_saddle_point(self, q: ArrayLike, r: Array, s: Array) -> tuple[Array, Array]:
        """Return x = M^-1 r (nv,), and no multipliers.

        Raises
        ------
        ArgumentError
            If links without inertia make M singular.
        """
        try:
            return np.linalg.solve(self._robot.mass_matrix(q), r), np.zeros(0)
        except np.linalg.LinAlgError:
            raise ArgumentError(
                f'{self._robot!r}: the mass matrix is singular at q = {np.asarray(q).tolist()}: a '
                'joint, or the floating base, moves nothing with inertia; give its links inertia'
            ) from None


def constrained_system(system: ConstrainedSystem | RobotDynamics) -> ConstrainedSystem:
    """Return the system itself if it solves its saddle-point problem, else without constraints."""
    return system if isinstance(system, ConstrainedSystem) else UnconstrainedSystem(system)


def fixed_point(
    G: Callable[[Array], tuple[Array, T]],
    x: Array,
    scale: float,
    tolerance: float,
    iterations: int,
) -> tuple[Array, T]:
    """Return x = G(x)[0] to rounding, and what else G returned there.

    It is iterated until rounding errors prevent progress; the smallest correction has to be within
    the tolerance then.

    Parameters
    ----------
    G : callable
        Takes x (n,), returns the next x (n,) and anything else.
    x : (n,)
        First guess.
    scale : float
        Of corrections: G(x) - x times the scale is compared with the tolerance.
    tolerance : float
    iterations : int
        Maximum of calls of G.

    Raises
    ------
    DivergenceError
        If G returns numbers that are not finite, or the iteration does not converge.

    Examples
    --------
    A map that does not contract:

    >>> x, _ = fixed_point(lambda x: (3.0 - 2.0 * x**2, None), np.array([0.9]), 1.0, 1e-12, 20)
    >>> x.round(12)
    array([1.])
    """
    dX: list[Array] = []
    dF: list[Array] = []
    best, smallest, stalled = None, np.inf, 0
    for _ in range(iterations):
        image, other = G(x)
        f = image - x
        size = scale * float(np.abs(f).max(initial=0.0))
        if not np.isfinite(size):
            raise DivergenceError('the equations of the step have no finite solution')
        stalled = 0 if size < smallest / 2 else stalled + 1
        if size < smallest:
            best, smallest = (image, other), size
        if best and smallest <= tolerance and (smallest <= MIN_CORRECTION or stalled == 2):
            return best
        step = f
        if dX:
            dX[-1], dF[-1] = x - dX[-1], f - dF[-1]
            changes = np.array(dF)
            gamma = np.linalg.lstsq(changes.T, f, rcond=None)[0]
            step = f - gamma @ (np.array(dX) + changes)
        dX, dF = [*dX[1 - MEMORY :], x], [*dF[1 - MEMORY :], f]
        x = x + step
    raise DivergenceError(
        f'the equations of the step are not solved after {iterations} iterations: corrections are '
        f'still {smallest:.1e} rad or m, with a tolerance of {tolerance:.1e}; take shorter steps'
    )
