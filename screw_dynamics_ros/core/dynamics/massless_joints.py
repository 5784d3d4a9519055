# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints without inertia: an error, NaN, never a result of rounding; regrouped inertias.

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

`regrouped_tree` is an equivalent tree with fewer inertial parameters. Mass on the axis of a
revolute joint can be assigned to either of the two bodies without changing the dynamics, and so can
rotational inertia at a prismatic joint, which does not rotate. Moving such parts to the predecessor
changes no torque, acceleration, energy or center of mass. The resulting zeros make programs
shorter: inverse dynamics by a tenth, gravity torques by a third. With the joint axis z of body i,
the parts moved to the predecessor p are

    revolute   m, h_z, theta_zz:    I = diag(theta_zz, theta_zz, 0),  h = (0, 0, h_z),
    prismatic  I.

Example: in the arm of unit lengths and masses, the outer mass is moved to the elbow, where it adds
1 to the first moment of the upper link; the first moment 1 of the lower link is unchanged.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> [(body.name, float(body.m), float(body.h[0])) for body in regrouped(planar_arm()).bodies]
[('upper', 0.0, 2.0), ('lower', 0.0, 1.0)]

Source: the regrouping rules behind minimal parameter sets; Khalil and Dombre, Modeling,
Identification and Control of Robots (2002), chapter 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import InertiaError
from ..lie.so3 import hat
from ..linear import is_recorded, is_zero, triangular_factor
from ..reproducible import reproducible
from ..tree.multibody_tree import GROUND, Body, Tree
from ..types import Array
from .spatial_inertia import RigidInertia, added, momentum, transported

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


ABOUT_Z, ALONG_Z = np.eye(6)[:, [2]], np.eye(6)[:, [5]]


def regrouped(tree: Tree) -> Tree:
    """Return an equivalent tree with as many zero inertial parameters as the joints allow.

    The inertias of single bodies are no longer those of physical bodies (masses are zero or
    negative), and the wrenches through joints are not those of the robot.
    """
    bodies = reproducible(tree.bodies)
    inertia: dict[int, RigidInertia] = {
        i: (body.m, body.h, body.I) for i, body in enumerate(bodies)
    }
    inertia[GROUND] = (tree.fixed_mass, tree.fixed_moment, np.zeros((3, 3)))
    for i in reversed(range(len(bodies))):
        body = bodies[i]
        inertia[i], shared = split(body.X, inertia[i])
        inertia[body.parent] = added(inertia[body.parent], transported(body.B, shared))
    return replace(
        tree,
        bodies=tuple(
            replace(
                body,
                m=inertia[i][0],
                h=inertia[i][1].astype(float),
                I=inertia[i][2].astype(float),
                massless_about_joint=massless_about_joint(bodies[i]),
            )
            for i, body in enumerate(tree.bodies)
        ),
        fixed_mass=inertia[GROUND][0],
        fixed_moment=inertia[GROUND][1].astype(float),
    )


def massless_about_joint(body: Body) -> bool:
    """Return whether the body has no inertia about its joint of one degree of freedom."""
    felt = momentum((body.m, body.h, body.I), body.X).T @ body.X
    most = max(abs(body.m), float(np.abs(body.I.diagonal()).sum()))
    return body.dof == 1 and not abs(felt[0, 0] + body.drive.reflected_inertia) > 1e-12 * most


def has_positive_energy(body: Body) -> bool:
    """Return whether the inertia of a body is positive semidefinite except for rounding."""
    if body.m < 0.0:
        return False
    central = body.I + hat(body.h) @ hat(body.h) / body.m if body.m else body.I
    return bool(np.linalg.eigvalsh(central)[0] >= -1e-9 * np.abs(body.I.diagonal()).sum())


def split(X: Array, inertia: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
    """Return the inertia that a body keeps, and the part movable to its predecessor (joint X)."""
    m, h, I = inertia  # noqa: E741
    none = 0.0, np.zeros(3), np.zeros((3, 3))
    if np.array_equal(X, ABOUT_Z):  # mass on the axis: m, h_z, and Binet's theta_zz
        on_axis = 0.5 * (I[0, 0] + I[1, 1] - I[2, 2]) * np.diag([1.0, 1.0, 0.0])
        kept, least, most = I - on_axis, *np.argsort(I.diagonal()[:2])
        kept[most, most] = 0.5 * (I[2, 2] + I[most, most] - I[least, least])
        kept[least, least] = I[2, 2] - kept[most, most]  # I_zz, inertia about the joint, is exact
        kept[2, 2] = kept[0, 0] + kept[1, 1]  # theta_zz is exactly zero
        return (0.0, h * [1, 1, 0], kept), (m, h * [0, 0, 1], on_axis)
    if np.array_equal(X, ALONG_Z):
        return (m, h, none[2]), (0.0, none[1], I)
    return inertia, none
