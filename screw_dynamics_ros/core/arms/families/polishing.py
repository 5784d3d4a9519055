# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Newton-Raphson steps that make solutions of closed forms and eliminations exact.

A solution of the geometry as it is classified is one of the geometry as it is described but for
rounding, of the description or of the computation. Some damped steps, the same for all solutions at
once, remove that; the residual says of each whether it is a solution at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.kernels import Kernel, KernelSpecification, make_kernel
from screw_dynamics_ros.core.compile.program.tracing import clamp
from screw_dynamics_ros.core.kinematics.pose_error import pose_error
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.linear import (
    inverse_factors,
    solve_positive_definite,
    symmetric,
    triangular_factor,
)
from screw_dynamics_ros.core.reproducible import sine_cosine, total
from screw_dynamics_ros.core.types import Array

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
CANDIDATE_STEPS = 3  # of candidates that are no branches of a closed form, before they are judged
#: Singular values of a solution, in units of the distance there, above which it is the only one
#: that its branch of the arm nearby leads to.
MIN_STEADY_RATIO = 3.0
CHECKS = 4  # numbers that are said of each configuration
#: Of the sines whose sum tells configurations apart.
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

    That is how regular it is, positive if it is the only solution that one of that arm leads to,
    and the residual at the start, which tells how far the arms differ there. No singular value of
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
