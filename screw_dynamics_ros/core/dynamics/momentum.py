# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Momentum of the whole robot, about the root's origin and about the center of mass.

The total is the sum of the spatial momenta of the bodies,

    P = sum Ad_{C_i^-1}^T M_i V_i,    A(q) v = Ad_c^T P,    c the center of mass.

Example: the straight arm of unit lengths and masses rotates about the shoulder. The masses at 1 and
2 move at 1 and 2: the linear momentum is 3, the angular momentum 1 + 4, and about the center of
mass at 1.5 it is 5 - 1.5 * 3.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> q, v = np.zeros(2), np.array([1.0, 0.0])
>>> total_momentum(planar_arm(), q, v)[[2, 4]], centroidal_momentum(planar_arm(), q, v)[[2, 4]]
(array([5., 3.]), array([0.5, 3. ]))

Source: Müller 2018b (35), (41), (47), (79) (D-18, D-34), composite inertias as in D-37; Bruyninckx
2010 section 6.2.8 (C-055).
"""

from __future__ import annotations

import numpy as np

from ..kinematics.poe import relative_pose
from ..kinematics.twist_recursions import body_motions
from ..lie.screws import transform_wrench
from ..lie.so3 import hat
from ..linear import zeros
from ..tree.multibody_tree import GROUND, Tree
from ..types import Array
from .energy import center_of_mass
from .spatial_inertia import RigidInertia, added, momentum, transported


def total_momentum(tree: Tree, q: Array, v: Array) -> Array:
    """Return the sum of all momenta, (6,): (angular, linear) about the origin, in root axes."""
    motions = body_motions(tree, q, [v], 'body')
    P = {
        i: momentum((body.m, body.h, body.I), motion.V[0])
        for i, (body, motion) in enumerate(zip(tree.bodies, motions))
    }
    P[GROUND] = np.zeros(6)
    for i in reversed(range(len(tree.bodies))):
        p = tree.bodies[i].parent
        P[p] = P[p] + motions[i].handed_down(P[i])
    return P[GROUND]


def centroidal_momentum(tree: Tree, q: Array, v: Array) -> Array:
    """Return (angular, linear) momentum about the center of mass, (6,), in root axes."""
    return about(center_of_mass(tree, q), total_momentum(tree, q, v))


def centroidal_map(tree: Tree, q: Array) -> Array:
    """Return A(q), (6, nv): centroidal_momentum = A v.

    Column j is the momentum M_j J_j of all bodies that joint j carries, at unit rate (D-37).
    """
    C = [relative_pose(body, q) for body in tree.bodies]
    composite: list[RigidInertia] = [(body.m, body.h, body.I) for body in tree.bodies]
    A = zeros((6, tree.nv), *C)
    for i in reversed(range(len(tree.bodies))):
        body = tree.bodies[i]
        P = momentum(composite[i], body.X)
        for k in reversed(tree.path(i)):
            P = transform_wrench(C[k], P.T).T
        A[:, body.v] = A[:, body.v] + body.multiplier * P
        if body.parent != GROUND:
            carried = transported(C[i], composite[i])
            composite[body.parent] = added(composite[body.parent], carried)
    return about(center_of_mass(tree, q), A)


def center_of_mass_velocity(tree: Tree, q: Array, v: Array) -> Array:
    """Return the velocity of the center of mass of all links, (3,) [m/s], in root axes."""
    return total_momentum(tree, q, v)[3:] / tree.total_mass


def about(point: Array, P: Array) -> Array:
    """Return momenta (6,) or (6, k), given about the origin, about a point."""
    return np.concatenate([P[:3] - hat(point) @ P[3:], P[3:]])
