"""Twists of all bodies to any order, by a recursion from root to tips in each representation.

In all four the twist of body i follows from that of its predecessor p by

    V_i = T_i V_p + X_i q_i',    T_i the transport of body p's twist to body i, X_i the joint screw:

==============  ===================================  ==========================  ================
representation  T_i                                  X_i                         [K]
==============  ===================================  ==========================  ================
body            Ad_{C_i,p}                           constant                    (15), (20)
spatial         1                                    Ad_{C_i} X_i^b              (31)
hybrid          Ad_{r_p - r_i}                       Ad_{R_i} X_i^b              (57), (58)
mixed           [[R_i,p, 0], [(r_p - r_i)~ R_p, 1]]  diag(1, R_i) X_i^b          (67), (68)
==============  ===================================  ==========================  ================

Derivatives follow by Leibniz' rule from those of T and X, which are brackets with the motion found so
far (D-02): T' = -ad_{X q'} T and X' = 0 in the body, X' = [V, X] in the spatial, X' = ad_omega X
and T' = ad_{r_p' - r_i'} in the hybrid representation. A derivative is kept as a list
[x, x', x'', ...]. `higher_order` starts from the spatial form and converts; this is the other way,
and shows what each representation costs (doc/kinematics.md).

Source: muller.md K-22, K-26, K-29, K-32, D-05, D-10, D-12, D-14 to D-16 (corrected).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.kinematics.higher_order import (
    Derivatives,
    joint_rates,
    product_derivative,
)
from screw_dynamics_ros.core.kinematics.jacobians import check_representation
from screw_dynamics_ros.core.kinematics.poe import relative_pose
from screw_dynamics_ros.core.lie.se3 import Ad, Ad_R, Ad_r, ad, inverse
from screw_dynamics_ros.core.lie.so3 import hat
from screw_dynamics_ros.core.model.tree import GROUND, Array, Body, Tree, zeros


@dataclass
class BodyMotion:
    """How one body moves, in one representation.

    Attributes
    ----------
    C : (4, 4) array
        Configuration in the root frame [m].
    T : list of (6, 6) arrays
        Transport of the predecessor's twist to this body, and its derivatives.
    X : list of (6, k) arrays
        Joint screws and their derivatives.
    V : list of (6,) arrays
        Twist (omega, v) and its derivatives.
    """

    C: Array
    T: Derivatives
    X: Derivatives
    V: Derivatives


def body_motions(
    tree: Tree, q: Array, rates: Sequence[Array], representation: str
) -> list[BodyMotion]:
    """Return the motion of every body, in the order of `tree.bodies`.

    Parameters
    ----------
    tree : Tree
    q : (nq,) array
    rates : sequence of (nv,) arrays
        v, a, and further time derivatives of the joint coordinates. As many derivatives of V are
        returned, and as many of T and X; without any only T and X themselves.
    representation : {'body', 'spatial', 'hybrid', 'mixed'}

    Raises
    ------
    UnknownNameError
        There is no such representation.
    """
    check_representation(representation)
    step = {'body': body_step, 'spatial': spatial_step, 'hybrid': hybrid_step, 'mixed': mixed_step}
    motions: list[BodyMotion] = []
    for body in tree.bodies:
        B = relative_pose(body, q)
        p = at_rest(len(rates)) if body.parent == GROUND else motions[body.parent]
        motions.append(step[representation](body, p, B, joint_rates(body, rates)))
    return motions


def at_rest(orders: int) -> BodyMotion:
    """Return the motion of the ground."""
    return BodyMotion(np.eye(4), [], [], [np.zeros(6) for _ in range(orders)])


def carried(T: Derivatives, p: BodyMotion, X: Derivatives, own: Sequence[Array], k: int) -> Array:
    """Return the k-th derivative of T V_p + X q'."""
    return product_derivative(np.matmul, T, p.V, k) + product_derivative(np.matmul, X, own, k)


def bracket(V: Array, X: Array) -> Array:
    """Return [V, X] for a twist (6,) and screws (6,), (6, k) or a matrix of them."""
    return ad(V) @ X


def body_step(body: Body, p: BodyMotion, B: Array, own: Sequence[Array]) -> BodyMotion:
    """Return V_i = Ad_{C_i,p} V_p + X_i q_i' and its derivatives (K-22)."""
    T = [Ad(inverse(B))]
    X = [body.X, *(zeros(body.X.shape, *own) for _ in own)]
    relative = [-(body.X @ rate) for rate in own]  # T' = -ad_{X q'} T
    V: Derivatives = []
    for k in range(len(own)):
        V.append(carried(T, p, X, own, k))
        T.append(product_derivative(bracket, relative, T, k))
    return BodyMotion(p.C @ B, T, X, V)


def spatial_step(body: Body, p: BodyMotion, B: Array, own: Sequence[Array]) -> BodyMotion:
    """Return V_i = V_p + X_i q_i', X_i = Ad_{C_i} X_i^b, and its derivatives (K-26)."""
    C = p.C @ B
    T, X = [np.eye(6)], [Ad(C) @ body.X]
    V: Derivatives = []
    for k in range(len(own)):
        V.append(p.V[k] + product_derivative(np.matmul, X, own, k))
        T.append(np.zeros((6, 6)))
        X.append(product_derivative(bracket, V, X, k))
    return BodyMotion(C, T, X, V)


def hybrid_step(body: Body, p: BodyMotion, B: Array, own: Sequence[Array]) -> BodyMotion:
    """Return V_i = Ad_{r_p - r_i} V_p + Ad_{R_i} X_i^b q_i' and its derivatives (K-29, D-14)."""
    C = p.C @ B
    R = C[:3, :3]
    T, X = [Ad_r(p.C[:3, 3] - C[:3, 3])], [Ad_R(R) @ body.X]
    V: Derivatives = []
    for k in range(len(own)):
        V.append(carried(T, p, X, own, k))
        T.append(translation(p.V[k][3:] - V[k][3:]))
        turning = [np.concatenate([twist[:3], np.zeros(3)]) for twist in V]
        X.append(product_derivative(bracket, turning, X, k))
    return BodyMotion(C, T, X, V)


def mixed_step(body: Body, p: BodyMotion, B: Array, own: Sequence[Array]) -> BodyMotion:
    """Return V_i = T_i V_p + (xi_i, R_i eta_i) q_i' and its derivatives (K-32).

    The lower left block of T_i maps the angular velocity of p, resolved in p, to the velocity of
    the origin of body i: T_i = [[0], [(r_p - r_i)~]] R_p + diag(R_i,p, 1).
    """
    C = p.C @ B
    R, R_p, r = C[:3, :3], p.C[:3, :3], p.C[:3, 3] - C[:3, 3]
    xi, eta = body.X[:3], body.X[3:]
    rows = [[B[:3, :3].T], [hat(r) @ R_p]]
    turn, lever, axes_p = [B[:3, :3].T], [hat(r)], [R_p]
    R_list = [R]
    V: Derivatives = []
    T = [blocks(turn[0], lever[0] @ axes_p[0], np.eye(3))]
    X = [np.concatenate([xi, R @ eta])]
    relative = [-(xi @ rate) for rate in own]
    for k in range(len(own)):
        V.append(carried(T, p, X, own, k))
        turn.append(product_derivative(crossed, relative, turn, k))
        lever.append(hat(p.V[k][3:] - V[k][3:]))
        axes_p.append(product_derivative(rotated, axes_p, [twist[:3] for twist in p.V], k))
        R_list.append(product_derivative(rotated, R_list, [twist[:3] for twist in V], k))
        T.append(
            blocks(
                turn[k + 1],
                product_derivative(np.matmul, lever, axes_p, k + 1),
                np.zeros((3, 3)),
            )
        )
        X.append(np.concatenate([np.zeros(xi.shape), R_list[k + 1] @ eta]))
    return BodyMotion(C, T, X, V)
