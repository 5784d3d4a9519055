# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The equations of a whole system as functions of its state, which can be recorded and compiled.

Each function takes numbers or recorded scalars. `SystemFunctions` are the same ones, compiled.

Inputs and results of a system in absolute coordinates, in a few numbers each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.calls import compiled_into
from ...compile.kernels import Kernel, KernelSpecification, make_kernel
from ...lie import joint_groups
from ...linear import times, zeros
from ...types import Array
from .bodies import AbsoluteBody, ConstraintJoint
from .body_equations import BodiesMotion, BodyEquations, Coupling, JointEquations
from .groups import INCREMENTS
from .saddle_point import RowPattern, SaddlePoint, independent_rows


class Stabilization(NamedTuple):
    """Baumgarte's terms: J a = eta - 2 alpha J v - beta^2 g [1/s] (I-44)."""

    alpha: float = 0.0
    beta: float = 0.0


NO_STABILIZATION = Stabilization()


class Energy(NamedTuple):
    """Kinetic and potential energy [J]; the potential of the weight is zero at the origin."""

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        """T + U [J]."""
        return self.kinetic + self.potential


class Violation(NamedTuple):
    """Errors of joint constraints.

    Attributes
    ----------
    gap : float
        |g| [rad, m].
    velocity : float
        |J v| [rad/s, m/s].
    """

    gap: float
    velocity: float


class SystemEquations:
    """Equations in the bodies' own velocities.

    Parameters
    ----------
    bodies : sequence of AbsoluteBody
    joints : sequence of ConstraintJoint
    couplings : sequence of Coupling
    alpha, beta : float
        Baumgarte's coefficients [1/s].
    sparse : bool
        Whether to solve by sparse matrices, which takes numbers only.
    """

    def __init__(
        self,
        bodies: Sequence[AbsoluteBody],
        joints: Sequence[ConstraintJoint],
        couplings: Sequence[Coupling],
        alpha: float,
        beta: float,
        sparse: bool,
    ) -> None:
        self.bodies = BodyEquations(bodies)
        self.constraints = JointEquations(bodies, joints, couplings)
        self._alpha, self._beta, self._sparse = alpha, beta, sparse
        groups = [body.group for body in bodies]
        places = [
            (np.flatnonzero([g == group for g in groups]), kind)
            for group, kind in INCREMENTS.items()
        ]
        self._by_group = [(each, kind) for each, kind in places if each.size]
        self.choose(np.arange(len(self.constraints.joint)))

    def choose(self, active: NDArray[np.intp]) -> None:
        """Keep only some of the constraints."""
        self.active = active
        self.saddle_point = SaddlePoint(self.bodies.M, self.constraints.bodies[active])

    def independent_rows(self, configuration: Array) -> NDArray[np.intp]:
        """Return the constraints that do not follow from others at a configuration (7 n,)."""
        constraints = self.constraints
        everything = np.arange(len(constraints.joint))
        pattern = RowPattern(constraints.bodies, self.bodies.count)

        def jacobian(q: Array) -> Array:
            motion = self.still(q)
            parts = self.own_rows(motion, constraints.rows(motion).blocks, everything)
            J: Array = pattern.matrix(parts).toarray()
            return J

        return independent_rows(
            np.stack([constraints.parent, constraints.child], axis=1),
            constraints.joint,
            self.bodies.count,
            jacobian,
            configuration,
            self.moved,
        )

    @property
    def needs_gaps(self) -> bool:
        """Whether `accelerations` wants g given: it is needed and cannot be recorded."""
        return bool(self._beta) and not self.constraints.gaps_are_recordable

    def still(self, q: Array) -> BodiesMotion:
        """Return the motion of bodies at rest."""
        return self.bodies.motion(q, zeros(6 * self.bodies.count))

    def accelerations(
        self, q: Array, v: Array, tau: Array, gravity: Array, g: Array
    ) -> tuple[Array, Array]:
        """Return a (6 n,) and lambda (m,); g (m,) only matters if `needs_gaps`."""
        motion, body = self.bodies.motion(q, v), self.bodies
        wrenches = (
            body.velocity_forces(motion)
            + body.weights(motion, gravity)
            + body.body_fixed(motion, tau)
        )
        blocks, eta = self._rows(motion)
        if self._alpha:
            eta = eta - 2 * self._alpha * self._products(blocks, motion.twists)
        if self._beta:
            known = g if self.needs_gaps else self.constraints.gaps(motion)[self.active]
            eta = eta - self._beta**2 * known
        a, multipliers = self._solved(blocks, wrenches.reshape(-1), eta)
        return body.own_rates(motion, a.reshape(-1, 6)).reshape(-1), multipliers

    def forces(self, q: Array, v: Array, tau: Array, gravity: Array) -> Array:
        """Return Q (6 n,)."""
        motion, body = self.bodies.motion(q, v), self.bodies
        wrenches = (
            body.velocity_forces(motion)
            + body.weights(motion, gravity)
            + times(body.M, body.change_of_axes(motion))
        )
        return tau + body.own(motion, wrenches).reshape(-1)

    def saddle(self, q: Array, r: Array, s: Array) -> tuple[Array, Array]:
        """Return x (6 n,) and mu (m,) of M x + J^T mu = r, J x = s."""
        motion, body = self.still(q), self.bodies
        x, mu = self._solved(self._rows(motion)[0], body.body_fixed(motion, r).reshape(-1), s)
        return body.own(motion, x.reshape(-1, 6)).reshape(-1), mu

    def jacobian(self, q: Array) -> Array:
        """Return the parts (m, s, 6) of the rows of J that belong to their bodies."""
        motion = self.still(q)
        return self.own_rows(motion, self._rows(motion)[0], self.active)

    def own_rows(self, motion: BodiesMotion, blocks: Array, rows: NDArray[np.intp]) -> Array:
        """Return parts of rows in body-fixed twists as those in the bodies' own velocities."""
        blocks, bodies = blocks.copy(), self.constraints.bodies[rows]
        hybrid = np.append(self.bodies.hybrid, False)[bodies]
        blocks[hybrid, 3:] = times(motion.R[bodies[hybrid]], blocks[hybrid, 3:])
        return blocks

    def bias(self, q: Array, v: Array) -> Array:
        """Return eta (m,), without stabilization: J a = eta (I-12 for hybrid velocities)."""
        motion = self.bodies.motion(q, v)
        blocks, eta = self._rows(motion)
        shift = np.concatenate([self.bodies.change_of_axes(motion), np.zeros((1, 6))])
        return eta + self._products(blocks, shift)

    def gaps(self, q: Array) -> Array:
        """Return g (m,); recorded only if `gaps_are_recordable`."""
        return self.constraints.gaps(self.still(q))[self.active]

    def moved(self, q: Array, X: Array) -> Array:
        """Return q exp X, (7 n,)."""
        x, X = q.reshape(-1, 7), X.reshape(-1, 6)
        result = zeros(x.shape, x, X)
        for bodies, increments in self._by_group:
            result[bodies] = joint_groups.SE3.displaced(x[bodies], X[bodies], increments)
        return result.reshape(-1)

    def increment_rate(self, X: Array, v: Array) -> Array:
        """Return dexp^-1_{-X} v, (6 n,)."""
        X, V = X.reshape(-1, 6), v.reshape(-1, 6)
        result = zeros(X.shape, X, V)
        for bodies, increments in self._by_group:
            group, _ = joint_groups.INCREMENTS[increments]
            result[bodies] = times(group.dexp_inv(-X[bodies]), V[bodies])
        return result.reshape(-1)

    def _rows(self, motion: BodiesMotion) -> tuple[Array, Array]:
        blocks, eta = self.constraints.rows(motion)
        return blocks[self.active], eta[self.active]

    def _products(self, blocks: Array, twists: Array) -> Array:
        """Return the sums (m,) of rows times vectors of their bodies, (n + 1, 6)."""
        products = blocks * twists[self.constraints.bodies[self.active]]
        return np.asarray(products.sum(axis=2).sum(axis=1))

    def _solved(self, blocks: Array, r: Array, s: Array) -> tuple[Array, Array]:
        solve = self.saddle_point.solve_sparse if self._sparse else self.saddle_point.solve
        return solve(blocks, r, s)


class SystemFunctions:
    """The functions of `SystemEquations`, compiled when they are first called.

    Parameters
    ----------
    equations : SystemEquations
    backend : {'native', 'python', 'reference'} or 'sparse'
        With the last one, and for what cannot be recorded, the functions run as they are.
    """

    def __init__(self, equations: SystemEquations, backend: str) -> None:
        self._equations, self.backend = equations, backend
        self._compiled: dict[str, tuple[Callable[..., None], Sequence[tuple[int, ...]]]] = {}
        n, m = equations.bodies.count, len(equations.active)
        q, v, X, tau = ('q', 7 * n), ('v', 6 * n), ('displacement', 6 * n), ('tau', 6 * n)
        gravity = ('gravity', 3)
        self._inputs = {
            'accelerations': (q, v, tau, gravity, ('g', m)),
            'forces': (q, v, tau, gravity),
            'saddle': (q, ('r', 6 * n), ('s', m)),
            'jacobian': (q,),
            'bias': (q, v),
            'gaps': (q,),
            'moved': (q, X),
            'increment_rate': (X, v),
        }

    def __call__(self, name: str, *inputs: Array) -> Any:
        """Return what the function of that name returns for arrays of numbers."""
        plain = name == 'gaps' and not self._equations.constraints.gaps_are_recordable
        if self.backend == 'sparse' or plain:
            return getattr(self._equations, name)(*inputs)
        if name not in self._compiled:
            kernel = self._kernel(name)
            self._compiled[name] = compiled_into(kernel), kernel.shapes
        run, shapes = self._compiled[name]
        outputs = tuple(np.empty(shape) for shape in shapes)
        run(*inputs, *outputs)
        return outputs if len(outputs) > 1 else outputs[0]

    def _kernel(self, name: str) -> Kernel:
        """Return a kernel of the function of that name."""
        function: Callable[..., Any] = getattr(self._equations, name)

        def build(*inputs: Array) -> tuple[Array, ...]:
            result = function(*inputs)
            return result if isinstance(result, tuple) else (result,)

        title = f'{name} of {self._equations.bodies.count} bodies'
        return make_kernel(KernelSpecification(title, self._inputs[name], build), self.backend)
