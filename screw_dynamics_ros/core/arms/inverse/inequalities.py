# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inequalities A v <= b of joint rates: limits of the velocity in Cartesian directions.

They are part of one quadratic program with the joint bounds, `least_distance`. Rows that contradict
the bounds are violated as little as possible in the least-squares sense; joint bounds never are.

`least_distance` minimizes |A x - b|^2 with G x <= h, A of full column rank. In the coordinates
z = R x - Q^T b of A = Q R this strictly convex quadratic program is a least distance problem, and
that one is a problem of nonnegative least squares (Lawson and Hanson 1974, chapter 23)::

    minimize |[E^T; f^T] u - (0, ..., 0, 1)|  with u >= 0,      E = -G R^-1,  f = G x_0 - h

which scipy solves in finitely many steps; x_0 is the optimum without rows. The rows with u > 0 are
those that act. With them the answer is computed once more, as equations, to the accuracy of these,
and its multipliers are checked.

Source: Bruyninckx 2010, section 5.11, which has no formula (C-044).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import float_array
from ...errors import ArgumentError
from ...least_squares import non_negative_least_squares
from ...lie.screw_systems import null_space
from ...types import Array
from .link_motion import LinkMotion, stacked_jacobian
from .velocity import matrix, rate, selected_rows
from .velocity_bounds import Bounds

#: Rounding by which a row may miss its limit, relative to the terms of the row.
ROW_TOLERANCE = 1e-12

#: Changes of the set of acting rows until the search is given up.
MAX_SET_CHANGES = 100


@dataclass(frozen=True)
class TwistLimit:
    """Limits of the velocity of a link in some directions, lower <= S V <= upper.

    Attributes
    ----------
    link : str
    selection : (m, 6) array
        S: rows are components, or combinations of components, of the twist (omega, v).
    upper : float or (m,) array
        [rad/s, m/s]; infinite for no limit.
    lower : float or (m,) array
        As `upper`; no limit by default. Equal to `upper` for a prescribed component.
    representation : {'hybrid', 'body', 'spatial', 'mixed'}
    name : str
        Name in messages; by default that of the link.
    """

    link: str
    selection: ArrayLike
    upper: ArrayLike = np.inf
    lower: ArrayLike = -np.inf
    representation: str = 'hybrid'
    name: str = ''

    def rows(self, robot: LinkMotion, q: ArrayLike) -> Inequalities:
        """Return the inequalities of joint rates at q; raises `ArgumentError`."""
        name = self.name or f'twist of {self.link}'
        S = selected_rows(f'the selection of the limit {name!r}', self.selection)
        A = S @ stacked_jacobian(robot, q, self.link, self.representation)
        upper = self._limit(f'the upper limit {name!r}', len(S), self.upper)
        lower = self._limit(f'the lower limit {name!r}', len(S), self.lower)
        if (lower > upper).any():
            raise ArgumentError(f'the limit {name!r} has lower > upper; exchange them')
        above, below = np.isfinite(upper), np.isfinite(lower)
        return Inequalities(
            np.concatenate([A[above], -A[below]]),
            np.concatenate([upper[above], -lower[below]]),
            (name,) * int(above.sum() + below.sum()),
        )

    @staticmethod
    def _limit(name: str, size: int, value: ArrayLike) -> Array:
        """Return a limit for each row, infinite or finite; raises `ArgumentError`."""
        limit = float_array(name, value)
        if limit.shape not in ((1,), (size,)) or np.isnan(limit).any():
            raise ArgumentError(f'{name} must be one number or {size}, got {value!r}')
        return np.broadcast_to(limit, (size,))


@dataclass(frozen=True, eq=False)
class Inequalities:
    """Rows A v <= b of joint rates: A (k, n), b (k,), and k names for messages."""

    A: Array
    b: Array
    names: tuple[str, ...]

    @classmethod
    def of(cls, robot: LinkMotion, q: ArrayLike, limits: Sequence[TwistLimit]) -> Inequalities:
        """Return the rows of several limits; raises `ArgumentError`."""
        if not isinstance(limits, Sequence) or not all(isinstance(x, TwistLimit) for x in limits):
            raise ArgumentError(f'limits must be a sequence of TwistLimit objects, got {limits!r}')
        parts = [limit.rows(robot, q) for limit in limits]
        return cls(
            np.concatenate([np.zeros((0, robot.nv)), *(part.A for part in parts)]),
            np.concatenate([np.zeros(0), *(part.b for part in parts)]),
            tuple(name for part in parts for name in part.names),
        )

    def checked(self, n: int) -> Inequalities:
        """Return the same, with finite numbers and shapes that fit n rates, or raise."""
        A, b = matrix('the rows of the inequalities', self.A), self.b
        if A.shape[1] != n or len(self.names) != len(A):
            raise ArgumentError(
                f'inequalities of {n} rates need rows (k, {n}) and k names, got {A.shape} and '
                f'{len(self.names)}'
            )
        return Inequalities(A, rate('the limits of the inequalities', len(A), b), self.names)

    @classmethod
    def none(cls, n: int) -> Inequalities:
        """Return no rows, of n rates."""
        return cls(np.zeros((0, n)), np.zeros(0), ())


class ConstrainedOptimum(NamedTuple):
    """Rates within bounds and inequalities.

    Attributes
    ----------
    x : (n,) array
    optimality : float
        Largest violation of the optimality conditions, relative to the problem.
    active : tuple of str
        Active bounds and rows.
    conflicts : tuple of str
        Rows that contradict the bounds or each other, with their violations.
    """

    x: Array
    optimality: float
    active: tuple[str, ...]
    conflicts: tuple[str, ...]


def least_squares_within(
    A: Array, b: Array, bounds: Bounds, inequalities: Inequalities
) -> ConstrainedOptimum:
    """Return the x of least |A x - b| within bounds and inequalities, A of full column rank."""
    x, n = np.linalg.lstsq(A, b, rcond=None)[0], A.shape[1]
    inside = ((bounds.lower < x) & (x < bounds.upper)).all()
    if inside and (inequalities.A @ x <= inequalities.b).all():
        none = np.zeros(0)
        return ConstrainedOptimum(x, kkt_residual(A, b, np.zeros((0, n)), none, x, none), (), ())
    above, below = np.isfinite(bounds.upper), np.isfinite(bounds.lower)
    sides = np.concatenate([np.eye(n)[above], -np.eye(n)[below]])
    limits = np.concatenate([bounds.upper[above], -bounds.lower[below]])
    of = np.concatenate([np.flatnonzero(above), np.flatnonzero(below)])
    names = (*(bounds.names[k] for k in of), *inequalities.names)
    G, limit = np.concatenate([sides, inequalities.A]), inequalities.b

    found = least_distance(A, b, G, np.concatenate([limits, limit]))
    conflicts: tuple[str, ...] = ()
    if found is None:
        nearest = least_violation(inequalities, bounds)
        missing = inequalities.A @ nearest - limit
        slack = rounding(inequalities.A, limit, np.abs(nearest))
        conflicts = tuple(
            f'the limit {name!r} cannot be respected: it is missed by {miss:.3g}'
            for name, miss, small in zip(inequalities.names, missing, slack)
            if miss > 1e6 * small
        )
        limit = np.maximum(limit, inequalities.A @ nearest + slack)
        found = least_distance(A, b, G, np.concatenate([limits, limit]))
        if found is None:  # the two answers differ by rounding only
            found = nearest, np.zeros(len(G))
    x, multipliers = found
    acting = multipliers > 1e-8 * multipliers.max(initial=0.0)
    bound = acting[: len(of)]
    x[of[bound]] = (sides.sum(axis=1) * limits)[bound]  # exactly
    x = np.clip(x, bounds.lower, bounds.upper)
    h = np.concatenate([limits, limit])
    acting[: len(of)] |= (sides @ x == limits) & (x[of] != 0.0)  # moves at its bound
    named = {name for name, acts in zip(names, acting) if acts}
    active = tuple(dict.fromkeys(x for x in (*bounds.names, *inequalities.names) if x in named))
    return ConstrainedOptimum(x, kkt_residual(A, b, G, h, x, multipliers), active, conflicts)


def least_violation(inequalities: Inequalities, bounds: Bounds) -> Array:
    """Return the x within bounds that misses the inequalities least, in least squares."""
    from scipy.optimize import lsq_linear

    k, n = inequalities.A.shape
    slack = np.concatenate([inequalities.A, np.eye(k)], axis=1)
    unique = 1e-9 * np.abs(inequalities.A).max(initial=1.0) * np.eye(n + k)[:n]
    lower = np.concatenate([bounds.lower, np.zeros(k)])
    upper = np.concatenate([bounds.upper, np.full(k, np.inf)])
    fixed = upper - lower <= 0.0
    upper[fixed] = np.nextafter(lower[fixed], np.inf)  # scipy wants an interior
    target = np.concatenate([inequalities.b, np.zeros(n)])
    found = lsq_linear(np.vstack([slack, unique]), target, (lower, upper), 'bvls', tol=1e-14)
    x: Array = np.clip(found.x[:n], bounds.lower, bounds.upper)
    return x


def least_distance(A: Array, b: Array, G: Array, h: Array) -> tuple[Array, Array] | None:
    """Return x of least |A x - b| with G x <= h, and the multipliers (k,); None if there is none.

    >>> G, h = np.array([[1.0, 1.0]]), np.ones(1)
    >>> x, multipliers = least_distance(np.eye(2), np.array([3.0, 1.0]), G, h)
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
    """Return the residual of the conditions of optimality at x, relative to their terms."""
    terms = np.abs(A).T @ (np.abs(A) @ np.abs(x) + np.abs(b))
    scale = terms.max(initial=np.finfo(float).tiny)
    gradient = (A.T @ (A @ x - b) + G.T @ multipliers) / scale
    free = np.linalg.lstsq(A, b, rcond=None)[0] if multipliers.any() else x
    moved = np.abs(x) + np.abs(free)
    gap = (h - G @ x) / (rounding(G, h, moved) / ROW_TOLERANCE)
    slack = multipliers / scale * np.abs(gap)
    return float(np.concatenate([np.abs(gradient), -gap, slack]).max(initial=0.0))


def rounding(G: Array, h: Array, size: Array) -> Array:
    """Return what rounding may do to G x - h, for x computed from numbers of a size (n,)."""
    terms: Array = np.abs(h) + np.linalg.norm(G, axis=1) * np.linalg.norm(size)
    return ROW_TOLERANCE * terms + np.finfo(float).tiny
