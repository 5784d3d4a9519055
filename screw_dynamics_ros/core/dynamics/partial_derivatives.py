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

Second partial derivatives of inverse dynamics.

With the notation of `partial_derivatives.inverse_dynamics_derivatives`, S_k = Psi_k + J'_k, and l
the one of i and k farther from the root, the first derivatives are

    dQ_i/dq_k = J_i^T (M_l Psi'_k + 2 B_l Psi_k - ad_{J_k}^T W_k),    W_k only if k is beyond i,
    dQ_i/dv_k = J_i^T (M_l S_k + 2 B_l J_k),    dQ_i/da_k = J_i^T M_l J_k.

Second derivatives are zero unless all three joints are on one path. Let m be the last of them.

1. By the coordinate of m, for the torque of i before it: the screws and rates of i and k are
   constant, and their composite inertias and wrenches change by the part that m carries,

       dM/dq_m = -ad_{J_m}^T M_m - M_m ad_{J_m},
       dB/dq_m = -ad_{J_m}^T B_m - B_m ad_{J_m} + B(M_m, Psi_m),    dB/dv_m = B(M_m, J_m),
       dW/dq_m = M_m Psi'_m + 2 B_m Psi_m - ad_{J_m}^T W_m,    dW/dv_m = M_m S_m + 2 B_m J_m,

   where B(M, V) is the B of inertia M and twist V. So

       d2Q_i/dq_m dq_k = J_i^T (dM/dq_m Psi'_k + 2 dB/dq_m Psi_k - ad_{J_k}^T dW/dq_m),
       d2Q_i/dv_m dv_k = J_i^T 2 dB/dv_m J_k,
       d2Q_i/dq_m dv_k = J_i^T (dM/dq_m S_k + 2 dB/dq_m J_k),
       d2Q_i/dv_m dq_k = J_i^T (2 dB/dv_m Psi_k - ad_{J_k}^T dW/dv_m),
       d2Q_i/dq_m da_k = J_i^T dM/dq_m J_k,    with the terms in W if k is beyond i.

   They are also valid for k = m. In a free body, q_m is then the first coordinate, and
   d2Q_i/dv_m dv_k has the additional term J_i^T M_m [J_m, J_k], which makes it symmetric.

2. The torque of m, by coordinates of j and of k before j (or j = k). Apart from the rigid
   displacement, which has no effect, the motion of the bodies that m carries changes by

       dPsi_j/dq_k = [Psi_k, J_j],    dPsi'_j/dq_k = [Psi'_k, J_j] + 2 [Psi_k, Psi_j],
       dPsi_j/dv_k = [J_k, J_j],      dPsi'_j/dv_k = [S_k, J_j] + 2 [J_k, Psi_j],
       dS_j/dv_k = 2 [J_k, J_j],      dB/dq_k = B(M_m, Psi_k),    dB/dv_k = B(M_m, J_k),

   and d2Q_m/da_k dq_j = [J_k, J_j]^T M_m J_m. If j and k belong to one free body, dS_j/dv_k is
   [J_k, J_j], and its Psi_j and Psi'_j do not depend on its velocity.

Example: with g = 10, the gravity torques of the arm of unit lengths and masses are
(20 cos q_1 + 10 cos(q_1 + q_2), 10 cos(q_1 + q_2)). In the straight configuration q = 0 all cosines
are 1:

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> rest, gravity = np.zeros(2), np.array([0.0, -10.0, 0.0])
>>> inverse_dynamics_second_derivatives(planar_arm(), rest, rest, rest, gravity)[0][0] + 0.0
array([[-30., -10.],
       [-10., -10.]])

Source: Singh, Russell and Wensing, On second-order derivatives of rigid-body dynamics: theory and
implementation (2023), with its tensors written as derivatives of M, B and Psi; Müller 2018b
section 6.1 (D-40), differentiated again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

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
from .spatial_inertia import RigidInertia, added, displacement_rate, momentum
from .spatial_motion import SpatialBody, VelocityInertia, central_gravity, spatial_motions


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


#: Largest sum of the squared numbers of joints on the paths to all joints for compilation. Programs
#: have about 120 operations per unit; half a million compile in half a minute on two cores.
MAX_COMPILED_SIZE = 4000


def is_too_long(tree: Tree) -> bool:
    """Return whether a tree is too long to compile, such as a chain of 23 joints (not TALOS)."""
    return sum(len(tree.path(m)) ** 2 for m in range(len(tree.bodies))) > MAX_COMPILED_SIZE


def inverse_dynamics_second_derivatives(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Return the second derivatives of `inverse_dynamics`, (nv, nv, nv) each.

    Returns
    -------
    d2Q_dqdq, d2Q_dvdv, d2Q_dqdv, dM_dq : (nv, nv, nv) arrays
        Element [i, j, k] is the derivative of Q_i: by q_j, then by q_k; by v_j and v_k; by q_j and
        v_k; by a_j and q_k, which is dM_ij/dq_k. All other second derivatives are zero.

    Arguments as in `inverse_dynamics`; wrenches are constant in the frames of their links.
    Derivatives with respect to q are along the velocities v. Those of a free body, along its
    body-fixed twist, do not commute: with [e_j, e_k] the bracket of two of its unit twists,

        d2Q_dqdq[i, j, k] - d2Q_dqdq[i, k, j] = sum over l of dQ_i/dq_l [e_k, e_j]_l.

    For all other pairs d2Q_dqdq is symmetric in j and k.
    """
    refuse_load_friction(tree, 'derivatives of inverse dynamics')
    motions, dPsi, W = motions_and_wrenches(tree, q, v, a, gravity, wrenches)
    columns = Columns.of(tree, motions, dPsi)
    shape = (len(columns.v),) * 3
    result = Tensors(*(zeros(shape, *W.values()) for _ in Tensors._fields))
    for m in reversed(range(len(tree.bodies))):
        body, s = tree.bodies[m], motions[m]
        carried = Carried(s.M, s.B, W[m])
        path = columns.path(tree, m)
        for c in path[columns.body[path] == m]:
            set_torques_before(result, columns, int(c), path, carried)
            set_last_torque(result, columns, int(c), path, carried)
        if body.parent != GROUND:
            p = motions[body.parent]
            p.M, p.B, W[body.parent] = added(p.M, s.M), p.B + s.B, W[body.parent] + W[m]
    qq, vv, qv, aq = (columns.by_coordinate(tensor, tree.nv) for tensor in result)
    vv = vv + friction_torques(tree, v, 2) if tree.with_friction else vv
    return qq + spring_torques(tree, q, 2), vv, qv, aq


class Tensors(NamedTuple):
    """The results by columns: [i, j, k] is a derivative of the torque of i."""

    qq: Array
    vv: Array
    qv: Array
    aq: Array


class Carried(NamedTuple):
    """Composite inertias of all bodies that a joint carries, and the wrench (6,) through it."""

    M: RigidInertia
    B: VelocityInertia
    W: Array


@dataclass(frozen=True, eq=False)
class Columns:
    """The N screws of all bodies; those of mimic joints are multiplied by their multipliers.

    Attributes
    ----------
    J, Psi, dPsi, S : (6, N) arrays
        See above.
    v, body : (N,) arrays of int
        Coordinate and body of each column.
    """

    J: Array
    Psi: Array
    dPsi: Array
    S: Array
    v: np.ndarray
    body: np.ndarray

    @classmethod
    def of(cls, tree: Tree, motions: list[SpatialBody], dPsi: dict[int, Array]) -> Columns:
        """Return the columns of a tree in motion."""
        parts = [
            tuple(body.multiplier * X for X in (s.J, s.Psi, dPsi[i], s.Psi + s.dJ))
            for i, (body, s) in enumerate(zip(tree.bodies, motions))
        ]
        nothing = 4 * [np.zeros((6, 0))]
        J, Psi, rates, S = (np.hstack(part) for part in zip(nothing, *parts))
        v = [k for body in tree.bodies for k in range(body.v.start, body.v.stop)]
        body = np.repeat(np.arange(len(tree.bodies)), [body.dof for body in tree.bodies])
        return cls(J, Psi, rates, S, np.array(v, dtype=int), body)

    @property
    def screws(self) -> tuple[Array, Array, Array, Array]:
        """The four arrays of screws."""
        return self.J, self.Psi, self.dPsi, self.S

    def path(self, tree: Tree, m: int) -> np.ndarray:
        """Return the indices of the columns from the root to body m, in this order."""
        return np.flatnonzero(np.isin(self.body, tree.path(m)))

    def by_coordinate(self, tensor: Array, nv: int) -> Array:
        """Return the (nv, nv, nv) sums over the columns of each coordinate."""
        result = zeros((nv,) * 3, tensor)
        np.add.at(result, np.ix_(self.v, self.v, self.v), tensor)
        return result


def set_torques_before(
    result: Tensors, columns: Columns, m: int, path: np.ndarray, carried: Carried
) -> None:
    """Set the derivatives by coordinate m of torques i before its joint: case 1.

    The other coordinate k is also before the joint, or belongs to the same (free) body.
    """
    M, B, W = carried
    J_m, Psi_m = columns.J[:, m], columns.Psi[:, m]
    before = path[columns.body[path] < columns.body[m]]
    J_i, J, Psi = columns.J[:, before], columns.J[:, path], columns.Psi[:, path]
    k_beyond_i = columns.body[path] > columns.body[before, None]

    dM, dB = displacement_rate(M, J_m), B.displacement_rate(J_m) + VelocityInertia.of(M, Psi_m)
    dB_dv = VelocityInertia.of(M, J_m)
    dW = momentum(M, columns.dPsi[:, m]) + 2.0 * (B @ Psi_m) - dual_motor_product(J_m, W)
    dW_dv = momentum(M, columns.S[:, m]) + 2.0 * (B @ J_m)

    def with_wrench(by_k: Array, wrench: Array) -> Array:
        displaced = by_k - dual_motor_product(J.T, wrench).T
        return np.where(k_beyond_i, J_i.T @ displaced, J_i.T @ by_k)

    qq = with_wrench(momentum(dM, columns.dPsi[:, path]) + 2.0 * (dB @ Psi), dW)
    by_vv, same = 2.0 * (dB_dv @ J), columns.body[path] == columns.body[m]
    vv = J_i.T @ np.where(same, by_vv + momentum(M, bracket(J_m, J)), by_vv)
    at = np.ix_(before, path)
    result.qq[:, m][at], result.vv[:, m][at] = qq, vv
    result.qv[:, :, m][at] = with_wrench(2.0 * (dB_dv @ Psi), dW_dv)
    at, both = np.ix_(before, before), slice(len(before))
    result.qq[:, :, m][at], result.vv[:, :, m][at] = qq[:, both], vv[:, both]
    result.qv[:, m][at] = J_i.T @ (momentum(dM, columns.S[:, before]) + 2.0 * (dB @ J_i))
    result.aq[:, :, m][at] = J_i.T @ momentum(dM, J_i)


def set_last_torque(
    result: Tensors, columns: Columns, m: int, path: np.ndarray, carried: Carried
) -> None:
    """Set the derivatives of torque m by coordinates up to those of its joint: case 2."""
    M, B, _ = carried
    J_m = columns.J[:, m]
    p, b = momentum(M, J_m), 2.0 * B.angular(J_m)
    for k in path:
        J_k, Psi_k, dPsi_k, S_k = (X[:, k] for X in columns.screws)
        by_q, by_v = (2.0 * VelocityInertia.of(M, X).angular(J_m) for X in (Psi_k, J_k))
        before = path[columns.body[path] < columns.body[k]]
        after = path[len(before) :]  # columns of the same body, and beyond
        beyond = columns.body[after] > columns.body[k]
        J_j, Psi_j = columns.J[:, after], columns.Psi[:, after]
        moved = bracket(J_k, J_j)

        by_qq = bracket(dPsi_k, J_j) + 2.0 * bracket(Psi_k, Psi_j)
        qq = p @ by_qq + b @ bracket(Psi_k, J_j)[:3] + by_q @ Psi_j[:3]
        vv = np.where(beyond, 2.0, 1.0) * (p @ moved) + by_v @ J_j[:3]
        qv = p @ (bracket(S_k, J_j) + 2.0 * bracket(J_k, Psi_j)) + b @ moved[:3] + by_v @ Psi_j[:3]
        result.qq[m, after, k], result.vv[m, after, k] = qq, vv
        result.qq[m, k, after[beyond]], result.vv[m, k, after[beyond]] = qq[beyond], vv[beyond]
        result.qv[m, path, k] = by_v @ columns.Psi[:3, path]
        result.qv[m, after[beyond], k] = qv[beyond]
        result.aq[m, before, k] = result.aq[before, m, k] = -(
            p @ bracket(J_k, columns.J[:, before])
        )
