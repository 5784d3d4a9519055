# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Equations of motion as matrix products: projected Newton-Euler and Lagrange equations.

The stacked twists of all bodies are V = J q', J = A X (`formulations.factorization`), and their
Newton-Euler equations W = M V' + B V with block-diagonal M and B (`newton_euler`). Reactions do no
work along J and are eliminated from

    Q = J^T (M V' + B V - W^app) = M(q) q'' + C(q, q') q' - J^T W^app,
    M(q) = J^T M J,    C(q, q') = J^T (M J' + B J).

This is known as Jourdain's principle applied to the Newton-Euler equations ("Euler-Jourdain"),
Bremer's projection equations, Kane's equations (the columns of J are the partial velocities), and
the natural orthogonal complement of Angeles and Lee. The results are Lagrange's equations: (84) of
Müller 2018b is the body-fixed C.

These O(n^3) forms are for analysis and reference; the recursions are faster. Example: the arm of
unit lengths and masses, elbow at a right angle, rotates about the shoulder. It has
M = [[3, 1], [1, 1]] and the centrifugal torque sin(q_2) v_1^2 = 1 at the elbow:

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> q, v = np.array([0.0, np.pi / 2]), np.array([1.0, 0.0])
>>> mass_matrix(planar_arm(), q, 'hybrid').round(3) + 0.0
array([[3., 1.],
       [1., 1.]])
>>> (coriolis_matrix(planar_arm(), q, v, 'spatial') @ v).round(3) + 0.0
array([0., 1.])

Source: Müller 2018b (77), (78), (80)-(84) (D-32, D-35, D-37).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...dynamics.drive_forces import driving_torques
from ...dynamics.inverse_dynamics import applied_wrenches
from ...dynamics.mass_matrix import reflected_inertias
from ...dynamics.newton_euler import bias_matrix, represented_inertia, skew_bias_matrix
from ...errors import InertiaError
from ...kinematics.twist_recursions import BodyMotion, body_motions
from ...lie.screws import convert_wrench
from ...lie.so3 import hat
from ...linear import zeros
from ...tree.multibody_tree import Tree
from ...types import Array
from .factorization import block, factors, system_jacobian_derivative


@dataclass(frozen=True, eq=False)
class SystemMatrices:
    """Jacobian and Newton-Euler equations of all n bodies in one representation.

    Attributes
    ----------
    J, dJ : (6n, nv) arrays
        System Jacobian and its time derivative.
    M, B : (6n, 6n) arrays
        Block-diagonal matrices of W = M V' + B V.
    """

    J: Array
    dJ: Array
    M: Array
    B: Array


def system_matrices(
    tree: Tree, q: Array, v: Array, representation: str = 'body', *, skew: bool = False
) -> SystemMatrices:
    """Return the matrices of all bodies at a state; see `coriolis_matrix` for `skew`."""
    motions = body_motions(tree, q, [v], representation)
    n = len(motions)
    M, B = zeros((6 * n, 6 * n), q), zeros((6 * n, 6 * n), q, v)
    make_bias = skew_bias_matrix if skew else bias_matrix
    for i, (body, motion) in enumerate(zip(tree.bodies, motions)):
        M_i = represented_inertia((body.m, body.h, body.I), motion.C, representation)
        M[block(i), block(i)] = M_i
        B[block(i), block(i)] = make_bias(M_i, motion.V[0], motion.R, representation)
    J = factors(tree, q, representation).jacobian
    return SystemMatrices(J, system_jacobian_derivative(tree, q, v, representation), M, B)


def mass_matrix(tree: Tree, q: Array, representation: str = 'body') -> Array:
    """Return M(q) = J^T M J, (nv, nv), the same in every representation (D-35)."""
    system = system_matrices(tree, q, np.zeros(tree.nv), representation)
    return system.J.T @ system.M @ system.J + reflected_inertias(tree)


def coriolis_matrix(
    tree: Tree, q: Array, v: Array, representation: str = 'body', *, skew: bool = False
) -> Array:
    """Return C = J^T (M J' + B J), (nv, nv); C v are the Coriolis torques.

    Parameters
    ----------
    tree : Tree
    q : (nq,), v : (nv,)
    representation : {'body', 'spatial', 'hybrid', 'mixed'}
        'body' is (84), C = -J^T (M A a + b^T M) J. The torques C v are the same in all.
    skew : bool
        Use the form of B with which dM/dt - 2 C is skew-symmetric (D-37): then C is also the same
        in all representations. The published forms have this property in the spatial one only,
        E-36. The C of Christoffel symbols (`coriolis.coriolis_matrix`) differs and also has it.
    """
    system = system_matrices(tree, q, v, representation, skew=skew)
    return system.J.T @ (system.M @ system.dJ + system.B @ system.J)


def projected_torques(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
    representation: str = 'body',
) -> Array:
    """Return Q = J^T (M V' + B V - W^app), (nv,), in any representation (D-32).

    Arguments as in `inverse_dynamics`; weights are applied wrenches here (D-29).
    """
    system = system_matrices(tree, q, v, representation)
    motions = body_motions(tree, q, [v], representation)
    V, dV = system.J @ v, system.J @ a + system.dJ @ v
    W = system.M @ dV + system.B @ V - body_loads(tree, motions, gravity, wrenches, representation)
    Q = system.J.T @ W + reflected_inertias(tree) @ a
    return driving_torques(tree, q, v, Q)


def body_loads(
    tree: Tree,
    motions: list[BodyMotion],
    gravity: Array,
    wrenches: Mapping[str, Array] | None,
    representation: str,
) -> Array:
    """Return the stacked weights and applied wrenches of all bodies, (6n,) (D-29)."""
    applied = applied_wrenches(tree, wrenches)
    loads = []
    for i, (body, motion) in enumerate(zip(tree.bodies, motions)):
        g = motion.R.T @ gravity
        load = np.concatenate([hat(body.h) @ g, body.m * g]) + applied.get(i, np.zeros(6))
        loads.append(convert_wrench(load, motion.C, 'body', representation))
    return np.concatenate(loads) if loads else np.zeros(0)


def kane_torques(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> Array:
    """Return Q (nv,) by Kane's equations in vectors, at the centers of mass (D-32).

    Q_j = sum over the bodies of dw/dq_j' . (Theta w' + w x Theta w - t) + dv_c/dq_j' . (m a_c - f),
    in the axes of the root frame. Arguments as in `inverse_dynamics`.

    Raises
    ------
    InertiaError
        A body has a first moment but no mass, as in a tree whose masses were regrouped.
    """
    motions = body_motions(tree, q, [v, a], 'hybrid', -gravity)
    J = factors(tree, q, 'hybrid').jacobian
    applied = applied_wrenches(tree, wrenches)
    Q = reflected_inertias(tree) @ a
    for i, (body, motion) in enumerate(zip(tree.bodies, motions)):
        if not body.m and body.h.any():
            raise InertiaError(
                f'kane_torques: body {body.name!r} has no mass but a first moment {body.h} kg m, '
                'and therefore no center of mass; use inverse_dynamics'
            )
        R, d_b = motion.R, body.h / body.m if body.m else np.zeros(3)
        d = R @ d_b
        Theta = R @ (body.I + body.m * hat(d_b) @ hat(d_b)) @ R.T
        w, dw, ddr = motion.V[0][:3], motion.V[1][:3], motion.V[1][3:]
        partial_w, partial_r = J[block(i)][:3], J[block(i)][3:]
        partial_c = partial_r - hat(d) @ partial_w
        a_c = ddr + hat(dw) @ d + hat(w) @ (hat(w) @ d)
        t, f = np.zeros(3), np.zeros(3)
        if i in applied:
            f = R @ applied[i][3:]
            t = R @ applied[i][:3] - hat(d) @ f
        Q = Q + partial_w.T @ (Theta @ dw + hat(w) @ (Theta @ w) - t)
        Q = Q + partial_c.T @ (body.m * a_c - f)
    return driving_torques(tree, q, v, Q)
