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

`joint_transforms` are poses of child links in their parent links, in the form tf2 wants them. For
each joint with the origin (R_0, r_0) in the parent link, the motion (R_q, r_q) of the joint and
quaternions p of rotations,

    r = r_0 + R_0 r_q,    p = p(R_0) p(R_q).

A quarter turn of the elbow, one unit from the shoulder: half the angle has cosine and sine 0.7071.

>>> shoulder, elbow = joint_transforms(planar_arm(), np.array([0.0, np.pi / 2]))
>>> elbow[:3], elbow[3:].round(4)
(array([1., 0., 0.]), array([0.    , 0.    , 0.7071, 0.7071]))

Source: Müller 2018a (4), (5), (8), (76)-(79), (85), (93) (K-03, K-05, K-13), for trees (K-19);
Bruyninckx 2010 (3.54)-(3.63) (B-054, B-055).
"""

from __future__ import annotations

import numpy as np

from ..lie import quaternions, se3
from ..tree.multibody_tree import GROUND, Body, MovingJoint, Tree, rotation_of_z_to
from ..types import Array


def joint_coordinate(body: Body, q: Array) -> Array:
    """Return the joint's own coordinates; those of a mimic joint follow from its master's."""
    return body.multiplier * q[body.q] + body.offset if body.dof == 1 else q[body.q]


def relative_pose(body: Body, q: Array) -> Array:
    """Return C_{p,i} = B_i exp(X_i q_i), the (4, 4) configuration in the predecessor's frame."""
    q_i = joint_coordinate(body, q)
    if body.dof > 1:
        return body.B @ body.group.pose(q_i)
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


def joint_transforms(tree: Tree, q: Array) -> Array:
    """Return (n, 7) poses of child links in parent links, for all of `tree.moving_joints`.

    Each row is (x, y, z, qx, qy, qz, qw), the position in m and a unit quaternion, the form of
    geometry_msgs/Transform.
    """
    rows = [joint_transform(moving, q) for moving in tree.moving_joints]
    return np.stack(rows) if rows else np.zeros((0, 7))


def joint_transform(moving: MovingJoint, q: Array) -> Array:
    """Return (x, y, z, qx, qy, qz, qw) of one joint."""
    joint = moving.joint
    R, r = joint.origin[:3, :3], joint.origin[:3, 3]
    position, quaternion = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    q_i = q[moving.q]
    if joint.kind.has_quaternion:
        position, p = joint.kind.group.position(q_i), q_i[-4:]
        quaternion = p / np.sqrt(p @ p)
    elif not joint.kind.is_scalar:  # in the plane, and about its normal
        x, y, _ = rotation_of_z_to(joint.axis).T
        position, quaternion = (
            x * q_i[0] + y * q_i[1],
            quaternions.exp_unit_axis(joint.axis, q_i[2]),
        )
    else:
        coordinate = moving.multiplier * q_i[0] + moving.offset
        if joint.kind.slides:
            position = joint.axis * coordinate
        else:
            quaternion = quaternions.exp_unit_axis(joint.axis, coordinate)
        if joint.pitch:
            position = joint.axis * (joint.pitch * coordinate)
    return np.concatenate(
        [r + R @ position, quaternions.product(quaternions.from_matrix(R), quaternion)]
    )
