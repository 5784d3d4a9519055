# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forward kinematics of a tree by products of exponentials.

With B_i the configuration of body i in its predecessor p at q_i = 0, X_i the joint screw in the
frame of the body and S the frame of a link in the body,

    C_p,i = B_i exp(X_i q_i),    C_i = C_p C_p,i,    C_link = C_i S.

The arm of unit lengths, its elbow at a right angle, reaches (1, 1):

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> link_pose(planar_arm(), np.array([0.0, np.pi / 2]), 'tip')[:3, 3].round(3)
array([1., 1., 0.])

Source: Müller 2018a (4), (5), (8), (76)-(79), (85), (93) (K-03, K-05, K-13), for trees (K-19).
"""

from __future__ import annotations

import numpy as np

from ..lie import quaternions, se3
from ..tree.multibody_tree import GROUND, Body, Tree
from ..types import Array


def joint_coordinate(body: Body, q: Array) -> Array:
    """Return the joint's own coordinates; those of a mimic joint follow from its master's."""
    return body.multiplier * q[body.q] + body.offset if body.dof == 1 else q[body.q]


def relative_pose(body: Body, q: Array) -> Array:
    """Return C_{p,i} = B_i exp(X_i q_i), the (4, 4) configuration in the predecessor's frame."""
    q_i = joint_coordinate(body, q)
    if body.dof == 6:
        return body.B @ se3.pose(quaternions.to_matrix(q_i[3:]), q_i[:3])
    return body.B @ se3.screw_motion(body.screw_terms, q_i[0])


def body_poses(tree: Tree, q: Array) -> list[Array]:
    """Return C_i = C_{p(i)} B_i exp(X_i q_i) for every body, (4, 4) each, in the root frame."""
    C: list[Array] = []
    for body in tree.bodies:
        relative = relative_pose(body, q)
        C.append(relative if body.parent == GROUND else C[body.parent] @ relative)
    return C


def link_pose(tree: Tree, q: Array, link: str) -> Array:
    """Return the (4, 4) pose of one link in the root frame."""
    frame = tree.frame(link)
    C = np.eye(4)
    for i in tree.path(frame.body):
        C = C @ relative_pose(tree.bodies[i], q)
    return C @ frame.S


def link_poses(tree: Tree, q: Array) -> Array:
    """Return the (n_links, 4, 4) poses of all links in the root frame, as in `tree.frames`."""
    C = body_poses(tree, q)
    return np.stack(
        [
            frame.S if frame.body == GROUND else C[frame.body] @ frame.S
            for frame in tree.frames.values()
        ]
    )
