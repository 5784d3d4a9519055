# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse position kinematics: damped Newton-Raphson steps with joint limits and restarts.

The step is recorded and compiled like other functions of a robot, several steps in one program;
Python decides whether to continue, restart or stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...arguments import check_count, check_number
from ...compile.calls import compiled_into
from ...compile.kernels import Kernel, KernelSpecification, make_kernel
from ...compile.program.tracing import clamp
from ...errors import ArgumentError
from ...kinematics.jacobians import jacobian
from ...kinematics.poe import link_pose
from ...kinematics.pose_error import pose_error
from ...linear import solve_positive_definite, symmetric
from ...tree.joint_limits import position_limits
from ...tree.multibody_tree import JointLimits, Tree
from ...types import Array

MIN_DAMPING = 1e-12  # keeps the normal equations solvable in a singular configuration


@dataclass(frozen=True, eq=False)
class InverseKinematicsResult:
    """Result of the inverse position kinematics.

    Attributes
    ----------
    q : (nq,) array
        The solution, or the configuration with the smallest error.
    success : bool
        Whether `residual` is within tolerance and q within the joint limits.
    residual : float
        Norm of the pose errors of all targets: 2 sin(angle / 2) [rad] and displacement [m].
    iterations : int
        Number of Newton steps of all restarts; 0 for a solution in closed form.
    message : str
        Why the solver stopped.
    """

    q: Array
    success: bool
    residual: float
    iterations: int
    message: str


def stacked_error(tree: Tree, q: Array, targets: Sequence[Array], links: Sequence[str]) -> Array:
    """Return the stacked pose errors of several links, (6 k,)."""
    return np.concatenate(
        [pose_error(link_pose(tree, q, link), target) for link, target in zip(links, targets)]
    )


def newton_step(
    tree: Tree, q: Array, targets: Sequence[Array], links: Sequence[str], damping: float
) -> Array:
    """Return the configuration after one damped Newton-Raphson step towards the targets.

    Levenberg-Marquardt with the damping of Chan and Lawrence, proportional to the squared error,
    and damping of each joint by its weight W, dq = W J^T (J W J^T + (damping e^T e + small) 1)^-1 e
    (Bruyninckx 2010, 5.10, 7.9, C-043, C-100). Joints stop at their limits.
    """
    e = stacked_error(tree, q, targets, links)
    J = np.concatenate([jacobian(tree, q, link, 'body') for link in links])
    W = freedom_within_limits(tree, q, J.T @ e)
    normal = symmetric((J * W) @ J.T) + (damping * (e @ e) + MIN_DAMPING) * np.eye(len(e))
    return displaced(tree, q, W * (J.T @ solve_positive_definite(normal, e)))


def freedom_within_limits(tree: Tree, q: Array, g: Array) -> Array:
    """Return the share of a displacement g that each joint can make before it stops, (nv,), 0 to 1.

    With g = J^T e, the direction of steepest descent, a joint that would run into its limit leaves
    the step to the others, and one that comes back from it takes part.
    """
    share = np.ones(tree.nv).astype(g.dtype)
    for (place, velocity), lower, upper in zip(
        tree.coordinates.values(), tree.limits.lower, tree.limits.upper
    ):
        if place.stop - place.start == 1 and (lower > -np.inf or upper < np.inf):
            x, dx = q[place.start], g[velocity.start]
            moved = clamp(x + dx, lower, upper) - x
            share[velocity.start] = clamp(moved * dx / (dx * dx + 1e-300), 0.0, 1.0)
    return share


def displaced(tree: Tree, q: Array, dq: Array) -> Array:
    """Return q moved by the tangent vector dq, joints within their limits.

    A free body moves by a translation and a rotation in its own frame (first order, normalized).
    """
    result = q + np.zeros_like(dq[:1]) if tree.nv == 0 else q.astype(dq.dtype)
    for body in tree.free_bodies:
        result[body.q] = body.group.stepped(q[body.q], dq[body.v])
    for (place, velocity), lower, upper in zip(
        tree.coordinates.values(), tree.limits.lower, tree.limits.upper
    ):
        if place.stop - place.start == velocity.stop - velocity.start:
            for k in range(place.stop - place.start):
                moved = q[place.start + k] + dq[velocity.start + k]
                result[place.start + k] = clamp(moved, lower, upper)
    return result


#: Largest squared distance from a rigid motion (`rigid_defect`) of a target.
MAX_DEFECT = 1e-8
STEPS_BETWEEN_CHECKS = 4  # Newton steps between two looks at the error


def steps_at_once(links: Sequence[str]) -> int:
    """Return the number of steps in one compiled program: several links make each one long."""
    return STEPS_BETWEEN_CHECKS if len(links) == 1 else 1


def program(
    tree: Tree, links: Sequence[str], q: Array, targets: Array, damping: Array
) -> tuple[Array, ...]:
    """Return (q after some steps, its residual (1,), deviations of the k targets from rigid (k,)).

    `targets` holds the concatenated elements of the (4, 4) matrices. The compiled function.
    """
    poses = [targets[16 * k : 16 * k + 16].reshape(4, 4) for k in range(len(links))]
    for _ in range(steps_at_once(links)):
        q = newton_step(tree, q, poses, links, damping[0])
    squares = sum(squared_distance(link_pose(tree, q, link), C) for link, C in zip(links, poses))
    return q, np.array([np.sqrt(squares)]), np.array([rigid_defect(C) for C in poses])


def squared_distance(C: Array, target: Array) -> Array:
    """Return (2 sin(angle / 2))^2 + distance^2 between two poses, zero for equal ones only."""
    turned, shift = C[:3, :3] - target[:3, :3], C[:3, 3] - target[:3, 3]
    return 0.5 * (turned * turned).sum() + shift @ shift


def rigid_defect(C: Array) -> Array:
    """Return the squared distance of C^T C from that of a rigid motion; 0 for a rigid motion.

    A reflection has determinant -1 and counts 4.
    """
    R = C[:3, :3]
    gram, last_row = R.T @ R - np.eye(3), C[3] - np.array([0.0, 0.0, 0.0, 1.0])
    determinant = R[0] @ np.array(
        [
            R[1, 1] * R[2, 2] - R[1, 2] * R[2, 1],
            R[1, 2] * R[2, 0] - R[1, 0] * R[2, 2],
            R[1, 0] * R[2, 1] - R[1, 1] * R[2, 0],
        ]
    )
    reflection = determinant - 1.0
    return (gram * gram).sum() + last_row @ last_row + reflection * reflection


class StepOptions(NamedTuple):
    """Options of Newton steps, checked; see `Robot.inverse_kinematics`."""

    tolerance: float
    max_iterations: int
    restarts: int
    damping: float
    seed: int


class InverseKinematics:
    """A solver for one robot and one set of links.

    Parameters
    ----------
    kernel : Kernel
        Compiled `program`: (q, targets, damping) -> (q, residual, defects).
    tree : Tree
        With the limits to respect.
    links : sequence of str
    """

    def __init__(self, kernel: Kernel, tree: Tree, links: Sequence[str]) -> None:
        self._run, self._tree, self._links = compiled_into(kernel), tree, tuple(links)
        lower, upper = position_limits(tree)
        self._low = np.where(np.isfinite(lower), lower, -np.pi)
        self._high = np.where(np.isfinite(upper), upper, np.pi)
        self.middle = 0.5 * (self._low + self._high)
        for body in tree.free_bodies:
            self.middle[body.q] = body.group.neutral

    def solve(self, targets: Array, q: Array, options: StepOptions) -> InverseKinematicsResult:
        """Step from q, then from random configurations, until the error is within tolerance."""
        tolerance, max_iterations, restarts, damping, seed = options
        if not np.isfinite(q).all():
            raise ArgumentError(f'q0 must hold finite numbers, got {q}')
        residuals, defects = np.empty(1), np.empty(len(self._links))
        flat, weight = np.ascontiguousarray(targets).reshape(-1), np.array([damping])
        best, best_residual, iterations = q, np.inf, 0
        random = None
        for attempt in range(restarts + 1):
            if attempt:
                random = random or np.random.default_rng(seed)
                q = self._random_configuration(random)
            previous = np.inf
            for _ in range(-(-max_iterations // STEPS_BETWEEN_CHECKS)):
                for _ in range(STEPS_BETWEEN_CHECKS // steps_at_once(self._links)):
                    start, q = q, np.empty_like(q)
                    self._run(start, flat, weight, q, residuals, defects)
                iterations += STEPS_BETWEEN_CHECKS
                residual = residuals.item()
                if not attempt:
                    check_targets(defects.tolist(), self._links)
                    if not np.isfinite(residual):
                        check_positions(targets, self._links)
                if residual < best_residual:
                    best, best_residual = q, residual
                if residual <= tolerance:
                    return InverseKinematicsResult(q, True, residual, iterations, 'solved')
                if not residual < 0.9 * previous:
                    break  # stuck at a limit, in a local minimum, or not a number
                previous = residual
        return InverseKinematicsResult(
            best,
            False,
            best_residual,
            iterations,
            f'not solved within the joint limits: the smallest pose error after {restarts} '
            f'restarts is {best_residual:.3g} (tolerance {tolerance:.3g}); the target is out of '
            'reach, or more restarts are needed',
        )

    def _random_configuration(self, random: np.random.Generator) -> Array:
        q = random.uniform(self._low, self._high)
        for body in self._tree.free_bodies:
            q[body.q] = self.middle[body.q]
        return q


def make_solver(
    tree: Tree, links: Sequence[str], respect_limits: bool, backend: str
) -> InverseKinematics:
    """Return a solver, compiled; raises `UnknownNameError` for a link."""
    for link in links:
        tree.frame(link)
    if not respect_limits:
        tree = without_limits(tree)
    specification = KernelSpecification(
        f'inverse kinematics {links}',
        (('q', tree.nq), ('target', 16 * len(links)), ('damping', 1)),
        program,
        repr(('inverse kinematics', tree.digest, links)),
        model=(tree, links),
    )
    return InverseKinematics(make_kernel(specification, backend), tree, links)


def without_limits(tree: Tree) -> Tree:
    """Return a tree whose joints have no limits."""
    infinite = np.full(len(tree.joint_names), np.inf)
    return replace(tree, limits=JointLimits(-infinite, infinite, infinite, infinite))


def checked_options(
    tolerance: float, max_iterations: int, restarts: int, damping: float, seed: int
) -> StepOptions:
    """Return the options; raises `ArgumentError` for one that is not valid."""
    check_number('tolerance', tolerance)
    check_number('damping', damping)
    check_count('max_iterations', max_iterations)
    check_count('restarts', restarts)
    check_count('seed', seed)
    return StepOptions(tolerance, max_iterations, restarts, damping, seed)


def check_positions(targets: Array, links: Sequence[str]) -> None:
    """Raise `ArgumentError` for the first target whose position is not finite."""
    for C, link in zip(np.reshape(targets, (-1, 4, 4)), links):
        if not np.isfinite(C[:3, 3]).all():
            raise ArgumentError(
                f'the target for {link!r} is not a rigid motion: its position must be finite, got '
                f'{C[:3, 3].tolist()}'
            )


def check_targets(defects: Sequence[float], links: Sequence[str]) -> None:
    """Raise `ArgumentError` for the first target that is not a rigid motion."""
    for defect, link in zip(defects, links):
        if not defect < MAX_DEFECT:
            raise ArgumentError(
                f'the target for {link!r} is not a rigid motion (or not a number): it must be a '
                f'(4, 4) matrix [[R, r], [0, 1]] with R^T R = 1 and det R = 1'
            )
