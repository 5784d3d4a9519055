# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Singularities of mechanisms with passive joints, from their closure equations.

The equations f(X, q, p) = 0 between the coordinates X of what is to be moved, those q of actuated
and p of passive joints, hold in motion::

    f_X X' + f_q q' + f_p p' = 0

* Inverse type: X can rest while actuated joints move, [f_q f_p] has lost rank. What is moved has
  lost a freedom.
* Forward type: X can move while all actuated joints are locked, [f_X f_p] has lost rank. What is
  moved has gained a freedom, which the motors do not hold.
* Both at once: the third type.
* Passive joints alone can move, f_p has lost rank: a leg that turns about itself, for instance. It
  is a matter of its own and makes neither of the above, so that what f_p can do alone is taken out
  of the equations first.

"Lost" is meant against the largest rank there can be with as many columns and as many independent
equations. Which is which depends on all passive joints being among the p.

Source: Bruyninckx 2010 (5.31), corrected by E-02 (C-023).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import check_count
from screw_dynamics_ros.core.arms.inverse.velocity import matrix
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie.screw_systems import TOLERANCE, null_space
from screw_dynamics_ros.core.types import Array


@dataclass(frozen=True)
class ImplicitSingularity:
    """How a mechanism can move at one configuration.

    Attributes
    ----------
    kind : str
        'regular', 'inverse', 'forward' or 'both'.
    equations : int
        Independent closure equations that were expected; `rank` counts those there are.
    rank : int
        Less than `equations` in a configuration where the mechanism as a whole gains mobility.
    idle_motions : (actuated, k) array
        Directions of the actuated joints that leave X at rest; none where inverse-regular.
    free_motions : (X, k) array
        Directions of X with the actuated joints locked; none where forward-regular.
    passive_motions : (passive, k) array
        Motions of passive joints alone.
    jacobian : (X, actuated) array or None
        dX/dq, - f_X^-1 f_q with the passive joints eliminated; None where it does not exist.
    message : str
    """

    kind: str
    equations: int
    rank: int
    idle_motions: Array
    free_motions: Array
    passive_motions: Array
    jacobian: Array | None
    message: str


def classify_singularity(
    f_X: ArrayLike,
    f_q: ArrayLike,
    f_p: ArrayLike | None = None,
    *,
    equations: int | None = None,
    tolerance: float = TOLERANCE,
) -> ImplicitSingularity:
    """Return the kind of a configuration.

    Parameters
    ----------
    f_X, f_q, f_p : (m, .) array
        Partial derivatives of m closure equations, dependent ones among them or not. Scale the
        columns, if their units make sizes differ by orders of magnitude.
    equations : int, optional
        How many of them are independent where the mechanism is regular; the rank at this
        configuration by default.
    tolerance : float
        Singular values up to `tolerance` times the largest count as zero.

    Raises
    ------
    ArgumentError
        If the rows do not match, or a number is not finite.

    Examples
    --------
    A slider X = cos q of a crank, X - cos q = 0, at its end of the stroke.

    >>> classify_singularity([[1.0]], [[np.sin(0.0)]]).kind
    'inverse'
    """
    f_X, f_q = matrix('f_X', f_X), matrix('f_q', f_q)
    f_p = matrix('f_p', np.zeros((len(f_X), 0)) if f_p is None else f_p)
    if not len(f_X) == len(f_q) == len(f_p):
        raise ArgumentError(
            f'f_X, f_q and f_p need the same number of rows, got {len(f_X)}, {len(f_q)} and '
            f'{len(f_p)}'
        )
    whole = np.concatenate([f_X, f_q, f_p], axis=1)
    size = float(np.linalg.norm(whole, 2)) if whole.size else 0.0
    rank = rank_of(whole, size, tolerance)
    if equations is not None:
        check_count('the number of independent equations', equations)
    expected = rank if equations is None else equations

    # Without passive joints: the rows of P span the equations on which p' has no influence.
    U, s, W_T = np.linalg.svd(f_p)
    passive_rank = int(np.sum(s > tolerance * size))
    P = U[:, passive_rank:].T
    A, B = P @ f_X, P @ f_q
    left = expected - passive_rank  # equations between X and q
    free, idle = motions(A, left, size, tolerance), motions(B, left, size, tolerance)
    kind = {
        (False, False): 'regular',
        (False, True): 'inverse',
        (True, False): 'forward',
        (True, True): 'both',
    }[free.shape[1] > 0, idle.shape[1] > 0]
    jacobian = None
    if not free.shape[1] and rank_of(A, size, tolerance) == f_X.shape[1]:
        jacobian = -np.linalg.lstsq(A, B, rcond=None)[0]
    passive = W_T[passive_rank:].T
    return ImplicitSingularity(
        kind,
        expected,
        rank,
        idle,
        free,
        passive,
        jacobian,
        verdict(idle.shape[1], free.shape[1], passive.shape[1], expected - rank),
    )


def motions(A: Array, equations: int, size: float, tolerance: float) -> Array:
    """Return the null space (n, k) of A if its rank is below what it can be, else none (n, 0)."""
    n = A.shape[1]
    rank = rank_of(A, size, tolerance)
    if rank >= min(n, equations):
        return np.zeros((n, 0))
    norm = float(np.linalg.norm(A, 2))
    return np.eye(n) if norm <= tolerance * size else null_space(A, tolerance * size / norm)


def rank_of(A: Array, size: float, tolerance: float) -> int:
    """Return how many singular values of A are above `tolerance` * `size`."""
    if not A.size:
        return 0
    return int(np.sum(np.linalg.svd(A, compute_uv=False) > tolerance * size))


def verdict(idle: int, free: int, passive: int, missing: int) -> str:
    """Return what the numbers of motions mean, in words."""
    parts = []
    if idle:
        parts.append(f'inverse type: actuated joints move in {idle} ways while X rests')
    if free:
        parts.append(f'forward type: X moves in {free} ways while actuated joints are locked')
    if passive:
        parts.append(f'passive joints move in {passive} ways by themselves')
    if missing > 0:
        parts.append(f'{missing} closure equations have become dependent')
    return '; '.join(parts) or 'regular'
