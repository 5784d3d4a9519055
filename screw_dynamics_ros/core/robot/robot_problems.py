# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Problems that a robot solves: constrained dynamics and inverse kinematics; base of `Robot`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import are_vectors, float_array, is_matrix, vector
from ..arms.families.all_solutions import AllInverseKinematics, AllSolutions, swivel_angles
from ..arms.families.branches import NearestBranch, make_solver
from ..arms.families.chain import SerialChain
from ..arms.inverse import closed_loop
from ..arms.inverse.acceleration import InverseAccelerationResult, inverse_acceleration
from ..arms.inverse.bounded_velocity import (
    JointLimitedResult,
    joint_limited_acceleration,
    joint_limited_velocity,
)
from ..arms.inverse.closed_loop import ClosedLoop, CoincidentFrames
from ..arms.inverse.force import ForwardForceResult, forward_force
from ..arms.inverse.inequalities import Inequalities, TwistLimit
from ..arms.inverse.link_motion import (
    Links,
    link_names,
    stacked_bias,
    stacked_jacobian,
    stacked_partials,
    stacked_rows,
)
from ..arms.inverse.position import InverseKinematics, InverseKinematicsResult, checked_options
from ..arms.inverse.redundancy import Criterion, RedundancyResult, resolve_redundancy
from ..arms.inverse.singularities import SingularityReport, singularity_report
from ..arms.inverse.singularity_policies import PolicyStatus, SingularityPolicy, guarded_velocity
from ..arms.inverse.task_priority import Task, TaskPriorityResult, level, task_priority
from ..arms.inverse.task_priority import checked as checked_tasks
from ..arms.inverse.velocity import InverseVelocityResult, inverse_velocity
from ..arms.inverse.velocity_bounds import JointBounds
from ..compile.calls import compiled_into
from ..compile.kernels import Kernel, make_kernel
from ..constraints.constrained_dynamics import (
    ConstrainedMotion,
    Terms,
    constrained_motion,
    specification,
)
from ..constraints.motion_constraint import MotionConstraint, Structure, checked
from ..dynamics.forward_dynamics import hybrid_dynamics, marks
from ..errors import ArgumentError
from ..kinematics import configurations
from ..tree.multibody_tree import Tree
from ..types import Array
from .functions import FUNCTIONS, prepared
from .robot_properties import RobotProperties

Outputs = tuple[Array, ...]


NOT_GIVEN = np.empty(0)
NOTHING_LOCKED: Mapping[str, float] = {}


class RobotProblems(RobotProperties):
    """Functions with solvers, and constrained dynamics; conventions as in `Robot`."""

    def __init__(self, tree: Tree, backend: str) -> None:
        super().__init__(tree, backend)
        self._neutral = configurations.neutral(tree)
        self._solvers: dict[tuple[tuple[str, ...], bool], InverseKinematics | NearestBranch] = {}
        self._all_solvers: dict[str, AllInverseKinematics] = {}
        self._constraint_kernels: dict[
            tuple[Structure, ...], tuple[Kernel, Callable[..., None]]
        ] = {}

    # --- motion and force given in parts; doc/theory/constrained_dynamics.md ----------------------

    @prepared(hybrid_dynamics, 'q', 'v', 'a', 'tau', 'gravity')
    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: ArrayLike | Sequence[str],
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        gravity: ArrayLike | None = None,
        out: Outputs | None = None,
    ) -> tuple[Array, Array]:
        """Return (a, tau), (nv,) each, for joints with given accelerations or given torques.

        `prescribed` contains the names of the joints with given acceleration `a`, or is a boolean
        mask (nv,) of them; the others have the given torque `tau`. The other elements of a and tau
        are not used. Each set of joints is compiled once (Bruyninckx 2010, 6.4.3, C-060).
        """
        choice = marks(self.tree, prescribed)
        result: tuple[Array, Array] = self._evaluate(
            FUNCTIONS['hybrid_dynamics'],
            (q, v, a, tau),
            (choice,),
            external_wrenches,
            gravity=gravity,
            out=out,
        )
        if result[0].ndim == 1 and not np.isfinite(result[0]).all():
            given = np.array([mark == '1' for mark in choice])
            read = np.where(given, float_array('a', a), float_array('tau', tau))
            applied = (external_wrenches or {}).values()
            self._explain_undefined((q, v, read, *applied))
        return result

    def constrained_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: MotionConstraint | Sequence[MotionConstraint],
        external_wrenches: Mapping[str, ArrayLike] | None = None,
        *,
        least_norm: bool = False,
    ) -> ConstrainedMotion:
        """Return (a, constraint wrenches) under torques tau and constraints, (nv,) and (k, 6).

        The wrenches act on the links of the constraints, at and in the link frames. The function is
        compiled once for links, representations and numbers of directions; all other values may
        change. Redundant constraints have the least-norm wrenches, see `ConstrainedMotion`.

        Raises `InfeasibleConstraintsError` if the constraints contradict each other; with
        `least_norm` the motion with the smallest violation is returned, marked as infeasible
        (Bruyninckx 2010, 6.7, C-071 to C-081).
        """
        constraints = checked(constraints)
        if external_wrenches or not isinstance(external_wrenches, Mapping | None):
            tau = float_array('tau', tau) - self.inverse_force(q, external_wrenches)
        terms = self.constraint_terms(q, v, tau, constraints)
        if terms.a_free.ndim == 1 and not np.isfinite(terms.a_free).all():
            self._explain_undefined((q, v, tau))
        return constrained_motion(terms, constraints, least_norm)

    def constraint_terms(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: Sequence[MotionConstraint],
    ) -> Terms:
        """Return the terms of the equations of `constrained_dynamics`: M^-1 J^T, J M^-1 J^T, ..."""
        structures = tuple(constraint.structure for constraint in constraints)
        known = self._constraint_kernels.get(structures)
        if known is None:
            program = specification(self.regrouped_tree, structures)
            kernel = make_kernel(program, self.backend)
            known = self._constraint_kernels[structures] = kernel, compiled_into(kernel)
        kernel, run = known
        parameters = [constraint.parameters for constraint in constraints]
        if are_vectors(q, v, tau):
            outputs = [np.empty(shape) for shape in kernel.shapes]
            run(q, v, tau, self._gravity, *parameters, *outputs)
            return Terms(*outputs)
        inputs, _ = self._inputs('constrained_dynamics', kernel, [q, v, tau, *parameters])
        return Terms(*kernel.stack(inputs))

    # --- joint positions for poses of links; doc/theory/inverse_kinematics.md ---------------------

    def inverse_kinematics(
        self,
        target: ArrayLike,
        link: str | Sequence[str],
        q0: ArrayLike | None = None,
        *,
        tolerance: float = 1e-9,
        max_iterations: int = 100,
        restarts: int = 100,
        damping: float = 0.03,
        respect_limits: bool = True,
        seed: int = 0,
    ) -> InverseKinematicsResult:
        """Return a configuration for target poses of one or several links.

        A link behind six joints with a closed form (`arms.families`, Pieper's included) is brought
        there by the solution that is nearest to `q0`, by the joint that moves most
        (`families.branches`). Other links, several of them, singular configurations and poses
        without a solution within the limits take damped Newton-Raphson steps from `q0`, then from
        random configurations (Bruyninckx 2010, 5.10, 7.9, C-043, C-100, C-101). `success` of the
        result is true only for a solution.

        Parameters
        ----------
        target : (4, 4) or (k, 4, 4)
            Pose of the link frame in the root frame [m], one for each link.
        link : str or sequence of k str
        q0 : (nq,), optional
            Initial configuration; by default the middle of the joint ranges.
        tolerance : float
            Largest pose error of a solution (rotation [rad] and displacement [m] in one norm).
        max_iterations : int
            Newton steps before a restart.
        restarts : int
            Number of random initial configurations if q0 does not lead to the target.
        damping : float
            Damping relative to the squared error; larger values converge more slowly and reliably.
            This and the next ones, and `max_iterations`, are those of the steps.
        respect_limits : bool
            Whether joints must stay within their limits.
        seed : int
            Seed of the random configurations; equal calls return equal results.
        """
        links = link_names(link)
        targets = float_array('target', target)
        if targets.shape != (len(links), 4, 4) and targets.shape != (4, 4)[: 2 * (len(links) == 1)]:
            raise ArgumentError(
                f'target must have shape {(4, 4) if len(links) == 1 else (len(links), 4, 4)}, '
                f'got {targets.shape}'
            )
        solver = self._solvers.get((links, respect_limits))
        if solver is None:
            solver = make_solver(self.tree, links, respect_limits, self.backend)
            self._solvers[links, respect_limits] = solver
        q = solver.middle if q0 is None else vector('q0', self.tree.nq, q0)
        options = checked_options(tolerance, max_iterations, restarts, damping, seed)
        return solver.solve(targets, q, options)

    def all_inverse_kinematics(
        self,
        pose: ArrayLike,
        link: str,
        *,
        locked: Mapping[str, float] | None = None,
        swivel: ArrayLike | None = None,
        q0: ArrayLike | None = None,
        images: bool = True,
        respect_limits: bool = True,
    ) -> AllSolutions | tuple[AllSolutions, ...]:
        """Return all configurations for a pose of a link, with a certificate of completeness.

        Solved by the closed form of the arm's family, otherwise by elimination; solutions are exact
        up to rounding errors (C-101, C-103). See doc/theory/all_inverse_solutions.md.

        Parameters
        ----------
        pose : (4, 4) or (N, 4, 4)
            Pose of the link frame in the root frame [m].
        link : str
        locked : dict, optional
            Positions [rad or m] of locked joints; at most six of the joints that move the link can
            be free. Limits of locked joints are ignored.
        swivel : float or (k,), optional
            Swivel angles [rad] of an S-R-S arm with seven joints: rotation of the elbow about the
            line from shoulder to wrist.
        q0 : (nq,), optional
            Positions of joints that do not move the link; by default `neutral()`.
        images : bool
            Whether to return, for joints with a range of more than 2 pi, all angles within the
            limits, up to a million solutions. For joints without a limit on one side or both, only
            the angle nearest to zero is returned.
        respect_limits : bool

        Returns
        -------
        AllSolutions
            For a stack of poses a tuple of AllSolutions.

        Raises
        ------
        ArgumentError
            If a pose is not a rigid motion, a number is not finite, more than six joints or no
            joint is free, or there are more than a million solutions.
        DescriptionError
            If the chain to the link has mimic joints or a floating base.
        UnknownNameError
            If the link or a locked joint does not exist.
        """
        targets = pose if is_matrix(pose) else float_array('pose', pose)
        solver = self._all_solvers.get(link) if isinstance(link, str) else None
        if solver is None:
            chain = SerialChain.of(self.tree, link)
            solver = self._all_solvers[link] = AllInverseKinematics(chain, self.nq, self.backend)
        others = self._neutral if q0 is None else vector('q0', self.tree.nq, q0)
        angles = NOT_GIVEN if swivel is None else swivel_angles(swivel)
        if targets.shape == (4, 4):
            return solver.solve(
                targets, others, locked or NOTHING_LOCKED, angles, images, respect_limits
            )
        if targets.shape[1:] != (4, 4):
            raise ArgumentError(f'pose must have shape (4, 4) or (N, 4, 4), got {targets.shape}')
        return tuple(
            solver.solve(target, others, locked or NOTHING_LOCKED, angles, images, respect_limits)
            for target in targets
        )

    def closed_loop(
        self,
        link: Links,
        q: ArrayLike,
        dt: float,
        *,
        closures: Sequence[CoincidentFrames] = (),
        **options: Any,
    ) -> ClosedLoop:
        """Return a tracker of target poses, started at q, with one `step` each dt seconds (C-048).

        `options`: gain, closure_gain, acceleration_limit, joint_metric, task_metric, damping,
        policy; see `inverse.closed_loop`.
        """
        links = link_names(link)
        options['partials'] = partial(stacked_partials, self, links)
        kernel = self.fuse(*closed_loop.outputs(links, closures))
        start = vector('q', self.tree.nq, q)
        return ClosedLoop(kernel, self.tree, links, start, dt, closures=closures, **options)

    # --- joint rates for twists of links; doc/theory/inverse_kinematics.md ------------------------

    def inverse_velocity(
        self,
        q: ArrayLike,
        twist: ArrayLike,
        link: Links,
        representation: str = 'hybrid',
        **options: Any,
    ) -> InverseVelocityResult:
        """Return joint rates for a twist of a link: `.v`, `.success`, `.residual`, `.message`.

        Parameters
        ----------
        q : (nq,)
        twist : (6,) or (k, 6)
            (omega, v) in `representation` [rad/s, m/s].
        link : str or sequence of k str
        representation : {'hybrid', 'body', 'spatial', 'mixed'}
        **options
            joint_metric, task_metric, damping, secondary, cutoff; see
            `inverse.velocity.inverse_velocity` (Bruyninckx 2010, 7.12, C-104).
        """
        J = stacked_jacobian(self, q, link, representation)
        return inverse_velocity(J, stacked_rows('twist', twist, link), **options)

    def prioritized_velocity(
        self, q: ArrayLike, tasks: Sequence[Task], **options: Any
    ) -> TaskPriorityResult:
        """Return joint rates for several tasks, in descending order of priority (C-029).

        `options`: joint_metric, secondary, cutoff; see `inverse.task_priority`.
        """
        levels = [level(self, q, None, task) for task in checked_tasks(tasks)]
        return task_priority(levels, **options)

    def resolve_redundancy(
        self,
        q: ArrayLike,
        twist: ArrayLike,
        link: str,
        criteria: Sequence[Criterion],
        **options: Any,
    ) -> RedundancyResult:
        """Return joint rates for a twist with criteria for the redundancy (C-030 to C-037).

        `criteria`: see `inverse.redundancy`. `options`: representation, selection, metric,
        damping; see `Task`. The result has the contribution of each criterion.
        """
        return resolve_redundancy(self, q, Task(link, twist, **options), criteria)

    def joint_limited_velocity(
        self,
        q: ArrayLike,
        twist: ArrayLike,
        link: Links,
        dt: float,
        representation: str = 'hybrid',
        *,
        previous: ArrayLike | None = None,
        acceleration_limit: ArrayLike | None = None,
        limits: Sequence[TwistLimit] = (),
        **options: Any,
    ) -> JointLimitedResult:
        """Return the joint rates within limits whose twist is nearest to the given one (C-044).

        The rates satisfy the velocity limits and, applied for `dt` seconds, the position limits;
        with acceleration limits the joints can also stop before their position limits later.

        Parameters
        ----------
        previous : (nv,), optional
            Current joint rates; used with acceleration limits.
        acceleration_limit : float or (nv,), optional
            [rad/s^2, m/s^2]; URDF has none.
        limits : sequence of TwistLimit, optional
            Bounds of link velocities in some directions.
        **options
            joint_metric, task_metric, damping, secondary; see `inverse.bounded_velocity`.
        """
        J = stacked_jacobian(self, q, link, representation)
        joints = JointBounds(self.tree, dt, acceleration_limit)
        bounds = joints.at(vector('q', self.tree.nq, q), previous)
        if limits:
            options['inequalities'] = Inequalities.of(self, q, limits)
        return joint_limited_velocity(J, stacked_rows('twist', twist, link), bounds, **options)

    def guarded_velocity(
        self,
        q: ArrayLike,
        twist: ArrayLike,
        link: str,
        dt: float,
        policy: SingularityPolicy,
        *,
        previous: ArrayLike | None = None,
        acceleration_limit: ArrayLike | None = None,
        **options: Any,
    ) -> PolicyStatus:
        """Return joint rates within limits near singularities, by a policy, and its status (C-024).

        Limits as in `joint_limited_velocity`; `options`: representation, task_metric, joint_metric,
        secondary; see `inverse.singularity_policies`.
        """
        joints = JointBounds(self.tree, dt, acceleration_limit)
        bounds = joints.at(vector('q', self.tree.nq, q), previous)
        return guarded_velocity(self, q, twist, link, bounds, policy, **options)

    # --- joint accelerations for those of links; doc/theory/inverse_kinematics.md -----------------

    def inverse_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        acceleration: ArrayLike,
        link: Links,
        representation: str = 'hybrid',
        **options: Any,
    ) -> InverseAccelerationResult:
        """Return joint accelerations `.a` for an acceleration of a link; see `inverse_velocity`.

        `acceleration` (6,) or (k, 6) is the derivative of the twist in `representation`; the linear
        part of a hybrid one is the acceleration of the link's origin (C-109).
        """
        J = stacked_jacobian(self, q, link, representation)
        bias = stacked_bias(self, q, v, link, representation)
        target = stacked_rows('acceleration', acceleration, link)
        return inverse_acceleration(J, bias, target, **options)

    def prioritized_acceleration(
        self, q: ArrayLike, v: ArrayLike, tasks: Sequence[Task], **options: Any
    ) -> TaskPriorityResult:
        """Return joint accelerations (field `v`) for tasks that are given as accelerations."""
        levels = [level(self, q, v, task) for task in checked_tasks(tasks)]
        return task_priority(levels, **options)

    def joint_limited_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        acceleration: ArrayLike,
        link: Links,
        dt: float,
        representation: str = 'hybrid',
        *,
        acceleration_limit: ArrayLike | None = None,
        **options: Any,
    ) -> JointLimitedResult:
        """Return joint accelerations (field `v`) within limits for an acceleration of a link.

        The resulting joint rates v + a dt are within the bounds of `joint_limited_velocity`.
        """
        J = stacked_jacobian(self, q, link, representation)
        bias = stacked_bias(self, q, v, link, representation)
        start, now = self._vectors(q=q, v=v)
        bounds = JointBounds(self.tree, dt, acceleration_limit).at(start, now)
        target = stacked_rows('acceleration', acceleration, link)
        return joint_limited_acceleration(J, bias, target, bounds, now, dt, **options)

    # --- wrenches and singularities; doc/theory/inverse_kinematics.md -----------------------------

    def forward_force(
        self, q: ArrayLike, tau: ArrayLike, link: Links, **options: Any
    ) -> ForwardForceResult:
        """Return the wrenches on links, in their frames, that joint torques tau balance (C-107).

        tau (nv,) without `gravity_torques`. `options`: length, torque_metric, least_squares,
        cutoff; see `inverse.force`. Joints that do not move the links are ignored.
        """
        J = stacked_jacobian(self, q, link, 'body')
        return forward_force(J, tau, **options)

    def singularity(
        self, q: ArrayLike, link: str, representation: str = 'hybrid', **options: Any
    ) -> SingularityReport:
        """Return rank, singular values, lost twists, reciprocal wrenches of a link (C-020, C-022).

        `options`: length, joint_metric, tolerance; see `inverse.singularities`.
        """
        return singularity_report(stacked_jacobian(self, q, link, representation), **options)
