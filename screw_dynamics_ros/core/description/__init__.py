"""Robot descriptions: what a file says about links, joints and inertias, checked."""

from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.description.checks import physical_findings
from screw_dynamics_ros.core.description.robot_description import (
    JOINT_FREEDOMS,
    Finding,
    Joint,
    Limits,
    Link,
    Mimic,
    RobotDescription,
)
from screw_dynamics_ros.core.description.urdf import read_urdf

__all__ = [
    'JOINT_FREEDOMS',
    'Finding',
    'Inertia',
    'Joint',
    'Limits',
    'Link',
    'Mimic',
    'RobotDescription',
    'physical_findings',
    'read_urdf',
]
