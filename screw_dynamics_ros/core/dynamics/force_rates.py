# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Time derivatives of the generalized forces of a motion, to any order, in three representations.

Motions of joints with elastic drives, and the flat outputs of such robots, need torques that are
twice differentiable. The derivatives follow by Leibniz' rule: `kinematics.twist_recursions` gives
those of twists and joint screws; this module computes those of wrenches, from the tips to the root,

    Q_i^(k) = sum over m of binomial(k, m) X_i^(m)T W_i^(k-m).

==============  ========================================  =============================
representation  wrench for the motion of body i           transport to the predecessor
==============  ========================================  =============================
body            M V' - ad_V^T M V                         Ad_{C_i,p}^T, changes with X q'
spatial         (M^s V)', M^s' = -ad_V^T M^s - M^s ad_V   none
hybrid          (M^h V)' + (r' x p, 0),                   lever r_i - r_p
                M^h' = ad_omega M^h - M^h ad_omega
==============  ========================================  =============================

Gravity is a wrench -M (0, g) on each body. Example: the arm of unit lengths and masses rotates
about the shoulder, q = (t, 0). Q = (30 cos t, 10 cos t) for g = 10, so Q' = 0 and Q'' = -Q at
t = 0.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> q, v = np.zeros(2), np.array([1.0, 0.0])
>>> for Q in inverse_dynamics_rates(planar_arm(), q, v, q, q, q, np.array([0.0, -10.0, 0.0])):
...     print(Q.round(3) + 0.0)
[30. 10.]
[0. 0.]
[-30. -10.]

Source: Müller 2018b section 6.3 (D-42).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import UnknownNameError
from ..kinematics.twist_recursions import BodyMotion, Derivatives, body_motions, product_derivative
from ..lie.se3 import Ad, Ad_R, ad, inverse
from ..lie.so3 import hat
from ..linear import zeros
from ..tree.multibody_tree import GROUND, Tree
from ..types import Array
from .drive_forces import spring_torques
from .spatial_inertia import inertia_matrix


def inverse_dynamics_rates(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    jerk: Array,
    snap: Array,
    gravity: Array,
    representation: str = 'body',
) -> tuple[Array, ...]:
    """Return (Q, Q', Q''), (nv,) each: `inverse_dynamics` and its time derivatives (D-42).

    Springs are included.

    Friction is excluded, because its second derivative is meaningless near standstill.

    Parameters
    ----------
    q : (nq,), v, a, jerk, snap : (nv,) arrays
        Configuration, and the first four time derivatives of the joint coordinates.
    gravity : (3,)
        Acceleration of free fall in the root frame [m/s^2].
    representation : {'body', 'spatial', 'hybrid'}
        All give the same result.

    Raises
    ------
    UnknownNameError
        There is no such representation.
    """
    if representation not in WRENCHES:
        raise UnknownNameError(
            f'no representation named {representation!r}; choose one of {", ".join(WRENCHES)}'
        )
    motions = body_motions(tree, q, [v, a, jerk, snap], representation)
    orders = len(motions[0].V) - 1 if motions else 3
    wrench, transported = WRENCHES[representation]
    W = [wrench(motion, gravity) for motion in motions]
    like = zeros(tree.nv, q, v, a, jerk, snap, gravity)
    stiffness, bend = spring_torques(tree, q, 1), spring_torques(tree, q, 2)
    springs = spring_torques(tree, q), stiffness @ v, stiffness @ a + (bend @ v) @ v
    rotors = [tree.coupled_inertias @ each for each in (a, jerk, snap)]
    Q = [like + own + rotor for own, rotor in zip(springs, rotors)][:orders]
    for i in reversed(range(len(tree.bodies))):
        body, X = tree.bodies[i], [x.T for x in motions[i].X]
        for k in range(orders):
            own = product_derivative(np.matmul, X, W[i], k)
            felt = body.drive.reflected_inertia * motions[i].own[k + 1]
            Q[k][body.v] = Q[k][body.v] + body.multiplier * (own + felt)
        if body.parent != GROUND:
            moved = transported(motions[i], W[i])
            W[body.parent] = [own + other for own, other in zip(W[body.parent], moved)]
    return tuple(Q)


def body_wrench(motion: BodyMotion, gravity: Array) -> Derivatives:
    """Return [W, W', ...] of one body, in its frame."""
    M, V = inertia_matrix(motion.body), motion.V
    orders = len(V) - 1
    P = [M @ x for x in V]
    g = along(
        lambda x, k: -product_derivative(np.matmul, [hat(y[:3]) for y in V], x, k),
        [motion.R.T @ gravity, *(np.zeros(3) for _ in range(orders - 1))],
    )
    adT = [ad(x).T for x in V]
    return [
        P[k + 1] - product_derivative(np.matmul, adT, P, k) - M[:, 3:] @ g[k] for k in range(orders)
    ]


def along(rate: Callable[[Derivatives, int], Array], x: Derivatives) -> Derivatives:
    """Return [x, x', ...] of x' = rate(x), with the length of the given list; x[0] is given."""
    result = x[:1]
    for k in range(len(x) - 1):
        result.append(rate(result, k))
    return result


def transported_by_joint(motion: BodyMotion, W: Derivatives) -> Derivatives:
    """Return the derivatives of Ad_{C_i,p}^T W: each is Ad^T of W' - ad_{X q'}^T W."""
    rates = [ad(motion.body.X @ own).T for own in motion.own]
    Ad_T = Ad(inverse(motion.B)).T
    result = []
    while W:
        result.append(Ad_T @ W[0])
        W = [W[k + 1] - product_derivative(np.matmul, rates, W, k) for k in range(len(W) - 1)]
    return result


def spatial_wrench(motion: BodyMotion, gravity: Array) -> Derivatives:
    """Return [W, W', ...] of one body, in the root frame: derivatives of the momentum M^s V."""
    A, V = Ad(inverse(motion.C)), motion.V
    brackets = [ad(x) for x in V]
    transposed = [x.T for x in brackets]
    M = along(
        lambda x, k: (
            -(
                product_derivative(np.matmul, transposed, x, k)
                + product_derivative(np.matmul, x, brackets, k)
            )
        ),
        [A.T @ inertia_matrix(motion.body) @ A] * len(V),
    )
    return [
        product_derivative(np.matmul, M, V, k + 1) - M[k][:, 3:] @ gravity
        for k in range(len(V) - 1)
    ]


def hybrid_wrench(motion: BodyMotion, gravity: Array) -> Derivatives:
    """Return [W, W', ...] of one body, at its origin, in the axes of the root frame."""
    A, V = Ad_R(motion.R), motion.V
    turn = [Ad_of_rate(x[:3]) for x in V]
    M = along(
        lambda x, k: (
            product_derivative(np.matmul, turn, x, k) - product_derivative(np.matmul, x, turn, k)
        ),
        [A @ inertia_matrix(motion.body) @ A.T] * len(V),
    )
    P = [product_derivative(np.matmul, M, V, k) for k in range(len(V))]
    velocity, linear = [hat(x[3:]) for x in V], [p[3:] for p in P]
    return [
        P[k + 1]
        + np.concatenate([product_derivative(np.matmul, velocity, linear, k), np.zeros(3)])
        - M[k][:, 3:] @ gravity
        for k in range(len(V) - 1)
    ]


def Ad_of_rate(omega: Array) -> Array:
    """Return diag(omega~, omega~), (6, 6): the rate of Ad_R is this times Ad_R."""
    return ad(np.concatenate([omega, np.zeros(3)]))


def transported_by_lever(motion: BodyMotion, W: Derivatives) -> Derivatives:
    """Return the derivatives of W with the moment about the origin of the predecessor."""
    lever = [-hat(motion.lever(k)) for k in range(len(W))]
    force = [w[3:] for w in W]
    return [
        w + np.concatenate([product_derivative(np.matmul, lever, force, k), np.zeros(3)])
        for k, w in enumerate(W)
    ]


def unchanged(motion: BodyMotion, W: Derivatives) -> Derivatives:
    """Return W: spatial wrenches need no transport."""
    return W


Wrench = Callable[[BodyMotion, Array], Derivatives]
Transport = Callable[[BodyMotion, Derivatives], Derivatives]

WRENCHES: dict[str, tuple[Wrench, Transport]] = {
    'body': (body_wrench, transported_by_joint),
    'spatial': (spatial_wrench, unchanged),
    'hybrid': (hybrid_wrench, transported_by_lever),
}
