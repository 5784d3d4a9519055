# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The articulated-body recursion: the inertia of a subtree at the joint that carries it.

A body with all its successors, whose joints are free to move, has the equation of motion
W = P dV + beta, with the articulated inertia P and the bias wrench beta. There are three passes:

velocities, from the root to the tips, with p the predecessor of i and (xi, eta) = X_i q_i',

    omega_i = R_i^T omega_p + xi,    Omega_i = omega_i~ omega_i~,
    c_i = (R_i^T omega_p x xi,  R_i^T Omega_p r_i + (R_i^T omega_p + omega_i) x eta),
    beta_i = (omega_i x I_i omega_i,  Omega_i h_i) - W_i^app;

inertias, from the tips to the root,

    U_i = P_i X_i,    D_i = X_i^T U_i + d_i,    u_i = tau_i - X_i^T beta_i,
    P_i^a = P_i - U_i D_i^-1 U_i^T,    beta_i^a = beta_i + P_i^a c_i + U_i D_i^-1 u_i,
    P_p = M_p + sum of Ad^T P_i^a Ad,    beta_p = ... + sum of Ad^T beta_i^a,    Ad = Ad_{C_i,p};

accelerations, from the root to the tips,

    a_i = D_i^-1 (u_i - U_i^T (Ad dV_p + c_i)),    dV_i = Ad dV_p + c_i + X_i a_i.

dV = (domega, ddr) is the angular acceleration of a body and the acceleration of its origin, in its
own frame, as in `inverse_dynamics`. Gravity enters as acceleration of the root frame. Joints with
prescribed motion are not free: X_i a_i is part of c_i, and P is transmitted unchanged (hybrid
dynamics). `inward` performs the first two passes, `outward` the third.

Example: two unit masses on a straight arm of unit lengths. The outer mass swings freely about the
joint between them and does not load the inner joint, so D_1 = 1 and (M^-1)_11 = 1.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> rest, tau = np.zeros(2), np.array([1.0, 0.0])
>>> bodies = inward(planar_arm(), rest, rest, rest, tau, [False, False])
>>> float(bodies.D[0][0, 0]), float(bodies.D[1][0, 0])
(1.0, 1.0)
>>> outward(planar_arm(), bodies, rest, np.zeros(3))[0]  # M = [[5, 2], [2, 1]], det M = 1
array([ 1., -2.])

Source: Müller 2018b section 5.1 (D-38); Bruyninckx 2010 (6.22), (6.25), (6.27), (6.28) and (6.30)
(C-051, C-056, C-059, C-060), corrected (E-11, E-15 to E-18).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..kinematics.poe import relative_pose
from ..lie.screws import inverse_transform_twist, transform_wrench
from ..lie.so3 import hat
from ..linear import solve_positive_definite, symmetric, zeros
from ..tree.multibody_tree import GROUND, Body, Tree, per_body
from ..types import Array
from .drive_forces import moving_torques
from .inverse_dynamics import applied_wrenches, joint_motion
from .massless_joints import guarded, without_rounding
from .spatial_inertia import inertia_matrix, transported_matrix

ByBody = dict[int, Array]


@dataclass(frozen=True, eq=False)
class ArticulatedBodies:
    """Results of the inward pass, by the index of the body.

    Attributes
    ----------
    C : (4, 4) arrays
        Configuration in the predecessor's frame.
    omega : (3,) arrays
        Angular velocity.
    c : (6,) arrays
        Acceleration added by the joint: centripetal and Coriolis terms, prescribed motion.
    P, beta : (6, 6) and (6,) arrays
        Articulated inertia and bias wrench of the body, before elimination of its joint.
    X : (6, k) arrays
        Screws of the free directions of the joint.
    free : lists of k int
        Indices of these directions in v.
    U, D, u : (6, k), (k, k) and (k,) arrays
        P X; the inertia X^T P X about the joint, including that of its drive; and the torque
        tau - X^T beta that accelerates it.
    """

    C: dict[int, Array]
    omega: dict[int, Array]
    c: dict[int, Array]
    P: dict[int, Array]
    beta: dict[int, Array]
    X: dict[int, Array]
    free: dict[int, list[int]]
    U: dict[int, Array]
    D: dict[int, Array]
    u: dict[int, Array]


def inward(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    prescribed: Sequence[bool],
    wrenches: Mapping[str, Array] | None = None,
) -> ArticulatedBodies:
    """Return the articulated bodies of a tree without mimic joints.

    Parameters
    ----------
    tree : Tree
    q : (nq,), v : (nv,)
    a, tau : (nv,)
        Accelerations of the prescribed joints and torques of the free ones; others are ignored.
    prescribed : (nv,) sequence of bool
        Which accelerations are given.
    wrenches : {link: (6,)}
        As in `inverse_dynamics`.
    """
    tau = moving_torques(tree, q, v, tau)
    X, free = free_directions(tree, prescribed)
    C, omega, c, own = velocities(tree, q, v, np.where(prescribed, a, 0.0), wrenches)
    P, beta, U, D, u = inertias(tree, C, c, own, X, {i: tau[k] for i, k in free.items()})
    return ArticulatedBodies(C, omega, c, P, beta, X, free, U, D, u)


def free_directions(tree: Tree, prescribed: Sequence[bool]) -> tuple[ByBody, dict[int, list[int]]]:
    """Return the screws X_i (6, k) of the free directions and their indices in v, by body."""
    X: ByBody = {}
    free: dict[int, list[int]] = {}
    for i, body in enumerate(tree.bodies):
        free[i] = [k for k in range(body.v.start, body.v.stop) if not prescribed[k]]
        X[i] = body.X[:, [k - body.v.start for k in free[i]]]
    return X, free


def velocities(
    tree: Tree, q: Array, v: Array, given: Array, wrenches: Mapping[str, Array] | None
) -> tuple[ByBody, ByBody, ByBody, ByBody]:
    """Return C, omega, c and the bias wrenches beta of the single bodies (first pass).

    `given` (nv,) are the accelerations of the prescribed joints, zeros for the others.
    """
    C, omega, Omega, c, beta = per_body(5)
    ground = np.zeros(3), np.zeros((3, 3))
    applied = applied_wrenches(tree, wrenches)
    for i, body in enumerate(tree.bodies):
        p = body.parent
        omega_p, Omega_p = ground if p == GROUND else (omega[p], Omega[p])
        C[i] = relative_pose(body, q)
        R, r = C[i][:3, :3], C[i][:3, 3]
        centripetal = Omega_p @ r
        omega[i], domega, ddr = joint_motion(
            body, R.T @ omega_p, np.zeros(3), R.T @ centripetal, v, given
        )
        Omega[i] = hat(omega[i]) @ hat(omega[i])
        c[i] = np.concatenate([domega, ddr])
        # Euler's form: without angular acceleration it has fewer operations than `newton_euler`.
        gyroscopic = np.concatenate([hat(omega[i]) @ (body.I @ omega[i]), Omega[i] @ body.h])
        beta[i] = gyroscopic - applied.get(i, 0.0)
    return C, omega, c, beta


def inertias(
    tree: Tree, C: ByBody, c: ByBody, own: ByBody, X: ByBody, tau: ByBody
) -> tuple[ByBody, ByBody, ByBody, ByBody, ByBody]:
    """Return P, beta, U, D and u (second pass); `own` are the bias wrenches of single bodies."""
    P = {i: inertia_matrix(body) for i, body in enumerate(tree.bodies)}
    beta = dict(own)
    U, D, u = per_body(3)
    carrying = {body.parent for body in tree.bodies}
    for i in reversed(range(len(tree.bodies))):
        body, p = tree.bodies[i], tree.bodies[i].parent
        U[i] = P[i] @ X[i]
        D_i = X[i].T @ U[i] + body.drive.reflected_inertia * np.eye(X[i].shape[1])
        D[i] = guarded(D_i, body, i in carrying, P[i], X[i])
        u[i] = tau[i] - X[i].T @ beta[i]
        if p != GROUND:
            P_a, beta_a = beyond_joint(body, P[i], beta[i], X[i], U[i], D[i], u[i])
            beta_a = beta_a + P_a @ c[i]
            P[p] = P[p] + transported_matrix(C[i], P_a)
            beta[p] = beta[p] + transform_wrench(C[i], beta_a)
    return P, beta, U, D, u


def beyond_joint(
    body: Body, P: Array, beta: Array, X: Array, U: Array, D: Array, u: Array
) -> tuple[Array, Array]:
    """Return P - U D^-1 U^T and beta + U D^-1 u, transmitted to the predecessor by the joint."""
    if X.shape[1] == 0:  # no free direction: all prescribed
        return P, beta
    P_a = symmetric(P - U @ solve_positive_definite(D, U.T))
    P_a = without_rounding(P_a, body, X)
    return P_a, beta + U @ solve_positive_definite(D, u)


def outward(
    tree: Tree, bodies: ArticulatedBodies, a: Array, gravity: Array
) -> tuple[Array, dict[int, Array]]:
    """Return the accelerations of all joints (nv,), and dV of all bodies, relative to free fall.

    The third pass. `a` has the prescribed accelerations; `gravity` (3,) is the acceleration of free
    fall.
    """
    dV: dict[int, Array] = {}
    result = zeros(a.shape, a, *bodies.beta.values(), *bodies.u.values())
    at_rest = np.concatenate([np.zeros(3), -gravity])
    for i, body in enumerate(tree.bodies):
        dV_p = at_rest if body.parent == GROUND else dV[body.parent]
        dV[i] = inverse_transform_twist(bodies.C[i], dV_p) + bodies.c[i]
        result[body.v] = a[body.v]
        free = bodies.free[i]
        if free:
            torque = bodies.u[i] - bodies.U[i].T @ dV[i]
            result[free] = solve_positive_definite(bodies.D[i], torque)
            dV[i] = dV[i] + bodies.X[i] @ result[free]
    return result, dV
