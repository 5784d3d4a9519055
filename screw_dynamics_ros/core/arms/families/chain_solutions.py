# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Solutions of a chain without regard to its joint limits: made exact, and each once.

A solution of the geometry as it is classified is one of the geometry as it is described but for
rounding, of the description or of the computation. Some damped Newton-Raphson steps, the same for
all solutions at once, remove that; the residual of each determines whether it is a solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...compile.calls import compiled_into
from ...compile.kernels import Kernel, KernelSpecification, make_kernel
from ...compile.program.tracing import clamp
from ...kinematics.pose_error import pose_error
from ...lie import screws, se3
from ...linear import inverse_factors, solve_positive_definite, symmetric, triangular_factor
from ...reproducible import sine_cosine, total
from ...types import Array
from ..inverse.position import squared_distance
from .chain import SerialChain

FULL_TURN = 2.0 * np.pi
DAMPING = 1e-3  # times the squared error
#: Keeps the normal equations solvable in a singular configuration, lengths in units of the arm's.
MIN_DAMPING = 1e-14
#: Beyond a limit [rad, m] by no more than this is rounding.
LIMIT_TOLERANCE = 2e-11
#: Residual of a solution: 2 sin(angle / 2) [rad] and displacement [m] in one norm.
#: Also where two solutions almost coincide and everything between them nearly is one.
MAX_RESIDUAL = 1e-12
MAX_BRANCH_RESIDUAL = 1e-9  # a residual up to which a branch may miss a pose by rounding
#: Residual after the first steps above which no solution is nearby.
MAX_START_RESIDUAL = 1e-2
NEAR_SINGULAR_TOLERANCE = 1e-2  # of solutions near a singular configuration [rad, m]
MAX_ROUNDS = 16
BATCH_SIZE = 32  # configurations that take their steps together
BRANCH_STEPS = 1  # of the branches of a closed form, before they are looked at
CANDIDATE_STEPS = 3  # of candidates that are no branches of a closed form, before they are judged
#: Singular values of a solution, in units of the distance there, above which it is the only one
#: that its branch of the arm nearby leads to.
MIN_STEADY_RATIO = 3.0
CHECKS = 4  # numbers of each configuration
#: Of the sines whose sum distinguishes configurations.
PHASES = np.arange(1.0, 65.0)
WEIGHTS = np.array([sine_cosine(k * k + 0.5)[1] for k in range(64)])


def polished(
    chain: SerialChain, moving: Sequence[int], steps: int, q: Array, target: Array
) -> tuple[Array, Array]:
    """Return q (n,) after some steps and what there is to say of it, (4,). May be recorded.

    That is the residual, 2 sin(angle / 2) [rad] and displacement [m] in one norm; det(J J^T); the
    squared distance from the limits, `LIMIT_TOLERANCE` within them; and a number that identifies
    the configuration up to multiples of 2 pi. Angles come back within half a turn.

    Parameters
    ----------
    chain : SerialChain
    moving : sequence of int
        The joints that may move; the others are held.
    steps : int
    q : (n,) array
    target : (16,) array
        The elements of a pose (4, 4).
    """
    C = target.reshape(4, 4)
    moving = list(moving)
    least = MIN_DAMPING * np.diag([1.0] * 3 + [chain.length**2] * 3)
    for _ in range(steps):
        e, J = error_and_jacobian(chain, q, C)
        J = J[:, moving]
        normal = symmetric(J @ J.T) + DAMPING * (e @ e) * np.eye(6) + least
        q = q.astype(e.dtype)
        q[moving] = q[moving] + J.T @ solve_positive_definite(normal, e)
    turning = [k for k in moving if chain.turns[k]]
    q[turning] = q[turning] - FULL_TURN * np.rint(q[turning] / FULL_TURN)
    residual = np.sqrt(squared_distance(chain.pose(q), C))
    determinant = triangular_factor(normal).diagonal().prod()
    outside = total(
        (q[k] - clamp(q[k], chain.lower[k] + LIMIT_TOLERANCE, chain.upper[k] - LIMIT_TOLERANCE))
        ** 2
        for k in moving
    )
    number = total(w * np.sin(angle + phase) for angle, phase, w in zip(q, PHASES, WEIGHTS))
    return q, np.array([residual, determinant, outside + 0.0 * residual, number])


def continued(
    chain: SerialChain, moving: Sequence[int], q: Array, target: Array
) -> tuple[Array, Array, Any, Any]:
    """Return what `polished` does for a solution (n,) of an arm nearby, and how it got there.

    That is its regularity, positive if it is the only solution that one of that arm leads to,
    and the residual at the start, the difference of the arms there. No singular value of
    the Jacobian at the end, lengths in units of the arm's, may be below `MIN_STEADY_RATIO` times
    that residual. May be recorded.
    """
    away = np.sqrt(squared_distance(chain.pose(q), target.reshape(4, 4)))
    q, checks = polished(chain, moving, CANDIDATE_STEPS, q, target)
    _, J = error_and_jacobian(chain, q, target.reshape(4, 4))
    units = np.array([1.0] * 3 + [1.0 / chain.length] * 3)
    J = units[:, None] * J[:, list(moving)]
    W, D = inverse_factors(symmetric(J @ J.T))
    least = 1.0 / np.sqrt(total(((W * W) @ D).reshape(-1)))  # the sum of 1 / sigma^2
    return q, checks, min(1.0, chain.length) * least - MIN_STEADY_RATIO * away, away


def error_and_jacobian(chain: SerialChain, q: Array, target: Array) -> tuple[Array, Array]:
    """Return the error of the pose (6,) and the Jacobian (6, n), both in the frame of the tool."""
    C, columns = chain.home, []
    for X, angle in zip(reversed(chain.screws), reversed(q)):
        columns.append(screws.transform_twist(se3.inverse(C), X))
        C = se3.exp_unit_screw(X, angle) @ C
    return pose_error(C, target), np.stack(columns[::-1], axis=1)


def make_polisher(chain: SerialChain, moving: Sequence[int], steps: int, backend: str) -> Kernel:
    """Return `polished`, compiled: (q (N, n), target (16,)) -> q, (N, 4)."""
    data = (chain.screws, chain.home, chain.lower, chain.upper)
    return make_kernel(
        KernelSpecification(
            'polishing of solutions',
            (('q', len(chain)), ('target', 16)),
            polished,
            repr(('polished', [each.tolist() for each in data], tuple(moving), steps)),
            frozenset({'target'}),
            (chain, tuple(moving), steps),
        ),
        backend,
    )


def make_jacobian(chain: SerialChain, backend: str) -> Kernel:
    """Return the spatial Jacobian of a chain, compiled: q (n,) -> (6, n)."""
    return make_kernel(
        KernelSpecification(
            'spatial Jacobian of a chain',
            (('q', len(chain)),),
            lambda chain, q: (chain.jacobian(q),),
            repr(('spatial Jacobian', chain.screws.tolist())),
            model=(chain,),
        ),
        backend,
    )


#: Joint positions [rad, m] below which two solutions are the same one.
DUPLICATE_TOLERANCE = 1e-6
#: Difference of the numbers of `polished` above which two solutions certainly differ.
MIN_DISTINCT_DIFFERENCE = 1e-5
Lost = tuple[Array, Array, Array, list[int]]
NONE_LOST: Lost = (np.empty((0, 0)), np.empty(0, dtype=int), np.empty((0, CHECKS)), [])


@dataclass(eq=False, slots=True)
class ChainSolutions:
    """Solutions of a chain, without regard to limits and multiples of 2 pi.

    Attributes
    ----------
    q : (k, n) array
    checks : (k, 4) array
        Residual, det(J J^T), distance from the limits, number; see `polished`.
    branches : (k,) array of int
    lost : tuple of arrays
        ChainSolutions that are no solutions: q, branches, residuals.
    inside : bool
        Whether all are certainly within the limits.
    """

    q: Array
    checks: Array
    branches: Array
    lost: Lost = NONE_LOST
    labels: tuple[str, ...] = ('',)
    name: str = ''
    bound: int = 0
    doubt: str = ''
    inside: bool = False

    def __len__(self) -> int:
        return len(self.q)


def merged(*several: ChainSolutions) -> ChainSolutions:
    """Return solutions together, each once, the one with the smallest residual."""
    if len(several) == 1 and len(several[0].q) < 2:
        return several[0]
    if len(several) == 1 and are_distinct(several[0].checks):
        return several[0]
    q = np.concatenate([each.q for each in several])
    checks = np.concatenate([each.checks for each in several])
    branches = np.concatenate([each.branches for each in several])
    away = np.abs(q[:, None] - q)
    same = (np.abs(away - FULL_TURN * np.round(away / FULL_TURN)) <= DUPLICATE_TOLERANCE).all(
        axis=2
    )
    if len(several) == 1 and np.count_nonzero(same) == len(q):
        return several[0]
    rank = np.empty(len(q), dtype=int)
    rank[np.argsort(checks[:, 0], kind='stable')] = np.arange(len(q))
    kept = ~(same & (rank < rank[:, None])).any(axis=1)
    return replace(several[0], q=q[kept], checks=checks[kept], branches=branches[kept])


def are_distinct(checks: Array) -> bool:
    """Return whether configurations certainly differ."""
    numbers = np.sort(checks[:, 3])
    return bool((numbers[1:] - numbers[:-1]).min() > MIN_DISTINCT_DIFFERENCE)


def distances(q: Array, other: Array) -> Array:
    """Return the distances of the joint furthest away, up to multiples of 2 pi, (k,)."""
    away = q - other
    return np.asarray(np.abs(away - FULL_TURN * np.round(away / FULL_TURN)).max(axis=-1))


class Polisher:
    """Newton steps of a chain from candidates to solutions.

    Parameters
    ----------
    chain : SerialChain
    moving : sequence of int
        The joints that may move.
    accepted : float
        Largest residual of a solution.
    backend : str
    """

    def __init__(
        self, chain: SerialChain, moving: Sequence[int], accepted: float, backend: str
    ) -> None:
        self._chain, self._accepted = chain, accepted
        self._kernel = make_polisher(chain, moving, 1, backend)
        self._batch: Callable[..., None] | None = None

    def stepped(self, steps: int, q: Array, target: Array) -> tuple[Array, ...]:
        """Return configurations (m, n) after Newton steps, and their `CHECKS`."""
        if len(q) > BATCH_SIZE:
            for _ in range(steps):
                q, checks = self._kernel.stack([q, target])
            return q, checks
        if self._batch is None:
            self._batch = compiled_into(self._kernel, stacks=True)
        before, after = np.zeros((2, BATCH_SIZE, q.shape[1]))
        before[: len(q)], checks = q, np.empty((BATCH_SIZE, CHECKS))
        for _ in range(steps):
            self._batch(before, target, after, checks)
            before, after = after, before
        return before[: len(q)], checks[: len(q)]

    def polished(
        self,
        C: Array,
        q: Array,
        branches: Array | None = None,
        steps: int = CANDIDATE_STEPS,
        rounds: int = MAX_ROUNDS,
    ) -> ChainSolutions:
        """Return the different solutions that configurations (m, n) lead to."""
        if branches is None:
            branches = np.zeros(len(q), dtype=int)
        target = np.ascontiguousarray(C).reshape(16)
        if not len(q):
            return ChainSolutions(q, np.empty((0, CHECKS)), branches)
        start, (q, checks) = q, self.stepped(steps, q, target)
        for _ in range(rounds):
            residuals = checks[:, 0]
            again = np.flatnonzero((residuals > MAX_RESIDUAL) & (residuals < MAX_START_RESIDUAL))
            if not len(again):
                break
            moved, new = self.stepped(steps, q[again], target)
            better = new[:, 0] < residuals[again]
            if not better.any():
                break
            q[again[better]], checks[again[better]] = moved[better], new[better]
        accepted = checks[:, 0] <= self._accepted
        found = ChainSolutions(q[accepted], checks[accepted], branches[accepted])
        if steps == BRANCH_STEPS:
            found.lost = start, branches, checks, np.flatnonzero(~accepted).tolist()
        return merged(found)

    def isolated(self, C: Array, found: ChainSolutions) -> ChainSolutions:
        """Return solutions without those that only rounding distinguishes from another one.

        Near a singular configuration residuals stay small over some distance; two solutions are
        different only if the configuration halfway between them is not one, by far more than they
        deviate.
        """
        kept: list[int] = []
        for k in np.argsort(found.checks[:, 0], kind='stable').tolist():
            away = found.q[kept] - found.q[k]
            away = away - FULL_TURN * np.round(away / FULL_TURN)
            near = np.abs(away).max(axis=1) < NEAR_SINGULAR_TOLERANCE
            halfway = found.q[k] + 0.5 * away[near]
            deviation = max(100.0 * float(found.checks[k, 0]), 0.1 * self._accepted)
            limit = min(10.0 * self._accepted, deviation)
            if not any(np.sqrt(squared_distance(self._chain.pose(q), C)) < limit for q in halfway):
                kept.append(k)
        kept.sort()
        return replace(
            found, q=found.q[kept], checks=found.checks[kept], branches=found.branches[kept]
        )


def just_missed(found: ChainSolutions) -> ChainSolutions:
    """Return the branches of a closed form that are not quite solutions."""
    q, branches, checks, lost = found.lost
    rows = [k for k in lost if checks[k, 0] < MAX_BRANCH_RESIDUAL]
    return ChainSolutions(q[rows], checks[rows], branches[rows])
