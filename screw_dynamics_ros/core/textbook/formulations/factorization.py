# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Jacobians of the whole system as products of sparse matrices: J = A X and A^-1 = 1 - D.

The stacked twists V (6n,) of all n bodies satisfy V = D V + X q', with the transformations T_i (see
`twist_recursions`) of the predecessors' twists in D and the joint screws in X. Hence V = J q' with

    J = A X,    A = (1 - D)^-1 = 1 + D + D^2 + ... ,    A_ij = T_i ... T_j+1 for j on the path to i.

D is nilpotent and A needs no inversion: in the root frame the transformations are identities, so
that

    A_ij = K_i S_j,    A^-1 = diag(S^-1) (1 - D^s) diag(K^-1),

where K_i converts from the spatial to the given representation at body i (K-09), S_j converts the
joint screws X_j to spatial ones, and D^s has identity blocks at (i, p). The screws may have another
representation than the twists: J^s = A^s Y = A^sb X^b = A^sh X^h.

For two bodies D^2 = 0. Example: both links of the planar arm rotate about z, the upper with q_1',
the lower with q_1' + q_2'.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> own = factors(planar_arm(), np.zeros(2), 'hybrid')
>>> own.jacobian[[2, 8]], bool((own.D @ own.D).any())
(array([[1., 0.],
       [1., 1.]]), False)

Source: Müller 2018a (22)-(26), (32), (33), (44), (50), (59)-(61), (69) (K-23, K-27, K-30, K-33),
for trees (K-19); Müller 2018b (8)-(10), (24)-(29) (D-06, D-14); Bruyninckx 2010 (5.25)-(5.27)
(B-126).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import ArgumentError, UnknownNameError
from ...kinematics.configurations import neutral
from ...kinematics.jacobians import check_representation, jacobian
from ...kinematics.poe import body_poses
from ...kinematics.twist_recursions import body_motions
from ...lie.screws import REPRESENTATIONS, conversion_matrix
from ...lie.se3 import Ad, inverse
from ...linear import zeros
from ...tree.multibody_tree import GROUND, Tree
from ...types import Array

#: Joint screws in X: instantaneous ones in any representation, or the constant ones Y of the zero
#: configuration in the root frame.
SCREWS = (*REPRESENTATIONS, 'reference')


@dataclass(frozen=True, eq=False)
class Factors:
    """The system Jacobian of one representation as the product A X.

    Attributes
    ----------
    A, A_inv : (6n, 6n) arrays
        Nonzero blocks (i, j): in A for j on the path to i, in A^-1 for j = i and j = p(i). If the
        screws have the representation of the twists, A^-1 = 1 - D.
    X : (6n, nv) array
        Joint screws of body i in rows 6i to 6i + 5, times the multiplier of a mimic joint.
    """

    A: Array
    A_inv: Array
    X: Array

    @property
    def D(self) -> Array:
        """1 - A^-1: nilpotent, with the transformations T_i at (i, p), (6n, 6n)."""
        return np.eye(len(self.A)) - self.A_inv

    @property
    def jacobian(self) -> Array:
        """J = A X, (6n, nv): the stacked twists of all bodies are J q'."""
        J: Array = self.A @ self.X
        return J


def factors(
    tree: Tree, q: Array, representation: str = 'body', screws: str | None = None
) -> Factors:
    """Return the factors of the system Jacobian.

    Parameters
    ----------
    tree : Tree
    q : (nq,) array
    representation : {'body', 'spatial', 'hybrid', 'mixed'}
        Representation of the twists.
    screws : {'body', 'spatial', 'hybrid', 'mixed', 'reference'}, optional
        Representation of the joint screws; by default that of the twists.

    Raises
    ------
    UnknownNameError
        There is no such representation.
    """
    check_representation(representation)
    screws = representation if screws is None else screws
    if screws not in SCREWS:
        raise UnknownNameError(f'no screws named {screws!r}; choose one of {", ".join(SCREWS)}')
    C = body_poses(tree, q)
    n = len(C)
    if screws == 'reference':
        C_0 = body_poses(tree, neutral(tree))
        S = [Ad(C_i @ inverse(C_i0)) for C_i, C_i0 in zip(C, C_0)]
        S_inv = [Ad(C_i0 @ inverse(C_i)) for C_i, C_i0 in zip(C, C_0)]
        from_body = [Ad(C_i0) for C_i0 in C_0]
    else:
        S = [conversion_matrix(C_i, screws, 'spatial') for C_i in C]
        S_inv = [conversion_matrix(C_i, 'spatial', screws) for C_i in C]
        from_body = [conversion_matrix(C_i, 'body', screws) for C_i in C]
    K = [conversion_matrix(C_i, 'spatial', representation) for C_i in C]
    K_inv = [conversion_matrix(C_i, representation, 'spatial') for C_i in C]

    A, A_inv = zeros((6 * n, 6 * n), *C), zeros((6 * n, 6 * n), *C)
    X = zeros((6 * n, tree.nv), *C)
    for i, body in enumerate(tree.bodies):
        for j in tree.path(i):
            A[block(i), block(j)] = K[i] @ S[j]
        A_inv[block(i), block(i)] = S_inv[i] @ K_inv[i]
        if screws == representation:  # exactly
            A[block(i), block(i)] = A_inv[block(i), block(i)] = np.eye(6)
        if body.parent != GROUND:
            A_inv[block(i), block(body.parent)] = -S_inv[i] @ K_inv[body.parent]
        X[block(i), body.v] = body.multiplier * (from_body[i] @ body.X)
    return Factors(A, A_inv, X)


def factor_derivatives(
    tree: Tree, q: Array, v: Array, representation: str = 'body'
) -> tuple[Array, Array]:
    """Return the time derivatives D' (6n, 6n) and X' (6n, nv) of the factors.

    They give J' = A (X' + D' J) and V' = J q'' + J' q' in every representation (D-06, D-14).
    """
    motions = body_motions(tree, q, [v], representation)
    n = len(motions)
    dD, dX = zeros((6 * n, 6 * n), q, v), zeros((6 * n, tree.nv), q, v)
    for i, (body, motion) in enumerate(zip(tree.bodies, motions)):
        if body.parent != GROUND:
            dD[block(i), block(body.parent)] = motion.transported(1, np.eye(6))
        dX[block(i), body.v] = body.multiplier * motion.joint_screws_derivative(1)
    return dD, dX


def system_jacobian_derivative(
    tree: Tree, q: Array, v: Array, representation: str = 'body'
) -> Array:
    """Return J' = A (X' + D' J), (6n, nv)."""
    own = factors(tree, q, representation)
    dD, dX = factor_derivatives(tree, q, v, representation)
    rate: Array = own.A @ (dX + dD @ own.jacobian)
    return rate


def stacked_jacobian(
    tree: Tree, q: Array, links: Sequence[str], representation: str = 'hybrid'
) -> Array:
    """Return the stacked Jacobians of several links, (6 N, nv) (B-126).

    Columns of joints that do not move a link are zero in its rows. Raises ArgumentError without a
    link, UnknownNameError for an unknown one.
    """
    if not links:
        raise ArgumentError('stacked_jacobian: no links given; name at least one')
    return np.concatenate([jacobian(tree, q, link, representation) for link in links])


def block(i: int) -> slice:
    """Return the rows of body i."""
    return slice(6 * i, 6 * i + 6)
