# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse position kinematics of a mechanism with loops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_count, check_number, float_array
from ...arms.inverse.position import (
    MIN_DAMPING,
    InverseKinematicsResult,
    check_targets,
    displaced,
    freedom_within_limits,
    rigid_defect,
)
from ...compile.calls import compiled_into
from ...compile.kernels import KernelSpecification, make_kernel
from ...errors import ArgumentError
from ...kinematics.jacobians import jacobian
from ...kinematics.poe import link_pose
from ...kinematics.pose_error import pose_error
from ...linear import solve_positive_definite, symmetric
from ...robot.robot import Robot
from ...tree.multibody_tree import Tree, plain
from ...types import Array
from ..absolute_coordinates.bodies import ConstraintJoint
from .closure_equations import closure_jacobian, gap
from .position_closure import PositionClosure

NEWTON_DAMPING = 0.03


def step(
    tree: Tree, closures: Sequence[ConstraintJoint], link: str, q: Array, target: Array
) -> tuple[Array, Array, Array]:
    """Return (q after one step, norms (2,) of pose error and gap before it, defect (1,)).

    The damped Newton-Raphson step of `inverse.position`, for all joints at once, with the gaps of
    the loops as further errors.
    """
    C = target.reshape(4, 4)
    error, g = pose_error(link_pose(tree, q, link), C), gap(tree, q, closures)
    e = np.concatenate([error, -g])
    J = np.concatenate([jacobian(tree, q, link, 'body'), closure_jacobian(tree, q, closures)])
    W = freedom_within_limits(tree, q, J.T @ e)
    normal = symmetric((J * W) @ J.T) + (NEWTON_DAMPING * (e @ e) + MIN_DAMPING) * np.eye(len(e))
    following = displaced(tree, q, W * (J.T @ solve_positive_definite(normal, e)))
    norms = np.array([np.sqrt(error @ error), np.sqrt(g @ g)])
    return following, norms, np.array([rigid_defect(C)])


class ClosedInverseKinematics:
    """A solver for one link of a mechanism.

    Parameters
    ----------
    robot : Robot
    closure : PositionClosure
        From the actuated joints, the ones in `places`.
    closures : sequence of ConstraintJoint
    places : sequence of int
    link : str
    """

    def __init__(
        self,
        robot: Robot,
        closure: PositionClosure,
        closures: Sequence[ConstraintJoint],
        places: Sequence[int],
        link: str,
    ) -> None:
        tree = robot.regrouped_tree
        tree.frame(link)
        recordable = all(cut.pair.is_recordable for cut in closures)
        specification = KernelSpecification(
            f'inverse kinematics of {link} with closures',
            (('q', tree.nq), ('target', 16)),
            step,
            repr(('closed inverse kinematics', tree.digest, plain(tuple(closures)), link)),
            model=(tree, tuple(closures), link),
        )
        backend = robot.backend if recordable else 'reference'
        self._step = compiled_into(make_kernel(specification, backend))
        self._closure, self._places, self._link = closure, list(places), link
        lower, upper = robot.limits.lower[self._places], robot.limits.upper[self._places]
        self._low = np.where(np.isfinite(lower), lower, -np.pi)
        self._high = np.where(np.isfinite(upper), upper, np.pi)

    def solve(
        self,
        target: ArrayLike,
        start: Array,
        assembly: Array,
        *,
        tolerance: float = 1e-9,
        max_iterations: int = 100,
        restarts: int = 20,
        seed: int = 0,
    ) -> InverseKinematicsResult:
        """Return positions (k,) of the actuated joints, with the loops in the given assembly.

        Parameters
        ----------
        target : (4, 4)
            Pose of the link in the root frame [m].
        start, assembly : (n,) arrays
            All joints where to start, and in the closed configuration from which restarts close.
        tolerance : float
            Largest pose error and largest gap accepted.
        max_iterations : int
            Newton steps before a restart.
        restarts : int
            Random positions of the actuated joints to start from if `start` leads nowhere.
        seed : int
            Of the random positions.
        """
        C = float_array('target', target)
        if C.shape != (4, 4):
            raise ArgumentError(f'target must have shape (4, 4), got {C.shape}')
        check_number('tolerance', tolerance)
        check_count('max_iterations', max_iterations)
        check_count('restarts', restarts)
        random = np.random.default_rng(seed)
        best, best_error, taken, q = start, np.inf, 0, start
        for attempt in range(restarts + 1):
            if attempt:
                given = random.uniform(self._low, self._high)
                closing = self._closure.close(given, assembly, tolerance)
                if not closing.success:
                    continue
                q = closing.q
            q, error, steps = self._descend(C.reshape(16), q, tolerance, max_iterations)
            taken += steps
            if error <= tolerance and not self._is_assembly(q, C.reshape(16), assembly, tolerance):
                continue  # reached, but in another assembly than that of these positions
            if error < best_error:
                best, best_error = q, error
            if error <= tolerance:
                return InverseKinematicsResult(
                    best[self._places], True, best_error, taken, 'solved'
                )
        return InverseKinematicsResult(
            best[self._places],
            False,
            best_error,
            taken,
            f'not solved within the joint limits: the smallest error of pose and loops after '
            f'{restarts} restarts is {best_error:.3g} (tolerance {tolerance:.3g}); the target is '
            'out of reach of the mechanism, or more restarts are needed',
        )

    def _is_assembly(self, q: Array, target: Array, assembly: Array, tolerance: float) -> bool:
        """Whether the link is at the target when the loops are closed from the assembly."""
        closing = self._closure.close(q[self._places], assembly, tolerance)
        norms, defect = np.empty(2), np.empty(1)
        self._step(closing.q, target, np.empty_like(q), norms, defect)
        return closing.success and bool(norms.max() <= 100.0 * tolerance)

    def _descend(
        self, target: Array, q: Array, tolerance: float, most: int
    ) -> tuple[Array, float, int]:
        """Return the configuration after Newton steps, its error, and the number of steps."""
        norms, defect, error = np.empty(2), np.empty(1), np.inf
        for k in count():
            following = np.empty_like(q)
            self._step(q, target, following, norms, defect)
            check_targets(defect.tolist(), [self._link])
            error = float(norms.max())
            if error <= tolerance or k == most or not np.isfinite(following).all():
                break
            q = following
        return q, error, k
