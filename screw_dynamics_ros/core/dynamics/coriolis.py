# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coriolis matrix of a tree.

C v are the Coriolis torques, C = J^T (M J' + B J), and B is chosen such that dM/dt - 2 C is
skew-symmetric (see `coriolis_matrix`). Example: the arm of unit lengths and masses with its elbow
at a right angle has dM/dt = -sin(q_2) v_2 [[2, 1], [1, 0]], and the Christoffel symbols give this
C:

>>> import numpy as np
>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> C = coriolis_matrix(planar_arm(), np.array([0.0, np.pi / 2]), np.array([1.0, 1.0]))
>>> C.round(3) + 0.0  # [[-v_2, -v_1 - v_2], [v_1, 0]] sin q_2
array([[-1., -2.],
       [ 1.,  0.]])

Source: Müller 2018b (85)-(87), corrected (D-36), (15)-(19) (D-10).
"""

from __future__ import annotations

from ..linear import zeros
from ..tree.multibody_tree import GROUND, Tree
from ..types import Array
from .spatial_inertia import added, momentum
from .spatial_motion import spatial_motions


def coriolis_matrix(tree: Tree, q: Array, v: Array) -> Array:
    """Return C(q, v), (nv, nv): C v are the Coriolis torques and dM/dt - 2 C is skew-symmetric.

    It is the matrix of Christoffel symbols C_ij = sum_k Gamma_ijk v_k of (85)-(87) (D-36),
    corrected, with the sum over k evaluated. With spatial twists V_i and Jacobians
    J_j = Ad_{C_j} X_j,

        C_ij = J_i^T sum_l (M_l J'_j + B_l J_j),    J'_j = ad_{V_j} J_j (D-10),
        2 B_l X = -ad_X^T M_l V_l - M_l ad_{V_l} X - ad_{V_l}^T M_l X,

    summed over the bodies l that both joints carry. In terms of the first moment h, Binet's inertia
    theta and the linear momentum P = m v + omega x h of body l,

        B_l (xi, eta) = (-(omega~ theta + h~ v~) xi, -P x xi).
    """
    motions = spatial_motions(tree, q, v)
    result = zeros((tree.nv, tree.nv), *(s.V for s in motions))
    for j in reversed(range(len(tree.bodies))):
        body, s = tree.bodies[j], motions[j]
        column = momentum(s.M, s.dJ) + s.B @ s.J
        momenta, angular = momentum(s.M, s.J), s.B.angular(s.J)
        for i in tree.path(j):
            other, o = tree.bodies[i], motions[i]
            scale = body.multiplier * other.multiplier
            result[other.v, body.v] = result[other.v, body.v] + scale * (o.J.T @ column)
            if i != j:
                block = momenta.T @ o.dJ + angular.T @ o.J[:3]
                result[body.v, other.v] = result[body.v, other.v] + scale * block
        if body.parent != GROUND:
            p = motions[body.parent]
            p.M, p.B = added(p.M, s.M), p.B + s.B
    return result
