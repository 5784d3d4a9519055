# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recursive inverse dynamics in the four representations of twists.

From the root to the tips: the motion of every body, V_i = T_i V_p + X_i q_i' and its derivative
(`kinematics.twist_recursions`). From the tips to the root, with the Newton-Euler equations of each
body (`newton_euler`):

    W_i = M_i V_i' + B_i V_i - W_i^app + sum over the successors k of T_k^T W_k,    Q_i = X_i^T W_i.

The four representations differ in T, X, M and B, and in their number of operations
(doc/theory/formulations.md). `inverse_dynamics`, in body axes and without linear velocities, is the
fastest on most robots; `Robot` compiles that one.

Example: the straight arm of unit lengths and masses, M = [[5, 2], [2, 1]], g = 10, has the gravity
torques 30 and 10, and a unit acceleration of the shoulder needs 5 and 2, in every representation.

>>> import numpy as np
>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> arm, rest, a, g = planar_arm(), np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, -10.0, 0.0])
>>> for name in ('body', 'spatial', 'hybrid', 'mixed'):
...     print(recursive_inverse_dynamics(arm, rest, rest, a, g, None, name))
[35. 12.]
[35. 12.]
[35. 12.]
[35. 12.]

Source: Müller 2018b (65)-(76), corrected (D-24 to D-27, D-29 to D-31, E-18, E-19; E-35 resolved by
D-29); the mixed form is in neither paper (D-28). Bruyninckx 2010 section 6.4.1 (C-057).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...dynamics.drive_forces import driving_torques
from ...dynamics.inverse_dynamics import applied_wrenches
from ...dynamics.newton_euler import newton_euler, represented_inertia
from ...kinematics.twist_recursions import BodyMotion, body_motions
from ...lie.screws import convert_wrench
from ...linear import zeros
from ...tree.multibody_tree import GROUND, Tree
from ...types import Array


@dataclass(frozen=True, eq=False)
class BodyDynamics:
    """The motion of all bodies and the corresponding wrenches.

    Attributes
    ----------
    torques : (nv,) array
        Generalized forces Q [N m, N].
    motions : list of BodyMotion
        Configurations, twists and accelerations; the latter relative to free fall.
    wrenches : list of (6,) arrays
        W_i [N m, N]: wrench of the predecessor on body i through the joint, sum of reaction and
        drive (D-30), in the representation.
    """

    torques: Array
    motions: list[BodyMotion]
    wrenches: list[Array]


def body_dynamics(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    gravity: Array | None,
    wrenches: Mapping[str, Array] | None = None,
    representation: str = 'body',
) -> BodyDynamics:
    """Return the results for every body; arguments as in `recursive_inverse_dynamics`.

    Bodies are those of the tree: links connected by fixed joints are one body, and a planar joint
    is three. For wrenches at the joints of the description see `joint_wrenches`.
    """
    ground = None if gravity is None else -gravity
    motions = body_motions(tree, q, [v, a], representation, ground)
    applied = applied_wrenches(tree, wrenches)
    W: list[Array] = []
    for i, (body, motion) in enumerate(zip(tree.bodies, motions)):
        M = represented_inertia((body.m, body.h, body.I), motion.C, representation)
        W.append(newton_euler(M, motion.V[0], motion.V[1], motion.R, representation))
        if i in applied:
            W[i] = W[i] - convert_wrench(applied[i], motion.C, 'body', representation)

    Q = zeros(tree.nv, *W) + tree.coupled_inertias @ a
    for i in reversed(range(len(W))):
        body, motion = tree.bodies[i], motions[i]
        rotor = body.drive.reflected_inertia * motion.own[1]
        Q[body.v] = Q[body.v] + body.multiplier * (motion.X[0].T @ W[i] + rotor)
        if body.parent != GROUND:
            W[body.parent] = W[body.parent] + motion.handed_down(W[i])
    return BodyDynamics(driving_torques(tree, q, v, Q), motions, W)


def recursive_inverse_dynamics(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    gravity: Array | None,
    wrenches: Mapping[str, Array] | None = None,
    representation: str = 'body',
) -> Array:
    """Return the generalized forces Q (nv,) [N m, N] of the motion (q, v, a).

    Parameters
    ----------
    tree : Tree
        From any description of the geometry (`robot_geometry.tree_of`, `build_tree`): body frames
        are arbitrary (D-31).
    q : (nq,), v : (nv,), a : (nv,)
        Configuration, velocity and acceleration of the joints.
    gravity : (3,) array or None
        Acceleration of free fall in the root frame [m/s^2]: the ground has the opposite
        acceleration.
    wrenches : {link: (6,)}
        Wrench (moment, force) of the environment on a link, at its origin, in its frame [N m, N].
    representation : {'body', 'spatial', 'hybrid', 'mixed'}
        D-25, D-26, D-27, D-28.

    Raises
    ------
    UnknownNameError
        There is no such representation or link.
    """
    return body_dynamics(tree, q, v, a, gravity, wrenches, representation).torques
