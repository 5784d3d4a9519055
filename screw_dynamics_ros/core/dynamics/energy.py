"""Energies and the centre of mass."""

from __future__ import annotations

from typing import Any

import numpy as np

from screw_dynamics_ros.core.kinematics.poe import body_poses, relative_pose
from screw_dynamics_ros.core.lie.screws import inverse_transform_twist
from screw_dynamics_ros.core.lie.so3 import hat
from screw_dynamics_ros.core.tree.multibody_tree import GROUND, Tree
from screw_dynamics_ros.core.types import Array


def kinetic_energy(tree: Tree, q: Array, v: Array) -> Array:
    """Return T = 1/2 sum V_i^T M_i V_i [J], V_i the body-fixed twists (muller.md D-17, K-22).

    The inertias that drives are felt with at their joints count as well.
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
        T = T + 0.5 * body.drive.felt_inertia * (rate @ rate)
    return np.asarray(T)


def first_moment(tree: Tree, q: Array) -> Array:
    """Return the (3,) sum of m r over all links, in the root frame [kg m]."""
    moment = tree.fixed_moment
    for body, C in zip(tree.bodies, body_poses(tree, q)):
        moment = moment + body.m * C[:3, 3] + C[:3, :3] @ body.h
    return moment


def potential_energy(tree: Tree, q: Array, gravity: Array) -> Array:
    """Return U = -gravity . sum m r [J], zero for masses at the origin of the root frame."""
    return np.asarray(-gravity @ first_moment(tree, q))


def center_of_mass(tree: Tree, q: Array) -> Array:
    """Return the (3,) centre of mass of all links, root link included, in the root frame [m]."""
    return first_moment(tree, q) / tree.total_mass
