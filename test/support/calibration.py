# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots with known errors and what instruments would see of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import RobotDescription, read_urdf
from screw_dynamics_ros.core.lie import se3
from support.robots import urdf_path

ARMS = {'UR5': ('ur_description/urdf/ur5_robot', 'tool0'), 'Panda': ('panda', 'panda_hand_tcp')}
POSES = 50
ROBOT = ('axes', 'tool')  # all errors of the robot itself
LOCATE = (0.0, 0.0, 0.0, 0.05, 0.03, 0.04)  # of a reflector on the tool


def arm(name: str) -> tuple[RobotDescription, str]:
    path, link = ARMS[name]
    return read_urdf(urdf_path(path)), link


def displaced(
    description: RobotDescription, link: str, size: float, seed: int, tool: bool = True
) -> RobotDescription:
    """Return the description with random errors of all axes on the way to the link, and of it."""
    rng = np.random.default_rng(seed)
    joints = {j.child: j for j in description.joints}
    moved = {}
    child = link
    while child in joints:
        j = joints[child]
        if j.type != 'fixed':
            across = np.abs(j.axis) < 0.5  # these arms have axes along X, Y or Z
            moved[j.name] = rng.uniform(-size, size, 6) * np.tile(across, 2)
        elif child == link and tool:
            moved[j.name] = rng.uniform(-size, size, 6)
        child = j.parent
    return with_displacements(description, moved)


def with_displacements(description, moved):
    """Return the description with joints displaced by exp(x), by the matrix exponential."""
    return replace(
        description,
        joints=tuple(
            replace(j, origin=j.origin @ expm(se3.hat(moved[j.name]))) if j.name in moved else j
            for j in description.joints
        ),
    )


def poses(description: RobotDescription, link: str, q: np.ndarray) -> np.ndarray:
    return Robot(description, backend='reference').link_pose(q, link)


def configurations(description: RobotDescription, count: int = POSES, seed: int = 7) -> np.ndarray:
    nq = Robot(description, backend='reference').nq
    return np.random.default_rng(seed).uniform(-2, 2, (count, nq))


def noisy(C: np.ndarray, seed: int, angle: float, distance: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    turns = Rotation.from_rotvec(rng.normal(0, angle, (len(C), 3))).as_matrix()
    C = C.copy()
    C[:, :3, :3] = C[:, :3, :3] @ turns
    C[:, :3, 3] += rng.normal(0, distance, (len(C), 3))
    return C


def errors_of(nominal, truth, names):
    """Return the true value of each parameter, read off the joints of both descriptions."""
    before, after = ({j.name: j for j in d.joints} for d in (nominal, truth))
    mount = next(j.name for j in nominal.joints if j.child in ('tool0', 'panda_hand_tcp'))
    values = []
    for name in names:
        owner, _, part = name.partition('.')
        owner = mount if owner == 'tool' else owner
        x = se3.log(np.linalg.inv(before[owner].origin) @ after[owner].origin)
        values.append(x[('rx', 'ry', 'rz', 'x', 'y', 'z').index(part)])
    return np.array(values)
