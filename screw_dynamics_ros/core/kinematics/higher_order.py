# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Accelerations, jerks and higher derivatives of twists; rates of Jacobians.

Twists and their derivatives come from the body-fixed recursion, in which the joint screws are
constant; the other representations follow by Leibniz' rule from the changes of representation, such
as V^h = Ad_R V^b with

    d/dt (R x) = R (x' + omega^b x x).

Rates of Jacobians, with the joints k between joint j and the link and spatial twists V:

    body      J_j' = sum over k of [J_j, J_k] q_k',
    spatial   J_j' = [V_j, J_j],
    hybrid    (xi', eta' - r x xi' - r' x xi)  of the spatial J_j = (xi, eta), J_j' = (xi', eta').

It is in changes of representation that the printed formulas of the papers go wrong (E-09, E-11,
E-13). The straight arm of unit lengths turns once a radian per second about the shoulder: the tip
at (2 cos t, 2 sin t) has at t = 0 the acceleration (-2, 0) and the jerk (0, -2).

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> q, v = np.zeros(2), np.array([1.0, 0.0])
>>> V, dV, ddV = twist_derivatives(planar_arm(), q, [v, 0.0 * v, 0.0 * v], 'tip', 'hybrid')
>>> dV[3:] + 0.0, ddV[3:] + 0.0
(array([-2.,  0.,  0.]), array([ 0., -2.,  0.]))

Source: Müller 2018b (2)-(7), (12), (15)-(22), (24)-(33), corrected (D-04, D-05, D-08, D-10, D-12,
D-14 to D-16); Müller 2018a (63), (70)-(75), (98) (K-09).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..lie.so3 import hat
from ..linear import cross, zeros
from ..tree.multibody_tree import Tree
from ..types import Array
from .jacobians import body_columns, check_representation
from .poe import relative_pose
from .twist_recursions import (
    BodyFixedMotion,
    Derivatives,
    bracket,
    joint_rates,
    product_derivative,
    to_body,
    to_root,
)


def body_fixed_motion(
    tree: Tree, q: Array, rates: Sequence[Array], link: str
) -> tuple[Array, Derivatives]:
    """Return the pose (4, 4) of a link, and [V, V', ...], its body-fixed twist and derivatives.

    Arguments as in `twist_derivatives`.
    """
    frame, motion = tree.frame(link), None
    for i in tree.path(frame.body):
        body = tree.bodies[i]
        motion = BodyFixedMotion(body, relative_pose(body, q), joint_rates(body, rates), motion)
    if motion is None:
        return frame.S, [np.zeros(6) for _ in rates]
    return motion.C @ frame.S, [to_body(frame.S, V) for V in motion.V]


def twist_derivatives(
    tree: Tree, q: Array, rates: Sequence[Array], link: str, representation: str
) -> Derivatives:
    """Return the twist of a link and its derivatives: velocity, acceleration, jerk, snap, ...

    They are derivatives of components, as the papers have them: the linear part of a hybrid or
    mixed acceleration is the acceleration of the link's origin, that of a spatial or body-fixed
    one is not (D-16).

    Parameters
    ----------
    rates : sequence of (nv,) arrays
        v, a, and further time derivatives of the joint coordinates; as many are returned.
    """
    check_representation(representation)
    C, V = body_fixed_motion(tree, q, rates, link)
    if representation == 'body':
        return V
    R, omega = C[:3, :3], [x[:3] for x in V]
    linear = rotated(R, omega, [x[3:] for x in V])  # r', r'', ...
    angular = omega if representation == 'mixed' else rotated(R, omega, omega)
    if representation == 'spatial':  # r' + r x omega
        r = [C[:3, 3], *linear]
        linear = [x + product_derivative(cross, r, angular, k) for k, x in enumerate(linear)]
    return [np.concatenate(parts) for parts in zip(angular, linear)]


def rotated(R: Array, omega: Derivatives, x: Derivatives) -> Derivatives:
    """Return R x and its derivatives, d/dt (R x) = R (x' + omega x x) with omega in the body."""
    result = []
    while x:
        result.append(R @ x[0])
        x = [x[k + 1] + product_derivative(cross, omega, x, k) for k in range(len(x) - 1)]
    return result


def acceleration(
    tree: Tree, q: Array, v: Array, a: Array, link: str, representation: str = 'hybrid'
) -> Array:
    """Return the time derivative of a link's twist, (6,) [rad/s^2, m/s^2] (D-05, D-10, D-14)."""
    return twist_derivatives(tree, q, [v, a], link, representation)[1]


def jacobian_derivative(
    tree: Tree, q: Array, v: Array, link: str, representation: str = 'hybrid'
) -> Array:
    """Return the time derivative of the (6, nv) Jacobian of a link (D-04, D-10, D-14, D-16)."""
    check_representation(representation)
    if representation == 'body':
        return body_jacobian_derivative(tree, q, v, link)
    frame, C, V, columns = tree.frame(link), np.eye(4), np.zeros(6), []
    for i in tree.path(frame.body):
        body = tree.bodies[i]
        C = C @ relative_pose(body, q)
        J = to_root(C, body.X)
        V = V + J @ (body.multiplier * v[body.v])
        columns.append((body, J, bracket(V, J)))
    rate = zeros((6, tree.nv), C, V)
    for body, J, dJ in columns:
        column = rate_of_columns(C @ frame.S, V, J, dJ, representation)
        rate[:, body.v] = rate[:, body.v] + body.multiplier * column
    return rate


def body_jacobian_derivative(tree: Tree, q: Array, v: Array, link: str) -> Array:
    """Return the (6, nv) rate of the body-fixed Jacobian, J_ij' = sum over k > j [J_ij, J_ik] q_k'.

    k are the joints between joint j and the link (D-04).
    """
    rate, V = zeros((6, tree.nv), q, v), np.zeros(6)
    for body, J in body_columns(tree, q, link):
        rate[:, body.v] = rate[:, body.v] - body.multiplier * bracket(V, J)
        V = V + J @ (body.multiplier * v[body.v])
    return rate


def rate_of_columns(C: Array, V: Array, J: Array, dJ: Array, representation: str) -> Array:
    """Return the rate of spatial, hybrid or mixed columns (6, k); J and J' = dJ are spatial.

    C and V are the pose and the spatial twist of the link.
    """
    if representation == 'spatial':
        return dJ
    R, r, omega = C[:3, :3], C[:3, 3], V[:3]
    dr = V[3:] + hat(omega) @ r
    d_angular, d_linear = dJ[:3], dJ[3:] - hat(r) @ dJ[:3] - hat(dr) @ J[:3]
    if representation == 'mixed':  # d/dt (R^T x) = R^T (x' - omega x x)
        d_angular = R.T @ (d_angular - hat(omega) @ J[:3])
    return np.concatenate([d_angular, d_linear])
