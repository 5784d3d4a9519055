# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Current joint axes, and Jacobians constructed from them.

The column of joint j in the Jacobian of a body, with the current axis direction e_j, a point b_j on
the axis relative to the reference point, and the pitch h_j, is

    J_j = (e_j, b_j x e_j + h_j e_j).

The representations differ in the reference point and the axes only. Example: the arm of unit
lengths points upward, and its elbow is at (0, 1, 0).

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> shoulder, elbow = current_axes(planar_arm(), [np.pi / 2, 0.0])
>>> elbow.direction[0] + 0.0, elbow.point[0].round(3) + 0.0, float(elbow.pitch[0])
(array([0., 0., 1.]), array([0., 1., 0.]), 0.0)

Source: Müller 2018a (1), (2), (14), (28), (52), (62) (K-04, K-20); Bruyninckx 2010 (5.23) (B-122).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...kinematics.jacobians import check_representation
from ...kinematics.poe import body_poses, link_pose
from ...kinematics.product_of_exponentials import joint_axes
from ...lie.screws import Screw, transform_twist, unit_screw
from ...tree.multibody_tree import Tree
from ...types import Array


def current_axes(tree: Tree, q: ArrayLike) -> list[Screw]:
    """Return the joint axes of every body in the root frame, as stacks of k screws.

    A `Screw` has directions (k, 3), points (k, 3) [m] and pitches (k,) [m/rad]; a prismatic joint
    has infinite pitch and the point (0, 0, 0).
    """
    C = body_poses(tree, np.asarray(q, dtype=np.float64))
    return [joint_axes(transform_twist(C_i, body.X.T)) for C_i, body in zip(C, tree.bodies)]


def geometric_jacobian(
    tree: Tree, q: ArrayLike, link: str, representation: str = 'hybrid'
) -> Array:
    """Return the Jacobian (6, nv) of a link, built from the current axes (K-20).

    Equal to `jacobians.jacobian`, but constructed geometrically instead of by transformation.
    """
    check_representation(representation)
    q = np.asarray(q, dtype=np.float64)
    C, axes = link_pose(tree, q, link), current_axes(tree, q)
    R, r = C[:3, :3], C[:3, 3]
    reference = np.zeros(3) if representation == 'spatial' else r
    J = np.zeros((6, tree.nv))
    for i in tree.path(tree.frame(link).body):
        body, axis = tree.bodies[i], axes[i]
        columns = unit_screw(axis.direction, axis.point - reference, axis.pitch)
        J[:, body.v] += body.multiplier * columns.T
    if representation in ('body', 'mixed'):
        J[:3] = R.T @ J[:3]
    if representation == 'body':
        J[3:] = R.T @ J[3:]
    return J
