"""Inverse position kinematics: damped Newton-Raphson steps, limits, restarts, status with reason.

The step is recorded and compiled like every other function of a robot, several steps in one
program; only the decision to go on, restart or give up is made in Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.compile.kernels import Kernel
from screw_dynamics_ros.core.compile.tracing import clamp
from screw_dynamics_ros.core.dynamics.linear import solve_positive_definite, symmetric
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.fused import compiled_into
from screw_dynamics_ros.core.kinematics.jacobians import jacobian
from screw_dynamics_ros.core.kinematics.poe import link_pose
from screw_dynamics_ros.core.lie import quaternions
from screw_dynamics_ros.core.model.tree import Array, Tree

SMALLEST_DAMPING = 1e-12  # keeps the normal equations solvable in a singular configuration


@dataclass(frozen=True)
class InverseKinematicsResult:
    """What an inverse position kinematics solver found.

    Attributes
    ----------
    q : (nq,) array
        The configuration found, or the best one seen.
    success : bool
        Whether `residual` is within tolerance and q within the joint limits.
    residual : float
        Largest pose error over the targets: norm of the rotation vector [rad] and displacement [m].
    iterations : int
        Newton steps taken, all restarts together.
    message : str
        Why the solver stopped.
    """

    q: Array
    success: bool
    residual: float
    iterations: int
    message: str


def pose_error(C: Array, target: Array) -> Array:
    """Return the displacement from C to the target in the frame of C, (6,) [rad, m].

    The angular part is 2 sin(angle / 2) times the axis, which agrees with the logarithm to third
    order, grows all the way to half a turn, and needs no branch.
    """
    R = C[:3, :3].T @ target[:3, :3]
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    half_turn = 1.0 + np.trace(R)  # (2 cos(angle / 2))^2, at least rounding error
    return np.concatenate(
        [axis / np.sqrt(half_turn + 1e-12), C[:3, :3].T @ (target[:3, 3] - C[:3, 3])]
    )


def stacked_error(tree: Tree, q: Array, targets: Sequence[Array], links: Sequence[str]) -> Array:
    """Return the pose errors of several links one below the other, (6 k,)."""
    return np.concatenate(
        [pose_error(link_pose(tree, q, link), target) for link, target in zip(links, targets)]
    )


def newton_step(
    tree: Tree, q: Array, targets: Sequence[Array], links: Sequence[str], damping: float
) -> Array:
    """Return the configuration after one damped Newton-Raphson step towards the targets.

    Levenberg-Marquardt with the damping of Chan and Lawrence, proportional to the squared error:
    dq = J^T (J J^T + (damping e^T e + small) 1)^-1 e (bruyninckx_2.md C-043, C-100). Joints stop at
    their limits.
    """
    e = stacked_error(tree, q, targets, links)
    J = np.concatenate([jacobian(tree, q, link, 'body') for link in links])
    normal = symmetric(J @ J.T) + (damping * (e @ e) + SMALLEST_DAMPING) * np.eye(len(e))
    return displaced(tree, q, J.T @ solve_positive_definite(normal, e))


def displaced(tree: Tree, q: Array, dq: Array) -> Array:
    """Return q moved by the tangent vector dq, joints within their limits.

    A free body moves by a translation and a rotation in its own frame (first order, normalised).
    """
    result = q + np.zeros_like(dq[:1]) if tree.nv == 0 else q.astype(dq.dtype)
    for body in tree.bodies:
        if body.dof == 6:
            x, quaternion = q[body.q][:3], q[body.q][3:]
            turned = quaternions.product(quaternion, np.append(0.5 * dq[body.v][:3], 1.0))
            shift = quaternions.to_matrix(quaternion) @ dq[body.v][3:]
            result[body.q] = np.concatenate([x + shift, turned / np.sqrt(turned @ turned)])
    for (place, velocity), lower, upper in zip(
        tree.coordinates.values(), tree.limits.lower, tree.limits.upper
    ):
        if velocity.stop - velocity.start != 6:
            for k in range(place.stop - place.start):
                moved = q[place.start + k] + dq[velocity.start + k]
                result[place.start + k] = clamp(moved, lower, upper)
    return result


STEPS = 4  # Newton steps in one compiled program


def program(
    tree: Tree, links: Sequence[str], q: Array, targets: Array, damping: Array
) -> tuple[Array, ...]:
    """Return (q after `STEPS` steps, its pose errors (6 k,), how far the targets are from rigid).

    `targets` holds the elements of the k (4, 4) matrices one after the other. This is what is
    compiled.
    """
    poses = [targets[16 * k : 16 * k + 16].reshape(4, 4) for k in range(len(links))]
    for _ in range(STEPS):
        q = newton_step(tree, q, poses, links, damping[0])
    return q, stacked_error(tree, q, poses, links), np.array([rigid_defect(C) for C in poses])


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


class InverseKinematics:
    """A solver for one robot and one set of links.

    Parameters
    ----------
    kernel : Kernel
        Compiled `program`: (q, targets, damping) -> (q, errors, defects).
    tree : Tree
        With the limits to respect.
    links : sequence of str
    """

    def __init__(self, kernel: Kernel, tree: Tree, links: Sequence[str]) -> None:
        self._run, self._tree, self._links = compiled_into(kernel), tree, tuple(links)
        self._errors = np.empty(6 * len(links))
        self._defects = np.empty(len(links))
        lower, upper = coordinate_limits(tree)
        self._low = np.where(np.isfinite(lower), lower, -np.pi)
        self._high = np.where(np.isfinite(upper), upper, np.pi)
        self.middle = 0.5 * (self._low + self._high)
        for body in tree.bodies:
            if body.dof == 6:
                self.middle[body.q] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

    def solve(
        self,
        targets: Array,
        q: Array,
        *,
        tolerance: float,
        max_iterations: int,
        restarts: int,
        damping: float,
        seed: int,
    ) -> InverseKinematicsResult:
        """Step from q, then from random configurations, until the error is within tolerance."""
        flat, weight = np.ascontiguousarray(targets).reshape(-1), np.array([damping])
        best, best_residual, iterations = q, np.inf, 0
        random = None
        for attempt in range(restarts + 1):
            if attempt:
                random = random or np.random.default_rng(seed)
                q = self._random_configuration(random)
            previous = np.inf
            for _ in range(-(-max_iterations // STEPS)):
                start, q = q, np.empty_like(q)
                self._run(start, flat, weight, q, self._errors, self._defects)
                iterations += STEPS
                residual = self._residual()
                if not attempt:
                    check_targets(self._defects.tolist(), self._links)
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

    def _residual(self) -> float:
        """Return the largest of the pose errors."""
        if len(self._links) == 1:
            return math.sqrt(self._errors @ self._errors)
        return math.sqrt((self._errors.reshape(-1, 6) ** 2).sum(axis=1).max())

    def _random_configuration(self, random: np.random.Generator) -> Array:
        q = random.uniform(self._low, self._high)
        for body in self._tree.bodies:
            if body.dof == 6:
                q[body.q] = self.middle[body.q]
        return q


def coordinate_limits(tree: Tree) -> tuple[Array, Array]:
    """Return lower and upper limits of all coordinates, (nq,) each; free bodies have none."""
    lower, upper = np.full(tree.nq, -np.inf), np.full(tree.nq, np.inf)
    for (place, _), low, high in zip(
        tree.coordinates.values(), tree.limits.lower, tree.limits.upper
    ):
        lower[place], upper[place] = low, high
    return lower, upper


def check_targets(defects: Sequence[float], links: Sequence[str]) -> None:
    """Raise `ArgumentError` for the first target that is not a rigid motion."""
    for defect, link in zip(defects, links):
        if not defect < 1e-8:
            raise ArgumentError(
                f'the target for {link!r} is not a rigid motion (or not a number): it must be a '
                f'(4, 4) matrix [[R, r], [0, 1]] with R^T R = 1 and det R = 1'
            )
