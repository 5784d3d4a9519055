# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robot descriptions: links, joints and inertias of a file, validated."""

from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.description.bundled import bundled_urdf
from screw_dynamics_ros.core.description.checks import physical_findings
from screw_dynamics_ros.core.description.joint_types import JOINT_TYPES, JointType
from screw_dynamics_ros.core.description.robot_description import (
    Finding,
    Joint,
    Limits,
    Link,
    Mimic,
    RobotDescription,
)
from screw_dynamics_ros.core.description.sdf import read_sdf
from screw_dynamics_ros.core.description.urdf import read_urdf

__all__ = [
    'JOINT_TYPES',
    'Finding',
    'Inertia',
    'Joint',
    'JointType',
    'Limits',
    'Link',
    'Mimic',
    'RobotDescription',
    'bundled_urdf',
    'physical_findings',
    'read_sdf',
    'read_urdf',
]
