"""Multibody systems in absolute coordinates: each body by its own pose, joints as constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from screw_dynamics_ros.core.absolute_coordinates.bodies import (
    GROUND,
    AbsoluteBody,
    ConstraintJoint,
)
from screw_dynamics_ros.core.absolute_coordinates.equations import (
    SHIFT,
    TURN,
    BodyEquations,
    Coupling,
    JointEquations,
    Motion,
    coordinate,
    times,
)
from screw_dynamics_ros.core.absolute_coordinates.groups import SE3, SO3xR3
from screw_dynamics_ros.core.absolute_coordinates.independence import independent_rows
from screw_dynamics_ros.core.absolute_coordinates.saddle_point import RowPattern, SaddlePoint
from screw_dynamics_ros.core.arguments import vector
from screw_dynamics_ros.core.compile.kernels import (
    KernelSpecification,
    choose_backend,
    compiled_into,
    make_kernel,
)
from screw_dynamics_ros.core.errors import (
    ArgumentError,
    InfeasibleConstraintsError,
    UnknownNameError,
)
from screw_dynamics_ros.core.kinematics.reconstruction import displaced_pose, pose_of
from screw_dynamics_ros.core.lie import quaternions, se3, so3xr3
from screw_dynamics_ros.core.linear import zeros
from screw_dynamics_ros.core.types import Array

#: Bodies up to which the equations are recorded and compiled; larger systems use sparse matrices.
MOST_RECORDED_BODIES = 16


class Stabilization(NamedTuple):
    """Baumgarte's terms: J a = eta - 2 alpha J v - beta^2 g [1/s] (I-44)."""

    alpha: float = 0.0
    beta: float = 0.0


NONE = Stabilization()


class Energy(NamedTuple):
    """Kinetic and potential energy [J]; the potential of the weight is zero at the origin."""

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        """T + U [J]."""
        return self.kinetic + self.potential


class Violation(NamedTuple):
    """How far joints are from what they admit.

    Attributes
    ----------
    gap : float
        |g| [rad, m].
    velocity : float
        |J v| [rad/s, m/s].
    """

    gap: float
    velocity: float


class AbsoluteSystem:
    """n rigid bodies with joints, on the Lie group that is the product of the bodies' groups.

    The configuration q, (7 n,), is a pose (x, y, z, qx, qy, qz, qw) for each body; the velocity v,
    (6 n,), is its body-fixed twist (omega, velocity of the frame's origin) if its group is SE(3),
    the hybrid one (omega body-fixed, r' in the inertial frame) if it is SO(3) x R^3. The equations
    are those of index 1 (`equations`, `saddle_point`), with lambda as the multipliers:

        M a + J^T lambda = Q(q, v, tau),    J a = eta(q, v)

    What a joint exerts on its bodies is -J^T lambda; `reactions` gives it as wrenches. Integrators
    of `core.integration` take a system as they take a `Robot`.

    Constraints that follow from others (all joints of a planar linkage bear more than they must)
    are found where there are loops, at `configuration`, named in `redundant`, and left out: the
    motion is unique without them, the distribution of reactions over such joints is not.

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
        As of `Robot`; 'sparse' solves without recording, and is what 'auto' takes for many bodies.

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
    A top that hangs below its pivot bears its weight there:

    >>> from screw_dynamics_ros.core.absolute_coordinates import SPHERICAL, frame
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
        stabilization: Stabilization = NONE,
        backend: str = 'auto',
    ) -> None:
        check_structure(bodies, joints)
        self.bodies, self.joints, self.couplings = tuple(bodies), tuple(joints), tuple(couplings)
        self.stabilization = stabilization
        self.gravity = vector('gravity', 3, gravity)
        many = len(bodies) > MOST_RECORDED_BODIES
        self.backend = (
            'sparse'
            if backend == 'sparse' or (backend == 'auto' and many)
            else choose_backend(backend)
        )
        self._equations = BodyEquations(bodies)
        self._constraints = JointEquations(bodies, joints, couplings)
        self._compiled: dict[str, tuple[Callable[..., None], Sequence[tuple[int, ...]]]] = {}
        self.configuration = self._checked_configuration(
            self.neutral() if configuration is None else configuration
        )
        self.active, self.redundant = self._independent()
        self._saddle_point = SaddlePoint(self._equations.M, self._constraints.bodies[self.active])

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
        return len(self.active)

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
        return np.tile([0.0, 0, 0, 0, 0, 0, 1], len(self.bodies))

    def configuration_of(self, poses: Mapping[str, ArrayLike]) -> Array:
        """Return q, (7 n,), of the poses (4, 4) of all bodies by name."""
        C = [np.asarray(poses[body.name], dtype=float) for body in self.bodies]
        return np.concatenate(
            [np.append(each[:3, 3], quaternions.from_matrix(each[:3, :3])) for each in C]
        )

    def poses(self, q: ArrayLike) -> dict[str, Array]:
        """Return the pose (4, 4) of each body."""
        C = pose_of(vector('q', self.nq, q).reshape(-1, 7))
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
        forces = np.zeros(self.nv) if tau is None else vector('tau', self.nv, tau)
        if external_wrenches:
            forces = forces + self.applied_forces(q, external_wrenches)
        g = np.zeros(self.constraint_count)
        if self.stabilization.beta:
            g = self.constraint_residuals(q)
        if self.backend == 'sparse':
            a, multipliers = self._accelerations(
                q, v, forces, self.gravity, g, sparse_solution=True
            )
        else:
            a, multipliers = self._compute('accelerations', q, v, forces, self.gravity, g)
        if not np.isfinite(a).all() and np.isfinite(q).all() and np.isfinite(v).all():
            raise InfeasibleConstraintsError(self._singular())
        return a, multipliers

    def integrate(self, q: ArrayLike, displacement: ArrayLike, increments: str = 'body') -> Array:
        """Return q exp X, (7 n,), for a displacement X (6 n,) in the bodies' own groups."""
        check_increments(increments)
        q, X = vector('q', self.nq, q), vector('displacement', self.nv, displacement)
        if self.backend == 'sparse':
            return self._moved(q, X)
        return self._compute('integrate', q, X)[0]

    def increment_rate(
        self, q: ArrayLike, displacement: ArrayLike, v: ArrayLike, increments: str = 'body'
    ) -> Array:
        """Return dexp^-1_{-X} v, (6 n,): the rate of the displacement X that has led to q."""
        check_increments(increments)
        X, v = vector('displacement', self.nv, displacement), vector('v', self.nv, v)
        if self.backend == 'sparse':
            return self._increment_rate(X, v)
        return self._compute('increment_rate', X, v)[0]

    # --- the equations, part by part ------------------------------------------------------------

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M, (6 n, 6 n), block-diagonal; constant but for hybrid bodies off their center."""
        motion = self._motion(q, np.zeros(self.nv))
        M = np.zeros((self.nv, self.nv))
        for k, (block, R) in enumerate(zip(self._equations.M, motion.R)):
            T = np.eye(6)
            if self._equations.hybrid[k]:
                T[3:, 3:] = R
            M[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = T @ block @ T.T
        return M

    def generalized_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return Q, (6 n,): weight, applied and velocity terms, dual to v (I-46)."""
        forces = np.zeros(self.nv) if tau is None else vector('tau', self.nv, tau)
        if external_wrenches:
            forces = forces + self.applied_forces(q, external_wrenches)
        motion, body = self._motion(q, v), self._equations
        wrenches = body.velocity_forces(motion) + body.weights(motion, self.gravity)
        # M^h diag(1, R) (0, omega x v): what the other derivative of the velocity adds
        shift = np.zeros((len(self.bodies), 6))
        hybrid = np.flatnonzero(body.hybrid)
        shift[hybrid, 3:] = np.cross(motion.omega[hybrid], motion.v[hybrid])
        wrenches = wrenches + (body.M @ shift[..., None])[..., 0]
        return forces + body.own(motion, wrenches).reshape(-1)

    def constraint_residuals(self, q: ArrayLike) -> Array:
        """Return g, (m,) [rad, m], of the independent constraints."""
        return self._constraints.gaps(self._motion(q, np.zeros(self.nv)))[self.active]

    def constraint_jacobian(self, q: ArrayLike) -> sparse.csr_array:
        """Return J, (m, 6 n), of the independent constraints: J v = dg/dt where g = 0."""
        return self._jacobian(q, self.active)

    def constraint_bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return eta, (m,), without stabilization: J a = eta for the rates a of the velocities v.

        In hybrid velocities it has J (0, omega x v) besides, v the body-fixed one (I-12).
        """
        motion = self._motion(q, v)
        blocks, eta = self._rows(motion)
        still = np.zeros((len(self.bodies), 6))
        shift = self._equations.own_rates(motion, still)
        shift = self._equations.body_fixed(motion, shift.reshape(-1))
        rows = self._constraints.bodies[self.active]
        parts = np.concatenate([shift, np.zeros((1, 6))])[rows]
        result: Array = eta + (blocks * parts).sum(axis=(1, 2))
        return result

    def solve_saddle_point(self, q: ArrayLike, r: ArrayLike, s: ArrayLike) -> tuple[Array, Array]:
        """Return x (6 n,) and mu (m,) of M x + J^T mu = r, J x = s.

        x is a velocity-like, r a force-like vector of the system.
        """
        motion = self._motion(q, np.zeros(self.nv))
        body = self._equations
        blocks, _ = self._rows(motion)
        x, mu = self._solved(
            blocks, body.body_fixed(motion, vector('r', self.nv, r)).reshape(-1), np.asarray(s)
        )
        return body.own(motion, x.reshape(-1, 6)).reshape(-1), mu

    def applied_forces(self, q: ArrayLike, wrenches: Mapping[str, ArrayLike]) -> Array:
        """Return the generalized forces (6 n,) of wrenches {body: (6,)} in the body frames."""
        forces = np.zeros((len(self.bodies), 6))
        for name, wrench in wrenches.items():
            if name not in self.free_bodies:
                raise UnknownNameError(
                    f'no body named {name!r}; there are {", ".join(self.free_bodies)}'
                )
            forces[self.free_bodies[name].start // 6] += vector(f'wrench on {name!r}', 6, wrench)
        motion = self._motion(q, np.zeros(self.nv))
        return self._equations.own(motion, forces).reshape(-1)

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
        others; what is given for them is one of many distributions.
        """
        _, multipliers = self.accelerations_and_multipliers(q, v, tau, external_wrenches)
        motion = self._motion(q, v)
        blocks, _ = self._rows(motion)
        joint_of_row, result = self._constraints.joint[self.active], {}
        own_rows = len(self._constraints.joint) - len(self.couplings)
        for k, joint in enumerate(self.joints):
            rows = np.flatnonzero((joint_of_row == k) & (self.active < own_rows))
            wrench = -multipliers[rows] @ blocks[rows, 0]
            result[joint.name] = se3.Ad(joint.child_frame).T @ wrench
        return result

    def joint_rates(self, q: ArrayLike, v: ArrayLike) -> dict[str, Array]:
        """Return the rates of each joint's freedoms [rad/s, m/s]: turns first, then slides.

        Of a helical joint the rate of its angle.
        """
        motion = self._motion(q, v)
        twists = np.concatenate([motion.omega, motion.v], axis=1)
        return {
            joint.name: np.einsum('eij,ej->i', rows, twists[[child, parent]])
            for joint, rows, child, parent in self._freedoms(motion)
        }

    def joint_forces(self, q: ArrayLike, torques: Mapping[str, ArrayLike]) -> Array:
        """Return the generalized forces (6 n,) of motors in joints, {joint: (freedoms,)} [N m, N].

        They act on the child, and on the parent the other way round: power is torque times
        `joint_rates`.
        """
        motion = self._motion(q, np.zeros(self.nv))
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
        return self._equations.own(motion, forces[:-1]).reshape(-1)

    def joint_positions(self, q: ArrayLike) -> dict[str, float]:
        """Return angle [rad], in (-pi, pi], or shift [m] of joints that only turn or only slide."""
        poses = self._constraints.relative_poses(self._motion(q, np.zeros(self.nv)))
        component = {('z', ''): TURN, ('', 'z'): SHIFT}
        return {
            joint.name: coordinate(C, component[joint.pair.turns, joint.pair.slides])
            for joint, C in zip(self.joints, poses)
            if (joint.pair.turns, joint.pair.slides) in component
        }

    def violation(self, q: ArrayLike, v: ArrayLike) -> dict[str, Violation]:
        """Return the violation of each joint, redundant constraints included (I-32)."""
        motion, constraints = self._motion(q, v), self._constraints
        g = constraints.gaps(motion)
        g_rate = constraints.rates(constraints.rows(motion).blocks, motion)
        rows = [np.flatnonzero(constraints.joint == k) for k in range(len(self.joints))]
        return {
            joint.name: Violation(float(np.linalg.norm(g[k])), float(np.linalg.norm(g_rate[k])))
            for joint, k in zip(self.joints, rows)
        }

    def energy(self, q: ArrayLike, v: ArrayLike) -> Energy:
        """Return the kinetic and potential energy [J] (I-32)."""
        motion, body = self._motion(q, v), self._equations
        V = np.concatenate([motion.omega[:-1], motion.v[:-1]], axis=1)
        T = 0.5 * float(np.einsum('ki,kij,kj->', V, body.M, V))
        com = motion.r[:-1] + np.einsum('kij,kj->ki', motion.R[:-1], body.com)
        return Energy(T, -float(body.masses @ com @ self.gravity))

    # --- inside ---------------------------------------------------------------------------------

    def _freedoms(self, motion: Motion) -> Iterator[tuple[ConstraintJoint, Array, int, int]]:
        """Yield each joint with the rows (2, k, 6) of its freedoms, and its child and parent."""
        constraints = self._constraints
        blocks, _ = constraints.relative_motion(motion)
        for k, joint in enumerate(self.joints):
            rows = blocks[k][:, joint.pair.free_components]
            yield joint, rows, int(constraints.child[k]), int(constraints.parent[k])

    def _motion(self, q: ArrayLike, v: ArrayLike) -> Motion:
        return self._equations.motion(vector('q', self.nq, q), vector('v', self.nv, v))

    def _rows(self, motion: Motion) -> tuple[Array, Array]:
        blocks, eta = self._constraints.rows(motion)
        return blocks[self.active], eta[self.active]

    def _jacobian(self, q: ArrayLike, rows: NDArray[np.intp]) -> sparse.csr_array:
        motion = self._motion(q, np.zeros(self.nv))
        blocks, bodies = self._constraints.rows(motion).blocks[rows], self._constraints.bodies[rows]
        hybrid = np.append(self._equations.hybrid, False)[bodies]
        blocks[hybrid, 3:] = times(motion.R[bodies[hybrid]], blocks[hybrid, 3:])
        return RowPattern(bodies, len(self.bodies)).matrix(blocks)

    def _accelerations(
        self,
        q: Array,
        v: Array,
        tau: Array,
        gravity: Array,
        g: Array,
        sparse_solution: bool = False,
    ) -> tuple[Array, Array]:
        """Return a and lambda of numbers or recorded scalars; g is only asked for if beta is."""
        body, (alpha, beta) = self._equations, self.stabilization
        motion = body.motion(q, v)
        wrenches = (
            body.velocity_forces(motion)
            + body.weights(motion, gravity)
            + body.body_fixed(motion, tau)
        ).reshape(-1)
        blocks, eta = self._rows(motion)
        if alpha:
            eta = eta - 2 * alpha * self._constraints.rates(blocks, motion, self.active)
        if beta:
            eta = eta - beta**2 * g
        solve = self._solved if sparse_solution else self._saddle_point.solve
        a, multipliers = solve(blocks, wrenches, eta)
        return body.own_rates(motion, a.reshape(-1, 6)).reshape(-1), multipliers

    def _solved(self, blocks: Array, r: Array, s: Array) -> tuple[Array, Array]:
        try:
            return self._saddle_point.solve_sparse(blocks, r, s)
        except RuntimeError:
            raise InfeasibleConstraintsError(self._singular()) from None

    def _moved(self, q: Array, X: Array) -> Array:
        q, X = q.reshape(-1, 7), X.reshape(-1, 6)
        result = zeros(q.shape, q, X)
        for bodies, increments in self._by_group:
            result[bodies] = displaced_pose(q[bodies], X[bodies], increments)
        return result.reshape(-1)

    def _increment_rate(self, X: Array, v: Array) -> Array:
        X, v = X.reshape(-1, 6), v.reshape(-1, 6)
        result = zeros(X.shape, X, v)
        for bodies, increments in self._by_group:
            group = se3 if increments == 'body' else so3xr3
            result[bodies] = (group.dexp_inv(-X[bodies]) @ v[bodies][..., None])[..., 0]
        return result.reshape(-1)

    @cached_property
    def _by_group(self) -> list[tuple[NDArray[np.intp], str]]:
        """The bodies of each group, and what `reconstruction` calls its increments."""
        named = [(SE3, 'body'), (SO3xR3, 'mixed')]
        places = [
            (np.flatnonzero([g == group for g in self.groups]), kind) for group, kind in named
        ]
        return [(bodies, kind) for bodies, kind in places if bodies.size]

    def _compute(self, name: str, *inputs: Array) -> tuple[Array, ...]:
        """Return the outputs of a compiled function; it is made when it is first called."""
        if name not in self._compiled:
            q, v = ('q', self.nq), ('v', self.nv)
            given = {
                'accelerations': (q, v, ('tau', self.nv), ('gravity', 3), ('g', len(self.active))),
                'integrate': (q, ('displacement', self.nv)),
                'increment_rate': (('displacement', self.nv), v),
            }[name]
            recursions: dict[str, Callable[..., Any]] = {
                'accelerations': self._accelerations,
                'integrate': self._moved,
                'increment_rate': self._increment_rate,
            }

            def build(*inputs: Array) -> tuple[Array, ...]:
                result = recursions[name](*inputs)
                return result if isinstance(result, tuple) else (result,)

            what = KernelSpecification(f'{name} of {len(self.bodies)} bodies', given, build)
            kernel = make_kernel(what, self.backend)
            self._compiled[name] = compiled_into(kernel), kernel.shapes
        run, shapes = self._compiled[name]
        outputs = tuple(np.empty(shape) for shape in shapes)
        run(*inputs, *outputs)
        return outputs

    def _checked_configuration(self, q: ArrayLike) -> Array:
        q = vector('configuration', self.nq, q)
        lengths = np.linalg.norm(q.reshape(-1, 7)[:, 3:], axis=1)
        if not np.isfinite(q).all() or not (np.abs(lengths - 1.0) < 1e-6).all():
            body = self.bodies[int(np.argmax(~(np.abs(lengths - 1.0) < 1e-6)))].name
            raise ArgumentError(
                f'configuration: the pose of {body!r} is not finite, or its quaternion '
                '(x, y, z, w) has not the length 1'
            )
        return q

    def _independent(self) -> tuple[NDArray[np.intp], tuple[str, ...]]:
        """Return the independent constraints, and the names of the redundant ones."""
        constraints = self._constraints

        def jacobian(q: Array) -> Array:
            J: Array = self._jacobian(q, np.arange(len(constraints.joint))).toarray()
            return J

        kept = independent_rows(
            np.stack([constraints.parent, constraints.child], axis=1),
            constraints.joint,
            len(self.bodies),
            jacobian,
            self.configuration,
            self._moved,
        )
        names = [
            f'{self.joints[k].name}: {row}'
            for k in range(len(self.joints))
            for row in self.joints[k].pair.rows
        ] + [f'{self.joints[c.follower].name}: coupling' for c in self.couplings]
        redundant = np.delete(np.arange(len(names)), kept)
        return kept, tuple(names[k] for k in redundant)

    def _singular(self) -> str:
        return (
            f'the constraints of joints {", ".join(joint.name for joint in self.joints)} depend on '
            'each other at this configuration, or numbers overflow: the accelerations are not '
            'defined; start elsewhere, take shorter steps or remove a joint'
        )


def check_structure(bodies: Sequence[AbsoluteBody], joints: Sequence[ConstraintJoint]) -> None:
    """Raise errors about names that are taken twice or that nothing has."""
    if not bodies:
        raise ArgumentError('a system needs at least one body')
    names = [body.name for body in bodies]
    for kind, given in (('bodies', names), ('joints', [joint.name for joint in joints])):
        twice = sorted({name for name in given if given.count(name) > 1})
        if twice:
            raise ArgumentError(f'two {kind} are named {twice[0]!r}; names must differ')
    for joint in joints:
        for end in (joint.parent, joint.child):
            if end not in names and end != GROUND:
                raise UnknownNameError(
                    f'joint {joint.name!r} leads to {end!r}, which is no body; there are '
                    f'{GROUND}, {", ".join(names)}'
                )


def check_increments(increments: str) -> None:
    """Raise `UnknownNameError` for increments that are not the bodies' own."""
    if increments != 'body':
        raise UnknownNameError(
            f"increments of bodies are 'body', on the right in each body's own group; got "
            f'{increments!r}; choose the group of each AbsoluteBody instead'
        )
