# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Poses of child links in their parent links, in the form tf2 wants them.

For each joint with the origin (R_0, r_0) in the parent link, the motion (R_q, r_q) of the joint and
quaternions p of rotations,

    r = r_0 + R_0 r_q,    p = p(R_0) p(R_q).

A quarter turn of the elbow, one unit from the shoulder: half the angle has cosine and sine 0.7071.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> shoulder, elbow = joint_transforms(planar_arm(), np.array([0.0, np.pi / 2]))
>>> elbow[:3], elbow[3:].round(4)
(array([1., 0., 0.]), array([0.    , 0.    , 0.7071, 0.7071]))

Source: Bruyninckx 2010 (3.54)-(3.63) (B-054, B-055).
"""

from __future__ import annotations

import numpy as np

from ..lie import quaternions
from ..tree.multibody_tree import MovingJoint, Tree, rotation_of_z_to
from ..types import Array


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
    if joint.kind.is_free:
        position, quaternion = q_i[:3], q_i[3:] / np.sqrt(q_i[3:] @ q_i[3:])
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
