# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robot descriptions: links, joints and inertias of a file, validated."""

from .body_inertia import Inertia
from .bundled import bundled_urdf
from .checks import physical_findings
from .joint_types import JOINT_TYPES, JointType
from .robot_description import Finding, Joint, Limits, Link, Mimic, RobotDescription
from .sdf import read_sdf
from .urdf import read_urdf

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
