"""Screw-theoretic kinematics and dynamics of robots, without ROS."""

from screw_dynamics_ros.core.errors import (
    ArgumentError,
    BackendError,
    DescriptionError,
    InertiaError,
    ScrewDynamicsError,
    UnknownNameError,
)
from screw_dynamics_ros.core.robot import FusedKernel, Robot

__all__ = [
    'ArgumentError',
    'BackendError',
    'DescriptionError',
    'FusedKernel',
    'InertiaError',
    'Robot',
    'ScrewDynamicsError',
    'UnknownNameError',
]
