# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Partial derivatives of inverse and forward dynamics, and the inverse mass matrix.

    dQ/dq, dQ/dv and dQ/da = M    by the closed form in `inverse_dynamics_derivatives`,
    da/dq = -M^-1 dQ/dq,    da/dv = -M^-1 dQ/dv,    da/dtau = M^-1 = L D L^T,
    d(M^-1)/dq_k = -M^-1 dM/dq_k M^-1.

Example: the upright arm of unit lengths and masses is at rest, g = 10. The gravity torques are
(20 cos q_1 + 10 cos(q_1 + q_2), 10 cos(q_1 + q_2)), and at q = (90 degrees, 0) the sines are 1:

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> q, rest, gravity = np.array([np.pi / 2, 0.0]), np.zeros(2), np.array([0.0, -10.0, 0.0])
>>> inverse_dynamics_derivatives(planar_arm(), q, rest, rest, gravity)[0].round(6)
array([[-30., -10.],
       [-10., -10.]])

Source: Müller 2018b section 6.1 (D-40), in spatial form; the closed form is that of Singh, Russell
and Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra
(2022).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..kinematics.twist_recursions import bracket
from ..lie.screws import dual_motor_product, transform_wrench
from ..linear import inverse_factors, sparse_product, symmetric, zeros
from ..tree.multibody_tree import GROUND, Tree, per_body
from ..types import Array
from .drive_forces import friction_torques, refuse_load_friction, spring_torques
from .inverse_dynamics import applied_wrenches, inverse_dynamics
from .mass_matrix import mass_matrix, reflected_inertias
from .massless_joints import check_moves_mass, resisted
from .spatial_inertia import added, momentum
from .spatial_motion import SpatialBody, central_gravity, spatial_motions


def inverse_dynamics_derivatives(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> tuple[Array, Array, Array]:
    """Return (dQ/dq, dQ/dv, M = dQ/da) of `inverse_dynamics`, (nv, nv) each (D-40).

    A displacement of joint j by its screw J_j moves all bodies that it carries as one rigid body.
    Apart from this displacement, the changes of twists and accelerations are

        Psi_j = [V_p, J_j],    Psi'_j = [A_p, J_j] + [V_p, Psi_j],

    with V_p and A_p of the predecessor. With the composite inertias M and B of all bodies that a
    joint carries (see `VelocityInertia`), the wrench W through it, and i above j on one path,

        dQ_j/dq_i = J_j^T (M_j Psi'_i + 2 B_j Psi_i),
        dQ_i/dq_j = J_i^T (M_j Psi'_j + 2 B_j Psi_j - ad_{J_j}^T W_j)    (j = i: without W_j),
        dQ_j/dv_i = J_j^T (M_j (Psi_i + J'_i) + 2 B_j J_i), and with i, j exchanged in J.

    Arguments as in `inverse_dynamics`; wrenches are constant in the frames of their links.
    Derivatives with respect to q are along the velocities v: for a free body, whose configuration
    is not a vector, along its body-fixed twist.
    """
    refuse_load_friction(tree, 'derivatives of inverse dynamics')
    motions, dPsi, W = motions_and_wrenches(tree, q, v, a, gravity, wrenches)
    dQ_dq, dQ_dv, mass = (zeros((tree.nv, tree.nv), *W.values()) for _ in range(3))
    mass = mass + reflected_inertias(tree)
    dQ_dq = dQ_dq + spring_torques(tree, q, 1)
    if tree.with_friction:
        dQ_dv = dQ_dv + friction_torques(tree, v, 1)
    for j in reversed(range(len(tree.bodies))):
        body, s = tree.bodies[j], motions[j]
        momenta, angular = momentum(s.M, s.J), 2.0 * s.B.angular(s.J)
        by_q = momentum(s.M, dPsi[j]) + s.B @ (2.0 * s.Psi)
        by_v = momentum(s.M, s.Psi + s.dJ) + s.B @ (2.0 * s.J)
        carried = by_q - dual_motor_product(s.J.T, W[j]).T
        for i in tree.path(j):
            other, o = tree.bodies[i], motions[i]
            at, transposed = (other.v, body.v), (body.v, other.v)
            scale = body.multiplier * other.multiplier
            block = scale * (o.J.T @ momenta)
            mass[at] = mass[at] + block
            dQ_dq[at] = dQ_dq[at] + scale * (o.J.T @ (by_q if i == j else carried))
            dQ_dv[at] = dQ_dv[at] + scale * (o.J.T @ by_v)
            if i != j:
                mass[transposed] = mass[transposed] + block.T
                dQ_dq[transposed] = dQ_dq[transposed] + scale * (
                    momenta.T @ dPsi[i] + angular.T @ o.Psi[:3]
                )
                dQ_dv[transposed] = dQ_dv[transposed] + scale * (
                    momenta.T @ (o.Psi + o.dJ) + angular.T @ o.J[:3]
                )
        if body.parent != GROUND:
            p = motions[body.parent]
            p.M, p.B, W[body.parent] = added(p.M, s.M), p.B + s.B, W[body.parent] + W[j]
    return dQ_dq, dQ_dv, mass


def motions_and_wrenches(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None,
) -> tuple[list[SpatialBody], dict[int, Array], dict[int, Array]]:
    """Return for every body its motion, Psi' of its joint (6, k) and its own wrench (6,)."""
    motions = spatial_motions(tree, q, v)
    applied = applied_wrenches(tree, wrenches)
    g = central_gravity(tree, q, gravity)
    A, W, dPsi = per_body(3)
    for k, (body, s) in enumerate(zip(tree.bodies, motions)):
        A_p = np.concatenate([np.zeros(3), -g[k]]) if k in g else A[body.parent]
        dPsi[k] = bracket(A_p, s.J) + bracket(s.V_p, s.Psi)
        A[k] = A_p + body.multiplier * (s.J @ a[body.v] + s.dJ @ v[body.v])
        W[k] = momentum(s.M, A[k]) + s.B @ s.V
        if k in applied:
            W[k] = W[k] - transform_wrench(s.C, applied[k])
    return motions, dPsi, W


def forward_dynamics_derivatives(
    tree: Tree,
    q: Array,
    v: Array,
    tau: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> tuple[Array, Array, Array]:
    """Return (da/dq, da/dv, M^-1 = da/dtau) of `forward_dynamics`, (nv, nv) each (D-40).

    From M a + h = tau: da/dq = -M^-1 dQ/dq at the acceleration a, da/dv = -M^-1 dQ/dv. Arguments as
    in `forward_dynamics`, directions of derivatives as in `inverse_dynamics_derivatives`. The part
    of h that is quadratic in v is half of its derivative times v (Euler's theorem).
    """
    rest = np.zeros(tree.nv)
    _, dQ_dv, M = inverse_dynamics_derivatives(tree, q, v, rest, gravity)  # independent of a
    h = 0.5 * (dQ_dv @ v) + inverse_dynamics(tree, q, rest, rest, gravity, wrenches)
    if tree.with_friction:  # not quadratic
        h = h + friction_torques(tree, v) - 0.5 * (friction_torques(tree, v, 1) @ v)
    L, D = factors_of_inverse(tree, M)
    right = sparse_product(D, L.T)
    a = L @ (right @ (tau - h))
    dQ_dq, _, _ = inverse_dynamics_derivatives(tree, q, v, a, gravity, wrenches)
    da_dq, da_dv = (zeros((tree.nv, tree.nv), right) for _ in range(2))
    minus = -right
    for j in range(tree.nv):  # joint by joint: fewer live values in the recording
        of_joint = np.stack([dQ_dq[:, j], dQ_dv[:, j]], axis=1)
        da_dq[:, j], da_dv[:, j] = sparse_product(L, sparse_product(minus, of_joint)).T
    return da_dq, da_dv, symmetric(sparse_product(L, right))


def inverse_mass_matrix(tree: Tree, q: Array) -> Array:
    """Return M(q)^-1, (nv, nv) (D-40)."""
    L, D = factors_of_inverse(tree, mass_matrix(tree, q))
    return symmetric(sparse_product(L, sparse_product(D, L.T)))


def factors_of_inverse(tree: Tree, M: Array) -> tuple[Array, Array]:
    """Return L and the diagonal D of M^-1 = L D L^T; `InertiaError` if a joint moves no mass.

    NaN in configurations where accelerations of links without inertia are undefined.
    """
    for joint, (_, v_j) in tree.coordinates.items():
        check_moves_mass(M[v_j, v_j], joint)
    return inverse_factors(resisted(tree, M, range(tree.nv)))


def mass_matrix_partials(tree: Tree, q: Array) -> Array:
    """Return dM/dq, (nv, nv, nv), the last axis along the velocities (D-40).

    M_ij = J_i^T M_j J_j, i on the path to j. Joint k moves all bodies that it carries as one rigid
    body, so that, also for the transpose,

        dM_ij/dq_k = J_i^T (-ad_{J_k}^T M_j J_j)                      for k between i and j, or j,
                   = J_i^T (M_k [J_j, J_k] - ad_{J_k}^T M_k J_j)      for k beyond j,

    and zero if k is i or carries it.
    """
    motions = spatial_motions(tree, q, np.zeros(tree.nv))
    beyond: dict[int, list[int]] = {j: [] for j in range(len(tree.bodies))}
    for k in reversed(range(len(tree.bodies))):
        path = tree.path(k)
        for j in path[:-1]:
            beyond[j].append(k)
        if len(path) > 1:
            p = motions[path[-2]]
            p.M = added(p.M, motions[k].M)
    result = zeros((tree.nv, tree.nv, tree.nv), *(s.J for s in motions))
    for j, body in enumerate(tree.bodies):
        J, path = motions[j].J, tree.path(j)
        for k in (*path, *beyond[j]):
            mover, inward = tree.bodies[k], path[: path.index(k)] if k in path else path
            M = motions[j if k in path else k].M
            W = momentum(M, J)
            for at, J_k in enumerate(motions[k].J.T, start=mover.v.start):
                dW = -dual_motor_product(J_k, W.T).T
                if k not in path:
                    dW = dW - momentum(M, bracket(J_k, J))
                for i in inward:
                    other = tree.bodies[i]
                    scale = body.multiplier * other.multiplier * mover.multiplier
                    block = scale * (motions[i].J.T @ dW)
                    result[other.v, body.v, at] = result[other.v, body.v, at] + block
                    if i != j:
                        result[body.v, other.v, at] = result[body.v, other.v, at] + block.T
    return result


def inverse_mass_matrix_partials(tree: Tree, q: Array) -> Array:
    """Return d(M^-1)/dq = -M^-1 dM/dq M^-1, (nv, nv, nv), the last axis along the velocities."""
    inverse = inverse_mass_matrix(tree, q)
    return -np.einsum('ia,abk,bj->ijk', inverse, mass_matrix_partials(tree, q), inverse)
