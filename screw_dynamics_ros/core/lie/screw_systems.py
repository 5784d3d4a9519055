# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Screw systems: the span of several twists or wrenches, and the reciprocal system.

A system is given by the columns of a matrix (6, n), such as a Jacobian; they may be dependent. The
twists that a mechanism allows and the wrenches that it supports without motion are reciprocal
systems, whose dimensions add up to six. Results are bases (6, k), k depending on the rank:
therefore there are no stacks, and NaN is refused.

The rank depends on a tolerance and, for screws, on units: `length` (m) is the characteristic length
that relates angular and linear components (1 rad to `length`). Subspaces far from a change of rank
do not depend on it; the bases are orthonormal for that length.

Source: Bruyninckx 2010, sections 2.6.2, 4.6 and 4.13.
"""

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..types import Array
from ._arrays import as_float_stack

# Relative to the largest singular value: smaller ones are zero.
TOLERANCE = 1e-9


def rank(X: npt.ArrayLike, length: float = 1.0, tolerance: float = TOLERANCE) -> int:
    """Return the dimension of the system spanned by twists or screws X (6, n).

    Source: Bruyninckx 2010, section 2.6.2 (B-027).

    >>> rank([[0, 0], [0, 0], [1, 2], [0, 0], [0, 0], [0, 0]])
    1
    """
    s = np.linalg.svd(_scaled('screw_systems.rank', 'X', X, length), compute_uv=False)
    return int(np.sum(s > tolerance * s.max(initial=0.0)))


def reciprocal_screws(X: npt.ArrayLike, length: float = 1.0, tolerance: float = TOLERANCE) -> Array:
    """Return a basis (6, 6 - rank) of the screws reciprocal to all columns of X (6, n).

    All screws have the order (xi, eta): `screws.reciprocal_product` of a column of X and a column
    of the result is zero.

    Source: Bruyninckx 2010 (2.18) (B-027).

    >>> all_but_turning_about_z = np.eye(6)[:, [0, 1, 3, 4, 5]]
    >>> np.abs(reciprocal_screws(all_but_turning_about_z)).round(6).T  # a couple about z
    array([[0., 0., 0., 0., 0., 1.]])
    """
    return np.roll(reciprocal_wrenches(X, length, tolerance), 3, axis=0)


def reciprocal_wrenches(
    twists: npt.ArrayLike, length: float = 1.0, tolerance: float = TOLERANCE
) -> Array:
    """Return a basis (6, 6 - rank) of the wrenches without power on any of the twists (6, n).

    For the columns of a Jacobian, these are the wrenches on the link that the chain supports
    without joint torques. Twists and wrenches have the same representation, angular part and moment
    first.

    Source: Bruyninckx 2010 (4.25) (B-077).

    >>> scara = np.eye(6)[:, [2, 3, 4, 5]]  # rotates about z and translates
    >>> reciprocal_wrenches(scara).round(6).any(axis=1)  # supports moments about x and y
    array([ True,  True, False, False, False, False])
    """
    A = _scaled('screw_systems.reciprocal_wrenches', 'twists', twists, length)
    basis = null_space(A.T, tolerance)
    basis[:3] *= length  # moments: the rows of A are angles times length
    return basis


def reciprocal_twists(
    wrenches: npt.ArrayLike, length: float = 1.0, tolerance: float = TOLERANCE
) -> Array:
    """Return a basis (6, 6 - rank) of the twists on which no wrench of (6, n) has power.

    These are the freedoms under a constraint with these wrenches as reactions.

    Source: Bruyninckx 2010, sections 4.6 and 4.13 (B-077, B-102).

    >>> reciprocal_twists(np.eye(6)[:, :2]).shape  # no turning about x and y
    (6, 4)
    """
    W = as_float_stack('screw_systems.reciprocal_twists', 'wrenches', wrenches, 6, 'n')
    swapped = np.roll(W, 3, axis=-2)
    return np.roll(reciprocal_wrenches(swapped, length, tolerance), 3, axis=0)


def same_system(
    X: npt.ArrayLike, Y: npt.ArrayLike, length: float = 1.0, tolerance: float = TOLERANCE
) -> bool:
    """Return whether the columns of X (6, n) and Y (6, m) span the same system.

    Source: Bruyninckx 2010, section 4.13 (B-102).

    >>> same_system(np.eye(6)[:, :2], [[1, 1], [1, -1], [0, 0], [0, 0], [0, 0], [0, 0]])
    True
    """
    X = as_float_stack('screw_systems.same_system', 'X', X, 6, 'n')
    Y = as_float_stack('screw_systems.same_system', 'Y', Y, 6, 'n')
    both = rank(np.hstack([X, Y]), length, tolerance)
    return both == rank(X, length, tolerance) == rank(Y, length, tolerance)


def null_space(A: Array, tolerance: float = TOLERANCE) -> Array:
    """Return an orthonormal basis (n, n - rank) of the solutions of A x = 0, A (m, n).

    >>> np.abs(null_space(np.array([[0.0, 2.0]])))
    array([[1.],
           [0.]])
    """
    _, s, V_T = np.linalg.svd(A)
    basis: Array = V_T[np.sum(s > tolerance * s.max(initial=0.0)) :].T
    return basis


def _scaled(function: str, name: str, X: npt.ArrayLike, length: float) -> Array:
    """Return twists with their angular parts times `length`, so that all rows are in m."""
    X = as_float_stack(function, name, X, 6, 'n')
    if X.ndim != 2:
        raise ArgumentError(f'{function}: {name} must be one system (6, n), got {X.shape}')
    if not np.isfinite(X).all():
        raise ArgumentError(
            f'{function}: {name} holds NaN or infinity, so that its rank is unknown'
        )
    if not (np.isfinite(length) and length > 0.0):
        raise ArgumentError(f'{function}: length must be a positive number of meters, got {length}')
    return np.concatenate([length * X[:3], X[3:]])
