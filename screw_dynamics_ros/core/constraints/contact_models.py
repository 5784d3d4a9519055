# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Constraints on motion: free twists and constraint wrenches of contacts and joints; limits.

A constraint on a rigid body is a system of twists it allows or, equivalently, the reciprocal system
of wrenches it supports; the dimensions add up to six. On velocities of a whole mechanism it is a
set of Pfaffian equations A(q)^T v = 0. Ideal constraint forces are A lambda; they do no work on
the motions that are free (d'Alembert).

Source: Bruyninckx 2010, section 4.13, with (4.92) corrected.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..lie import screw_systems
from ..lie._arrays import as_float_stack
from ..types import Array


@dataclass(frozen=True, eq=False)
class Constraint:
    """A constraint on the motion of one rigid body (B-102, B-103).

    Make it with `allowing` or `bearing`. Twists and wrenches are in one representation, angular
    part and moment first.

    Attributes
    ----------
    twists : (6, f) array
        Basis of the allowed twists.
    wrenches : (6, c) array
        The wrenches it supports: a basis of the reciprocal system, or the given columns.
    unilateral : bool
        An inequality: it only pushes, along the columns of `wrenches`, and lets motions that part.
    holonomic : bool
        Follows from a constraint on positions. Wheels and skates are not: they constrain
        velocities alone, and reach every position.
    """

    twists: Array
    wrenches: Array
    unilateral: bool = False
    holonomic: bool = True

    @classmethod
    def allowing(cls, twists: npt.ArrayLike, holonomic: bool = True) -> Constraint:
        """Return the equality constraint under which just the twists (6, n) are free.

        >>> Constraint.allowing(np.eye(6)[:, [2]]).wrenches.shape  # five for a hinge
        (6, 5)
        """
        wrenches = screw_systems.reciprocal_wrenches(twists)
        return cls(screw_systems.reciprocal_twists(wrenches), wrenches, False, holonomic)

    @classmethod
    def bearing(
        cls, wrenches: npt.ArrayLike, unilateral: bool = False, holonomic: bool = True
    ) -> Constraint:
        """Return the constraint that supports exactly the wrenches (6, n).

        >>> Constraint.bearing(np.eye(6)[:, [5]], unilateral=True).freedom  # a point on a table
        5
        """
        W = as_float_stack('Constraint.bearing', 'wrenches', wrenches, 6, 'n')
        return cls(screw_systems.reciprocal_twists(W), W, unilateral, holonomic)

    @property
    def freedom(self) -> int:
        """Number of independent motions it allows (for an inequality, while in contact)."""
        return self.twists.shape[1]

    def violation(self, V: npt.ArrayLike) -> Array:
        """Return the rates (..., c), W^T V, by which twists V (..., 6) act against the constraint.

        Zero where they comply; for an inequality also where they part, W^T V > 0.

        >>> table = Constraint.bearing(np.eye(6)[:, [5]], unilateral=True)
        >>> table.violation([[0, 0, 0, 1, 0, 0.5], [0, 0, 0, 1, 0, -0.5]])
        array([[ 0. ],
               [-0.5]])
        """
        rates: Array = as_float_stack('Constraint.violation', 'V', V, 6) @ self.wrenches
        return np.minimum(rates, 0.0) if self.unilateral else rates


def limit_reactions(
    q: npt.ArrayLike,
    tau: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    tolerance: float = 0.0,
) -> Array:
    """Return the torques (..., n), N m or N, with which joint limits resist the torques tau.

    A limit acts only within `tolerance` (rad or m) of it, or beyond, and only against a torque that
    pushes into it; then it supports all of that torque. q, tau (..., n); lower, upper (n,),
    infinite without a bound.

    Source: Bruyninckx 2010, sections 4.13 and 4.13.2 (B-103).

    >>> limit_reactions(q=[1, 1, 0], tau=[5, -5, 5], lower=[-1, -1, -1], upper=[1, 1, 1])
    array([-5.,  0.,  0.])
    """
    names, values = ('q', 'tau', 'lower', 'upper'), (q, tau, lower, upper)
    q, tau, lower, upper = (
        as_float_stack('constraints.limit_reactions', name, value, 'n')
        for name, value in zip(names, values)
    )
    if (lower > upper).any():
        i = int(np.argmax(lower > upper))
        raise ArgumentError(
            f'constraints.limit_reactions: lower[{i}] = {lower.flat[i]:g} is above upper[{i}] = '
            f'{upper.flat[i]:g}; exchange them'
        )
    held = (q >= upper - tolerance) & (tau > 0.0) | (q <= lower + tolerance) & (tau < 0.0)
    unknown = np.isnan(q) | np.isnan(tau)
    return np.where(unknown, np.nan, np.where(held, -tau, 0.0))


def free_motions(A: npt.ArrayLike, tolerance: float = 1e-9) -> Array:
    """Return an orthonormal basis (n, n - rank) of the velocities v with A^T v = 0.

    A (n, m) has one Pfaffian constraint per column; they may depend on each other. The tolerance is
    relative to the largest singular value. Ideal constraint forces A lambda do no work on the
    motions of the basis.

    Source: Bruyninckx 2010 (4.91), (4.92) corrected (B-104).

    >>> skate = [[-0.6], [0.8], [0.0]]  # heading (0.8, 0.6): no sliding across; turning is free
    >>> free_motions(skate).shape
    (3, 2)
    """
    A = as_float_stack('constraints.free_motions', 'A', A, 'n', 'm')
    if A.ndim != 2 or not np.isfinite(A).all():
        raise ArgumentError(
            f'constraints.free_motions: A must be one finite matrix (n, m), got shape {A.shape}'
        )
    return screw_systems.null_space(A.T, tolerance)
