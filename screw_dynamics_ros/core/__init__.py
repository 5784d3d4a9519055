"""Screw-theoretic kinematics and dynamics of robots, without ROS."""

from screw_dynamics_ros.core.errors import (
    ArgumentError,
    BackendError,
    DescriptionError,
    InertiaError,
    ScrewDynamicsError,
    UnknownNameError,
)
from screw_dynamics_ros.core.fused import FusedKernel
from screw_dynamics_ros.core.kinematics.inverse import InverseKinematicsResult
from screw_dynamics_ros.core.model.drives import Drive
from screw_dynamics_ros.core.robot import Robot

__all__ = [
    'ArgumentError',
    'BackendError',
    'DescriptionError',
    'Drive',
    'FusedKernel',
    'InertiaError',
    'InverseKinematicsResult',
    'Robot',
    'ScrewDynamicsError',
    'UnknownNameError',
]
