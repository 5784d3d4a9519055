# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Multibody systems in absolute coordinates: each body by its own pose, joints as constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import vector
from ...compile.kernels import choose_backend
from ...errors import InfeasibleConstraintsError, UnknownNameError
from ...lie import joint_groups, quaternions, se3, so3
from ...linear import times
from ...types import Array
from .bodies import AbsoluteBody, ConstraintJoint, check_structure, checked_configuration
from .body_equations import SHIFT_COMPONENT, TURN_COMPONENT, BodiesMotion, Coupling, coordinate
from .system_equations import (
    NO_STABILIZATION,
    Energy,
    Stabilization,
    SystemEquations,
    SystemFunctions,
    Violation,
)

if TYPE_CHECKING:
    from scipy import sparse

#: Bodies up to which the equations are recorded and compiled; larger systems use sparse matrices.
MAX_RECORDED_BODIES = 16


class AbsoluteSystem:
    """n rigid bodies with joints, on the Lie group that is the product of the bodies' groups.

    The configuration q, (7 n,), is a pose (x, y, z, qx, qy, qz, qw) for each body; the velocity v,
    (6 n,), is its body-fixed twist (omega, velocity of the frame's origin) if its group is SE(3),
    the hybrid one (omega body-fixed, r' in the inertial frame) if it is SO(3) x R^3. The equations
    are those of index 1 (`equations`, `saddle_point`), with lambda as the multipliers:

        M a + J^T lambda = Q(q, v, tau),    J a = eta(q, v)

    What a joint exerts on its bodies is -J^T lambda; `reactions` gives it as wrenches. Integrators
    of `core.integration` take a system as they take a `Robot`.

    Constraints that follow from others (those of a planar linkage out of its plane) are found where
    there are loops, at `configuration`, named in `redundant`, and excluded: the motion is unique
    without them, the distribution of reactions over such joints is not.

    Source: Müller and Terze, sections 3 to 5 (I-14 to I-22, I-28 to I-32, I-45, I-46).

    Parameters
    ----------
    bodies : sequence of AbsoluteBody
    joints : sequence of ConstraintJoint
        Any number and topology, to the ground and between bodies.
    couplings : sequence of Coupling
        Joints that follow others.
    configuration : (7 n,) array, optional
        Where the joints are closed; all poses the identity by default.
    gravity : (3,)
        Acceleration of free fall in the inertial frame [m/s^2].
    stabilization : Stabilization
    backend : {'auto', 'native', 'python', 'reference', 'sparse'}
        As of `Robot`; 'sparse' solves without recording, and is used by 'auto' for many bodies.

    Raises
    ------
    ArgumentError
        Names that are taken twice, quantities of the wrong shape.
    UnknownNameError
        Joints to bodies that do not exist.
    InfeasibleConstraintsError
        If the joints are singular at `configuration`: a loop that is stretched out.

    Examples
    --------
    The pivot of a top that hangs below it supports its weight:

    >>> from screw_dynamics_ros.core.mechanisms.absolute_coordinates import SPHERICAL, frame
    >>> from screw_dynamics_ros.core.description.body_inertia import Inertia
    >>> top = AbsoluteBody('top', Inertia(2.0, np.zeros(3), np.eye(3)))
    >>> pivot = ConstraintJoint('pivot', SPHERICAL, 'ground', 'top', frame(), frame([0, 0, 0.5]))
    >>> q = np.array([0, 0, -0.5, 0, 0, 0, 1])
    >>> system = AbsoluteSystem([top], [pivot], configuration=q, backend='reference')
    >>> system.reactions(q, np.zeros(6))['pivot'].round(6) + 0.0
    array([ 0.  ,  0.  ,  0.  ,  0.  ,  0.  , 19.62])
    """

    def __init__(
        self,
        bodies: Sequence[AbsoluteBody],
        joints: Sequence[ConstraintJoint] = (),
        *,
        couplings: Sequence[Coupling] = (),
        configuration: ArrayLike | None = None,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        stabilization: Stabilization = NO_STABILIZATION,
        backend: str = 'auto',
    ) -> None:
        check_structure(bodies, joints)
        self.bodies, self.joints, self.couplings = tuple(bodies), tuple(joints), tuple(couplings)
        self.stabilization = stabilization
        self.gravity = vector('gravity', 3, gravity)
        many = len(bodies) > MAX_RECORDED_BODIES
        self.backend = (
            'sparse'
            if backend == 'sparse' or (backend == 'auto' and many)
            else choose_backend(backend)
        )
        self._equations = SystemEquations(
            bodies, joints, couplings, *stabilization, sparse=self.backend == 'sparse'
        )
        self.configuration = checked_configuration(
            self.bodies, self.neutral() if configuration is None else configuration
        )
        self._equations.choose(self._equations.independent_rows(self.configuration))
        names = self._constraint_names()
        self.redundant = tuple(np.delete(names, self._equations.active).tolist())
        self._functions = SystemFunctions(self._equations, self.backend)

    # --- names and sizes ------------------------------------------------------------------------

    @property
    def nq(self) -> int:
        """Number of coordinates, 7 n."""
        return 7 * len(self.bodies)

    @property
    def nv(self) -> int:
        """Number of velocities, 6 n."""
        return 6 * len(self.bodies)

    @property
    def constraint_count(self) -> int:
        """Number of independent constraints m."""
        return len(self._equations.active)

    @property
    def groups(self) -> tuple[str, ...]:
        """The configuration group of each body."""
        return tuple(body.group for body in self.bodies)

    @cached_property
    def free_bodies(self) -> Mapping[str, slice]:
        """Where the velocity of each body stands in v: integrators treat all bodies as free."""
        return {body.name: slice(6 * k, 6 * k + 6) for k, body in enumerate(self.bodies)}

    def neutral(self) -> Array:
        """Return the configuration (7 n,) with all frames at the origin, not turned."""
        return np.tile(joint_groups.SE3.neutral, len(self.bodies))

    def configuration_of(self, poses: Mapping[str, ArrayLike]) -> Array:
        """Return q, (7 n,), of the poses (4, 4) of all bodies by name."""
        C = [np.asarray(poses[body.name], dtype=float) for body in self.bodies]
        return np.concatenate(
            [np.append(each[:3, 3], quaternions.from_matrix(each[:3, :3])) for each in C]
        )

    def poses(self, q: ArrayLike) -> dict[str, Array]:
        """Return the pose (4, 4) of each body."""
        C = joint_groups.SE3.pose(vector('q', self.nq, q).reshape(-1, 7))
        return {body.name: pose for body, pose in zip(self.bodies, C)}

    # --- motion ---------------------------------------------------------------------------------

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the rates (6 n,) of the velocities v; see `accelerations_and_multipliers`."""
        return self.accelerations_and_multipliers(q, v, tau, external_wrenches)[0]

    def accelerations_and_multipliers(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array, Array]:
        """Return a (6 n,) and lambda (m,) of the index-1 equations (I-20).

        Parameters
        ----------
        q : (7 n,), v : (6 n,)
        tau : (6 n,), optional
            Generalized forces dual to v [N m, N]: of a body in SO(3) x R^3 moments in the body
            frame and forces in the inertial frame.
        external_wrenches : {body: (6,)}, optional
            Wrenches (moment, force) on bodies [N m, N], at the origin and in the axes of the body.

        Raises
        ------
        ArgumentError
            Wrong shapes.
        InfeasibleConstraintsError
            If the constraints have become dependent: a singular configuration.
        """
        q, v = vector('q', self.nq, q), vector('v', self.nv, v)
        forces = self._given_forces(q, tau, external_wrenches)
        g = self.constraint_residuals(q) if self._equations.needs_gaps else self._no_gaps
        return self._solution('accelerations', q, v, forces, self.gravity, g)

    def integrate(self, q: ArrayLike, displacement: ArrayLike, increments: str = 'body') -> Array:
        """Return q exp X, (7 n,), for a displacement X (6 n,) in the bodies' own groups."""
        check_increments(increments)
        q, X = vector('q', self.nq, q), vector('displacement', self.nv, displacement)
        result: Array = self._functions('moved', q, X)
        return result

    def increment_rate(
        self, q: ArrayLike, displacement: ArrayLike, v: ArrayLike, increments: str = 'body'
    ) -> Array:
        """Return dexp^-1_{-X} v, (6 n,): the rate of the displacement X that has led to q."""
        check_increments(increments)
        X, v = vector('displacement', self.nv, displacement), vector('v', self.nv, v)
        result: Array = self._functions('increment_rate', X, v)
        return result

    # --- the equations, part by part ------------------------------------------------------------

    def mass_matrix(self, q: ArrayLike) -> sparse.csr_array:
        """Return M, (6 n, 6 n), block-diagonal; constant but for hybrid bodies off their center."""
        return self._block_diagonal(self._turned(q, self._equations.bodies.M))

    def mass_matrix_rate(self, q: ArrayLike, v: ArrayLike) -> sparse.csr_array:
        """Return M', (6 n, 6 n) [1/s], at the velocity v."""
        body = self._equations.bodies
        spin = np.zeros_like(body.M)
        spin[:, 3:, 3:] = so3.hat(self._motion(q, v).omega[:-1])
        spin[~body.hybrid] = 0.0
        half = self._turned(q, spin @ body.M)
        return self._block_diagonal(half + np.swapaxes(half, 1, 2))

    def generalized_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return Q, (6 n,): weight, applied and velocity terms, dual to v (I-46)."""
        q, v = vector('q', self.nq, q), vector('v', self.nv, v)
        forces = self._given_forces(q, tau, external_wrenches)
        result: Array = self._functions('forces', q, v, forces, self.gravity)
        return result

    def constraint_residuals(self, q: ArrayLike) -> Array:
        """Return g, (m,) [rad, m], of the independent constraints."""
        result: Array = self._functions('gaps', vector('q', self.nq, q))
        return result

    def constraint_jacobian(self, q: ArrayLike) -> sparse.csr_array:
        """Return J, (m, 6 n), of the independent constraints: J v = dg/dt where g = 0."""
        parts = self._functions('jacobian', vector('q', self.nq, q))
        return self._equations.saddle_point.matrix(parts)

    def constraint_bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return eta, (m,), without stabilization: J a = eta."""
        q, v = vector('q', self.nq, q), vector('v', self.nv, v)
        result: Array = self._functions('bias', q, v)
        return result

    def solve_saddle_point(self, q: ArrayLike, r: ArrayLike, s: ArrayLike) -> tuple[Array, Array]:
        """Return x (6 n,) and mu (m,) of M x + J^T mu = r, J x = s.

        x is a velocity-like, r a force-like vector of the system.

        Raises
        ------
        InfeasibleConstraintsError
            If the constraints depend on each other.
        """
        q, r = vector('q', self.nq, q), vector('r', self.nv, r)
        return self._solution('saddle', q, r, vector('s', self.constraint_count, s))

    def applied_forces(self, q: ArrayLike, wrenches: Mapping[str, ArrayLike]) -> Array:
        """Return the generalized forces (6 n,) of wrenches {body: (6,)} in the body frames."""
        forces = np.zeros((len(self.bodies), 6))
        for name, wrench in wrenches.items():
            if name not in self.free_bodies:
                raise UnknownNameError(
                    f'no body named {name!r}; there are {", ".join(self.free_bodies)}'
                )
            forces[self.free_bodies[name].start // 6] += vector(f'wrench on {name!r}', 6, wrench)
        return self._equations.bodies.own(self._still(q), forces).reshape(-1)

    # --- results --------------------------------------------------------------------------------

    def reactions(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> dict[str, Array]:
        """Return what each joint exerts on its child: (moment, force), (6,) [N m, N] (I-21).

        At the origin and in the axes of the child's joint frame S_j; on the parent acts the
        opposite wrench, at the same point. Joints with redundant constraints share their load with
        others; their reactions are one of many distributions.
        """
        _, multipliers = self.accelerations_and_multipliers(q, v, tau, external_wrenches)
        constraints, active = self._equations.constraints, self._equations.active
        blocks = constraints.rows(self._motion(q, v)).blocks[active]
        joint_of_row, result = constraints.joint[active], {}
        own_rows = len(constraints.joint) - len(self.couplings)
        for k, joint in enumerate(self.joints):
            rows = np.flatnonzero((joint_of_row == k) & (active < own_rows))
            wrench = -multipliers[rows] @ blocks[rows, 0]
            result[joint.name] = se3.Ad(joint.child_frame).T @ wrench
        return result

    def joint_rates(self, q: ArrayLike, v: ArrayLike) -> dict[str, Array]:
        """Return the rates of each joint's freedoms [rad/s, m/s]: turns first, then slides.

        Of a helical joint the rate of its angle.
        """
        motion = self._motion(q, v)
        return {
            joint.name: np.einsum('eij,ej->i', rows, motion.twists[[child, parent]])
            for joint, rows, child, parent in self._freedoms(motion)
        }

    def joint_forces(self, q: ArrayLike, torques: Mapping[str, ArrayLike]) -> Array:
        """Return the generalized forces (6 n,) of motors in joints, {joint: (freedoms,)} [N m, N].

        They act on the child, and on the parent the other way round: power is torque times
        `joint_rates`.
        """
        motion = self._still(q)
        forces = np.zeros((len(self.bodies) + 1, 6))
        known = {joint.name for joint in self.joints}
        for name in torques:
            if name not in known:
                raise UnknownNameError(f'no joint named {name!r}; there are {", ".join(known)}')
        for joint, rows, child, parent in self._freedoms(motion):
            if joint.name in torques:
                torque = np.atleast_1d(np.asarray(torques[joint.name], dtype=float))
                torque = vector(f'torque of joint {joint.name!r}', len(rows[0]), torque)
                for end, body in enumerate((child, parent)):
                    forces[body] += torque @ rows[end]
        return self._equations.bodies.own(motion, forces[:-1]).reshape(-1)

    def joint_positions(self, q: ArrayLike) -> dict[str, float]:
        """Return angle [rad], in (-pi, pi], or shift [m] of joints that only turn or only slide."""
        poses = self._equations.constraints.relative_poses(self._still(q))
        component = {('z', ''): TURN_COMPONENT, ('', 'z'): SHIFT_COMPONENT}
        return {
            joint.name: float(coordinate(C, component[joint.pair.turns, joint.pair.slides]))
            for joint, C in zip(self.joints, poses)
            if (joint.pair.turns, joint.pair.slides) in component
        }

    def violation(self, q: ArrayLike, v: ArrayLike) -> dict[str, Violation]:
        """Return the violation of each joint, redundant constraints included (I-32)."""
        motion, constraints = self._motion(q, v), self._equations.constraints
        g = constraints.gaps(motion)
        rates = constraints.rates(constraints.rows(motion).blocks, motion)
        return {
            joint.name: Violation(
                float(np.linalg.norm(g[rows])), float(np.linalg.norm(rates[rows]))
            )
            for joint, rows in zip(self.joints, constraints.rows_of_joints)
        }

    def energy(self, q: ArrayLike, v: ArrayLike) -> Energy:
        """Return the kinetic and potential energy [J] (I-32)."""
        motion, body = self._motion(q, v), self._equations.bodies
        V = motion.twists[:-1]
        T = 0.5 * float(np.einsum('ki,kij,kj->', V, body.M, V))
        com = motion.r[:-1] + times(motion.R[:-1], body.com)
        return Energy(T, -float(body.masses @ com @ self.gravity))

    # --- inside ---------------------------------------------------------------------------------

    def _freedoms(self, motion: BodiesMotion) -> Iterator[tuple[ConstraintJoint, Array, int, int]]:
        """Yield each joint with the rows (2, k, 6) of its freedoms, and its child and parent."""
        constraints = self._equations.constraints
        blocks, _ = constraints.relative_motion(motion)
        for k, joint in enumerate(self.joints):
            rows = blocks[k][:, joint.pair.free_components]
            yield joint, rows, int(constraints.child[k]), int(constraints.parent[k])

    def _motion(self, q: ArrayLike, v: ArrayLike) -> BodiesMotion:
        return self._equations.bodies.motion(vector('q', self.nq, q), vector('v', self.nv, v))

    def _still(self, q: ArrayLike) -> BodiesMotion:
        return self._equations.still(vector('q', self.nq, q))

    def _solution(self, name: str, *inputs: Array) -> tuple[Array, Array]:
        """Return both results of a function that solves the saddle-point problem."""
        try:
            x, multipliers = self._functions(name, *inputs)
        except RuntimeError:
            raise InfeasibleConstraintsError(self._singular()) from None
        if not np.isfinite(x).all() and all(np.isfinite(each).all() for each in inputs):
            raise InfeasibleConstraintsError(self._singular())
        return x, multipliers

    def _given_forces(
        self,
        q: Array,
        tau: ArrayLike | None,
        external_wrenches: Mapping[str, ArrayLike] | None,
    ) -> Array:
        """Return the generalized forces (6 n,) that callers give."""
        forces = np.zeros(self.nv) if tau is None else vector('tau', self.nv, tau)
        return forces + self.applied_forces(q, external_wrenches) if external_wrenches else forces

    @cached_property
    def _no_gaps(self) -> Array:
        return np.zeros(self.constraint_count)

    def _turned(self, q: ArrayLike, blocks: Array) -> Array:
        """Return T B T^T of blocks (n, 6, 6) in body frames: in the bodies' own velocities."""
        hybrid, blocks = self._equations.bodies.hybrid, blocks.copy()
        R = self._still(q).R[:-1][hybrid]
        turned = blocks[hybrid]
        turned[:, 3:] = R @ turned[:, 3:]
        turned[:, :, 3:] = turned[:, :, 3:] @ np.swapaxes(R, 1, 2)
        blocks[hybrid] = turned
        return blocks

    def _block_diagonal(self, blocks: Array) -> sparse.csr_array:
        from scipy import sparse  # see `saddle_point`

        places = np.arange(len(blocks) + 1)
        return sparse.bsr_array((blocks, places[:-1], places)).tocsr()

    def _constraint_names(self) -> list[str]:
        """Return what each constraint is, redundant ones included."""
        rows = [f'{joint.name}: {row}' for joint in self.joints for row in joint.pair.rows]
        return rows + [f'{self.joints[c.follower].name}: coupling' for c in self.couplings]

    def _singular(self) -> str:
        return (
            f'the constraints of joints {", ".join(joint.name for joint in self.joints)} depend on '
            'each other at this configuration, or numbers overflow: the accelerations are not '
            'defined; start elsewhere, take shorter steps or remove a joint'
        )


def check_increments(increments: str) -> None:
    """Raise `UnknownNameError` for increments that are not the bodies' own."""
    if increments != 'body':
        raise UnknownNameError(
            f"increments of bodies are 'body', on the right in each body's own group; got "
            f'{increments!r}; choose the group of each AbsoluteBody instead'
        )
