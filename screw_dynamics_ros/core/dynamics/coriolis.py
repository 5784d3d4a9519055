"""Coriolis matrix of a tree."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.dynamics.forward_dynamics import inertia_matrix
from screw_dynamics_ros.core.dynamics.linear import symmetric
from screw_dynamics_ros.core.kinematics.poe import body_poses
from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.model.tree import GROUND, Array, Tree, per_body, zeros


def coriolis_matrix(tree: Tree, q: Array, v: Array) -> Array:
    """Return C(q, v), (nv, nv): C v are the Coriolis torques and dM/dt - 2 C is skew-symmetric.

    It is the matrix of Christoffel symbols C_ij = sum_k Gamma_ijk v_k of muller.md D-36
    (corrected), the sum over k done: with spatial twists V, momenta Pi = M V and Jacobian columns
    J_j = Ad_{C_j} X_j,

        C_ij = J_i^T (M J'_j + B J_j),    J'_j = ad_{V_j} J_j (D-10),
        B = 1/2 sum_l (K(Pi_l) - M_l ad_{V_l} - ad_{V_l}^T M_l),    K(Pi) X = -ad_X^T Pi,

    where M and B are summed over the bodies l that both joints i and j carry.
    """
    C = body_poses(tree, q)
    J, V, M, B = per_body(4)
    for i, body in enumerate(tree.bodies):
        Ad, Ad_inverse = se3.Ad(C[i]), se3.Ad(se3.inverse(C[i]))
        J[i] = Ad @ body.X
        V_p = np.zeros(6) if body.parent == GROUND else V[body.parent]
        V[i] = V_p + J[i] @ (body.multiplier * v[body.v])
        M[i] = symmetric(Ad_inverse.T @ inertia_matrix(body) @ Ad_inverse)
        M_ad = M[i] @ se3.ad(V[i])
        B[i] = 0.5 * (bracket_with_momentum(M[i] @ V[i]) - M_ad - M_ad.T)

    result = zeros((tree.nv, tree.nv), *C, *V.values())
    for j in reversed(range(len(tree.bodies))):
        body = tree.bodies[j]
        dJ = se3.ad(V[j]) @ J[j]
        column, row = M[j] @ dJ + B[j] @ J[j], (J[j].T @ M[j], J[j].T @ B[j])
        for i in tree.path(j):
            other = tree.bodies[i]
            scale = body.multiplier * other.multiplier
            result[other.v, body.v] = result[other.v, body.v] + scale * (J[i].T @ column)
            if i != j:
                block = row[0] @ (se3.ad(V[i]) @ J[i]) + row[1] @ J[i]
                result[body.v, other.v] = result[body.v, other.v] + scale * block
        if body.parent != GROUND:
            M[body.parent] = M[body.parent] + M[j]
            B[body.parent] = B[body.parent] + B[j]
    return result


def bracket_with_momentum(Pi: Array) -> Array:
    """Return the (6, 6) matrix K with K X = -ad_X^T Pi for every screw X; Pi = (L, P)."""
    L, P = so3.hat(Pi[:3]), so3.hat(Pi[3:])
    return -np.block([[L, P], [P, np.zeros((3, 3))]])
