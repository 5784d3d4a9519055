"""Robot descriptions: what a file says about links, joints and inertias, checked."""

from .checks import physical_findings
from .description import (
    JOINT_FREEDOMS,
    Finding,
    Joint,
    Limits,
    Link,
    Mimic,
    RobotDescription,
)
from .inertia import Inertia
from .urdf import read_urdf

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
