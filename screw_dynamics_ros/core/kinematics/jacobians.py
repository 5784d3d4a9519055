# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Geometric Jacobians and twists of links: V = J q'.

Column j of the Jacobian of a link, with the joint screw X_j in the frame of body j, is

==============  ====================================  ====
representation  J_j
==============  ====================================  ====
body            Ad_{C_link^-1 C_j} X_j                K-21
spatial         Ad_{C_j} X_j                          K-25
hybrid          Ad_{r_j - r_link} Ad_{R_j} X_j        K-28
mixed           diag(R_link^T, 1) times hybrid        K-31
==============  ====================================  ====

for the joints j on the path to the link, zero for the others. The straight arm of unit lengths: the
tip is at x = 2, the elbow at x = 1, and each joint turns the tip and moves it by its distance:

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> J = jacobian(planar_arm(), np.zeros(2), 'tip', 'hybrid')
>>> J[2], J[4]  # omega_z and v_y
(array([1., 1.]), array([2., 1.]))

Source: Müller 2018a (16)-(19), (28)-(30), (52)-(56), (62)-(66) (K-21, K-25, K-28, K-31).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import UnknownNameError
from ..lie.screws import REPRESENTATIONS
from ..lie.so3 import hat
from ..linear import zeros
from ..tree.multibody_tree import Body, Tree
from ..types import Array
from .poe import relative_pose


def jacobian(tree: Tree, q: Array, link: str, representation: str = 'hybrid') -> Array:
    """Return the (6, nv) Jacobian of a link, angular rows first: twist = jacobian @ v.

    Body-fixed columns come from tip to root, see `body_columns`. The others are built in hybrid
    form, J^h_ij = Ad_{r_j - r_i} Ad_{R_j} X_j = [e; v_j + e x (r_i - r_j)] (K-28), or spatial with
    0 for r_i (K-25); in mixed form the angular rows are resolved in the link (K-31). A mimic
    joint's column is scaled by its multiplier and added to its master's.
    """
    check_representation(representation)
    if representation == 'body':
        J = zeros((6, tree.nv), q)
        for body, columns in body_columns(tree, q, link):
            J[:, body.v] = J[:, body.v] + body.multiplier * columns
        return J
    frame = tree.frame(link)
    path = [tree.bodies[i] for i in tree.path(frame.body)]
    poses, C = [], np.eye(4)
    for body in path:
        C = C @ relative_pose(body, q)
        poses.append(C)
    C_i = C @ frame.S
    R_i, r_i = C_i[:3, :3], C_i[:3, 3]
    # the reference point: the link's origin, or the origin of the root frame for spatial twists
    point = np.zeros(3) if representation == 'spatial' else r_i

    J = zeros((6, tree.nv), C_i)
    for body, C in zip(path, poses):
        R, r = C[:3, :3], C[:3, 3]
        xi, eta = R @ body.X[:3], R @ body.X[3:]
        columns = np.concatenate([xi, eta + hat(r - point) @ xi])
        J[:, body.v] = J[:, body.v] + body.multiplier * columns
    if representation == 'mixed':
        J[:3] = R_i.T @ J[:3]
    return J


def body_columns(tree: Tree, q: Array, link: str) -> Iterator[tuple[Body, Array]]:
    """Yield (body j, J_ij = Ad_{C_j,i}^-1 X_j), the body-fixed columns (6, k), from tip to root.

    The pose of the link in the root frame and the position of the first joint are not needed
    (K-21).
    """
    frame = tree.frame(link)
    C = frame.S  # of the link, seen from body j
    for i in reversed(tree.path(frame.body)):
        body = tree.bodies[i]
        R, r, xi, eta = C[:3, :3], C[:3, 3], body.X[:3], body.X[3:]
        yield body, np.concatenate([R.T @ xi, R.T @ (eta - hat(r) @ xi)])
        C = relative_pose(body, q) @ C


def check_representation(representation: str) -> None:
    """Raise `UnknownNameError` unless `representation` is one of `REPRESENTATIONS`."""
    if representation not in REPRESENTATIONS:
        raise UnknownNameError(
            f'no representation named {representation!r}; '
            f'choose one of {", ".join(REPRESENTATIONS)}'
        )


def velocity(tree: Tree, q: Array, v: Array, link: str, representation: str = 'hybrid') -> Array:
    """Return the (6,) twist (omega, v) of a link [rad/s, m/s]."""
    return jacobian(tree, q, link, representation) @ v
