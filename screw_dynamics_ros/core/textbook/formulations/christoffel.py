# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Christoffel symbols of the mass matrix of a tree.

    Gamma_ijk = 1/2 (dM_ik/dq_j + dM_ij/dq_k - dM_jk/dq_i)
              = sum_l tr(J_i Sigma_l (J_s J_r)^T),    s the one of j, k that is nearer the root.

Example: the arm of unit lengths and masses has M_11 = 3 + 2 cos q_2, M_12 = 1 + cos q_2, M_22 = 1.
The symbols are -sin q_2 for i = 1 (j k = 12, 21, 22), sin q_2 for i = 2 (j k = 11), otherwise 0:

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> christoffel_symbols(planar_arm(), np.array([0.0, np.pi / 2])).round(3) + 0.0
array([[[ 0., -1.],
        [-1., -1.]],
<BLANKLINE>
       [[ 1.,  0.],
        [ 0.,  0.]]])

Source: Müller 2018b (85)-(87), corrected (D-36, E-26, E-27).
"""

from __future__ import annotations

import numpy as np

from ...dynamics.spatial_inertia import pseudo_inertia
from ...errors import ArgumentError
from ...kinematics.poe import body_poses
from ...lie.screws import transform_twist
from ...lie.se3 import hat
from ...tree.multibody_tree import Tree
from ...types import Array


def christoffel_symbols(tree: Tree, q: Array) -> Array:
    """Return Gamma_ijk = 1/2 (dM_ik/dq_j + dM_ij/dq_k - dM_jk/dq_i), (nv, nv, nv) (D-36).

    They are symmetric in j and k, sum_jk Gamma_ijk v_j v_k are the Coriolis torques, and
    sum_k Gamma_ijk v_k is the Coriolis matrix of `Robot.coriolis_matrix`. With the pseudo-inertia
    Sigma_l of body l and the Jacobian columns as 4 x 4 matrices, all in the root frame,

        Gamma_ijk = sum_l tr(J_i Sigma_l (J_s J_r)^T),    s the one of j, k that is nearer the root,

    over the bodies l that all three joints carry: J_s J_r C_l is the second derivative of the
    configuration C_l. (86), (87) in one line, with E-26 and E-27 corrected.

    Parameters
    ----------
    tree : Tree
    q : (nq,) array of numbers

    Raises
    ------
    ArgumentError
        The tree has a free body: its velocities are not derivatives of coordinates, and M is not a
        metric tensor in them.
    """
    for body in tree.bodies:
        if body.dof > 1:
            raise ArgumentError(
                f'christoffel_symbols: link {body.name!r} moves freely, and its twist is not a '
                'derivative of coordinates; use coriolis_matrix(q, v)'
            )
    C = body_poses(tree, q)
    J = [
        hat(body.multiplier * transform_twist(C_i, body.X[:, 0]))
        for body, C_i in zip(tree.bodies, C)
    ]
    Gamma = np.zeros((tree.nv, tree.nv, tree.nv))
    for l, body in enumerate(tree.bodies):  # noqa: E741
        Sigma = C[l] @ pseudo_inertia((body.m, body.h, body.I)) @ C[l].T
        path = tree.path(l)
        own = np.stack([J[i] for i in path])
        second = own[:, None] @ own[None]  # J_j J_k; symmetric: the nearer one first
        later = np.tril_indices(len(path), -1)
        second[later] = second.swapaxes(0, 1)[later]
        index = [tree.bodies[i].v.start for i in path]
        np.add.at(
            Gamma, np.ix_(index, index, index), np.einsum('iab,bc,jkac->ijk', own, Sigma, second)
        )
    return Gamma
