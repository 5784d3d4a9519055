# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints without inertia: an error that names the joint, or NaN, never a result of rounding.

The acceleration of a joint is a_i = u_i / D_i with the inertia D_i = X_i^T P_i X_i + d_i about it
(`articulated_body`). Three cases are special:

==============================================  ================================================
the joint moves no mass in any configuration    D_i = 0: `InertiaError`
its own body has no inertia about the joint,    D_i > 0 in most configurations; NaN where D_i is
but what the body carries has                   less than 1e-12 of the inertia P_i
the joint is free, d_i = 0                      P_i^a X_i = 0 but for rounding: exact zeros
==============================================  ================================================

The second case occurs after regrouping (`regrouped_tree`): for three axes without mass between
them, D of the middle one is zero where the outer two are aligned.

>>> D = np.array([[2.0]])
>>> not_a_number_below(D, 1e-12), not_a_number_below(0.0 * D, 1e-12)
(array([[2.]]), array([[nan]]))

Source: Müller 2018b section 5.1 (D-38) and Bruyninckx 2010 sections 6.2.1-6.2.5 (C-051, C-053) for
D_i; the guards are this package's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InertiaError
from ..linear import is_recorded, is_zero, triangular_factor
from ..tree.multibody_tree import Body, Tree
from ..types import Array

#: Fraction of a body's inertia below which it is zero except for rounding.
ZERO_INERTIA_TOLERANCE = 1e-12


def guarded(D: Array, body: Body, carries: bool, P: Array, X: Array) -> Array:
    """Return the inertia D (k, k) about a joint, or NaN if it is zero in this configuration.

    Parameters
    ----------
    D : (k, k) array
        X^T P X and the inertia of the drive.
    body : Body
    carries : bool
        Whether the body has successors.
    P : (6, 6), X : (6, k)
        Articulated inertia, and screws of the free directions.

    Raises
    ------
    InertiaError
        The joint moves no mass in any configuration.
    """
    if not body.massless_about_joint:
        check_moves_mass(D, body.joint)
        return D
    if not carries:
        D = 0.0 * D  # removes rounding errors
    if not carries or is_recorded(D):
        check_moves_mass(D, body.joint)  # a number may be zero in this configuration only
    if X.shape[1] == 0:
        return D
    return not_a_number_below(D, ZERO_INERTIA_TOLERANCE * P.diagonal()[block_of(X)].sum())


def check_moves_mass(D: Array, joint: str) -> None:
    """Raise `InertiaError` if a joint moves no mass: its acceleration is undefined."""
    if any(is_zero(inertia) for inertia in D.diagonal()):
        raise InertiaError(
            f'forward dynamics is not defined: joint {joint!r} moves no mass; give the links '
            'beyond it inertias, make the joint fixed, or prescribe its motion'
        )


def not_a_number_below(D: Array, least: Array | float) -> Array:
    """Return the inertia D about a joint, (1, 1), or NaN if it is less than `least`.

    It uses a square root instead of a comparison, so that it can be recorded.
    """
    with np.errstate(invalid='ignore'):
        root = np.sqrt((D - least)[0, 0])
    return np.array([[root * root + least]])


def resisted(tree: Tree, M: Array, places: Sequence[int]) -> Array:
    """Return a mass matrix with NaN for the coordinates without inertia.

    `places` are the coordinates of its rows in v. In elimination from the tips, the pivot of each
    coordinate is the inertia D about its joint.
    """
    massless = [
        all(body.massless_about_joint for body in tree.bodies if body.v.start <= k < body.v.stop)
        for k in places
    ]
    if not any(massless):
        return M
    result, pivots = M.copy(), triangular_factor(M).diagonal()
    for k in np.flatnonzero(massless):
        pivot = pivots[[k]][None]
        excess = not_a_number_below(pivot, ZERO_INERTIA_TOLERANCE * M[k, k]) - pivot  # zero or NaN
        result[k, k] = M[k, k] + excess[0, 0]
    return result


def without_rounding(P_a: Array, body: Body, X: Array) -> Array:
    """Return P_a (6, 6) with exact zeros where a free joint without drive causes only rounding.

    P_a X = 0: the predecessor contributes no inertia along the joint.
    """
    if not body.drive.reflected_inertia:
        nothing = unit_rows(X)
        P_a[nothing, :] = P_a[:, nothing] = 0.0
    return P_a


def block_of(X: Array) -> slice:
    """Return the rows of a screw (6, 1) with its kind of inertia: angular or linear."""
    return slice(0, 3) if X[:3].any() else slice(3, 6)


def unit_rows(X: Array) -> Array:
    """Return k for each column of X that is the unit vector e_k; empty for a helical joint."""
    columns = X[:, np.abs(X).sum(axis=0) == 1.0]
    return columns.argmax(axis=0)
