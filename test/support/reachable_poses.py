# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots and random reachable poses for statistics of inverse kinematics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Joint, Limits, Link, RobotDescription, read_urdf
from screw_dynamics_ros.core.kinematics.link_table import LinkTable
from screw_dynamics_ros.core.kinematics.robot_geometry import description_of
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.textbook.link_tables.denavit_hartenberg import StandardRow
from support.robots import urdf_path

TIPS = tuple(f'arm{k}_link7' for k in range(1, 5))

#: name, description, links to bring to target poses
ROBOTS = [
    ('Panda', lambda: read_urdf(urdf_path('panda')), ('panda_hand_tcp',)),
    ('UR5', lambda: read_urdf(urdf_path('ur_description/urdf/ur5_robot')), ('tool0',)),
    ('iiwa', lambda: iiwa(), ('link7',)),
    ('four arms', lambda: four_arms(), TIPS),
]


def reachable_poses(robot: Robot, links: tuple[str, ...], count: int) -> np.ndarray:
    """Return poses (count, number of links, 4, 4) at random configurations within limits."""
    lower = np.maximum(robot.limits.lower, -np.pi)
    upper = np.minimum(robot.limits.upper, np.pi)
    q = np.random.default_rng(0).uniform(lower, upper, (count, robot.nq))
    return np.stack([robot.link_pose(q, link) for link in links], axis=1)


def distance(C: np.ndarray, target: np.ndarray) -> float:
    """Return the larger of the angle [rad] and the distance [m] between two poses."""
    angle = Rotation.from_matrix(C[:3, :3].T @ target[:3, :3]).magnitude()
    return max(angle, np.linalg.norm(C[:3, 3] - target[:3, 3]))


def iiwa() -> RobotDescription:
    """Return the KUKA LBR iiwa 14 R820, dimensions [m] and limits from its data sheet."""
    offsets, twists = (0.36, 0.0, 0.42, 0.0, 0.4, 0.0, 0.126), (-90, 90, 90, -90, -90, 90, 0)
    ranges = np.radians((170, 120, 170, 120, 170, 120, 175))
    table = LinkTable(
        [StandardRow('revolute', d=d, alpha=np.radians(t)) for d, t in zip(offsets, twists)]
    )
    return description_of(
        table.joint_frames(),
        name='iiwa14',
        links=[f'link{k}' for k in range(1, 8)],
        limits={name: Limits(-x, x) for name, x in zip(table.names, ranges.tolist())},
    )


def four_arms() -> RobotDescription:
    """Return a trunk of two joints with four arms of seven: 30 joints, 4 tips that share two.

    The arms are like an iiwa, start on the four sides of the trunk and lean outwards.
    """
    arm, (x, y, z) = iiwa(), np.eye(3)
    links = [Link('floor'), Link('waist'), Link('trunk')]
    joints = [
        Joint('yaw', 'revolute', 'floor', 'waist', placed(z), z, Limits(-1.5, 1.5)),
        Joint('pitch', 'revolute', 'waist', 'trunk', placed(0.4 * z), y, Limits(-0.8, 0.8)),
    ]
    for k in range(1, 5):
        side = Rotation.from_euler('z', 90 * k, degrees=True)
        outwards = side * Rotation.from_euler('y', 70, degrees=True)
        mount = placed(0.1 * k * z + side.apply(0.2 * x), outwards)
        joints.append(Joint(f'mount{k}', 'fixed', 'trunk', f'arm{k}_base', mount, z))
        links += [replace(link, name=f'arm{k}_{link.name}') for link in arm.links]
        joints += [
            replace(
                joint,
                **{
                    field: f'arm{k}_{getattr(joint, field)}'
                    for field in ('name', 'parent', 'child')
                },
            )
            for joint in arm.joints
        ]
    return RobotDescription.from_parts('four_arms', links, joints)


def placed(r: np.ndarray, R: Rotation | None = None) -> np.ndarray:
    """Return a pose (4, 4)."""
    return se3.pose(np.eye(3) if R is None else R.as_matrix(), r)
