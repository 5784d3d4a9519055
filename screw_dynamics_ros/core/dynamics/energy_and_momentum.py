# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Energies, center of mass and momentum of the whole robot.

    T = 1/2 sum V_i^T M_i V_i + 1/2 sum d_i q_i'^2,    U = -g . sum (m_i r_i + R_i h_i) + U_s,

with body-fixed twists V_i, the inertias d_i of the drives and the energy U_s of their springs. The
straight arm of unit lengths and masses turning about the shoulder: the masses move at 1 and 2,
T = (1 + 4) / 2; upright they are 1 and 2 high.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> arm = planar_arm()
>>> float(kinetic_energy(arm, np.zeros(2), np.array([1.0, 0.0])))
2.5
>>> round(float(potential_energy(arm, np.array([np.pi / 2, 0.0]), np.array([0, -10.0, 0]))), 6)
30.0

The total momentum about the root's origin is the sum of the spatial momenta of the bodies, A(q) v
the momentum about the center of mass,

    P = sum Ad_{C_i^-1}^T M_i V_i,    A(q) v = Ad_c^T P,    c the center of mass.

Example: the straight arm of unit lengths and masses rotates about the shoulder. The masses at 1 and
2 move at 1 and 2: the linear momentum is 3, the angular momentum 1 + 4, and about the center of
mass at 1.5 it is 5 - 1.5 * 3.

>>> q, v = np.zeros(2), np.array([1.0, 0.0])
>>> total_momentum(arm, q, v)[[2, 4]], centroidal_momentum(arm, q, v)[[2, 4]]
(array([5., 3.]), array([0.5, 3. ]))

Source: Müller 2018b (39)-(41), (80) (D-17, D-35); Müller 2018a (15) (K-22); (35), (41), (47), (79)
(D-18, D-34), composite inertias as in D-37; Bruyninckx 2010 section 6.2.8 (C-055).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kinematics.poe import body_poses, relative_pose
from ..kinematics.twist_recursions import body_motions
from ..lie.screws import inverse_transform_twist, transform_wrench
from ..lie.so3 import hat
from ..linear import zeros
from ..tree.multibody_tree import GROUND, Tree
from ..types import Array
from .drive_forces import spring_energy
from .spatial_inertia import RigidInertia, added, momentum, transported


def kinetic_energy(tree: Tree, q: Array, v: Array) -> Array:
    """Return T = 1/2 sum V_i^T M_i V_i [J], V_i the body-fixed twists (D-17, K-22).

    The reflected inertias of drives are included.
    """
    V: list[Array] = []
    T: Any = 0.0
    for body in tree.bodies:
        C = relative_pose(body, q)
        V_p = np.zeros(6) if body.parent == GROUND else V[body.parent]
        rate = body.multiplier * v[body.v]
        V_i = inverse_transform_twist(C, V_p) + body.X @ rate
        V.append(V_i)
        omega, u = V_i[:3], V_i[3:]
        T = T + 0.5 * (omega @ (body.I @ omega) + body.m * (u @ u)) + u @ (hat(omega) @ body.h)
        T = T + 0.5 * body.drive.reflected_inertia * (rate @ rate)
    for motor in tree.motors:
        T = T + 0.5 * motor.inertia * (motor.row @ v) ** 2
    return np.asarray(T)


def first_moment(tree: Tree, q: Array) -> Array:
    """Return the (3,) sum of m r over all links, in the root frame [kg m]."""
    moment = tree.fixed_moment
    for body, C in zip(tree.bodies, body_poses(tree, q)):
        moment = moment + body.m * C[:3, 3] + C[:3, :3] @ body.h
    return moment


def potential_energy(tree: Tree, q: Array, gravity: Array) -> Array:
    """Return U = -gravity . sum m r [J] and the energy in springs.

    Zero for masses at the origin of the root frame; for springs see `spring_energy`.
    """
    return np.asarray(-gravity @ first_moment(tree, q) + spring_energy(tree, q))


def center_of_mass(tree: Tree, q: Array) -> Array:
    """Return the (3,) center of mass of all links with the root link, in the root frame [m]."""
    return first_moment(tree, q) / tree.total_mass


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
