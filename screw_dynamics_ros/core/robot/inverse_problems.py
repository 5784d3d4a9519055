"""Inverse problems of a robot: positions, velocities, accelerations, forces, singularities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import float_array, vector
from screw_dynamics_ros.core.compile.kernels import Specification, make_kernel
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.inverse import acceleration as inverse_acceleration
from screw_dynamics_ros.core.inverse import bounded_velocity as limited
from screw_dynamics_ros.core.inverse import closed_loop
from screw_dynamics_ros.core.inverse import force as force_kinematics
from screw_dynamics_ros.core.inverse import position as inverse
from screw_dynamics_ros.core.inverse import velocity as velocities
from screw_dynamics_ros.core.inverse.acceleration import InverseAccelerationResult
from screw_dynamics_ros.core.inverse.bounded_velocity import JointLimitedResult
from screw_dynamics_ros.core.inverse.closed_loop import ClosedLoop, Gap, per_link
from screw_dynamics_ros.core.inverse.force import ForwardForceResult
from screw_dynamics_ros.core.inverse.position import InverseKinematics, InverseKinematicsResult
from screw_dynamics_ros.core.inverse.singularities import SingularityReport, singularity_report
from screw_dynamics_ros.core.inverse.task_priority import (
    Level,
    Task,
    TaskPriorityResult,
    checked,
    task_priority,
)
from screw_dynamics_ros.core.inverse.velocity import InverseVelocityResult
from screw_dynamics_ros.core.inverse.velocity_bounds import JointBounds
from screw_dynamics_ros.core.inverse.weighted_inverse import finite
from screw_dynamics_ros.core.robot.compiled_functions import CompiledFunctions
from screw_dynamics_ros.core.robot.fused_kernel import FusedKernel
from screw_dynamics_ros.core.tree.multibody_tree import JointLimits, Tree
from screw_dynamics_ros.core.types import Array

Links = str | Sequence[str]


class InverseProblems(CompiledFunctions):
    """What a `Robot` answers by solving equations, one sample at a time.

    `link` may be one link or several; then twists have a row for each. NaN, singular weights and
    wrong shapes raise `ArgumentError`. doc/inverse_kinematics.md has the mathematics.
    """

    def __init__(self, tree: Tree, backend: str) -> None:
        super().__init__(tree, backend)
        self._solvers: dict[tuple[tuple[str, ...], bool], InverseKinematics] = {}

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
        """Return a configuration that brings one link, or several, to target poses.

        Damped Newton-Raphson steps from `q0`, then from random configurations (bruyninckx_2.md
        C-043, C-100). The answer is never silently wrong: look at `success`.

        Parameters
        ----------
        target : (4, 4) or (k, 4, 4)
            Pose of the link frame in the root frame [m], one for each link.
        link : str or sequence of k str
        q0 : (nq,), optional
            Where to start; the middle of the joint ranges otherwise.
        tolerance : float
            Largest pose error accepted (rotation [rad] and displacement [m] in one norm).
        max_iterations : int
            Newton steps before a restart.
        restarts : int
            Random configurations to start from if q0 does not lead to the target.
        damping : float
            Damping in proportion to the squared error; larger is slower and steadier.
        respect_limits : bool
            Whether joints must stay within their limits.
        seed : int
            Of the random configurations: the same call returns the same answer.
        """
        links = names(link)
        targets = float_array('target', target)
        if targets.shape != (len(links), 4, 4) and targets.shape != (4, 4)[: 2 * (len(links) == 1)]:
            raise ArgumentError(
                f'target must have shape {(4, 4) if len(links) == 1 else (len(links), 4, 4)}, '
                f'got {targets.shape}'
            )
        solver = self._solvers.get((links, respect_limits))
        if solver is None:
            solver = self._make_solver(links, respect_limits)
        q = solver.middle if q0 is None else vector('q0', self._tree.nq, q0)
        return solver.solve(
            targets,
            q,
            tolerance=tolerance,
            max_iterations=max_iterations,
            restarts=restarts,
            damping=damping,
            seed=seed,
        )

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
            `inverse.velocity.inverse_velocity` (bruyninckx_2.md C-104).
        """
        J = self._stacked(q, link, representation)
        return velocities.inverse_velocity(J, rows('twist', twist, link), **options)

    def inverse_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        acceleration: ArrayLike,
        link: Links,
        representation: str = 'hybrid',
        **options: Any,
    ) -> InverseAccelerationResult:
        """Return joint accelerations for that of a link: `.a`, else as in `inverse_velocity`.

        `acceleration` (6,) or (k, 6) is the derivative of the twist in `representation`; of a
        hybrid one the linear part is the acceleration of the link's origin (C-109).
        """
        J, bias = self._stacked(q, link, representation), self._bias(q, v, link, representation)
        target = rows('acceleration', acceleration, link)
        return inverse_acceleration.inverse_acceleration(J, bias, target, **options)

    def prioritised_velocity(
        self, q: ArrayLike, tasks: Sequence[Task], **options: Any
    ) -> TaskPriorityResult:
        """Return joint rates for several tasks, the most important one first (C-029).

        `options`: joint_metric, secondary, cutoff; see `inverse.task_priority`.
        """
        return task_priority([self._level(q, None, task) for task in checked(tasks)], **options)

    def prioritised_acceleration(
        self, q: ArrayLike, v: ArrayLike, tasks: Sequence[Task], **options: Any
    ) -> TaskPriorityResult:
        """Return joint accelerations (field `v`) for tasks whose rates are accelerations."""
        return task_priority([self._level(q, v, task) for task in checked(tasks)], **options)

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
        **options: Any,
    ) -> JointLimitedResult:
        """Return the joint rates within limits that serve a twist best (C-044).

        Within the limits of velocity, and such that held for `dt` seconds they keep the joints
        within their ranges, now and, with limits of acceleration, later.

        Parameters
        ----------
        previous : (nv,), optional
            Joint rates now; matters with limits of acceleration.
        acceleration_limit : float or (nv,), optional
            [rad/s^2, m/s^2]; URDF has none.
        **options
            joint_metric, task_metric, damping, secondary; see `inverse.bounded_velocity`.
        """
        J = self._stacked(q, link, representation)
        limits = JointBounds(self._tree, dt, acceleration_limit)
        bounds = limits.at(vector('q', self._tree.nq, q), previous)
        return limited.joint_limited_velocity(J, rows('twist', twist, link), bounds, **options)

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
        """Return the joint accelerations (field `v`) within limits that serve a link best.

        They lead to joint rates v + a dt that are within the bounds of `joint_limited_velocity`.
        """
        J, bias = self._stacked(q, link, representation), self._bias(q, v, link, representation)
        now = vector('v', self._tree.nv, v)
        bounds = JointBounds(self._tree, dt, acceleration_limit).at(
            vector('q', self._tree.nq, q), now
        )
        target = rows('acceleration', acceleration, link)
        return limited.joint_limited_acceleration(J, bias, target, bounds, now, dt, **options)

    def inverse_force(
        self, q: ArrayLike, external_wrenches: Mapping[str, ArrayLike] | None = None
    ) -> Array:
        """Return the torques that hold wrenches on links, -sum J^T w, (nv,) [N m, N] (C-106).

        Wrenches as in `inverse_dynamics`; add `gravity_torques` for what carries the robot.
        """
        return self._evaluate('inverse_force', (q,), (), external_wrenches)

    def forward_force(
        self, q: ArrayLike, tau: ArrayLike, link: Links, **options: Any
    ) -> ForwardForceResult:
        """Return the wrenches on links, in their frames, that torques tau hold (C-107).

        tau (nv,) without `gravity_torques`. `options`: length, torque_metric, least_squares,
        cutoff; see `inverse.force`. Joints that do not move the links are left out.
        """
        J = self._stacked(q, link, 'body')
        return force_kinematics.forward_force(J, tau, **options)

    def singularity(
        self, q: ArrayLike, link: str, representation: str = 'hybrid', **options: Any
    ) -> SingularityReport:
        """Return rank, singular values, lost twists, reciprocal wrenches of a link (C-020, C-022).

        `options`: length, joint_metric, tolerance; see `inverse.singularities`.
        """
        return singularity_report(self._stacked(q, link, representation), **options)

    def closed_loop(
        self,
        link: Links,
        q: ArrayLike,
        dt: float,
        *,
        gaps: Sequence[Gap] = (),
        **options: Any,
    ) -> ClosedLoop:
        """Return what follows a stream of target poses from q, one `step` each dt seconds (C-048).

        `options`: gain, gap_gain, acceleration_limit, joint_metric, task_metric, damping; see
        `inverse.closed_loop`.
        """
        links = names(link)
        kernel = FusedKernel(self._lean_tree, self.backend, closed_loop.outputs(links, gaps), {})
        start = vector('q', self._tree.nq, q)
        return ClosedLoop(kernel, self._tree, links, start, dt, gaps=gaps, **options)

    def _stacked(self, q: ArrayLike, link: Links, representation: str) -> Array:
        """Return the Jacobians of the links one below the other, (6 k, nv)."""
        q = finite('q', vector('q', self._tree.nq, q))
        blocks = [self._evaluate('jacobian', (q,), (name, representation)) for name in names(link)]
        return np.concatenate(blocks)

    def _bias(self, q: ArrayLike, v: ArrayLike, link: Links, representation: str) -> Array:
        """Return the accelerations of the links when the joints do not accelerate, (6 k,)."""
        v = finite('v', vector('v', self._tree.nv, v))
        rest = np.zeros(self._tree.nv)
        return np.concatenate([
            self._evaluate('acceleration', (q, v, rest), (name, representation))
            for name in names(link)
        ])  # fmt: skip

    def _level(self, q: ArrayLike, v: ArrayLike | None, task: Task) -> Level:
        """Return the equations of one task, for accelerations if v is given."""
        J = self._stacked(q, task.link, task.representation)
        if task.selection is None:
            S = np.eye(6)
        else:
            S = velocities.matrix(f'the selection of the task of {task.link!r}', task.selection)
            if S.shape[1] != 6:
                raise ArgumentError(
                    f'the selection of the task of {task.link!r} must have shape (m, 6), '
                    f'got {S.shape}'
                )
        target = velocities.rate(f'the rate of the task of {task.link!r}', len(S), task.rate)
        if v is not None:
            target = target - S @ self._bias(q, v, task.link, task.representation)
        return Level(S @ J, target, task.metric, task.damping)

    def _make_solver(self, links: tuple[str, ...], respect_limits: bool) -> InverseKinematics:
        """Return a solver of inverse position kinematics, compiled."""
        tree = self._tree
        for link in links:
            tree.frame(link)
        if not respect_limits:
            infinite = np.full(len(tree.joint_names), np.inf)
            tree = replace(tree, limits=JointLimits(-infinite, infinite, infinite, infinite))
        specification = Specification(
            f'inverse kinematics {links}',
            (('q', tree.nq), ('target', 16 * len(links)), ('damping', 1)),
            partial(inverse.program, tree, links),
            repr(('inverse kinematics', tree.digest, links)),
        )
        kernel = make_kernel(specification, self.backend)
        solver = self._solvers[links, respect_limits] = InverseKinematics(kernel, tree, links)
        return solver


def names(link: Links) -> tuple[str, ...]:
    """Return one link or several as a tuple; raises `ArgumentError` if there is none."""
    try:
        links = (link,) if isinstance(link, str) else tuple(link)
    except TypeError:
        raise UnknownNameError(f'no link named {link!r}') from None
    if not links:
        raise ArgumentError('at least one link is needed')
    return links


def rows(name: str, value: ArrayLike, link: Links) -> Array:
    """Return six numbers for each link, one after the other."""
    return per_link(name, value, len(names(link)), (6,)).ravel()
