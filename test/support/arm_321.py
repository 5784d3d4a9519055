# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The 321 arm of Bruyninckx's chapter 7 and its golden numbers (8.1 of the specification)."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Joint, Link, RobotDescription

L1, L2, L3, L6 = 0.4, 0.5, 0.45, 0.1

#: Kinematic zero: upright. Positive rotation about +Z, -X, -X, +Z, -X, +Z bends it forward.
AXES = [(0, 0, 1), (-1, 0, 0), (-1, 0, 0), (0, 0, 1), (-1, 0, 0), (0, 0, 1)]
HEIGHTS = [0.0, L1, L1 + L2, L1 + L2 + L3, L1 + L2 + L3, L1 + L2 + L3]

Q = np.array([0.3, 0.4, 0.7, -0.5, 0.6, 1.1])
QD = np.array([0.1, -0.2, 0.3, 0.4, -0.5, 0.6])

POSE = np.array(
    [
        [0.792332335, -0.609569964, -0.025177964, -0.178574693],
        [-0.021104491, -0.068629938, 0.997418935, 0.668885979],
        [-0.609724586, -0.789755906, -0.067242383, 1.057924513],
        [0, 0, 0, 1],
    ]
)
SPATIAL_TWIST = np.array(
    [0.235337715, 0.9352558, 0.454726803, -0.772641151, 0.244511949, -0.2997618]
)
BODY_TWIST = np.array(
    [-0.110530528, -0.566764529, 0.896339605, -0.082458495, 0.039658322, -0.084897912]
)
DETERMINANT = 0.048758975

#: What the robot exerts, force first, at the origin of the base, and the torques for it.
FORCE_FIRST = np.array([1, 2, 3, 0.1, 0.2, 0.3])
TAU = np.array([0.3, -0.800698799, -0.960398394, -0.769336226, -0.921010274, -1.48448428])

#: All inverse solutions of POSE: forward, elbow up, no flip first.
SOLUTIONS = np.array(
    [
        [0.3, 0.4, 0.7, -0.5, 0.6, 1.1],
        [0.3, 0.4, 0.7, 2.641592654, -0.6, -2.041592654],
        [0.3, 1.061580674, -0.7, -0.285578687, 1.29031445, 0.757508947],
        [0.3, 1.061580674, -0.7, 2.856013966, -1.29031445, -2.384083706],
        [-2.841592654, -1.061580674, 0.7, 2.856013966, 1.29031445, 0.757508947],
        [-2.841592654, -1.061580674, 0.7, -0.285578687, -1.29031445, -2.384083706],
        [-2.841592654, -0.4, -0.7, 2.641592654, 0.6, 1.1],
        [-2.841592654, -0.4, -0.7, -0.5, -0.6, -2.041592654],
    ]
)


def description(shoulder: float = 0.0) -> RobotDescription:
    """Return the arm; `shoulder` shifts everything after joint 2 along X (E-53)."""
    links, joints, height = [Link('base')], [], 0.0
    for i, (axis, z) in enumerate(zip(AXES, HEIGHTS)):
        links.append(
            Link(f'link{i + 1}', Inertia(2.0, np.array([0.02, 0.01, 0.1]), 0.02 * np.eye(3)))
        )
        origin = np.eye(4)
        origin[:3, 3] = shoulder * (i == 2), 0.0, z - height
        joints.append(
            Joint(
                f'joint{i + 1}',
                'continuous',
                links[i].name,
                links[i + 1].name,
                origin,
                np.array(axis, dtype=float),
            )
        )
        height = z
    links.append(Link('tool'))
    origin = np.eye(4)
    origin[2, 3] = L6
    joints.append(Joint('tip', 'fixed', 'link6', 'tool', origin, np.array([0.0, 0.0, 1.0])))
    return RobotDescription.from_parts('arm321', links, joints)


def arm(shoulder: float = 0.0, backend: str = 'auto') -> Robot:
    """Return the robot."""
    return Robot(description(shoulder), backend=backend)


POSE_EXACT = arm(backend='reference').link_pose(Q, 'tool')
