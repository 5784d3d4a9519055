# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Constraint forces: the multipliers lambda of equality and inequality constraints.

    inverse_inertia lambda = wanted - drift =: r

for bilateral constraints; unilateral ones (columns u) may exceed the demand, push only, and do
one of both:

    y = inverse_inertia lambda - r,    y_u >= 0,  lambda_u >= 0,  y_u lambda_u = 0,

the optimality conditions of min 1/2 lambda^T inverse_inertia lambda - r^T lambda, which is convex:
Gauss' principle of least constraint. The bilateral multipliers are eliminated and the rest is a
non-negative least squares problem, solved by SciPy.

Redundant constraints leave the multipliers open, contradicting ones have no solution. Both show in
the spectrum of inverse_inertia, whose rows are scaled to a unit diagonal so that angles and lengths
can be compared; then the multipliers are the smallest ones and the errors the smallest ones, in the
norms sum inverse_inertia_kk lambda_k^2 and sum error_k^2 / inverse_inertia_kk (Gauss' acceleration
energy in both cases), and the report states it.

Source: Bruyninckx 2010 (6.43), sections 6.7.1, 6.7.7 and 6.10 (C-073, C-080, C-081).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..least_squares import non_negative_least_squares
from ..types import Array

Flags = NDArray[np.bool_]

#: Eigenvalues of the scaled matrix that are treated as zero; for singular values of J, their root.
RANK_TOLERANCE = 1e-12

#: Part of the diagonal that the pivots of Cholesky's method keep where there is no doubt on ranks.
WELL_CONDITIONED = 1e-6

#: Part of the accelerations, scaled, that may be missing.
FEASIBILITY_TOLERANCE = 1e-8

#: A direction whose inverse inertia is so small, relative to its greatest mobility, does not move.
IMMOVABLE_TOLERANCE = 1e-18


@dataclass(frozen=True, eq=False)
class ConstraintForces:
    """Multipliers, and what became of the constraints; leading axes as those of the problem.

    Attributes
    ----------
    multipliers : (m,) array
        lambda, one for each constrained direction [N m, N].
    error : (m,) array
        Difference of the rates from the demand [rad/s^2, m/s^2]; 0 for contacts that part.
    rank : int array
        Number of independent constraints.
    conflicting : (m,) array of bool
        The directions that contradict others, or the model: their error is not zero.
    """

    multipliers: Array
    error: Array
    rank: Array
    conflicting: Flags


def constraint_forces(
    inverse_inertia: Array,
    drift: Array,
    wanted: Array,
    mobility: Array,
    unilateral: Flags | None = None,
) -> ConstraintForces:
    """Solve for the multipliers of a sample or of a stack; NaN in gives NaN out.

    Parameters
    ----------
    inverse_inertia : (..., m, m) array
        J M^-1 J^T, compliances added.
    drift, wanted : (..., m) arrays
        Rates without constraint forces, and with them [rad/s^2, m/s^2].
    mobility : (..., m) array
        What the diagonal of inverse_inertia is compared with; see `greatest_mobility`.
    unilateral : (m,) array of bool, optional
    """
    if unilateral is None:
        if inverse_inertia.ndim == 2:
            from scipy.linalg.lapack import dposv  # SciPy is slow to import, few need it

            factor, x, failed = dposv(inverse_inertia, wanted - drift)
            least = WELL_CONDITIONED * np.maximum(inverse_inertia.diagonal(), 1e-6 * mobility)
            if not failed and (factor.diagonal() ** 2 > least).all():
                m = len(drift)
                return ConstraintForces(x, np.zeros(m), np.array(m), np.zeros(m, dtype=bool))
        unilateral = np.zeros(drift.shape[-1], dtype=bool)
    finite = np.isfinite(inverse_inertia).all((-2, -1)) & np.isfinite(wanted - drift).all(-1)
    known: Flags = np.asarray(finite)
    W = np.where(known[..., None, None], inverse_inertia, np.eye(len(unilateral)))
    scale = unit_scale(W, mobility)
    N = scale[..., None] * W * scale[..., None, :]
    r = np.where(known[..., None], scale * (wanted - drift), 0.0)

    x, rank = least_norm(N, r[..., None])
    x = x[..., 0]
    if unilateral.any():
        for k in np.ndindex(r.shape[:-1]):
            x[k] = non_negative(N[k], r[k], unilateral)
    y = (N @ x[..., None])[..., 0] - r
    y = np.where(unilateral, np.minimum(y, 0.0), y)
    size = np.abs(scale * np.stack(np.broadcast_arrays(wanted, drift))).max((0, -1), initial=0.0)
    conflicting = np.abs(y) > (FEASIBILITY_TOLERANCE * (1e-3 + size))[..., None]
    unknown = ~known[..., None]
    return ConstraintForces(
        np.where(unknown, np.nan, scale * x),
        np.where(unknown, np.nan, y / scale),
        rank,
        conflicting & ~unknown,
    )


def unit_scale(inverse_inertia: Array, mobility: Array) -> Array:
    """Return the factors (..., m) that make the diagonal 1; 1 for what cannot be moved."""
    diagonal = np.diagonal(inverse_inertia, axis1=-2, axis2=-1)
    movable = diagonal > IMMOVABLE_TOLERANCE * mobility
    return 1.0 / np.sqrt(np.where(movable, diagonal, 1.0))


def least_norm(N: Array, r: Array) -> tuple[Array, Array]:
    """Return the least x (..., m, k) of least |N x - r|, N positive semidefinite, and its ranks.

    The pseudo-inverse itself, as a matrix, would take the digits of r that N has lost.
    """
    values, vectors = np.linalg.eigh(N)
    kept = values > RANK_TOLERANCE * N.shape[-1]
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    return vectors @ (inverse[..., None] * (np.swapaxes(vectors, -1, -2) @ r)), kept.sum(-1)


def non_negative(N: Array, r: Array, unilateral: Flags) -> Array:
    """Return lambda of one sample with lambda >= 0 where unilateral."""
    b, u = np.flatnonzero(~unilateral), np.flatnonzero(unilateral)
    N_u, N_ub = N[np.ix_(u, u)], N[np.ix_(u, b)]
    alone, _ = least_norm(N[np.ix_(b, b)], np.column_stack([r[b], N_ub.T]))
    y, Y = alone[:, 0], alone[:, 1:]  # bilateral multipliers are y - Y x_u
    S, s = N_u - N_ub @ Y, r[u] - N_ub @ y
    values, vectors = np.linalg.eigh(S)
    kept = values > RANK_TOLERANCE * len(r)
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T  # S = root^T root
    x = np.empty_like(r)
    target = (vectors[:, kept].T @ s) / np.sqrt(values[kept])
    x[u] = non_negative_least_squares(root, target) if kept.any() else 0.0
    x[b] = y - Y @ x[u]
    return x
