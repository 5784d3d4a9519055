"""Coriolis matrix of a tree."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.dynamics.inertia import (
    RigidInertia,
    added,
    binet,
    momentum,
    transported,
)
from screw_dynamics_ros.core.kinematics.poe import body_poses
from screw_dynamics_ros.core.lie.se3 import Ad, ad
from screw_dynamics_ros.core.lie.so3 import hat
from screw_dynamics_ros.core.model.tree import GROUND, Array, Tree, per_body, zeros


def coriolis_matrix(tree: Tree, q: Array, v: Array) -> Array:
    """Return C(q, v), (nv, nv): C v are the Coriolis torques and dM/dt - 2 C is skew-symmetric.

    It is the matrix of Christoffel symbols C_ij = sum_k Gamma_ijk v_k of muller.md D-36
    (corrected), the sum over k done: with spatial twists V_i and Jacobians J_j = Ad_{C_j} X_j,

        C_ij = J_i^T sum_l (M_l J'_j + B_l J_j),    J'_j = ad_{V_j} J_j (D-10),
        2 B_l X = -ad_X^T M_l V_l - M_l ad_{V_l} X - ad_{V_l}^T M_l X,

    summed over the bodies l that both joints carry. Multiplied out, with the first moment h,
    Binet's inertia theta and the linear momentum P = m v + omega x h of body l,

        B_l (xi, eta) = (-(omega~ theta + h~ v~) xi, -P x xi).
    """
    C = body_poses(tree, q)
    J, dJ, V, N, P = per_body(5)
    M: dict[int, RigidInertia] = {}
    for i, body in enumerate(tree.bodies):
        J[i] = Ad(C[i]) @ body.X
        V_p = np.zeros(6) if body.parent == GROUND else V[body.parent]
        V[i] = V_p + J[i] @ (body.multiplier * v[body.v])
        dJ[i] = ad(V[i]) @ J[i]
        M[i] = transported(C[i], (body.m, body.h, body.I))
        m, h, I = M[i]  # noqa: E741
        omega, u = V[i][:3], V[i][3:]
        N[i] = -hat(omega) @ binet(I) - hat(h) @ hat(u)
        P[i] = m * u + hat(omega) @ h

    result = zeros((tree.nv, tree.nv), *C, *V.values())
    for j in reversed(range(len(tree.bodies))):
        body, p = tree.bodies[j], tree.bodies[j].parent
        xi = J[j][:3]
        column = momentum(M[j], dJ[j]) + np.concatenate([N[j] @ xi, -hat(P[j]) @ xi])
        with_rate = momentum(M[j], J[j])
        with_angular = N[j].T @ xi + hat(P[j]) @ J[j][3:]
        for i in tree.path(j):
            other = tree.bodies[i]
            scale = body.multiplier * other.multiplier
            result[other.v, body.v] = result[other.v, body.v] + scale * (J[i].T @ column)
            if i != j:
                block = with_rate.T @ dJ[i] + with_angular.T @ J[i][:3]
                result[body.v, other.v] = result[body.v, other.v] + scale * block
        if p != GROUND:
            M[p] = added(M[p], M[j])
            N[p], P[p] = N[p] + N[j], P[p] + P[j]
    return result
