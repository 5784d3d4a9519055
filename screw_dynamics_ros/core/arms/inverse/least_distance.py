# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Least squares with inequalities: minimize |A x - b|^2 with G x <= h, A of full column rank.

In the coordinates z = R x - Q^T b of A = Q R this strictly convex quadratic program is a least
distance problem, and that one is a problem of nonnegative least squares (Lawson and Hanson 1974,
chapter 23)::

    minimize |[E^T; f^T] u - (0, ..., 0, 1)|  with u >= 0,      E = -G R^-1,  f = G x_0 - h

which scipy solves in finitely many steps; x_0 is the optimum without rows. The rows with u > 0 are
those that act. With them the answer is computed once more, as equations, to the accuracy of these,
and its multipliers are checked.
"""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.least_squares import non_negative_least_squares
from screw_dynamics_ros.core.lie.screw_systems import null_space
from screw_dynamics_ros.core.types import Array

#: How far a row may miss its limit by rounding, relative to the terms of the row.
ROW_TOLERANCE = 1e-12

#: Changes of the set of acting rows until the search is given up.
MAX_SET_CHANGES = 100


def solve(A: Array, b: Array, G: Array, h: Array) -> tuple[Array, Array] | None:
    """Return x of least |A x - b| with G x <= h, and the multipliers (k,); None if there is none.

    >>> x, multipliers = solve(np.eye(2), np.array([3.0, 1.0]), np.array([[1.0, 1.0]]), np.ones(1))
    >>> x.round(12), multipliers.round(12)
    (array([ 1.5, -0.5]), array([1.5]))
    """
    length = np.linalg.norm(G, axis=1)
    length[length == 0.0] = 1.0
    G, h = G / length[:, None], h / length  # rows of any size
    x_0 = np.linalg.lstsq(A, b, rcond=None)[0]
    acting = acting_rows(A, x_0, G, h)
    seen = set()
    for _ in range(MAX_SET_CHANGES):
        x, multipliers = with_equations(A, b, G, h, acting)
        scale = 1e-9 * np.abs(multipliers).max(initial=0.0)
        pulling = acting & (multipliers < -scale)
        small = rounding(G, h, np.abs(x) + np.abs(x_0))
        missed = ~acting & (G @ x - h > small)
        broken = acting & (np.abs(G @ x - h) > 1e3 * small)
        if broken.any():
            return None
        if not pulling.any() and not missed.any():
            return x, np.maximum(multipliers, 0.0) / length
        acting = (acting & ~pulling) | missed
        if (key := acting.tobytes()) in seen:
            return None
        seen.add(key)
    return None


def acting_rows(A: Array, x_0: Array, G: Array, h: Array) -> Array:
    """Return which rows act, (k,) of bool, by nonnegative least squares; x_0 without rows."""
    _, R = np.linalg.qr(A)
    E, f = -np.linalg.solve(R.T, G.T).T, G @ x_0 - h
    size = np.linalg.norm(E, axis=1)
    size[size == 0.0] = 1.0
    E, f = E / size[:, None], f / size
    f = f / max(np.abs(f).max(initial=0.0), np.finfo(float).tiny)
    target = np.zeros(len(R) + 1)
    target[-1] = 1.0
    try:
        u = non_negative_least_squares(np.vstack([E.T, f]), target)
    except np.linalg.LinAlgError:
        u = np.maximum(f, 0.0)
    acting: Array = u > 1e-12 * u.max(initial=0.0)
    return acting


def with_equations(A: Array, b: Array, G: Array, h: Array, acting: Array) -> tuple[Array, Array]:
    """Return x of least |A x - b| with G x = h for the rows that act, and all multipliers."""
    B = G[acting]
    x = np.linalg.lstsq(B, h[acting], rcond=None)[0] if len(B) else np.zeros(A.shape[1])
    Z = null_space(B) if len(B) else np.eye(A.shape[1])
    x = x + Z @ np.linalg.lstsq(A @ Z, b - A @ x, rcond=None)[0]
    multipliers = np.zeros(len(G))
    if len(B):
        multipliers[acting] = multipliers_of(B, A.T @ (b - A @ x))
    return x, multipliers


def multipliers_of(B: Array, force: Array) -> Array:
    """Return u with B^T u = force, without negative ones if rows that depend on each other allow.

    >>> multipliers_of(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, 0.0]))
    array([1., 0., 0.])
    """
    u: Array = np.linalg.lstsq(B.T, force, rcond=None)[0]
    if (u < 0.0).any():
        other = non_negative_least_squares(B.T, force)
        if np.linalg.norm(B.T @ other - force) <= 1e-10 * np.linalg.norm(force):
            return other
    return u


def kkt_residual(A: Array, b: Array, G: Array, h: Array, x: Array, multipliers: Array) -> float:
    """Return by how much x misses the conditions of optimality, relative to their terms."""
    terms = np.abs(A).T @ (np.abs(A) @ np.abs(x) + np.abs(b))
    scale = terms.max(initial=np.finfo(float).tiny)
    gradient = (A.T @ (A @ x - b) + G.T @ multipliers) / scale
    moved = np.abs(x) + np.abs(np.linalg.lstsq(A, b, rcond=None)[0])
    gap = (h - G @ x) / (rounding(G, h, moved) / ROW_TOLERANCE)
    slack = multipliers / scale * np.abs(gap)
    return float(np.concatenate([np.abs(gradient), -gap, slack]).max(initial=0.0))


def rounding(G: Array, h: Array, size: Array) -> Array:
    """Return what rounding may do to G x - h, for x computed from numbers of a size (n,)."""
    terms: Array = np.abs(h) + np.linalg.norm(G, axis=1) * np.linalg.norm(size)
    return ROW_TOLERANCE * terms + np.finfo(float).tiny
