# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Singularities of mechanisms with passive joints, from their closure equations.

The closure equations f(X, q, p) = 0 between output coordinates X, actuated joints q and passive
joints p give for velocities::

    f_X X' + f_q q' + f_p p' = 0

* Inverse type: X can be at rest while actuated joints move, [f_q f_p] has lost rank. The output has
  lost a degree of freedom.
* Forward type: X can move while all actuated joints are locked, [f_X f_p] has lost rank. The output
  has gained a degree of freedom, which the motors do not control.
* Both at once: the third type.
* Passive joints alone can move, f_p has lost rank: for example a leg that rotates about its own
  axis. This is a separate case and neither of the above: such motions are eliminated from the
  equations first.

"Lost" refers to the largest possible rank with this number of columns and independent equations.
The classification requires that p contains all passive joints.

Source: Bruyninckx 2010 (5.31), corrected by E-02 (C-023).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_count
from ...arms.inverse.velocity import matrix
from ...errors import ArgumentError
from ...lie.screw_systems import TOLERANCE, null_space
from ...types import Array


@dataclass(frozen=True, eq=False)
class ImplicitSingularity:
    """Singularity of a mechanism at one configuration.

    Attributes
    ----------
    kind : str
        'regular', 'inverse', 'forward' or 'both'.
    equations : int
        Expected number of independent closure equations; `rank` is the actual one.
    rank : int
        Less than `equations` in a configuration where the mechanism as a whole gains mobility.
    idle_motions : (actuated, k) array
        Directions of the actuated joints with X at rest; empty if inverse-regular.
    free_motions : (X, k) array
        Directions of X with the actuated joints locked; empty if forward-regular.
    passive_motions : (passive, k) array
        Motions of passive joints alone.
    jacobian : (X, actuated) array or None
        dX/dq = -f_X^-1 f_q with the passive joints eliminated; None if it does not exist.
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
    """Return the singularity of a configuration.

    Parameters
    ----------
    f_X, f_q, f_p : (m, .) array
        Partial derivatives of m closure equations, which may be dependent. Scale the columns if
        their units make magnitudes differ by orders of magnitude.
    equations : int, optional
        Number of independent equations in regular configurations; the rank at this configuration by
        default.
    tolerance : float
        Singular values up to `tolerance` times the largest are treated as zero.

    Raises
    ------
    ArgumentError
        If the rows do not match, or a number is not finite.

    Examples
    --------
    A slider-crank X = cos q, X - cos q = 0, at the end of its stroke.

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

    # Elimination of passive joints: the rows of P span the equations that do not depend on p'.
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
    """Return the null space (n, k) of A if its rank is below the maximum, otherwise (n, 0)."""
    n = A.shape[1]
    rank = rank_of(A, size, tolerance)
    if rank >= min(n, equations):
        return np.zeros((n, 0))
    norm = float(np.linalg.norm(A, 2))
    return np.eye(n) if norm <= tolerance * size else null_space(A, tolerance * size / norm)


def rank_of(A: Array, size: float, tolerance: float) -> int:
    """Return the number of singular values of A above `tolerance` * `size`."""
    if not A.size:
        return 0
    return int(np.sum(np.linalg.svd(A, compute_uv=False) > tolerance * size))


def verdict(idle: int, free: int, passive: int, missing: int) -> str:
    """Return a description of the numbers of motions."""
    parts = []
    if idle:
        parts.append(f'inverse type: actuated joints move in {idle} ways while X is at rest')
    if free:
        parts.append(f'forward type: X moves in {free} ways while actuated joints are locked')
    if passive:
        parts.append(f'passive joints alone can move in {passive} ways')
    if missing > 0:
        parts.append(f'{missing} closure equations have become dependent')
    return '; '.join(parts) or 'regular'
