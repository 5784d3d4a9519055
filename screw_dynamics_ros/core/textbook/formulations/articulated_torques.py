# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse dynamics by articulated inertias.

    Q_i = D_i q_i'' + X_i^T (beta_i + P_i (Ad V_p' + c_i)),    D_i = X_i^T P_i X_i + d_i,

with the articulated inertia P_i and the bias wrench beta_i of the body and all bodies beyond it
(`articulated_body`), which move freely under the torques computed there. The recursive Newton-Euler
algorithm gives the same result with fewer operations.

Example: the straight arm of unit lengths and masses, M = [[5, 2], [2, 1]], g = 10, has the gravity
torques 30 and 10, and a unit acceleration of the shoulder needs 5 and 2.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> rest, a, gravity = np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, -10.0, 0.0])
>>> articulated_torques(planar_arm(), rest, rest, a, gravity)
array([35., 12.])

Source: Bruyninckx 2010 (6.29), corrected (C-058, E-18).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...dynamics.drive_forces import driving_torques
from ...dynamics.inverse_dynamics import applied_wrenches
from ...dynamics.spatial_inertia import inertia_matrix, transported_matrix
from ...errors import ArgumentError
from ...kinematics.twist_recursions import body_motions
from ...lie.screws import transform_wrench
from ...lie.se3 import ad
from ...linear import solve_positive_definite, zeros
from ...tree.multibody_tree import GROUND, Tree
from ...types import Array


def articulated_torques(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> Array:
    """Return the generalized forces Q (nv,) of the motion (q, v, a) (C-058, book (6.29) with E-18).

        Q_i = D_i q_i'' + X_i^T (beta_i + P_i (Ad V_p' + c_i)),    D_i = X_i^T P_i X_i + d_i,

    with the articulated inertia P_i and the bias wrench beta_i of the body and all bodies beyond
    it. Arguments as in `inverse_dynamics`.

    Raises
    ------
    ArgumentError
        The robot has mimic joints, whose individual torques are unknown.
    """
    if tree.is_coupled:
        raise ArgumentError(
            'articulated_torques: the robot has mimic joints, rotors that are bodies or coupled '
            'motors; use inverse_dynamics'
        )
    motions = body_motions(tree, q, [v, a], 'body', -gravity)
    applied = applied_wrenches(tree, wrenches)
    P, beta = [], []
    for i, (body, motion) in enumerate(zip(tree.bodies, motions)):
        P.append(inertia_matrix(body))
        beta.append(-ad(motion.V[0]).T @ (P[i] @ motion.V[0]) - applied.get(i, 0.0))
    Q = zeros(tree.nv, *beta)
    for i in reversed(range(len(motions))):
        body, motion = tree.bodies[i], motions[i]
        own = body.X @ a[body.v]
        U = P[i] @ body.X
        D = body.X.T @ U + body.drive.reflected_inertia * np.eye(body.dof)
        Q[body.v] = D @ a[body.v] + body.X.T @ (beta[i] + P[i] @ (motion.V[1] - own))
        if body.parent != GROUND:
            c = -ad(body.X @ v[body.v]) @ motion.V[0]
            u = Q[body.v] - body.X.T @ beta[i]
            P_a = P[i] - U @ solve_positive_definite(D, U.T)
            beta_a = beta[i] + P_a @ c + U @ solve_positive_definite(D, u)
            P[body.parent] = P[body.parent] + transported_matrix(motion.B, P_a)
            beta[body.parent] = beta[body.parent] + transform_wrench(motion.B, beta_a)
    return driving_torques(tree, q, v, Q)
