# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Second partial derivatives of inverse dynamics.

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
from ..lie.screws import dual_motor_product
from ..linear import zeros
from ..tree.multibody_tree import GROUND, Tree
from ..types import Array
from .drive_forces import friction_torques, refuse_load_friction, spring_torques
from .partial_derivatives import motions_and_wrenches
from .spatial_inertia import RigidInertia, added, displacement_rate, momentum
from .spatial_motion import SpatialBody, VelocityInertia

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
