# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Energies and the center of mass.

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

Source: Müller 2018b (39)-(41), (80) (D-17, D-35); Müller 2018a (15) (K-22).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kinematics.poe import body_poses, relative_pose
from ..lie.screws import inverse_transform_twist
from ..lie.so3 import hat
from ..tree.multibody_tree import GROUND, Tree
from ..types import Array
from .drive_forces import spring_energy


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
