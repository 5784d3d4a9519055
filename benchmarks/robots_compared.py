# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The robots of the benchmark, as ours and as Pinocchio's, with states that fit both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import read_urdf
from support.robots import urdf_path

PANDA, TALOS = 'panda_description/urdf/panda', 'talos_full_v2'
UR5 = 'ur_description/urdf/ur5_robot'
TIPS = {PANDA: 'panda_hand', UR5: 'tool0', TALOS: 'gripper_left_base_link'}
NAMES = {PANDA: 'Panda', UR5: 'UR5', TALOS: 'TALOS'}


@dataclass
class Pair:
    """One robot in both libraries.

    `order` lists, for each velocity of Pinocchio's, the place of that joint in ours: states are
    drawn for ours and reordered.
    """

    name: str
    robot: Robot
    model: pin.Model
    data: pin.Data
    order: np.ndarray
    tip: str
    frame: int

    def states(self, samples: int, seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return [q, v, a] of ours and of Pinocchio's, (samples, n) each, C-contiguous."""
        rng = np.random.default_rng(seed)
        ours = list(rng.uniform(-1.0, 1.0, (3, samples, self.robot.nv)))
        return ours, [np.ascontiguousarray(x[:, self.order]) for x in ours]


def pair(name: str, *, mimic: bool = False, backend: str = 'auto') -> Pair:
    """Return a robot with its mimic joints independent, as Pinocchio reads it, or as it is."""
    path: Path = urdf_path(name)
    description = read_urdf(path)
    if not mimic:
        description = replace(
            description, joints=tuple(replace(joint, mimic=None) for joint in description.joints)
        )
    robot = Robot(description, backend=backend)
    model = pin.buildModelFromUrdf(str(path))
    place = {joint: k for k, joint in enumerate(robot.joint_names)}
    order = np.array([place.get(joint, 0) for joint in list(model.names)[1:]])
    assert model.nq == model.nv == len(order)
    tip = TIPS[name]
    return Pair(
        NAMES[name],
        robot,
        model,
        model.createData(),
        order,
        tip,
        model.getFrameId(tip, pin.FrameType.BODY),
    )
