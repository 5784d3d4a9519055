# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Real arms of six and seven revolute joints, for statistics of inverse kinematics.

Some are in the descriptions of example-robot-data, from a base link to a tool link; the others in
the tables of `support.arm_tables`, each with its source. Every arm is a chain: its robot has no
other joints, and its tool is its last link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Limits, Link, RobotDescription, read_urdf
from screw_dynamics_ros.core.kinematics.robot_geometry import description_of
from support.arm_tables import ArmTable
from support.arms_of_seven import SEVEN
from support.arms_of_six import SIX
from support.reachable_poses import placed
from support.robots import urdf_path


@dataclass(frozen=True)
class Arm:
    """An arm.

    Attributes
    ----------
    name, source : str
    describe : callable
        Returns the description of the chain.
    tool : str
        The link that is brought to poses.
    redundant : str
        The joint of a 7R arm whose angle is given; empty for a 6R arm.
    swivel : bool
        Whether the swivel angle can be given instead: axes 1, 2, 3 meet in a point, and 5, 6, 7.
    """

    name: str
    source: str
    describe: Callable[[], RobotDescription]
    tool: str
    redundant: str = ''
    swivel: bool = False

    def robot(self, backend: str = 'auto') -> Robot:
        """Return the robot."""
        return Robot(self.describe(), backend=backend)

    def axes(self, angle: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return directions (6, 3), points (6, 3) [m] of the axes and the tool's pose at q = 0.

        The redundant joint stands at `angle` [rad] and is no axis. Made of the joint origins alone.
        """
        C, e, p = np.eye(4), [], []
        for joint in self.describe().joints:
            C = C @ joint.origin
            if joint.name == self.redundant:
                C = C @ placed(np.zeros(3), Rotation.from_rotvec(angle * joint.axis))
            elif joint.type != 'fixed':
                e.append(C[:3, :3] @ joint.axis)
                p.append(C[:3, 3].copy())
        return np.array(e), np.array(p), C


#: Arms in descriptions of example-robot-data: name, file, base link, tool link, redundant joint.
DESCRIBED = (
    ('UR3', 'ur_description/urdf/ur3_robot', 'base_link', 'tool0', ''),
    ('UR5', 'ur_description/urdf/ur5_robot', 'base_link', 'tool0', ''),
    ('UR5, joint limited', 'ur5_joint_limited_robot', 'base_link', 'tool0', ''),
    ('UR10', 'ur_description/urdf/ur10_robot', 'base_link', 'tool0', ''),
    ('JACO2 j2s6s200', 'kinova', 'base', 'j2s6s200_end_effector', ''),
    ('Z1', 'z1_description/urdf/z1', 'link00', 'link06', ''),
    ('CENTAURO', 'centauro', 'torso_2', 'arm1_8', ''),
    ('Panda', 'panda', 'panda_link0', 'panda_hand_tcp', 'panda_joint7'),
    ('xArm7', 'xarm7', 'link_base', 'link_eef', 'joint7'),
    ('Baxter', 'baxter', 'left_arm_mount', 'left_gripper', 'left_w2'),
    ('PR2', 'pr2', 'torso_lift_link', 'l_gripper_tool_frame', 'l_wrist_roll_joint'),
    ('TALOS', 'talos_reduced', 'torso_2_link', 'gripper_left_base_link', 'arm_left_7_joint'),
    ('TIAGo', 'tiago_no_hand', 'torso_lift_link', 'arm_tool_link', 'arm_7_joint'),
    ('TIAGo Pro', 'tiago_pro', 'torso_lift_link', 'arm_left_tool_link', 'arm_left_7_joint'),
    ('Romeo', 'romeo', 'torso', 'l_gripper', 'LWristPitch'),
    ('G1', 'g1_29dof_rev_1_0', 'torso_link', 'left_rubber_hand', 'left_wrist_yaw_joint'),
    ('iCub', 'icub_description/robots/icub', 'chest', 'l_gripper', 'l_wrist_yaw'),
    ('Alex', 'alex_nub_hands', 'Torso', 'leftNub', 'LeftGripperYaw'),
)


def chain(description: RobotDescription, base: str, tool: str) -> RobotDescription:
    """Return the links and joints from `base` to `tool`, without masses."""
    above = {joint.child: joint for joint in description.joints}
    names = [tool]
    while names[-1] != base:
        names.append(above[names[-1]].parent)
    return RobotDescription.from_parts(
        description.name,
        [Link(name) for name in reversed(names)],
        [replace(joint, mimic=None) for joint in description.joints if joint.child in names[:-1]],
    )


def described(name: str, file: str, base: str, tool: str, redundant: str) -> Arm:
    """Return an arm of example-robot-data."""
    return Arm(
        name,
        f'example-robot-data, {file}',
        lambda: chain(read_urdf(urdf_path(file)), base, tool),
        tool,
        redundant,
    )


def tabulated(table: ArmTable) -> Arm:
    """Return an arm of a table; its joints are joint1, joint2, ..."""
    names = [f'joint{k + 1}' for k in range(len(table.limits))]
    return Arm(
        table.name,
        table.source,
        lambda: description_of(
            table.geometry(names),
            name=table.name,
            links=[*(f'link{k + 1}' for k in range(len(names) - 1)), 'tool'],
            limits={
                joint: Limits(*np.radians(bounds).tolist())
                for joint, bounds in zip(names, table.limits)
                if bounds is not None
            },
        ),
        'tool',
        f'joint{table.redundant}' if table.redundant else '',
        table.swivel,
    )


ARMS = (*(described(*line) for line in DESCRIBED), *(tabulated(table) for table in (*SIX, *SEVEN)))


def arm(name: str) -> Arm:
    """Return the arm of this name."""
    return next(arm for arm in ARMS if arm.name == name)
